"""Which revision a set is at: recorded before anything carries its key, and reused before another is made.

A ControllerRevision stores the two maps of the spec that roll (section 3.12). Decisions here are about one
LeaderWorkerSet; the API server's objects come in and drafts go out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.go_form import go_form
from fairlead.contracts.leaderworker.decide.groups import leaders_key, template_key
from fairlead.contracts.leaderworker.decide.normal_form import (
    NETWORK,
    PATCH_MARK,
    TEMPLATE,
    UnreadableData,
    is_same,
    maps_in,
)
from fairlead.contracts.leaderworker.decide.unchanged import has_own_key
from fairlead.contracts.leaderworker.kinds import (
    HISTORY_HASH,
    NAME,
    REVISION_HISTORY_LIMIT,
    REVISION_KEY,
    SHARED,
    LeaderWorkerSet,
    Revision,
    StatefulSet,
)
from fairlead.core.integers import parse_integer
from kubeloop.go_json import canonical, go_json
from kubeloop.safe_hash import safe_hash

LONGEST_PREFIX = 220
"""Bytes of the set's name in that of a revision: hash and number still fit."""
_COUNTER_BYTES = 4


class Occasion(Enum):
    """Why a revision is made (section 3.12 point 6)."""

    MISSING = 1
    """The leader StatefulSet carries a key of which there is none."""
    NEW = 2
    """There is no leader StatefulSet."""
    UPDATED = 3
    """The spec says something else than the revision of the leader StatefulSet's key."""


class Sameness(Enum):
    """How it was found that nothing changed."""

    BYTES = "bytes"
    NORMAL = "normal"
    WITNESS = "witness"


class Kept(Struct, frozen=True, tag=True):
    """The revision of the leader StatefulSet's key still holds."""

    revision: Revision
    sameness: Sameness


class Reused(Struct, frozen=True, tag=True):
    """Another revision says what the spec says; it becomes the newest where `number` is higher than its own."""

    revision: Revision
    number: int
    occasion: Occasion


class Drafted(Struct, frozen=True, tag=True):
    """A revision that is to be created before anything carries its key."""

    name: str
    key: str
    number: int
    data: bytes
    occasion: Occasion

    @property
    def renumbered(self) -> Drafted:
        """The same with the next number, where somebody has the name."""
        stem, number = self.name.rpartition("-")[0], self.number + 1
        return replace(self, name=f"{stem}-{number}", number=number)


class Unusable(Struct, frozen=True, tag=True):
    """The revision of the leader StatefulSet's key cannot be read: nothing rolls."""

    revision: Revision
    problem: str


Selection: TypeAlias = Kept | Reused | Drafted | Unusable


def data_of(seen: LeaderWorkerSet) -> bytes:
    """What a revision of this spec stores, as upstream writes it (section 3.12 point 1); hashed, it is the key."""
    network = seen.spec.network_config
    maps = {
        TEMPLATE: go_form(TEMPLATE, seen.spec.leader_worker_template),
        NETWORK: go_form(NETWORK, {"subdomainPolicy": SHARED} if network is None else network),
    }
    return go_json({"spec": {name: {**tree, PATCH_MARK: "replace"} for name, tree in maps.items()}})


def revised(seen: LeaderWorkerSet, data: bytes) -> LeaderWorkerSet:
    """The live set with the two maps of a revision; raises UnreadableData (section 3.12 point 2)."""
    template, network = maps_in(data)
    return replace(seen, spec=replace(seen.spec, leader_worker_template=template, network_config=network))


def name_of(owner: str, hashed: str, number: int) -> str:
    """Section 3.12 point 3."""
    return f"{owner.encode()[:LONGEST_PREFIX].decode(errors='ignore')}-{hashed}-{number}"


def key_of(revision: Revision) -> str:
    return revision.metadata.labels.get(REVISION_KEY, "")


