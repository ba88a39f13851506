"""Structural schemas, and what single values must look like."""
