"""Owners of a Scale: they are those of the replicas, and whoever writes a Scale owns the replicas of its object."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from kubesim.patches.field_sets import Path
from kubesim.patches.owners import Owners, identity
from kubesim.strategies.subresources import SCALE

REPLICAS: Path = ("f:spec", "f:replicas")
Paths = Mapping[str, Path]
"""Where the replicas are, by the apiVersion of the object; owners in other versions are forgotten."""


def to_scale(parent: Owners, paths: Paths) -> Owners:
    """The owners of the object's replicas, as owners of its Scale.

    Who updates is known by the version as well, so that an updater of the object is not the same one in the Scale.
    """
    version = SCALE.api_version
    return {
        identity(owner.manager, owner.operation, version, owner.subresource): replace(
            owner, fields=frozenset([REPLICAS]), version=version
        )
        for owner in parent.values()
        if owner.version in paths and paths[owner.version] in owner.fields
    }


def to_parent(parent: Owners, scale: Owners, paths: Paths, version: str) -> Owners:
    """The owners of an object after those of its Scale have become others; who comes to it writes in `version`."""
    left: Owners = {}
    for name, owner in parent.items():
        path = paths.get(owner.version)
        if path is None:
            continue
        kept = owner if name in scale or path not in owner.fields else replace(owner, fields=owner.fields - {path})
        if kept.fields:
            left[name] = kept
    for name, owner in scale.items():
        known = parent.get(name)
        if known is not None and paths.get(known.version) in known.fields:
            continue
        if REPLICAS in owner.fields:
            # As on the server, the entry has the time that its owner had before, if any.
            time = None if known is None else known.time
            left[name] = replace(owner, fields=frozenset([paths[version]]), version=version, time=time)
    return left