def stored(revision: Revision) -> bytes:
    """Its data in the one spelling that two equal ones share; what is no JSON as it is."""
    data = bytes(revision.data)
    try:
        return canonical(data)
    except ValueError:
        return data


def usable(revision: Revision) -> bytes:
    """The same, if groups can be made from it; raises UnreadableData."""
    data = stored(revision)
    template, _ = maps_in(data)
    if not isinstance(template.get("workerTemplate"), dict):
        raise UnreadableData("it holds no template of workers")
    return data


def is_owned(revision: Revision, seen: LeaderWorkerSet) -> bool:
    return revision.metadata.controller_uid == seen.metadata.uid


def readable(seen: LeaderWorkerSet, revisions: Iterable[Revision]) -> list[Revision]:
    """Those of this set, owned by it or by nobody, oldest first (section 3.12 point 5).

    The StatefulSet controller copies the labels to its own revisions, so that only the owner tells them apart; where
    somebody has deleted its StatefulSet and left them, the label that it puts there besides.
    """
    found = [
        each
        for each in revisions
        if each.metadata.labels.get(NAME) == seen.metadata.name
        and each.metadata.namespace == seen.metadata.namespace
        and _may_be_ours(each, seen)
        and each.metadata.deletion_timestamp is None
    ]
    return sorted(found, key=lambda each: (each.revision, each.metadata.name))


def _may_be_ours(revision: Revision, seen: LeaderWorkerSet) -> bool:
    owner = revision.metadata.controller_uid
    return owner == seen.metadata.uid or (not owner and HISTORY_HASH not in revision.metadata.labels)


def with_key(revisions: Sequence[Revision], key: str) -> Revision | None:
    """The newest that carries the key; revisions are in order."""
    return next((each for each in reversed(revisions) if key and key_of(each) == key), None)


def selection(seen: LeaderWorkerSet, leaders: StatefulSet | None, revisions: Iterable[Revision]) -> Selection:
    """The revision that the set is at, or is to be at, by what its leaders carry.

    A key that somebody else gave them, by an edit or with a StatefulSet from a backup, is no witness: they would go
    back to it against the spec, and without a word.
    """
    if leaders is None:
        return select(seen, None, revisions)
    key = leaders_key(leaders)
    return select(seen, key, revisions, is_witness=template_key(leaders) in ("", key) and has_own_key(leaders))


def select(
    seen: LeaderWorkerSet, leader_key: str | None, revisions: Iterable[Revision], *, is_witness: bool = True
) -> Selection:
    """The same by their key, which is None where there is no leader StatefulSet.

    `is_witness`: the revision of this key is the one that was applied last, as far as the leaders tell.
    """
    everything = list(revisions)
    known = readable(seen, everything)
    wanted = data_of(seen)
    current = with_key(known, leader_key or "")
    if leader_key and current is None:
        return _drafted(seen, everything, known, wanted, Occasion.MISSING, leader_key)
    if current is None:
        return _reused_or_drafted(seen, everything, known, wanted, Occasion.NEW)
    match _compared(seen, wanted, current, is_witness):
        case Sameness() as sameness:
            return Kept(current, sameness)
        case str() as problem:
            return Unusable(current, problem)
    return _reused_or_drafted(seen, everything, known, wanted, Occasion.UPDATED)


def _compared(seen: LeaderWorkerSet, wanted: bytes, current: Revision, is_witness: bool) -> Sameness | str | None:
    """How they are the same, why that cannot be told, or None where they differ."""
    data = stored(current)
    if data == wanted:
        return Sameness.BYTES
    try:
        if is_same(wanted, usable(current)):
            return Sameness.NORMAL
    except UnreadableData as error:
        return (
            f"ControllerRevision {current.metadata.name} cannot be used: {error}; "
            "delete it, and what the spec says is recorded again under its key"
        )
    return Sameness.WITNESS if is_witness and _is_unchanged(seen) else None


