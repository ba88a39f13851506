"""Rights that the operator lacks, for people: an Event, a document, and two metrics, until the right is there.

Rounds about them run on the leader, one for each right; what every replica misses is a metric of its own, because one
that may not hold its Lease tells nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from msgspec import Struct
from prometheus_client.metrics_core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from fairlead.core.act import Does
from fairlead.core.ask import Answers
from fairlead.core.decision import Decision
from fairlead.core.reason import Reason
from fairlead.engine.controller import BackOff, Controller, LogRecord, RolloutKey, Wake
from fairlead.engine.decide.missing_rights import RightSnapshot, decide, explained
from fairlead.engine.metrics import Metrics
from kubeloop.missed_rights import MissedRights
from kubeloop.objects.meta import Ref
from kubeloop.rights import Missed

NAME = "rights"
METRIC = "fairlead_right_missing"
TRIED = LogRecord("debug", "right asked for")


class RightsOptions(Struct, frozen=True, kw_only=True):
    part: str
    """The contract that tells of them."""
    noun: str
    """What its documents call one."""
    home: str
    """The operator's namespace."""
    about: Callable[[Missed], Ref]
    """What Events are about."""
    granted: Callable[[Missed], None] = lambda _: None
    """Told when a right is there that was missed."""


class MissingRightsMetric(Collector):
    def __init__(self, metrics: Metrics) -> None:
        self._rights: MissedRights | None = None
        metrics.registry.register(self)

    def show(self, rights: MissedRights) -> None:
        self._rights = rights

    def collect(self) -> Iterator[Metric]:
        told = "Rights that this replica was refused and needs."
        family = GaugeMetricFamily(METRIC, told, labels=("verb", "resource"))
        for each in self._rights.all() if self._rights is not None else ():
            family.add_metric((each.right.verb, each.right.of), 1)
        yield family


def telling_rights(rights: MissedRights, options: RightsOptions) -> Controller[RightSnapshot]:
    """Keys are the operator's namespace and the name of a right."""

    def key(missed: Missed) -> RolloutKey:
        return RolloutKey((options.home, missed.right.name))

    def gather(key: RolloutKey, answers: Answers) -> RightSnapshot | None:
        missed = rights.of(key.name)
        if missed is None:
            return None
        return RightSnapshot(
            missed=missed,
            since=rights.since(missed),
            about=options.about(missed),
            home=options.home,
            part=options.part,
            noun=options.noun,
            answers=answers,
        )

    def observe(_: RolloutKey, seen: RightSnapshot, decision: Decision, __: datetime) -> None:
        if decision.verdict.reason is Reason.COMPLETE:
            rights.granted(seen.missed)

    def subscribe(wake: Wake) -> None:
        def changed(missed: Missed, is_there: bool) -> None:
            wake(key(missed), False)
            if is_there:
                options.granted(missed)

        rights.subscribe(changed)

    return Controller(
        name=NAME,
        informers=(),
        subscribe=subscribe,
        watched=lambda _: {},
        scopes=lambda _: (),
        rollouts=lambda: map(key, rights.all()),
        gather=gather,
        versions=lambda seen: (seen.missed.right.name, seen.missed.namespace, seen.missed.name),
        decide=decide,
        say=_said,
        writes=frozenset({Does.ASK_RIGHT}),
        done={Does.ASK_RIGHT: TRIED},
        observe=observe,
        explain=explained,
        part=options.part,
        noun=options.noun,
        background=True,
        back_off=BackOff(1.0, 60.0),
        failure="right not asked for",
    )


def _said(seen: RightSnapshot, decision: Decision, _: datetime) -> tuple[LogRecord, ...]:
    missed = seen.missed
    keys = {"verb": missed.right.verb, "resource": missed.right.of, "namespace": missed.namespace, "name": missed.name}
    if decision.verdict.reason is Reason.COMPLETE:
        return (LogRecord("info", "a right is there", keys),)
    return (LogRecord("warn", "a right is missing", {**keys, "help": decision.tell[0].text}),)
