"""When a migration rests and when it begins, decided without a cluster."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec import structs

from fairlead.core.ask import Answers, Need
from fairlead.core.decision import Hold
from fairlead.core.reason import Reason
from fairlead.engine.decide.job import JobSnapshot, Turn
from fairlead.engine.decide.migration import Plan
from fairlead.engine.decide.migration_job import (
    LOOKS,
    MigrationJournal,
    MigrationPace,
    MigrationView,
    Phase,
    step,
)
from kubeloop.objects.meta import Resource

NOW = datetime(2030, 1, 1, tzinfo=UTC)
PACE = MigrationPace()
DAY = timedelta(days=1)
PLAN = Plan(Resource("shop.example.com", "v2", "widgets", "Widget"), "u", ("v1", "v2"), (("v2", True, True),))
FINISHED = MigrationJournal(until=NOW + LOOKS)
FAILED = MigrationJournal(until=NOW + timedelta(seconds=300), problem="2 objects could not be written", runs_failed=9)


def stepped(journal: MigrationJournal | None, now: datetime, *, mixed: bool = False) -> Turn[MigrationJournal] | Need:
    view = MigrationView("widgets.shop.example.com", mixed, PACE)
    return step(JobSnapshot("migration", Answers(), view, journal), now)


def begins(journal: MigrationJournal | None, now: datetime, *, mixed: bool = False) -> bool:
    """Whether it asks for the definition."""
    return isinstance(stepped(journal, now, mixed=mixed), Need)


def test_a_job_without_a_journal_begins() -> None:
    assert begins(None, NOW)


@pytest.mark.parametrize("journal", [FINISHED, FAILED], ids=["after it finished", "after a run that failed"])
def test_it_rests_for_as_long_as_it_said(journal: MigrationJournal) -> None:
    assert journal.until is not None

    assert not begins(journal, NOW)
    assert not begins(journal, journal.until - timedelta(seconds=1))
    assert begins(journal, journal.until)


def test_a_definition_that_shows_other_versions_again_ends_the_rest_but_no_back_off() -> None:
    assert begins(FINISHED, NOW, mixed=True)
    assert not begins(FAILED, NOW, mixed=True)


@pytest.mark.parametrize("journal", [FINISHED, FAILED], ids=["after it finished", "after a run that failed"])
def test_a_clock_that_was_set_back_does_not_keep_it_at_rest(journal: MigrationJournal) -> None:
    assert begins(journal, NOW - DAY)


def test_it_settles_for_no_longer_than_it_takes_whatever_the_clock_says() -> None:
    settling = timedelta(seconds=PACE.settling)
    again = MigrationJournal(phase=Phase.REWRITE_AGAIN, plan=PLAN, heard_by_all=NOW + settling)

    for now in (NOW, NOW - DAY):
        turn = stepped(again, now)
        assert isinstance(turn, Turn)
        assert turn.decision.verdict == Hold(Reason.STORAGE_SETTLING, now + settling)
        assert turn.journal == structs.replace(again, heard_by_all=now + settling)
    assert isinstance(stepped(again, NOW + settling), Need)
