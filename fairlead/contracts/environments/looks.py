"""Looking at environments: documents of what the operator would decide, without a call to environmentd.

What only the operator asks is told from what it has recorded (`decide.recorded_waits`). The operator's settings are not
known here; as far as they matter they are read off what is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial

import msgspec

from fairlead.contracts.environments.decide import decide
from fairlead.contracts.environments.decide.recorded_waits import Dated, retold
from fairlead.contracts.environments.decide.seen import Snapshot
from fairlead.contracts.environments.explain import NOUN, PART, explain
from fairlead.contracts.environments.gather import (
    CHILD_INDEXES,
    ENVIRONMENT_INDEXES,
    Stores,
    generation_of,
    key_of,
    snapshot,
)
from fairlead.contracts.environments.kinds import (
    BALANCERS,
    CONSOLES,
    MATERIALIZES,
    RESOURCE_ID,
    Balancer,
    Child,
    Console,
    GenerationSet,
)
from fairlead.contracts.environments.settings import Settings
from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Listing, Question, Read, ReadSecret
from fairlead.core.explain import Explain
from fairlead.engine.controller import RolloutKey
from fairlead.engine.driver.questions import AskContext, asker
from fairlead.engine.driver.round import Asker
from fairlead.engine.first_seen import FirstSeen
from fairlead.engine.look import Heard, Look, ResourceView, Views, decided
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import CONFIGMAPS, PODS, SERVICES, Pod
from kubeloop.store import Readable, Store

SECRET_SERVES = 10.0
"""Seconds for which a Secret that was read serves."""


ENVIRONMENTS = ResourceView(MATERIALIZES, Dated, indexes=ENVIRONMENT_INDEXES, optional=True)
ALL_PODS = ResourceView(PODS, Pod)
ALL_BALANCERS = ResourceView(BALANCERS, Balancer, optional=True)
ALL_CONSOLES = ResourceView(CONSOLES, Console, optional=True)
OWN_STATEFULSETS = ResourceView(STATEFULSETS, GenerationSet, RESOURCE_ID, CHILD_INDEXES)
CHILDREN = tuple(ResourceView(kind, Child, RESOURCE_ID, CHILD_INDEXES) for kind in (SERVICES, CONFIGMAPS))
"""What a generation of an environment consists of, besides its StatefulSet."""


class EnvironmentLooks:
    def __init__(self, client: Client, views: Sequence[Views]) -> None:
        self._ask = _looking(asker(AskContext(client)))
        self._views = views
        self._seen = FirstSeen()

    async def look(self, now: datetime, heard: Heard) -> list[Explain]:
        """Every environment as it stands, in the operator's words where it was heard."""
        return await heard.or_each(
            PART,
            NOUN,
            [
                (key_of(each), generation_of(each), partial(self._look_at, views, key_of(each), now))
                for views in self._views
                for each in views[ENVIRONMENTS].items()
            ],
        )

    async def _look_at(self, views: Views, key: RolloutKey, now: datetime) -> Explain | None:
        """None when the environment went away while it was looked at."""
        pods = views[ALL_PODS]
        gather = partial(_gathered, _stores(views), key, self._seen.of(key))
        found = await decided(decide, gather, now, _from(pods, self._ask))
        if found is None:
            return None
        shown = explain(*found, now)
        self._seen.note(key, shown, now)
        environment = views[ENVIRONMENTS].get(*key)
        return shown if environment is None else retold(shown, environment, pods.get)


def _stores(views: Views) -> Stores:
    """Deployments are those of companions, which have documents of nobody."""
    children = {view.resource: views[view] for view in CHILDREN}
    environments: Readable[Dated] = views[ENVIRONMENTS]
    companions = views[ALL_BALANCERS], views[ALL_CONSOLES]
    return Stores(environments, *companions, views[OWN_STATEFULSETS], Store(), children)


def _looking(ask: Asker) -> Asker:
    """Reads objects and calls nobody; a Secret that may not be read is taken to be as it should."""
    secrets: dict[Question, tuple[float, Answer]] = {}

    async def look(question: Question) -> Answer:
        if isinstance(question, Ask) and isinstance(question.to, Read | Listing):
            return await ask(question)
        if not isinstance(question, Ask) or not isinstance(question.to, ReadSecret):
            return Bad("not-sent")
        until, answer = secrets.get(question, (0.0, Bad("not-sent")))
        if clock.monotonic() >= until:
            answer = await ask(question)
            if isinstance(answer, Bad) and answer.kind == "refused":
                answer = Bad("not-sent")
            secrets[question] = clock.monotonic() + SECRET_SERVES, answer
        return answer

    return look


def _from(pods: Readable[Pod], ask: Asker) -> Asker:
    """Answers what is asked of a pod from those that are seen: whoever may list them need not be allowed to get one."""

    async def look(question: Question) -> Answer:
        if not isinstance(question, Ask) or not isinstance(question.to, Read) or question.to.ref.resource != PODS:
            return await ask(question)
        found = pods.get(question.to.ref.namespace, question.to.ref.name)
        return Bad("absent") if found is None else Good(msgspec.json.encode(found))

    return look


def _gathered(stores: Stores, key: RolloutKey, since: Mapping[str, datetime], answers: Answers) -> Snapshot | None:
    settings = Settings(
        create_balancers=stores.balancers.get(*key) is not None,
        create_console=stores.consoles.get(*key) is not None,
    )
    return snapshot(key, stores, settings, answers, None, since)


LOOK = Look(
    roots=(ENVIRONMENTS,),
    rest=(ALL_PODS, ALL_BALANCERS, ALL_CONSOLES, OWN_STATEFULSETS, *CHILDREN),
    open=EnvironmentLooks,
)
