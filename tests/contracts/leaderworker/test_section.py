"""What `fairlead operator` is told about leaders and workers (section 6.4)."""

from __future__ import annotations

import pytest

from fairlead.cli.flags.options import given_in_section
from fairlead.contracts.leaderworker.section import SECTION
from fairlead.contracts.leaderworker.settings import Settings
from fairlead.core.flags import FlagError, Given
from fairlead.engine.program import CommonOptions


def settings(**section: object) -> Settings:
    given = given_in_section(
        SECTION.flags, {key.replace("_", "-"): value for key, value in section.items()}, "leaderworker", "file"
    )
    made = SECTION.settings(given, CommonOptions())
    assert isinstance(made, Settings)
    return made


def test_five_revisions_are_kept_where_nobody_says_otherwise() -> None:
    assert SECTION.settings(Given({}), CommonOptions()) == Settings(5, "", "")


def test_a_section_says_how_many_revisions_are_kept_and_who_schedules() -> None:
    assert settings(lws_revision_history_limit=0, lws_gang_scheduler="volcano") == Settings(0, "volcano", "")


@pytest.mark.parametrize("limit", [-1, True, 1.5, "many", "9" * 30])
def test_a_limit_that_is_none_is_refused(limit: object) -> None:
    with pytest.raises(FlagError, match="set it to a whole number of 0 or more"):
        settings(lws_revision_history_limit=limit)


def test_a_scheduler_that_is_not_known_is_refused() -> None:
    with pytest.raises(FlagError, match='is "kueue": this release supports volcano'):
        settings(lws_gang_scheduler="kueue")


def test_a_section_switches_budgets_on() -> None:
    made = settings(lws_disruption_budgets=True, lws_eviction_webhook=True)

    assert made == Settings(5, keeps_budgets=True, reviews_evictions=True)
