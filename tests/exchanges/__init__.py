"""Requests and the answers of the real API server to them, recorded, and replayed on the embedded cluster."""
