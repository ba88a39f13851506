"""The metric of rollouts that cannot go on."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from fairlead.core.decision import Decision, Hold
from fairlead.core.explain import Explain
from fairlead.core.reason import Reason, ReasonKind
from fairlead.engine.blocked_metric import telling_blocked
from fairlead.engine.controller import Controller, Nobody, RolloutKey
from fairlead.engine.metrics import Metrics

KEY = RolloutKey(("shop", "ingester"))
NOW = datetime(2026, 1, 1, tzinfo=UTC)


def unasked(*_: object) -> Explain:
    raise AssertionError("nobody asked for a document")


class Gone(Nobody):
    """Hears of rollouts that vanish."""

    def __init__(self) -> None:
        self.heard: list[RolloutKey] = []

    def vanished(self, key: RolloutKey) -> None:
        self.heard.append(key)


def a_controller(name: str, **given: Any) -> Controller[Any]:
    """One that decides nothing."""
    return Controller(
        name=name,
        informers=(),
        subscribe=lambda _: None,
        watched=lambda _: {},
        scopes=lambda _: (),
        rollouts=tuple,
        gather=lambda *_: None,
        versions=lambda _: (),
        decide=lambda *_: Decision("rule", Hold(Reason.COMPLETE)),
        say=lambda *_: (),
        writes=frozenset(),
        done={},
        **given,
    )


def series(metrics: Metrics) -> list[str]:
    return [line for line in metrics.exposition().decode().splitlines() if line.startswith("fairlead_rollout_blocked")]


def test_a_blocked_rollout_is_1_with_its_reason() -> None:
    metrics = Metrics()

    metrics.blocked.passed("zones", KEY, Reason.POD_STUCK)

    assert series(metrics) == [
        'fairlead_rollout_blocked{namespace="shop",part="zones",reason="PodStuck",rollout="ingester"} 1.0'
    ]


@pytest.mark.parametrize("reason", [Reason.BUDGET_USED, Reason.PAUSED, Reason.ROLLING, Reason.COMPLETE])
def test_one_that_goes_on_waits_or_is_held_is_0_and_has_no_reason(reason: Reason) -> None:
    metrics = Metrics()
    metrics.blocked.passed("zones", KEY, Reason.POD_STUCK)

    metrics.blocked.passed("zones", KEY, reason)

    (line,) = series(metrics)
    assert line == 'fairlead_rollout_blocked{namespace="shop",part="zones",reason="",rollout="ingester"} 0.0'


@pytest.mark.parametrize(
    "reason", [reason for reason in Reason if reason.kind in (ReasonKind.INVALID, ReasonKind.FAILED)]
)
def test_what_is_wrong_or_fails_blocks_too(reason: Reason) -> None:
    metrics = Metrics()

    metrics.blocked.passed("zones", KEY, reason)

    assert series(metrics)[0].endswith(" 1.0")


def test_a_rollout_has_one_series_whatever_its_reasons_were() -> None:
    metrics = Metrics()

    for reason in Reason:
        metrics.blocked.passed("zones", KEY, reason)

    assert len(series(metrics)) == 1


def test_parts_have_rollouts_of_the_same_name() -> None:
    metrics = Metrics()
    metrics.blocked.passed("zones", KEY, Reason.POD_STUCK)
    metrics.blocked.passed("environments", KEY, Reason.COMPLETE)

    metrics.blocked.vanished("environments", KEY)

    assert len(series(metrics)) == 1


def test_a_replica_that_no_longer_leads_tells_nothing() -> None:
    """Another one decides from then on; an alert would go by the worse of the two."""
    metrics = Metrics()
    metrics.blocked.passed("zones", KEY, Reason.POD_STUCK)

    metrics.lead(("zones",), True)
    assert series(metrics)
    metrics.lead(("zones",), False)

    assert series(metrics) == []


def test_every_rollout_is_told_of_and_rounds_that_are_no_rollouts_are_not() -> None:
    metrics, seen = Metrics(), list[str]()
    rollouts = a_controller("zones", explain=unasked, observe=lambda *_: seen.append("observed"))
    others = a_controller("ready-time")

    for controller in (telling_blocked(rollouts, metrics.blocked), telling_blocked(others, metrics.blocked)):
        if controller.observe is not None:
            controller.observe(KEY, None, Decision("rule", Hold(Reason.POD_STUCK)), NOW)

    assert seen == ["observed"], "what the contract observes is told as well"
    (line,) = series(metrics)
    assert 'part="zones",reason="PodStuck"' in line


def test_a_rollout_that_is_gone_has_no_series() -> None:
    metrics, watcher = Metrics(), Gone()
    told = telling_blocked(a_controller("zones", explain=unasked, watcher=watcher), metrics.blocked)
    metrics.blocked.passed("zones", KEY, Reason.POD_STUCK)

    told.watcher.vanished(KEY)

    assert series(metrics) == []
    assert watcher.heard == [KEY], "and the contract's own watcher hears it"
