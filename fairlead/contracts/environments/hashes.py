"""Rollout hashes of the environments in files, as the operator will come to them once they are applied (B18)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from fairlead.contracts.environments.decide.convert import Unconvertible, convert
from fairlead.contracts.environments.decide.hash import rollout_hash
from fairlead.contracts.environments.kinds import GROUP, MATERIALIZES, NIL, MaterializeSpec, Text
from fairlead.core.uuids import parse
from fairlead.engine.hashes import Hashed, Hashes


class _Metadata(Struct, frozen=True):
    name: str
    namespace: str = ""
    annotations: Text | None = None


class _Manifest(Struct, frozen=True):
    metadata: _Metadata
    spec: dict[str, object]


def _is_environment(tree: object) -> bool:
    return (
        isinstance(tree, dict)
        and tree.get("kind") == MATERIALIZES.kind
        and str(tree.get("apiVersion")).startswith(f"{GROUP}/")
    )


def _hashed(tree: object) -> Hashed | str:
    """The hash, or why there is none."""
    try:
        manifest = msgspec.convert(convert(tree, MATERIALIZES.api_version), _Manifest)
        # The API server leaves such nulls out before it fills in defaults.
        given = {key: value for key, value in manifest.spec.items() if value is not None}
        spec = msgspec.convert(given, MaterializeSpec)
    except Unconvertible as error:
        return str(error)
    except msgspec.ValidationError as error:
        return f"it does not have the fields of a {MATERIALIZES.kind}: {str(error)[0].lower()}{str(error)[1:]}"
    metadata = manifest.metadata
    place = Hashed(metadata.namespace, metadata.name, "").place
    match parse(spec.environment_id):
        case None:
            return f"the environmentId of {place} is not a UUID: write 32 hexadecimal digits, with or without hyphens"
        case environment if environment == NIL:
            return (
                f"{place} has no environmentId, which is part of the hash: set it, or let the operator fill it in and "
                "hash what `kubectl get -o yaml` then prints"
            )
    return Hashed(metadata.namespace, metadata.name, rollout_hash(manifest.spec, metadata.annotations or {}))


def _rolled(tree: Mapping[str, Any]) -> str:
    return str((tree.get("status") or {}).get("lastCompletedRolloutHash") or "")


HASHES = Hashes(
    kind=MATERIALIZES.kind,
    group=GROUP,
    about="the hash that the operator will write as status.requestedRolloutHash; set spec.forcePromote to it to "
    "promote that rollout without waiting",
    is_one=_is_environment,
    hashed=_hashed,
    rolled=_rolled,
)
