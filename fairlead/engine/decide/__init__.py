"""Versions of custom resources: their definitions, whom the API server trusts to convert them, and what is stored."""
