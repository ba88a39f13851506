"""DisaggregatedSets (section 6.7): a controller beside those of LeaderWorkerSets, built on what they promise."""
