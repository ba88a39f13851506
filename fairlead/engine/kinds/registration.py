"""Keeps custom resource definitions as this operator wants them: registered before it leads, then repaired.

Every replica watches them, because all of them must know which authorities are trusted; rounds, which write, run on the
one that leads. Registering is apart from them: without definitions in force there is nothing to list, so it comes
before the caches and before the rounds, and it ends: in a minute or two they are in force, or the start has failed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, Protocol

import msgspec
from msgspec import Struct, structs
from structlog.types import FilteringBoundLogger

from fairlead.core.act import AnyWrite, Apply, Does, EventNote, Patch
from fairlead.core.ask import Answers, Good
from fairlead.core.decision import Decide, Decision, Hold
from fairlead.core.reason import Reason
from fairlead.engine.controller import BackOff, Controller, LogRecord, RolloutKey, Wake
from fairlead.engine.decide.definition_rounds import (
    DefinitionSnapshot,
    Repairs,
    advised,
    problem_of,
    register,
    repair,
)
from fairlead.engine.decide.definitions import definition_in
from fairlead.engine.decide.owned_definitions import DefinitionOwner, is_foreign
from fairlead.engine.decide.owned_rounds import register_owned, repair_owned
from fairlead.engine.decide.registration import (
    DEFINITIONS,
    ConversionWebhook,
    Tree,
    authority_of,
    is_converted,
    name_of,
)
from fairlead.engine.decide.replicas import ReplicaQuestion
from fairlead.engine.driver.questions import AskContext
from fairlead.engine.part import GivesBack
from fairlead.engine.rounds import PassFailed, Rounds, RoundTerms
from kubeloop import clock
from kubeloop.caches import Caches
from kubeloop.client import Client
from kubeloop.errors import Forbidden, Garbled, KubeError, NotLeader
from kubeloop.informer import Change, Informer
from kubeloop.ledger import Ledger
from kubeloop.objects.meta import Meta, Ref, Resource

FIRST_DELAY, LONGEST_DELAY = 0.1, 5.0
DEFINITION_TIMEOUT_SECONDS = 30.0
"""Seconds for one definition; all are registered at once."""
ALL_TIMEOUT_SECONDS = 120.0
REPLICAS_TIMEOUT_SECONDS = 600.0
"""Seconds for other replicas to become able to convert what is about to be registered."""
STANDS_AGAIN_SECONDS = 60.0
"""Seconds for which a replica that waited in vain leaves the Lease to others."""
CALL_TIMEOUT = 10.0
NAME = "definitions"
DONE = {
    Does.APPLY_DEFINITION: LogRecord("info", "definition applied"),
    Does.REPAIR_DEFINITION: LogRecord("warn", "definition repaired"),
}


class RegistrationFailed(Exception):
    """A definition is not in force, so the operator cannot work; the text says which one and what to do."""


class _Meta(Meta, frozen=True, rename="camel"):
    generation: int = 0
    annotations: dict[str, str] = {}
    managed_fields: list[dict[str, Any]] = []


class Owned(Struct, frozen=True, kw_only=True):
    """How definitions are written that others write as well."""

    owner: DefinitionOwner
    replicas: ReplicaQuestion | None = None
    """Who must be able to convert what is registered; None: nobody is asked."""
    tell: Callable[[EventNote], None] = lambda _: None
    """Told what happens before rounds run."""
    lease: Ref | None = None
    """What replicas that wait in vain are told about."""


class Bundles(Protocol):
    """Which authorities definitions are to trust."""

    def wanted(self) -> bytes:
        """PEM of them."""

    def is_enough(self, wanted: bytes, held: bytes) -> bool:
        """Whether a bundle holds what is wanted, so that there is nothing to write."""

    def next_change(self) -> float | None:
        """Seconds until another bundle is wanted only because time has passed."""

    def saw(self, name: str, held: bytes | None) -> None:
        """The definition of this name has this bundle; None: it names no webhook of ours."""

    def subscribe(self, handler: Callable[[], None]) -> None:
        """Called when other authorities are wanted than before."""


class Live(Struct, frozen=True):
    """A definition as a watch shows it."""

    metadata: _Meta
    spec: dict[str, Any]
    status: dict[str, Any] = {}

    @property
    def tree(self) -> Tree:
        metadata = {
            "name": self.metadata.name,
            "resourceVersion": self.metadata.resource_version,
            "generation": self.metadata.generation,
            "labels": self.metadata.labels,
            "annotations": self.metadata.annotations,
            "managedFields": self.metadata.managed_fields,
            "uid": self.metadata.uid,
            "deletionTimestamp": self.metadata.deletion_timestamp,
        }
        return {"metadata": metadata, "spec": self.spec, "status": self.status}


class Registration:
    """The definitions of one operator; those of several versions are converted by `webhook`."""

    def __init__(
        self,
        client: Client,
        caches: Caches,
        definitions: tuple[Tree, ...],
        webhook: ConversionWebhook | None,
        publication: Bundles,
        log: FilteringBoundLogger,
        *,
        manager: str,
        heed: Callable[[str, Tree], None] = lambda *_: None,
        joins: bool = False,
        name: str = NAME,
        owned: Owned | None = None,
    ) -> None:
        """`manager` is who the API server is told owns what is written; `heed` is shown every state of a definition, by
        its name. With `joins` others bring these definitions as well, and nothing of theirs is taken away; with `owned`
        others write them as well, and what is ours is written as it says. `name` is that of the controller."""
        self._client = client.within(CALL_TIMEOUT)
        self._definitions = {name_of(each): each for each in definitions}
        self._webhook = webhook
        self._publication = publication
        self._log = log
        self._manager = manager
        self._heed = heed
        self._joins = joins
        self._name = name
        self._owned = owned
        self._repairs = {name: Repairs() for name in self._definitions}
        self._problems: dict[str, str] = {}
        """What each definition lacked in the last round of its registration."""
        self._behind: dict[str, tuple[str, ...]] = {}
        """Replicas that the last round of its registration waited for."""
        self._informers = {name: self._informer(name, caches) for name in self._definitions}
        self.controller = structs.replace(
            self._controller(repair if owned is None else repair_owned, self._gather_cached),
            subscribe=self._subscribe,
            watched=self._watched,
            optional=tuple(self._informers.values()),
            failure="definition not repaired",
            rolled=None if owned is None else lambda seen, _: Ref(DEFINITIONS, "", seen.name),
            back_off=BackOff(1.0, 60.0),
        )
        """Repairs them; its informers are watched on every replica."""

    async def register(self) -> None:
        """Returns when every definition is in force; raises RegistrationFailed, GivesBack, or NotLeader."""
        decide = register if self._owned is None else register_owned
        controller = structs.replace(self._controller(decide, self._gather), observe=self._observe)
        outside, terms = AskContext(self._client), RoundTerms(Ledger(CALL_TIMEOUT, lambda _: ()), CALL_TIMEOUT)
        tell = self._owned.tell if self._owned is not None else lambda _: None
        rounds = Rounds(controller, outside, terms, self._log, tell)
        self._problems.clear()
        while True:
            if self._owned is not None and self._owned.replicas is not None:
                await self._await_replicas(rounds, self._owned)
            await self._register_all(rounds)
            if not self._behind:
                return

    async def _register_all(self, rounds: Rounds[DefinitionSnapshot]) -> None:
        """Returns when every definition is in force, or waits for another replica."""
        try:
            async with asyncio.timeout(ALL_TIMEOUT_SECONDS), asyncio.TaskGroup() as tasks:
                for name in self._definitions:
                    tasks.create_task(self._register(name, rounds))
        except TimeoutError:
            raise RegistrationFailed(
                f"the definitions could not be registered within {ALL_TIMEOUT_SECONDS:g} seconds:"
                " see that the API server"
                " answers and start the operator again"
            ) from None
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None

    async def _register(self, name: str, rounds: Rounds[DefinitionSnapshot]) -> None:
        deadline, delay = clock.monotonic() + DEFINITION_TIMEOUT_SECONDS, FIRST_DELAY
        while problem := await self._lacking(name, rounds):
            if name in self._behind:  # a replica that has come meanwhile may take longer than a definition
                return
            if clock.monotonic() + delay > deadline:
                self._tell_pending(name, problem)
                raise RegistrationFailed(
                    f"the definition {name} is not in force after {DEFINITION_TIMEOUT_SECONDS:g} seconds: {problem};"
                    " correct that"
                    " and start the operator again"
                )
            self._log.info("definition not registered yet", name=name, error=problem)
            await asyncio.sleep(delay)
            delay = min(2 * delay, LONGEST_DELAY)
        self._log.info("definition registered", name=name)

    async def _await_replicas(self, rounds: Rounds[DefinitionSnapshot], owned: Owned) -> None:
        """Returns when no definition waits for another replica; raises GivesBack."""
        deadline, delay = clock.monotonic() + REPLICAS_TIMEOUT_SECONDS, FIRST_DELAY
        while behind := await self._replicas_behind(rounds):
            if clock.monotonic() + delay > deadline:
                told = f"{', '.join(behind)} cannot convert what is to be registered: have them updated, or end them"
                if owned.lease is not None:
                    owned.tell(EventNote(owned.lease, warning=True, reason="ReplicasBehind", text=told))
                raise GivesBack(STANDS_AGAIN_SECONDS, told)
            self._log.info("definitions wait for replicas", replicas=", ".join(behind))
            await asyncio.sleep(delay)
            delay = min(2 * delay, LONGEST_DELAY)

    async def _replicas_behind(self, rounds: Rounds[DefinitionSnapshot]) -> tuple[str, ...]:
        for name in self._definitions:
            await self._lacking(name, rounds)
        return tuple(sorted({each for names in self._behind.values() for each in names}))

    def _tell_pending(self, name: str, problem: str) -> None:
        if self._owned is not None:
            about = Ref(DEFINITIONS, "", name)
            self._owned.tell(EventNote(about, warning=True, reason="NotEstablished", text=problem))

    async def _lacking(self, name: str, rounds: Rounds[DefinitionSnapshot]) -> str:
        """One round; what is missing before the definition is in force, or nothing."""
        self._behind.pop(name, None)
        try:
            await rounds.run(_key(name))
        except NotLeader:
            raise
        except KubeError as error:
            return advised(str(error), is_refused=isinstance(error, Forbidden))
        except PassFailed:
            pass  # the decision says why
        return self._problems.get(name, "the API server asks to be left alone for a while")

    def _controller(
        self,
        decide: Decide[DefinitionSnapshot],
        gather: Callable[[RolloutKey, Answers], DefinitionSnapshot | None],
    ) -> Controller[DefinitionSnapshot]:
        return Controller(
            name=self._name,
            informers=(),
            subscribe=lambda _: None,
            watched=lambda _: {},
            scopes=lambda _: (),
            rollouts=lambda: map(_key, self._definitions),
            gather=gather,
            versions=_versions,
            decide=decide,
            say=lambda *_: (),
            writes=frozenset(DONE),
            done=DONE,
            wrote=self._wrote,
            refusals_hold=False,
            refuses=lambda bad: bad.kind == "conflict",
            background=True,
        )

    def _watched(self, key: RolloutKey) -> Mapping[Resource, Informer[Any]]:
        """Nothing where it may not be watched: nobody waits for what does not come."""
        informer = self._informers[key.name]
        return {} if informer.is_absent else {DEFINITIONS: informer}

    def _gather(self, key: RolloutKey, answers: Answers) -> DefinitionSnapshot:
        return self._snapshot(key.name, None, answers)

    def _gather_cached(self, key: RolloutKey, answers: Answers) -> DefinitionSnapshot | None:
        held = self._informers[key.name].store.get("", key.name)
        return None if held is None else self._snapshot(key.name, held.tree, answers)

    def _snapshot(self, name: str, cached: Tree | None, answers: Answers) -> DefinitionSnapshot:
        bundle, seconds = self._publication.wanted(), self._publication.next_change()
        seen = DefinitionSnapshot(
            name=name,
            definition=self._definitions[name],
            webhook=self._webhook,
            manager=self._manager,
            bundle=bundle,
            bundle_changes=None if seconds is None else clock.now() + timedelta(seconds=seconds),
            enough=frozenset(),
            repairs=self._repairs[name],
            joins=self._joins,
            owner=None if self._owned is None else self._owned.owner,
            replicas=None if self._owned is None else self._owned.replicas,
            cached=cached,
            answers=answers,
        )
        live = _live(answers, seen)
        bundles = {authority_of(tree) or b"" for tree in (cached, live) if tree is not None}
        enough = frozenset(each for each in bundles if self._publication.is_enough(bundle, each))
        return structs.replace(seen, live=live, enough=enough)

    def _observe(self, key: RolloutKey, seen: DefinitionSnapshot, decision: Decision, _: datetime) -> None:
        self._problems[key.name] = problem_of(decision)
        self._note(key.name, seen.live)
        verdict = decision.verdict
        if isinstance(verdict, Hold) and verdict.reason is Reason.REPLICAS_BEHIND:
            self._behind[key.name] = tuple(about.removeprefix("pod/") for about, _ in verdict.details)
        if verdict.reason is Reason.COMPLETE:
            owned = self._owned is not None
            self._remember(key.name, seen.bundle if owned else authority_of(seen.to_apply(seen.live)))

    def _wrote(self, key: RolloutKey, writes: tuple[AnyWrite, ...]) -> None:
        for write in writes:
            if isinstance(write, Apply | Patch):
                if write.does is Does.REPAIR_DEFINITION:
                    self._repairs[key.name] = self._repairs[key.name].after(clock.now())
                owned = self._owned is not None
                self._remember(
                    key.name, self._publication.wanted() if owned else authority_of(msgspec.json.decode(write.body))
                )

    def _remember(self, name: str, authority: bytes | None) -> None:
        self._repairs[name] = structs.replace(self._repairs[name], authority=authority or b"")

    def _informer(self, name: str, caches: Caches) -> Informer[Live]:
        made = caches.informer(DEFINITIONS, Live, fields=f"metadata.name={name}", optional=True)
        made.subscribe(self._changed)
        return made

    def _subscribe(self, wake: Wake) -> None:
        def changed(change: Change[Live]) -> None:
            if change.new is not None:
                wake(_key(change.new.metadata.name), change.initial)

        def published() -> None:
            for name in self._definitions:
                wake(_key(name), False)

        for each in self._informers.values():
            each.subscribe(changed)
        self._publication.subscribe(published)

    def _changed(self, change: Change[Live]) -> None:
        if change.new is not None:
            self._note(change.new.metadata.name, change.new.tree)
        elif change.old is not None:
            name = change.old.metadata.name
            self._publication.saw(name, None)
            self._log.warning("definition deleted", name=name, help="the next operator that leads registers it")

    def _note(self, name: str, live: Tree | None) -> None:
        if live is not None:
            self._heed(name, live)
        if is_converted(self._definitions[name]):
            self._publication.saw(name, None if self._is_foreign(live) else authority_of(live))

    def _is_foreign(self, live: Tree | None) -> bool:
        """Whether somebody else converts its objects, and so has authorities of his own trusted."""
        owned = self._owned
        return owned is not None and live is not None and is_foreign(live, self._webhook, owned.owner)


def _key(name: str) -> RolloutKey:
    return RolloutKey(("", name))


def _live(answers: Answers, seen: DefinitionSnapshot) -> Tree | None:
    """The definition as it was read; None where it was not, or what was read is none."""
    found = answers.known.get(seen.read)
    try:
        return definition_in(found.value, f"definition {seen.name}") if isinstance(found, Good) else None
    except Garbled:
        return None


def _versions(seen: DefinitionSnapshot) -> tuple[str, ...]:
    trees = [tree for tree in (seen.cached, seen.live) if tree is not None]
    return tuple(f"{seen.name}@{tree['metadata']['resourceVersion']}" for tree in trees)
