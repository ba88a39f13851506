"""What a person may ask of a LeaderWorkerSet."""
