"""Decisions about rollout plans; pure."""
