"""Documents of what the operator would decide about groups of zones, without a question that has an effect.

Loaded only where no operator tells them itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from functools import partial
from math import inf

from fairlead.contracts.zones.configuration_kinds import ConfigurationObject
from fairlead.contracts.zones.configured_objects import BUDGETS, CHECKS, Sort
from fairlead.contracts.zones.decide import decide
from fairlead.contracts.zones.decide.budgets.zpdb import DisruptionBudget
from fairlead.contracts.zones.decide.configurations import C, Configurations, observe
from fairlead.contracts.zones.decide.healthchecks.healthcheck_spec import HealthCheck
from fairlead.contracts.zones.decide.seen import Snapshot
from fairlead.contracts.zones.explain import explain
from fairlead.contracts.zones.gather import snapshot
from fairlead.contracts.zones.settings import Settings
from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Http, Question, ReadRecord, SwapRecord
from fairlead.core.explain import Explain
from fairlead.engine.controller import RolloutKey
from fairlead.engine.driver.questions import AskContext, asker, has_effect
from fairlead.engine.driver.round import Asker
from fairlead.engine.first_seen import FirstSeen
from fairlead.engine.look import decided
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import Forbidden, NotFound, ServerError, TransportError
from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.core import Pod
from kubeloop.store import Readable

RULES_SERVE = 10.0
"""Seconds for which lists of disruption budgets and health checks serve; people change them, and rarely."""

Rules = tuple[tuple[DisruptionBudget, ...], tuple[HealthCheck, ...]]


class WorkedOut:
    """Works them out again and again, and remembers since when it has seen each wait."""

    def __init__(self, client: Client) -> None:
        self._ask = _looking(asker(AskContext(client)))
        self._seen = FirstSeen()
        self._client = client
        self._rules: dict[str, tuple[float, Rules]] = {}
        """By namespace: what is in force, and the loop time from which it is listed again."""

    async def document(
        self, key: RolloutKey, zones: Readable[StatefulSet], pods: Readable[Pod], now: datetime
    ) -> Explain | None:
        """None when the rollout went away while it was looked at."""
        since, rules = self._seen.of(key), await self._rules_of(key.namespace)
        found = await decided(decide, partial(_gathered, key, zones, pods, since, rules), now, self._ask)
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
            for item in (await self._client.list(sort.resource, ConfigurationObject, namespace=namespace)).items:
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
    key: RolloutKey,
    zones: Readable[StatefulSet],
    pods: Readable[Pod],
    since: Mapping[str, datetime],
    rules: Rules,
    answers: Answers,
) -> Snapshot | None:
    return snapshot(key, zones, pods, Settings(), answers, since, *rules)
