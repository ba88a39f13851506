"""fairlead: one Kubernetes operator for every rollout that must not go wrong."""

__version__ = "0.1.0"
