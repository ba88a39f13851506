"""Rollouts by plans under disturbances, judged from outside."""
