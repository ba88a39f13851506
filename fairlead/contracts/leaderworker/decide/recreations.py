"""How often a group may be recreated, and how soon again: two annotations, and the counters behind them (section 6.8).

The counters stand in one annotation of the leader StatefulSet, `{"KEY/i": {"n": 2, "at": "…", "of": "UID"}}`. They are
written before the deletion that they count, so that whoever comes after a crash goes on from them: an entry names the
leader whose deletion it has counted. Times only space recreations; whatever becomes of the clock, none is lost or free.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TypeAlias

import msgspec
from msgspec import Struct

from fairlead.contracts.leaderworker.kinds import (
    GROUP_RECREATIONS,
    MAX_GROUP_RESTARTS,
    RECREATE_BACK_OFF,
    LeaderWorkerSet,
    StatefulSet,
)
from fairlead.core.integers import parse_integer
from kubeloop.durations import parse_go
from kubeloop.unreadable import UNREADABLE

DEFAULT_LONGEST = timedelta(minutes=5)
_MOST_DOUBLINGS = 62


class Recreations(Struct, frozen=True, omit_defaults=True):
    """Of one key and index."""

    n: int = 0
    at: datetime | None = None
    """When the last one was."""
    due: str = ""
    """UID of the leader for which a trigger is kept."""
    of: str = ""
    """UID of the leader whose deletion was counted last."""


Counters: TypeAlias = Mapping[str, Recreations]


class RecreationBackOff(Struct, frozen=True):
    first: timedelta
    longest: timedelta

    def after(self, count: int) -> timedelta:
        """With 2 s at first: 2, 4, 8 s, … after the first, second and third recreation."""
        seconds = self.first.total_seconds() * 2.0 ** min(count - 1, _MOST_DOUBLINGS)
        return timedelta(seconds=min(seconds, self.longest.total_seconds()))


class RecreationLimits(Struct, frozen=True):
    """What a set asks for; without any, groups are recreated at once and for ever."""

    back_off: RecreationBackOff | None = None
    most: int | None = None
    problems: tuple[str, ...] = ()
    """A sentence for each annotation that counts as absent because it cannot be used."""

    @property
    def counts(self) -> bool:
        return self.back_off is not None or self.most is not None


def limits_of(seen: LeaderWorkerSet) -> RecreationLimits:
    problems: list[str] = []
    return RecreationLimits(_back_off(seen, problems), _most(seen, problems), tuple(problems))


def _back_off(seen: LeaderWorkerSet, problems: list[str]) -> RecreationBackOff | None:
    asked = seen.metadata.annotations.get(RECREATE_BACK_OFF)
    if asked is None:
        return None
    first_text, comma, longest_text = asked.partition(",")
    try:
        first = timedelta(seconds=parse_go(first_text.strip()))
        longest = timedelta(seconds=parse_go(longest_text.strip())) if comma else max(first, DEFAULT_LONGEST)
    except (ValueError, OverflowError):
        first = longest = timedelta(0)
    if timedelta(0) < first <= longest:
        return RecreationBackOff(first, longest)
    problems.append(
        f"{RECREATE_BACK_OFF} is {asked!r}, which is no FIRST[,LONGEST] of durations such as 10s,5m; it is ignored"
    )
    return None


def _most(seen: LeaderWorkerSet, problems: list[str]) -> int | None:
    asked = seen.metadata.annotations.get(MAX_GROUP_RESTARTS)
    if asked is None:
        return None
    try:
        most = parse_integer(asked, bits=32)
    except ValueError:
        most = -1
    if most >= 0:
        return most
    problems.append(f"{MAX_GROUP_RESTARTS} is {asked!r}, which is no number of recreations; it is ignored")
    return None


def counters_on(leaders: StatefulSet | None) -> Counters:
    """What is recorded; what cannot be read counts as nothing."""
    text = "" if leaders is None else leaders.metadata.annotations.get(GROUP_RECREATIONS, "")
    try:
        found = msgspec.json.decode(text.encode(), type=dict[str, Recreations])
    except UNREADABLE:
        return {}
    return {name: each for name, each in found.items() if each.n >= 0 and (each.at is None or each.at.tzinfo)}


def entry_name(key: str, index: int) -> str:
    return f"{key}/{index}"


def written(counters: Counters, living: frozenset[str]) -> str:
    """The annotation, without the entries of keys and indexes that are gone."""
    kept = {name: each for name, each in counters.items() if name in living}
    return msgspec.json.encode(kept, order="sorted").decode()


def failed_groups(limits: RecreationLimits, counters: Counters, leaders_by_name: Mapping[str, str]) -> list[int]:
    """Indexes of groups that are left as they are; `leaders_by_name` has the UID of each group's leader."""
    if limits.most is None:
        return []
    return sorted(
        int(name.rpartition("/")[2])
        for name, uid in leaders_by_name.items()
        if (entry := counters.get(name)) is not None and entry.n >= limits.most and entry.due == uid
    )
