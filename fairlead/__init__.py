"""fairlead: one Kubernetes operator for every rollout that must not go wrong."""

__version__ = "0.1.0"
MINIMUM_COMPATIBLE = "0.1.0"
"""The oldest version whose objects this one takes over as they are."""
