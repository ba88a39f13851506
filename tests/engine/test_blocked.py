"""The metric of rollouts that cannot go on."""

from __future__ import annotations

import pytest

from fairlead.core.reason import Reason, ReasonKind
from fairlead.engine.controller import RolloutKey
from fairlead.engine.metrics import Metrics

KEY = RolloutKey(("shop", "ingester"))


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
