"""Verbs of sets."""
