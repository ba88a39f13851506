"""Manifests in files, rewritten where they stand: comments, order and templates stay (section 2.3)."""
