"""The environment contract: generations of an environment, promoted one after the other when the spec's hash changes."""