def _is_unchanged(seen: LeaderWorkerSet) -> bool:
    """Whether no edit came since the last complete round: then a difference is one of spelling (section 3.13 point 4).

    Every edit of the spec raises the generation, and a round reports the one that it has recorded and applied.
    """
    return seen.status.observed_generation == seen.metadata.generation > 0


def _reused_or_drafted(
    seen: LeaderWorkerSet, everything: Sequence[Revision], known: Sequence[Revision], wanted: bytes, occasion: Occasion
) -> Reused | Drafted:
    """Section 3.12 point 7: failed applies, restarts and reverts never pile revisions up."""
    equal = [each for each in known if is_owned(each, seen) and _says(each, wanted)]
    if not equal:
        return _drafted(seen, everything, known, wanted, occasion)
    newest = equal[-1]
    others = [each.revision for each in known if each is not newest]
    number = max([newest.revision, *(each + 1 for each in others)])
    return Reused(newest, number, occasion)


def _says(revision: Revision, wanted: bytes) -> bool:
    try:
        return is_same(wanted, stored(revision))
    except UnreadableData:
        return False


def _drafted(
    seen: LeaderWorkerSet,
    everything: Sequence[Revision],
    known: Sequence[Revision],
    wanted: bytes,
    occasion: Occasion,
    key: str = "",
) -> Drafted:
    hashed = safe_hash(wanted) if key else _free_hash(known, wanted)
    taken = {each.metadata.name for each in everything if each.metadata.namespace == seen.metadata.namespace}
    number = max((each.revision for each in known), default=0) + 1
    drafted = Drafted(name_of(seen.metadata.name, hashed, number), key or hashed, number, wanted, occasion)
    while drafted.name in taken:
        drafted = drafted.renumbered
    return drafted


def _free_hash(known: Sequence[Revision], wanted: bytes) -> str:
    """The hash of the data, or of data and a counter where other data has it (section 3.12 points 4 and 8)."""
    taken = {key_of(each) for each in known if not _says(each, wanted)}
    return next(each for each in _hashes(wanted) if each not in taken)


def _hashes(wanted: bytes) -> Iterator[str]:
    yield safe_hash(wanted)
    for counter in range(1 << 8 * _COUNTER_BYTES):
        yield safe_hash(wanted + counter.to_bytes(_COUNTER_BYTES, "little"))


class HistoryLimit(Struct, frozen=True):
    limit: int
    problem: str = ""


def history_limit(seen: LeaderWorkerSet, default: int) -> HistoryLimit:
    """How many old revisions are kept (section 6.4)."""
    asked = seen.metadata.annotations.get(REVISION_HISTORY_LIMIT)
    if asked is None:
        return HistoryLimit(default)
    try:
        limit = parse_integer(asked, bits=32)
    except ValueError:
        limit = -1
    if limit >= 0:
        return HistoryLimit(limit)
    problem = f"{REVISION_HISTORY_LIMIT} is {asked!r}, which is no number of revisions; {default} are kept instead"
    return HistoryLimit(default, problem)


def surplus(
    seen: LeaderWorkerSet, revisions: Iterable[Revision], current_key: str, carried: frozenset[str], limit: int
) -> list[Revision]:
    """What a finished update deletes, oldest first: all that is owned but the current one and the history.

    Never one whose key some leader pod or worker StatefulSet still carries, because its group is rebuilt from it
    (section 3.12 point 9).
    """
    owned = [each for each in readable(seen, revisions) if is_owned(each, seen)]
    current = with_key(owned, current_key)
    if current is None:
        return []
    old = [each for each in owned if key_of(each) != current_key]
    kept = {each.metadata.uid for each in old[len(old) - min(limit, len(old)) :]} | {current.metadata.uid}
    return [
        each
        for each in owned
        if each.metadata.uid not in kept and (key_of(each) == current_key or key_of(each) not in carried)
    ]
