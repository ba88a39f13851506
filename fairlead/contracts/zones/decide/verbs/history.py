"""The history of a group as a table: which templates it had, what changed with each, and which zones run it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from fairlead.contracts.zones.decide.verbs.revisions import (
    GroupRevision,
    revisions_of,
    revisions_question,
    together,
)
from fairlead.contracts.zones.decide.verbs.targets import TargetGroup, group_named, pods_of, pods_question
from fairlead.core.ask import Answers, Need
from fairlead.core.differences import Difference, differences
from fairlead.core.verb import Refused, Tree, VerbAnswer, VerbRequest, VerbTable
from kubeloop.objects.apps import REVISION_LABEL

MOST_CHANGES = 3
"""Of a revision, that are shown in its row."""


def history(request: VerbRequest, answers: Answers, now: datetime) -> VerbAnswer | Need:
    group = group_named(request, answers, by_zone=True)
    if not isinstance(group, TargetGroup):
        return group
    if todo := answers.lacking((revisions_question(group), pods_question(group))):
        return Need(todo)
    revisions = revisions_of(group, answers)
    shared = together(revisions)
    if not shared:
        return Refused(f"no revision of {group.shown} is recorded yet: the StatefulSet controller makes them")
    pods = {
        zone: [pod.metadata.labels.get(REVISION_LABEL, "") for pod in found]
        for zone, found in pods_of(group, answers).items()
    }
    found = [
        _row(revision, changes_of(revision, before), group, pods)
        for revision, before in zip(shared, (*shared[1:], None), strict=True)
    ]
    rows = tuple(_for_people(each, now) for each in found)
    return VerbTable(group.name, "RolloutHistory", rows, tuple(found))


def changes_of(revision: GroupRevision, before: GroupRevision | None) -> tuple[Difference, ...]:
    """What came with the revision, as seen in the first zone that has both."""
    if before is None:
        return ()
    zone = next((zone for zone in revision.zones if zone in before.zones), None)
    if zone is None:
        return ()
    return differences(before.zones[zone].template, revision.zones[zone].template)


def _row(
    revision: GroupRevision, changes: tuple[Difference, ...], group: TargetGroup, pods: Mapping[str, list[str]]
) -> Tree:
    wanted = [zone.name for zone in group.zones if _is(revision, zone.name, zone.statefulset.status.update_revision)]
    current = [zone.name for zone in group.zones if _is(revision, zone.name, zone.statefulset.status.current_revision)]
    return {
        "revision": revision.number,
        "label": revision.label,
        "made": revision.made,
        "zones": {zone: {"revision": each.number, "name": each.name} for zone, each in revision.zones.items()},
        "wantedBy": wanted,
        "currentIn": current,
        "pods": {zone: pods[zone].count(each.name) for zone, each in revision.zones.items()},
        "changes": [
            {"path": change.path, "before": change.before, "after": change.after, "text": str(change)}
            for change in changes
        ],
    }


def _is(revision: GroupRevision, zone: str, name: str) -> bool:
    return zone in revision.zones and revision.zones[zone].name == name


def _for_people(row: Tree, now: datetime) -> dict[str, str]:
    pods, zones = row["pods"], row["zones"]
    texts = [change["text"] for change in row["changes"]]
    more = len(texts) - MOST_CHANGES
    shown = "; ".join(texts[:MOST_CHANGES]) + (f" and {more} more" if more > 0 else "")
    return {
        "REVISION": row["label"],
        "AGE": _age(row["made"], now),
        "WANTED BY": _all(row["wantedBy"], zones),
        "CURRENT IN": _all(row["currentIn"], zones),
        "PODS": _counted(pods),
        "CHANGED": shown or "-",
    }


def _all(zones: list[str], having: Mapping[str, object]) -> str:
    """Their names, in one word where it is all of several."""
    if len(zones) > 1 and len(zones) == len(having):
        return "all zones"
    return ", ".join(zones) or "-"


def _counted(pods: Mapping[str, int]) -> str:
    """How many pods run it, where that is the same everywhere said once."""
    if len(pods) > 1 and len(set(pods.values())) == 1:
        count = next(iter(pods.values()))
        return f"{count} in each zone" if count else "-"
    return ", ".join(f"{zone} {count}" for zone, count in pods.items() if count) or "-"


def _age(made: datetime | None, now: datetime) -> str:
    """In the largest unit."""
    if made is None:
        return "-"
    seconds = max(0, int((now - made).total_seconds()))
    unit, size = next((each for each in (("d", 86400), ("h", 3600), ("m", 60)) if seconds >= each[1]), ("s", 1))
    return f"{seconds // size}{unit}"
