"""What an installation of rollout plans consists of."""
