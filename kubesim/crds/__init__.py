"""CustomResourceDefinitions: their rules, their schemas, their versions, and the objects that follow them."""
