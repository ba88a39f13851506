"""Rollout hashes of the environments in files, as the operator will come to them once they are applied (B18)."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import Struct

from fairlead.cli.object_files import Unreadable, objects_in, shown
from fairlead.contracts.environments.decide.convert import Unconvertible, convert
from fairlead.contracts.environments.decide.hash import rollout_hash
from fairlead.contracts.environments.kinds import GROUP, MATERIALIZES, NIL, MaterializeSpec, Text
from fairlead.core.uuids import parse


class Hashed(Struct, frozen=True):
    namespace: str
    name: str
    hash: str

    @property
    def place(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class _Metadata(Struct, frozen=True):
    name: str
    namespace: str = ""
    annotations: Text | None = None


class _Manifest(Struct, frozen=True):
    metadata: _Metadata
    spec: dict[str, object]


def hashes_in(names: Iterable[str]) -> tuple[list[Hashed], list[str]]:
    """What the files hold, and a sentence for each thing that is wrong with them."""
    found: list[Hashed] = []
    wrong: list[str] = []
    for name in names:
        try:
            trees = [tree for tree in objects_in(name) if _is_environment(tree)]
        except Unreadable as error:
            wrong.append(str(error))
            continue
        if not trees:
            wrong.append(f"{shown(name)} holds no {MATERIALIZES.kind} of {GROUP}: name a file that does")
        for number, tree in enumerate(trees, 1):
            match _hashed(tree):
                case Hashed() as hashed:
                    found.append(hashed)
                case sentence:
                    wrong.append(f"{shown(name)}, {MATERIALIZES.kind} {number}: {sentence}")
    return found, wrong


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
