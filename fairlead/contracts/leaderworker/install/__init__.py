"""What an installation of the leader-worker contract consists of."""
