"""The kinds that are served, and the objects that a cluster is born with."""
