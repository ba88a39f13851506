"""Live objects held against what is to come, one at a time: only counts and a few names are kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

import msgspec
from msgspec import Struct, structs

from fairlead.contracts.apiversions.decide.broken_rules import broken
from fairlead.contracts.apiversions.decide.carry_differences import differences
from fairlead.contracts.apiversions.decide.convert import ConversionRefused, KindConversion, KindVersion, convert
from fairlead.contracts.apiversions.decide.pointers import RESERVED, STAR, Place
from fairlead.contracts.apiversions.decide.preflight.definitions import Check
from fairlead.contracts.apiversions.decide.preflight.findings import SHOWN_OBJECTS, Finding, Severity
from fairlead.contracts.apiversions.decide.preflight.refusals import without_values
from fairlead.contracts.apiversions.decide.pruned_leaves import text_of
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.decide.version_uses import Count, object_name
from fairlead.contracts.apiversions.kinds import MOST_ANNOTATIONS
from fairlead.core.amounts import counted

INVALID = "ConvertedInvalid"
MADE_BY_PEOPLE = ("name", "namespace", "labels", "annotations")
LARGEST = 1 << 20
"""Bytes of an object, above which servers begin to refuse."""


class Hit(Struct, frozen=True):
    """What an object shows, in words that are the same for all objects that show it."""

    code: str
    severity: Severity
    version: str
    path: str
    message: str


class CheckTally:
    """Counts whom the checks of one version hit."""

    def __init__(self, checks: Sequence[Check]) -> None:
        self._counts = [(each, Count()) for each in checks]
        self.looked = False

    def see(self, tree: Tree) -> None:
        self.looked = True
        for check, count in self._counts:
            if check.affects(tree):
                count.add(object_name(tree["metadata"]))

    def findings(self, *, unlisted: str = "") -> Iterator[Finding]:
        """`unlisted` is why nobody could look."""
        for check, count in self._counts:
            yield _counted(check.finding, count, unlisted)


def _counted(finding: Finding, count: Count, unlisted: str) -> Finding:
    if unlisted:
        return structs.replace(finding, message=f"{finding.message} (objects were not looked at: {unlisted})")
    if not count.objects:
        return structs.replace(finding, count=0)
    have = counted(count.objects, "object has", "objects have")
    hit = "it" if finding.code == "NoneWouldPrune" else "what is refused or lost then"
    return structs.replace(
        finding,
        severity="block",
        message=f"{finding.message}; {have} {hit}",
        count=count.objects,
        objects=tuple(count.names[:SHOWN_OBJECTS]),
    )


Trials: TypeAlias = Mapping[str, tuple[tuple[str, str], ...]]
"""By version that an object was tried in on the server: each field that was refused, and why."""
NOT_TRIED = "by the schema; expressions and formats were not evaluated"
TRIED = "tried on the server"
_INDEX = re.compile(r"\[(\d+)\]")
NOWHERE = "<nil>"
"""Of the object as a whole: mostly that not all could be evaluated, because of the rest."""


class ConversionTally:
    """Counts what becomes of objects when they are converted by the new rules to each other version and back."""

    def __init__(self, crd: str, kind: KindConversion, source: str) -> None:
        self._crd, self._kind, self._source = crd, kind, source
        self._counts: dict[Hit, Count] = {}

    def see(self, tree: Tree, trials: Trials = MappingProxyType({})) -> None:
        for hit in dict.fromkeys(conversion_hits(tree, self._kind, self._source, trials)):
            self._counts.setdefault(hit, Count()).add(object_name(tree["metadata"]))

    def findings(self) -> Iterator[Finding]:
        for hit, count in self._counts.items():
            yield Finding(
                code=hit.code,
                severity=hit.severity,
                crd=self._crd,
                version=hit.version,
                path=hit.path,
                message=f"{hit.message} ({counted(count.objects, 'object')})",
                fix="" if hit.severity != "block" else f"fairlead api roundtrip {self._crd} --live",
                count=count.objects,
                objects=tuple(count.names[:SHOWN_OBJECTS]),
            )


def conversion_hits(
    tree: Tree, kind: KindConversion, source: str, trials: Trials = MappingProxyType({})
) -> Iterator[Hit]:
    """What goes wrong with one object on its way to every other version and back.

    What the server says of a version counts, and not what the schema does; but of the status, which no creation has.
    """
    for version in kind.versions:
        if version != source:
            hits = _converted_hits(tree, kind, _version(kind, source), _version(kind, version))
            yield from (each for each in hits if each.code != INVALID or version not in trials or _in_status(each))
            refused = trials.get(version, ())
            placed = [each for each in refused if each[0] != NOWHERE] or refused
            schema = _version(kind, version).schema.source
            made = (_refused(version, field, without_values(why, schema, tree)) for field, why in placed)
            yield from (each for each in made if not _in_status(each))


def _in_status(hit: Hit) -> bool:
    return hit.path.split("/")[1:2] == ["status"]


def _refused(version: str, field: str, why: str) -> Hit:
    path = "/" + "/".join(part for part in _INDEX.sub(".*", field).split(".") if part) if field != NOWHERE else ""
    return Hit(INVALID, "block", version, path, f"in {version}, {path or 'the object'} is refused: {why}; {TRIED}")


def as_new(tree: Tree) -> Tree:
    """The object as its creation would be tried: the server makes the rest of its metadata."""
    metadata = {key: value for key, value in tree["metadata"].items() if key in MADE_BY_PEOPLE}
    return {**{key: value for key, value in tree.items() if key != "status"}, "metadata": metadata}


def _converted_hits(tree: Tree, kind: KindConversion, own: KindVersion, other: KindVersion) -> Iterator[Hit]:
    try:
        there = convert(tree, other.name, kind).tree
        back = convert(there, own.name, kind).tree
    except ConversionRefused:
        text = f"what {other.name} cannot hold is more than the {MOST_ANNOTATIONS} bytes that annotations take"
        yield Hit("CarryTooLarge", "block", other.name, "", text)
        return
    except Exception as error:  # noqa: BLE001  (rules in Python may raise anything)
        text = f"the rules fail on the way to {other.name} and back ({type(error).__name__})"
        yield Hit("RoundTripLoss", "block", other.name, "", text)
        return
    before, after = ({key: value for key, value in each.items() if key not in RESERVED} for each in (tree, back))
    for entry in differences(own.name, before, after, own.shape):
        path = text_of(tuple(each if isinstance(each, str) else STAR for each in entry.path))
        text = f"{path} does not come back from {other.name} as it was"
        yield Hit("RoundTripLoss", "block", other.name, path, text)
    for place, trouble in broken(there, other.schema):
        path = _pattern(place)
        text = f"in {other.name}, {path} {trouble}; {NOT_TRIED}"
        yield Hit(INVALID, "block", other.name, path, text)
    if len(msgspec.json.encode(there)) > LARGEST:
        yield Hit("ConvertedTooLarge", "warn", other.name, "", f"in {other.name} it is larger than 1 MiB")


def _version(kind: KindConversion, name: str) -> KindVersion:
    return kind.hub if name == kind.hub.name else kind.spokes[name].version


def _pattern(place: Place) -> str:
    return text_of(tuple(STAR if isinstance(each, int) else each for each in place))
