"""API versions: objects of custom kinds in another version, with nothing lost on the way."""
