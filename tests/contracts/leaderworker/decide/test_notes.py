"""Events have the words, the action and the related object of the contract (section 2.15)."""

from __future__ import annotations

import pytest

from fairlead.contracts.leaderworker.decide import notes
from fairlead.contracts.leaderworker.decide.planner import Plan, Row, Stage
from fairlead.contracts.leaderworker.decide.revisions import Drafted, Occasion
from fairlead.contracts.leaderworker.decide.status import StatusEvent
from fairlead.core.act import EventNote
from tests.contracts.leaderworker.decide.some import UID, a_leader, a_set

SEEN = a_set()
LEADER = a_leader(1).metadata
REVISION = notes.revision_ref(SEEN, "a-k-1", "revision")


def a_plan(partition: int = 0, replicas: int = 2, blocked_by: tuple[int, ...] = ()) -> Plan:
    return Plan(partition, replicas, Row.ROLL, Stage.ROLLING, blocked_by)


def drafted(occasion: Occasion) -> Drafted:
    return Drafted("a-k-1", "k", 1, b"{}", occasion)


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        (
            notes.creating_revision(SEEN, drafted(Occasion.NEW)),
            (
                "CreatingRevision Create Creating revision with key k for a newly created LeaderWorkerSet > "
                "ControllerRevision a-k-1"
            ),
        ),
        (
            notes.creating_revision(SEEN, drafted(Occasion.MISSING)),
            (
                "CreatingRevision Create Creating missing revision with key k for existing LeaderWorkerSet > "
                "ControllerRevision a-k-1"
            ),
        ),
        (
            notes.creating_revision(SEEN, drafted(Occasion.UPDATED)),
            "CreatingRevision Create Creating revision with key k for updated LWS > ControllerRevision a-k-1",
        ),
        (
            notes.created_leaders(SEEN, REVISION),
            "GroupsProgressing Create Created leader statefulset a > ControllerRevision a-k-1",
        ),
        (
            notes.created_workers(SEEN, LEADER),
            "GroupsProgressing Create Created worker statefulset for leader pod a-1 > Pod a-1",
        ),
        (
            notes.updating(SEEN, 4, a_plan(3), REVISION),
            "GroupsUpdating Update Updating replica 3 > ControllerRevision a-k-1",
        ),
        (
            notes.updating(SEEN, 4, a_plan(1), REVISION),
            "GroupsUpdating Update Updating replicas 1 to 3 (inclusive) > ControllerRevision a-k-1",
        ),
        (notes.updating(SEEN, 3, a_plan(3), REVISION), None),
        (notes.updating(SEEN, 3, a_plan(4), REVISION), None),
        (notes.reclaiming(SEEN, 5, a_plan(0, 4)), "GroupsProgressing Delete deleting surge replica a-4"),
        (notes.reclaiming(SEEN, 7, a_plan(0, 4)), "GroupsProgressing Delete deleting surge replicas from a-4 to a-6"),
        (notes.reclaiming(SEEN, 4, a_plan(0, 4)), None),
        (
            notes.turned(
                SEEN, StatusEvent("AllGroupsReady", "All replicas are ready, with 2 groups ready of total 2 groups")
            ),
            "AllGroupsReady Update All replicas are ready, with 2 groups ready of total 2 groups",
        ),
        (
            notes.recreated(SEEN, "a-1-2", LEADER),
            "RecreateGroup Delete Worker pod a-1-2 failed, deleted leader pod a-1 to recreate group 1 > Pod a-1",
        ),
        (notes.leaders_not_created(SEEN, "no"), "! FailedCreate Create Failed to create leader statefulset a: no"),
        (notes.leaders_not_updated(SEEN, "no"), "! FailedUpdate Update Failed to update leader statefulset a: no"),
        (
            notes.workers_not_created(SEEN, LEADER, "no"),
            "! FailedCreate Create Failed to create worker statefulset for leader pod a-1: no > Pod a-1",
        ),
        (
            notes.service_not_created(SEEN, "no"),
            "! FailedCreate Create Failed to create headless service for error: no",
        ),
        (
            notes.nested_leader(SEEN, LEADER),
            (
                "! FailedCreate Create leader pod default/a-1 contains mistake annotation "
                "'leaderworkerset.sigs.k8s.io/leader-name': requires Kubernetes ≥v1.27 or v1.26 with "
                "StatefulSetStartOrdinal feature > Pod a-1"
            ),
        ),
        (
            notes.blocked(SEEN, a_plan(2, blocked_by=(0, 1))),
            (
                "! RolloutBlocked Update The rollout waits for old groups that are not ready: 0, 1; to update "
                "others would exceed the budget"
            ),
        ),
        (notes.blocked(SEEN, a_plan()), None),
    ],
)
def test_every_event(note: EventNote | None, expected: str | None) -> None:
    assert shown(note) == expected


def shown(note: EventNote | None) -> str | None:
    if note is None:
        return None
    assert (note.about.resource.kind, note.about.name, note.about.uid) == ("LeaderWorkerSet", "a", UID)
    related = f" > {note.related.resource.kind} {note.related.name}" if note.related else ""
    return f"{'! ' if note.warning else ''}{note.reason} {note.action} {note.text}{related}"
