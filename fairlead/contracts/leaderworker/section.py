"""What `fairlead operator` is told about leaders and workers: an option of the command, and keys of a section."""

from __future__ import annotations

from fairlead.contracts.leaderworker.settings import Settings
from fairlead.core.alternatives import alternatives
from fairlead.core.flags import Flag, FlagError, FlagKind, Given
from fairlead.core.option_kinds import SWITCH, option
from fairlead.engine.program import INTERVAL, CommonOptions, Section

GANG_SCHEDULERS = ("volcano",)


def _limit(texts: tuple[str, ...]) -> int:
    text = texts[-1]
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ValueError(f'is "{text}": set it to a whole number of 0 or more')
    return int(text)


def _written_limit(value: object) -> tuple[str, ...]:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError("is no number: set it to a whole number of 0 or more")  # noqa: TRY004
    return (str(value),)


LIMIT: FlagKind[int] = FlagKind("NUMBER", _limit, str, _written_limit)

HISTORY = Flag(
    "lws-revision-history-limit",
    LIMIT,
    5,
    "old revisions of a LeaderWorkerSet that are kept for undoing (default 5)",
)
GANG_SCHEDULER = Flag(
    "lws-gang-scheduler", option("NAME"), "", "scheduler whose PodGroups are made for groups: volcano"
)


BUDGETS = Flag("lws-disruption-budgets", SWITCH, False, "keep PodDisruptionBudgets for sets that ask for a budget")
EVICTIONS = Flag("lws-eviction-webhook", SWITCH, False, "the webhook of evictions is registered and bounds them")


def gang_scheduler_of(given: Given) -> str:
    """Raises FlagError for one that is not known."""
    scheduler = given[GANG_SCHEDULER]
    if scheduler and scheduler not in GANG_SCHEDULERS:
        known = alternatives(GANG_SCHEDULERS)
        raise FlagError(f'{given.place(GANG_SCHEDULER)} is "{scheduler}": this release supports {known}')
    return scheduler


def _settings(given: Given, _: CommonOptions) -> Settings:
    return Settings(
        history_limit=given[HISTORY],
        gang_scheduler=gang_scheduler_of(given),
        keeps_budgets=given[BUDGETS],
        reviews_evictions=given[EVICTIONS],
    )


SECTION = Section(flags=(HISTORY, GANG_SCHEDULER, BUDGETS, EVICTIONS, INTERVAL), are_options=True, settings=_settings)
