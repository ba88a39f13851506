"""Which event led from one state to another, for whoever counts: the status tells states and no events."""

from __future__ import annotations

from fairlead.contracts.plans.decide.states import TABLE, Event
from fairlead.contracts.plans.kinds import BATCH_REFUSED, FAILED, FAILING, ROLLING

FAILURE = "RollingFailedEvent"
"""That of a failure, which leads from everywhere to the same states (R-9)."""


def place_in(told: str) -> str:
    """The state that the table goes by, of a state and a batch state with a space between."""
    state, _, batch = told.partition(" ")
    return batch if state == ROLLING else state


def event_between(before: str, told: str) -> str:
    """From a state to one that is told with its batch state; empty where no event leads there."""
    after, (state, _, batch) = place_in(told), told.partition(" ")
    if state == FAILING:
        return Event.CHECK_REFUSED.value if batch == BATCH_REFUSED else FAILURE
    for (place, event), edge in TABLE.items():
        if place == before and after == (edge.batch if edge.state == ROLLING else edge.state):
            return event.value
    return FAILURE if state == FAILED else ""
