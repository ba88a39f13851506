"""Looking at groups of zones: documents of what the operator would decide, without a question that has an effect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from math import inf

from fairlead.contracts.zones.configuration_kinds import Configuration
from fairlead.contracts.zones.configured_objects import BUDGETS, CHECKS, Sort
from fairlead.contracts.zones.decide import decide
from fairlead.contracts.zones.decide.budgets.zpdb import DisruptionBudget
from fairlead.contracts.zones.decide.configurations import C, Configurations, observe
from fairlead.contracts.zones.decide.healthchecks.healthcheck_spec import HealthCheck
from fairlead.contracts.zones.decide.seen import Snapshot
from fairlead.contracts.zones.explain import PART, explain
from fairlead.contracts.zones.gather import (
    POD_INDEXES,
    STATEFULSET_INDEXES,
    all_groups,
    generations,
    members,
    snapshot,
)
from fairlead.contracts.zones.kinds import GROUP_LABEL
from fairlead.contracts.zones.settings import Settings
from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Http, Question, ReadRecord, SwapRecord
from fairlead.core.explain import Explain
from fairlead.engine.controller import RolloutKey
from fairlead.engine.driver.questions import AskContext, asker, has_effect
from fairlead.engine.driver.round import Asker
from fairlead.engine.first_seen import FirstSeen
from fairlead.engine.look import Heard, Look, ResourceView, Views, decided
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import Forbidden, NotFound, ServerError, TransportError
from kubeloop.objects.apps import STATEFULSETS, StatefulSet
from kubeloop.objects.core import PODS, Pod

RULES_SERVE = 10.0
"""Seconds for which lists of disruption budgets and health checks serve; people change them, and rarely."""

Rules = tuple[tuple[DisruptionBudget, ...], tuple[HealthCheck, ...]]

ZONES = ResourceView(STATEFULSETS, StatefulSet, GROUP_LABEL, STATEFULSET_INDEXES)
"""The StatefulSets that have a group."""
ALL_PODS = ResourceView(PODS, Pod, indexes=POD_INDEXES)


class ZoneLooks:
    def __init__(self, client: Client, views: Sequence[Views]) -> None:
        self._ask = _looking(asker(AskContext(client)))
        self._views = views
        self._seen = FirstSeen()
        self._client = client
        self._rules: dict[str, tuple[float, Rules]] = {}
        """By namespace: what is in force, and the loop time from which it is listed again."""

    async def look(self, now: datetime, heard: Heard) -> list[Explain]:
        """Every group as it stands: in the operator's words where it was heard."""
        return await heard.or_each(
            PART,
            [
                (key, generations(members(key, views[ZONES])), partial(self._look_at, views, key, now))
                for views in self._views
                for key in all_groups(views[ZONES])
            ],
        )

    async def _look_at(self, views: Views, key: RolloutKey, now: datetime) -> Explain | None:
        """None when the rollout went away while it was looked at."""
        since, rules = self._seen.of(key), await self._rules_of(key.namespace)
        found = await decided(decide, partial(_gathered, views, key, since, rules), now, self._ask)
        if found is None:
            return None
        shown = explain(*found, now)
        self._seen.note(key, shown, now)
        return shown

    async def _rules_of(self, namespace: str) -> Rules:
        """Where they are not served or may not be read there are none, as for the operator.

        What is known serves on while the server does not answer.
        """
        until, rules = self._rules.get(namespace, (-inf, ((), ())))
        if clock.monotonic() < until:
            return rules
        with suppress(ServerError, TransportError):
            rules = await self._listed(BUDGETS, namespace), await self._listed(CHECKS, namespace)
            self._rules[namespace] = (clock.monotonic() + RULES_SERVE, rules)
        return rules

    async def _listed(self, sort: Sort[C], namespace: str) -> tuple[C, ...]:
        state: Configurations[C] = Configurations()
        with suppress(NotFound, Forbidden):
            for item in (await self._client.list(sort.resource, Configuration, namespace=namespace)).items:
                state, _ = observe(state, item, sort.read)
        return state.of(namespace)


def _looking(ask: Asker) -> Asker:
    """Asks nothing that would change the world; the decision then says what it would have asked."""

    async def look(question: Question) -> Answer:
        if isinstance(question, Ask) and isinstance(question.to, ReadRecord | SwapRecord):
            return Good()  # what the operator has recorded is for itself; a look takes it that nobody is in between
        # Prometheus may be out of reach from here, and the operator's view of it is what counts.
        harmless = isinstance(question, Ask) and not has_effect(question) and not isinstance(question.to, Http)
        return await ask(question) if harmless else Bad("not-sent")

    return look


def _gathered(
    views: Views, key: RolloutKey, since: Mapping[str, datetime], rules: Rules, answers: Answers
) -> Snapshot | None:
    return snapshot(key, views[ZONES], views[ALL_PODS], Settings(), answers, since, *rules)


LOOK = Look(roots=(ZONES,), rest=(ALL_PODS,), open=ZoneLooks)
