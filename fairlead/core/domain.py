"""The domain of names that are fairlead's own, on objects of any kind."""

from __future__ import annotations

DOMAIN = "fairlead.dev"
