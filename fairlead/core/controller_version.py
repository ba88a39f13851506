"""Annotations by which an object says which version of the operator has handled it."""

from __future__ import annotations

from fairlead.core.domain import DOMAIN

CONTROLLER_VERSION = f"{DOMAIN}/controller-version"
LEGACY_VERSION = "common.k8s.elastic.co/controller-version"
"""Read where the other is absent, because objects of Elastic's operator carry it."""
STAMPS = frozenset({CONTROLLER_VERSION, LEGACY_VERSION})
"""Of the object itself, and of nothing that is made for it."""
