"""LeaderWorkerSets, their operators and everybody else, in trouble."""
