"""The objects of an environment, of one of its generations, and of its companions: pure functions of what is wanted.

`environment` has what stays whichever generation serves, `generation` the four objects of one and the public Service,
`balancer` and `console` the companions and their objects. Each has a function that says what cannot be built, in one
sentence (`environment_trouble`, `balancer_trouble`, `console_trouble`); what it passes can be built.
"""
