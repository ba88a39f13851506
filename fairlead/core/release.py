"""What a release says of itself, for whoever upgrades to it: its definitions, and whose objects it takes over."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from fairlead.core.semantic_versions import parse
from kubeloop.decoding import why
from kubeloop.unreadable import UNREADABLE

Tree: TypeAlias = dict[str, Any]
FORMAT = 1


class BadRelease(Exception):
    """The text is no release file; it says why."""


class ReleasedKind(Struct, frozen=True, rename="camel", omit_defaults=True):
    part: str
    definition: Tree
    convertible: list[str]
    """Versions that the release converts."""
    revision: int = 0


class Roll(Struct, frozen=True, rename="camel"):
    """Workloads that the release rolls although nobody changed anything."""

    crd: str
    reason: str


class Release(Struct, frozen=True, rename="camel", kw_only=True):
    format: int = FORMAT
    version: str
    minimum_compatible: str
    """The oldest version whose objects it takes over as they are."""
    hash_versions: dict[str, list[int]] = {}
    """By part: the ways in which it can make rollout hashes."""
    rolls: list[Roll] = []
    crds: list[ReleasedKind] = []


def written(release: Release) -> str:
    """As its file has it: a line for each definition, so that changes can be read."""
    head = msgspec.json.encode(msgspec.structs.replace(release, crds=[])).decode()
    lines = ",\n".join(msgspec.json.encode(each).decode() for each in release.crds)
    opening = head.removesuffix("[]}")
    return f"{opening}[\n{lines}\n]}}\n" if release.crds else f"{head}\n"


def read_release(text: bytes) -> Release:
    """Raises BadRelease."""
    try:
        found = msgspec.json.decode(text, type=Release)
    except UNREADABLE as error:
        raise BadRelease(f"it is no release file: {why(error)}") from None
    if found.format != FORMAT:
        raise BadRelease(f"its format is {found.format}, and this version reads {FORMAT}: use a newer fairlead")
    if parse(found.version) is None:
        raise BadRelease(f'its version "{found.version}" is no semantic version')
    return found
