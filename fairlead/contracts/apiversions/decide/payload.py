"""Which version the fields of an object really follow, and what is worked with (section 3.4).

Without a webhook the API server relabels objects and converts nothing, so that an object which claims the hub may hold
the fields of another version, or of several. What is worked with is always a body of the hub; where nobody can tell
what was meant, there is none, and the workload stays as it is.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from enum import Enum

import msgspec
from msgspec import Struct

from fairlead.contracts.apiversions.decide.carry_entries import Path
from fairlead.contracts.apiversions.decide.claimed_versions import as_hub
from fairlead.contracts.apiversions.decide.convert import KindConversion, KindVersion
from fairlead.contracts.apiversions.decide.field_evidence import Field, fields, known_part, payload_of
from fairlead.contracts.apiversions.decide.field_owners import last_version
from fairlead.contracts.apiversions.decide.mixed_payload import PayloadPart, joined
from fairlead.contracts.apiversions.decide.pointers import RESERVED
from fairlead.contracts.apiversions.decide.trees import Absent, Tree, same
from fairlead.contracts.apiversions.kinds import PAYLOAD_HASH, PAYLOAD_VERSION
from fairlead.core.api_versions import age


class PayloadVerdict(Enum):
    HUB = "hub"
    OTHER = "other"
    """All of it is of one version that is not the hub."""
    MIXED = "mixed"
    AMBIGUOUS = "ambiguous"


class Payload(Struct, frozen=True):
    verdict: PayloadVerdict
    evidence: int
    """The row of the table that told it."""
    versions: tuple[str, ...] = ()
    """Whose fields there are, from the oldest; empty where nobody can tell."""
    tree: Tree | None = None
    """What is worked with, in the hub, carried leaves among its annotations; None where it is ambiguous."""
    places: tuple[str, ...] = ()
    """Fields that tell why it is mixed or ambiguous, at most MOST_PLACES."""

    @property
    def version(self) -> str:
        """The one that all of it follows; empty where that is not one."""
        return self.versions[0] if len(self.versions) == 1 else ""


MOST_PLACES = 5


def payload_hash(tree: Tree) -> str:
    """Of the spec, as sorted JSON without spaces."""
    return hashlib.sha256(msgspec.json.encode(tree.get("spec"), order="sorted")).hexdigest()


def judged(tree: Tree, kind: KindConversion, converted_since: str = "") -> Payload:
    """What an object is that was read in the hub.

    `converted_since` is when a converter was put in force for the kind, as the API has times: what was written later
    has been converted, whichever version its manager used. Empty: objects are converted by nobody.
    """
    schemas = {each.name: each.schema for each in _versions(kind)}
    found = fields(payload_of(tree), schemas, kind.hub.shape)
    return (
        _by_hash(tree, kind)
        or _by_fields(tree, kind, found)
        or _by_manager(tree, kind, converted_since)
        or _by_conversion(tree, kind)
        or Payload(PayloadVerdict.AMBIGUOUS, 6)
    )


def _versions(kind: KindConversion) -> Iterator[KindVersion]:
    yield kind.hub
    yield from (each.version for each in kind.spokes.values())


def _by_hash(tree: Tree, kind: KindConversion) -> Payload | None:
    """Nobody has written the spec since it was known to be of that version."""
    noted = annotations_of(tree)
    version = noted.get(PAYLOAD_VERSION, "")
    if version not in kind.versions or noted.get(PAYLOAD_HASH) != payload_hash(tree):
        return None
    return _whole(tree, kind, version, 1)


def _by_fields(tree: Tree, kind: KindConversion, found: tuple[Field, ...]) -> Payload | None:
    """By those that a single version knows."""
    telling = [each for each in found if len(each.versions) == 1]
    versions = tuple(sorted({version for each in telling for version in each.versions}, key=age))
    if len(versions) < 2:
        return _whole(tree, kind, versions[0], 2) if versions else None
    parts = [part for each in versions if (part := _part(tree, kind, each)) is not None]
    made = joined(tree, kind, parts) if len(parts) == len(versions) else None
    places = tuple(shown(each.path) for each in telling)[:MOST_PLACES]
    return Payload(PayloadVerdict.AMBIGUOUS if made is None else PayloadVerdict.MIXED, 3, versions, made, places)


def _by_manager(tree: Tree, kind: KindConversion, converted_since: str) -> Payload | None:
    name, at = last_version(tree, payload_of(tree))
    if not name:
        return None
    if converted_since and at >= converted_since:
        return _whole(tree, kind, kind.hub.name, 4)
    version = name.removeprefix(f"{kind.group}/")
    return _whole(tree, kind, version, 4) if version in kind.versions else None


def _by_conversion(tree: Tree, kind: KindConversion) -> Payload | None:
    """It makes no difference of which version it is."""
    made = [as_hub(tree, kind, each) for each in kind.versions]
    if not all(each is not None and same(payload_of(each), payload_of(tree)) for each in made):
        return None
    return _whole(tree, kind, kind.hub.name, 5)


def _whole(tree: Tree, kind: KindConversion, version: str, row: int) -> Payload:
    made = as_hub(tree, kind, version)
    if made is None:
        return Payload(PayloadVerdict.AMBIGUOUS, row, (version,))
    return Payload(PayloadVerdict.HUB if version == kind.hub.name else PayloadVerdict.OTHER, row, (version,), made)


def _part(tree: Tree, kind: KindConversion, version: str) -> PayloadPart | None:
    """What that version knows of the payload."""
    schema = kind.hub.schema if version == kind.hub.name else kind.spokes[version].version.schema
    own = known_part(payload_of(tree), schema)
    source = {} if own is Absent else own
    head: Tree = {name: value for name, value in tree.items() if name in RESERVED}
    made = as_hub({**head, **source}, kind, version)
    return None if made is None else PayloadPart(version, source, made)


def annotations_of(tree: Tree) -> Mapping[str, str]:
    metadata = tree.get("metadata")
    found = metadata.get("annotations") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}


def shown(path: Path) -> str:
    """The place as people read it: items of lists by their keys."""
    texts = (each if isinstance(each, str) else ",".join(str(value) for _, value in each) for each in path)
    return "/" + "/".join(texts)
