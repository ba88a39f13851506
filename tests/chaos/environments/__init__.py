"""Environments, their operators and everybody else, in trouble."""
