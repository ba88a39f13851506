"""Expressions in CEL: read, checked against types, priced, evaluated."""
