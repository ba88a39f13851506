"""Backups of the objects of a kind, bringing them back, and the upgrade that needs no webhook (section 3.7)."""
