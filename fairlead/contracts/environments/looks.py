"""Looking at environments: documents of what the operator would decide, without a call to environmentd.

What only the operator asks is told from what it has recorded, as `retelling` does. The operator's settings are not
known here; as far as they matter they are read off what is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial

import msgspec
from msgspec import Struct

from fairlead.cli.operator_reports import Heard
from fairlead.cli.views.first_seen import Sightings
from fairlead.contracts.environments.decide import decide
from fairlead.contracts.environments.decide.recorded_waits import Dated, retold
from fairlead.contracts.environments.decide.seen import Snapshot
from fairlead.contracts.environments.explain import PART, explain
from fairlead.contracts.environments.gather import Stores, generation_of, key_of, snapshot
from fairlead.contracts.environments.settings import Settings
from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Listing, Question, Read, ReadSecret
from fairlead.core.decision import Decision
from fairlead.core.explain import Explain
from fairlead.engine.controller import RolloutKey
from fairlead.engine.driver.questions import AskContext, asker
from fairlead.engine.driver.round import Asker, settle
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import KubeError
from kubeloop.objects.core import PODS, Pod
from kubeloop.store import Readable

SECRET_SERVES = 10.0
"""Seconds for which a Secret that was read serves."""


class LookedAt(Struct, frozen=True):
    """The environments of some namespaces, and all that belongs to them."""

    environments: Readable[Dated]
    stores: Stores
    pods: Readable[Pod]
    withheld: Callable[[], KubeError | None] = lambda: None
    """Why what belongs to them cannot be seen."""


class EnvironmentLooks:
    """Looks at stores again and again."""

    def __init__(self, client: Client, seen: Sequence[LookedAt]) -> None:
        self._ask = _looking(asker(AskContext(client)))
        self._all = seen
        self._seen = Sightings()

    async def look(self, now: datetime, heard: Heard) -> list[Explain]:
        """Every environment as it stands, in the operator's words where it was heard.

        Raises what keeps its objects from being seen.
        """
        found = [(seen, each) for seen in self._all for each in seen.environments.items()]
        for seen, _ in found:
            if (error := seen.withheld()) is not None:
                raise error
        shown = [
            await heard.or_else(
                (PART, *key_of(each)), generation_of(each), partial(self._look_at, seen, key_of(each), now)
            )
            for seen, each in found
        ]
        return [one for one in shown if one is not None]

    async def _look_at(self, seen: LookedAt, key: RolloutKey, now: datetime) -> Explain | None:
        """None when the environment went away while it was looked at."""
        gather = partial(_gathered, seen.stores, key, self._seen.of(key))
        try:
            gathered, outcome = await settle(decide, gather, now, _from(seen.pods, self._ask))
        except _GoneError:
            return None
        if not isinstance(outcome, Decision):
            raise TypeError("a look at environments ended with a question")
        shown = explain(gathered, outcome, now)
        self._seen.note(key, shown, now)
        environment = seen.environments.get(*key)
        return shown if environment is None else retold(shown, environment, seen.pods.get)


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


class _GoneError(Exception):
    pass


def _gathered(stores: Stores, key: RolloutKey, since: Mapping[str, datetime], answers: Answers) -> Snapshot:
    settings = Settings(
        create_balancers=stores.balancers.get(*key) is not None,
        create_console=stores.consoles.get(*key) is not None,
    )
    seen = snapshot(key, stores, settings, answers, None, since)
    if seen is None:
        raise _GoneError
    return seen
