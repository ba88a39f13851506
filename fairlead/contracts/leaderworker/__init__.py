"""Leaders and workers: groups of pods that live, fail and are updated as one, each from the revision it was made of."""
