"""The verbs of the API on decoded trees, and the short ways of pods."""
