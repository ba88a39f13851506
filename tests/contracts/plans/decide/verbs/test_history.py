"""The history of a plan: attempts in the order of time, from Events and from conditions."""

from __future__ import annotations

from typing import Any

from fairlead.contracts.plans.decide.verbs.history import history
from fairlead.contracts.plans.kinds import Json
from fairlead.core.verb import (
    VerbTable,
)
from tests.contracts.plans.decide.cluster import a_pair
from tests.contracts.plans.decide.verbs.asked import Asked, refused


def an_event(reason: str, note: str, at: str, uid: str = "uid-r", **fields: Any) -> Json:
    return {"reason": reason, "note": note, "type": "Normal", "eventTime": at, "regarding": {"uid": uid}, **fields}


def test_history_tells_attempts_in_the_order_of_time() -> None:
    cluster = a_pair()
    cluster.play_to("batchInRolling", 1)
    cluster.ask("abort@2026-03-01T12:00:00Z")
    cluster.play("rolloutFailed")
    events = (
        an_event("Rollout Verified", "fits", "2026-03-01T11:00:00Z"),
        an_event("Rollout Restarted", "again", "2026-03-01T11:30:00Z"),
        an_event("RolloutPaused", "admin paused r with `fairlead pause`: lunch", "2026-03-01T11:10:00.5Z"),
        an_event("Rollout Verified", "of another", "2026-03-01T11:00:00Z", uid="other"),
        an_event("WebhookFailed", "no", "2026-03-01T11:40:00Z", type="Warning", series={"count": 3}),
    )

    found = Asked(cluster, events=events)(history)

    assert isinstance(found, VerbTable)
    assert [(each["ATTEMPT"], each["WHAT"]) for each in found.rows] == [
        ("1", "Rollout Verified"),
        ("1", "RolloutPaused"),
        ("2", "Rollout Restarted"),
        ("2", "WebhookFailed (warning)"),
        ("2", "RolloutFailed True"),
    ]
    assert found.rows[1]["DETAIL"] == "admin paused r with `fairlead pause`: lunch"
    assert found.rows[3]["DETAIL"] == "no (told 3 times)"
    assert (found.rows[-1]["DETAIL"], found.items[-1]["toldBy"]) == ("aborted", "condition")


def test_history_without_events_is_that_of_the_conditions() -> None:
    cluster = a_pair()
    assert refused(Asked(cluster)(history)).startswith("nothing is recorded of r")
    cluster.play("rolloutSucceed")

    found = Asked(cluster)(history)

    assert isinstance(found, VerbTable)
    assert found.rows[0]["WHAT"] == "RolloutSpecVerifying True"
    assert found.rows[-1]["WHAT"] == "RolloutSucceed True"
