"""Verbs of plans."""
