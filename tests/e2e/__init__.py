"""End-to-end tests: written once, run on the embedded cluster and on the real control plane."""
