"""From the bytes of a body to a tree: JSON, YAML and protobuf, and what is wrong with them."""
