"""Verbs of rollouts with a plan."""
