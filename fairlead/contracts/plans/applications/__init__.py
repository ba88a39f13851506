"""Applications: what users describe as a whole, and the controllers that make workloads of it."""
