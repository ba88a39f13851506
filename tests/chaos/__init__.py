"""Whole operators on an embedded cluster in virtual time, while everything around them fails."""
