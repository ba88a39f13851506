"""Health checks for tests: zones that refer to one, and a Prometheus that answers from a table."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from fairlead.contracts.zones.configuration_kinds import ConfigurationMeta
from fairlead.contracts.zones.decide import Snapshot, decide
from fairlead.contracts.zones.decide.healthchecks.healthcheck_spec import HealthCheck, read
from fairlead.contracts.zones.kinds import GROUP_LABEL, HEALTH_CHECK, HEALTH_CHECK_STARTED
from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Http, Need, Question, Read
from fairlead.core.decision import Decision
from kubeloop.objects.apps import StatefulSet
from tests.builders import GROUP, NOW, a_zone, body_of
from tests.prometheus_answers import scalar, value

QUERY = "sum(rate(errors{${targetMatchers}}[${range}]))"
SUCCESS = "${current} <= bool 2 * ${baseline}"
STARTED = "2026-03-01T11:30:00Z"

Prometheus = Callable[[str, str], Answer]
"""From a query and its time to an answer."""


def a_check(*checks: dict[str, Any], labels: dict[str, str] | None = None, name: str = "errors") -> HealthCheck:
    """Of the group's zones; each check is given by what differs from the usual one."""
    given = [
        {"name": f"check-{n}", "query": QUERY, "successQuery": SUCCESS, **c} for n, c in enumerate(checks or ({},))
    ]
    metadata = ConfigurationMeta(name=name, uid="uid-check", resource_version="1", namespace="test", generation=1)
    selector = {"matchLabels": {GROUP_LABEL: GROUP} if labels is None else labels}
    return read(metadata, {"selector": selector, "prometheusURL": "http://prometheus:9090", "checks": given})


def a_checked_zone(letter: str = "b", started: str | None = f"new={STARTED}", **more: Any) -> StatefulSet:
    """One that refers to the check; `started` is the record of the rollout's start."""
    annotations = {HEALTH_CHECK: "errors"} | ({} if started is None else {HEALTH_CHECK_STARTED: started})
    return a_zone(letter, annotations=annotations | more.pop("annotations", {}), **more)


class Server:
    """Answers the two measurements and the judgement, and remembers what it was asked."""

    def __init__(
        self, current: Answer | None = None, baseline: Answer | None = None, success: Answer | None = None
    ) -> None:
        one = value("1")
        self.answers = {"current": current or one, "baseline": baseline or one, "success": success or scalar("1")}
        self.asked: list[tuple[str, str]] = []
        self.asks: list[Ask] = []

    def __call__(self, ask: Ask) -> Answer:
        assert isinstance(ask.to, Http)
        query = parse_qs(urlsplit(ask.to.url).query)
        text, time = query["query"][0], query["time"][0]
        self.asks.append(ask)
        self.asked.append((text, time))
        if "errors" not in text:
            return self.answers["success"]
        return self.answers["baseline" if time == STARTED else "current"]


def settled_by(snapshot: Snapshot, server: Callable[[Ask], Answer], now: datetime = NOW) -> Decision:
    """The decision when live reads show what was seen and Prometheus answers."""
    live = {zone.metadata.name: body_of(zone) for zone in snapshot.statefulsets}
    known: dict[Question, Answer] = dict(snapshot.answers.known)
    for _ in range(16):
        outcome = decide(msgspec.structs.replace(snapshot, answers=Answers(known)), now)
        if isinstance(outcome, Decision):
            return outcome
        assert isinstance(outcome, Need)
        for ask in (ask for stage in outcome.stages for ask in stage):
            assert isinstance(ask, Ask)
            known[ask] = Good(live[ask.to.ref.name]) if isinstance(ask.to, Read) else server(ask)
    raise AssertionError("it never decides")


def unreachable(ask: Ask) -> Answer:
    return Bad("unreachable", "connection refused")
