"""Documents of migrations and offline upgrades: what their journals say, and whether somebody works on them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from fairlead.contracts.apiversions.explain import Upgraded, Worker, migration, upgrade
from fairlead.core import outcome
from fairlead.engine.decide.migration import MigrationPlan
from fairlead.engine.decide.storage_migration.journal import Counts, MigrationPhase, ObjectFailure, StorageJournal
from kubeloop.objects.meta import Resource

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
AT_WORK = Worker("somebody_1", NOW + timedelta(seconds=10))
LEFT = Worker("somebody_1", NOW - timedelta(seconds=1))
CRD = "widgets.example.test"
PLAN = MigrationPlan(Resource("example.test", "v2", "widgets", "Widget"), "u-1", ("v1", "v2"), ())


def a_journal(phase: MigrationPhase, **more: object) -> StorageJournal:
    counts = Counts(done=40, skipped=2, total=100)
    return StorageJournal(**{"crd": CRD, "phase": phase, "plan": PLAN, "counts": counts, **more})  # type: ignore[arg-type]


def an_upgrade(state: str, **more: object) -> Upgraded:
    given = {
        "crd": CRD,
        "state": state,
        "directory": "/backup",
        "done": 3,
        "failed": 0,
        "problem": "",
        "is_over": False,
        "is_back": False,
    }
    return Upgraded(**{**given, **more})  # type: ignore[arg-type]


def test_a_migration_that_somebody_works_on_moves() -> None:
    shown = migration("fairlead-system", a_journal(MigrationPhase.REWRITE), AT_WORK, NOW)

    assert (shown.outcome, shown.stands.phase) == (outcome.MOVING, "Rewrite")
    assert (shown.stands.done, shown.stands.total) == (42, 100)
    (lane,) = shown.stands.lanes
    assert (lane.from_revision, lane.to_revision) == ("v1", "v2")
    assert shown.blocked_by == ()
    assert shown.next


@pytest.mark.parametrize("worker", [LEFT, Worker()], ids=["killed", "ended"])
def test_one_that_nobody_works_on_says_how_it_goes_on(worker: Worker) -> None:
    shown = migration("fairlead-system", a_journal(MigrationPhase.REWRITE), worker, NOW)

    (block,) = shown.blocked_by
    assert shown.outcome == outcome.HELD
    assert block.text == "nobody works on it; it stopped at Rewrite"
    assert block.advice == (f"fairlead api migrate {CRD}",)


def test_failed_objects_are_named_and_block() -> None:
    failures = tuple(ObjectFailure(f"demo/w-{number}", "denied by a policy") for number in range(5))

    shown = migration(
        "fairlead-system",
        a_journal(MigrationPhase.INCOMPLETE, failures=failures, problem="5 objects failed"),
        Worker(),
        NOW,
    )

    (block,) = shown.blocked_by
    assert shown.outcome == outcome.BLOCKED
    assert block.text.startswith("5 objects failed (demo/w-0: denied by a policy; demo/w-1:")
    assert block.text.endswith("; and 2 more)")


def test_a_definition_that_changed_ends_it() -> None:
    shown = migration(
        "fairlead-system", a_journal(MigrationPhase.CONFLICT, problem="the storage version is v1"), Worker(), NOW
    )

    assert shown.outcome == outcome.BLOCKED
    assert shown.ended


def test_a_clean_one_is_done_whoever_holds_the_lease() -> None:
    assert migration("fairlead-system", a_journal(MigrationPhase.CLEAN), AT_WORK, NOW).outcome == outcome.DONE


def test_an_upgrade_that_was_cut_off_can_go_on_or_be_undone() -> None:
    shown = upgrade("fairlead-system", an_upgrade("Converting"), LEFT, NOW)

    (block,) = shown.blocked_by
    assert (shown.noun, shown.outcome) == ("upgrade", outcome.HELD)
    assert [each.split(" --")[1] for each in block.advice] == ["resume", "rollback"]
    assert all("--backup /backup" in each for each in block.advice)


@pytest.mark.parametrize(
    ("state", "is_back", "word"),
    [("Done", False, outcome.DONE), ("RolledBack", True, outcome.REVERTED)],
)
def test_an_upgrade_ends_done_or_as_it_was(state: str, is_back: bool, word: str) -> None:
    shown = upgrade("fairlead-system", an_upgrade(state, is_over=True, is_back=is_back), Worker(), NOW)

    assert shown.outcome == word
    assert shown.blocked_by == ()


def test_an_upgrade_that_somebody_works_on_moves() -> None:
    assert upgrade("fairlead-system", an_upgrade("Converting"), AT_WORK, NOW).outcome == outcome.MOVING
