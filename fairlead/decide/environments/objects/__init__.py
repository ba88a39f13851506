"""The objects of an environment, of one of its generations, and of its companions: pure functions from what is wanted."""
