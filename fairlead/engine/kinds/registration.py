"""Keeps custom resource definitions as this operator wants them: registered at the start, then repaired.

Whoever overwrites a definition without its conversion would have objects of one version read as another, so that is
repaired as soon as a watch shows it, more and more slowly where somebody keeps doing it. Every replica watches, because
all of them must know which authorities are trusted; only the one that leads can write, by the gate of its client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Struct
from structlog.types import FilteringBoundLogger

from fairlead.engine.certificates.authority import Publication
from fairlead.engine.decide.definitions import definition_in
from fairlead.engine.decide.registration import (
    DEFINITIONS,
    Established,
    Pending,
    Tree,
    Webhook,
    authority_of,
    differs,
    is_converted,
    is_injected,
    name_of,
    standing,
    wanted,
)
from fairlead.engine.watch_troubles import Troubles
from kubeloop import clock, request
from kubeloop.client import Client
from kubeloop.discovery import served_names
from kubeloop.errors import Conflict, Forbidden, KubeError, NotFound, NotLeader
from kubeloop.informer import Change, Informer
from kubeloop.objects.meta import Meta, Ref
from kubeloop.queue import Queue
from kubeloop.worker import work

FIRST_DELAY, LONGEST_DELAY = 0.1, 5.0
DEFINITION_TIMEOUT_SECONDS = 30.0
"""Seconds for one definition; all are registered at once."""
ALL_TIMEOUT_SECONDS = 120.0
CALL_TIMEOUT = 10.0
CONFLICTS = 10
"""Times that a definition is read and merged again because somebody else wrote it in between."""
FIRST_REPAIR, LONGEST_REPAIR = 1.0, 300.0
"""Seconds between two repairs of one definition, doubling while it is overwritten again and again."""
CALM = 600.0
"""Seconds without a repair after which the next one is the first again."""
NOT_LEADING = 10.0
"""Seconds until a replica that may not write looks whether the one that may has done it."""

Told = Callable[[Ref, bool, str, str], None]


class RegistrationFailed(Exception):
    """A definition is not in force, so the operator cannot work; the text says which one and what to do."""


class _Meta(Meta, frozen=True, rename="camel"):
    generation: int = 0
    annotations: dict[str, str] = {}


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
            "deletionTimestamp": self.metadata.deletion_timestamp,
        }
        return {"metadata": metadata, "spec": self.spec, "status": self.status}


class _Repairs(Struct):
    """How often a definition was repaired lately."""

    count: int = 0
    last: float = float("-inf")
    authority: bytes = b""
    """What was last found or written: another bundle is our own wish and waits for nothing."""

    def earliest(self) -> float:
        return self.last + min(FIRST_REPAIR * 2.0 ** min(self.count, 20), LONGEST_REPAIR) if self.count else self.last


class Registering:
    """The definitions of one operator; those of several versions are converted by `webhook`."""

    def __init__(
        self,
        client: Client,
        definitions: tuple[Tree, ...],
        webhook: Webhook | None,
        publication: Publication,
        log: FilteringBoundLogger,
        *,
        manager: str,
        tell: Told = lambda *_: None,
        heed: Callable[[str, Tree], None] = lambda *_: None,
    ) -> None:
        """`manager` is who the API server is told owns what is written; `heed` is shown every state of a definition, by
        its name."""
        self._client = client.within(CALL_TIMEOUT)
        self._definitions = {name_of(each): each for each in definitions}
        self._webhook = webhook
        self._publication = publication
        self._log = log
        self._manager = manager
        self._tell = tell
        self._heed = heed
        self._queue: Queue[str] = Queue(first_delay=1.0, longest_delay=60.0)
        self._repairs = {name: _Repairs() for name in self._definitions}
        self._informers = {name: self._informer(name, client) for name in self._definitions}
        publication.subscribe(self._wake_all)

    async def register(self) -> None:
        """Returns when every definition is in force; raises RegistrationFailed, or NotLeader."""
        try:
            async with asyncio.timeout(ALL_TIMEOUT_SECONDS), asyncio.TaskGroup() as tasks:
                for name in self._definitions:
                    tasks.create_task(self._register(name))
        except TimeoutError:
            raise RegistrationFailed(
                f"the definitions could not be registered within {ALL_TIMEOUT_SECONDS:g} seconds:"
                " see that the API server"
                " answers and start the operator again"
            ) from None
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None

    async def run(self) -> None:
        """Watches and repairs until cancelled; on every replica."""
        async with asyncio.TaskGroup() as tasks:
            for each in self._informers.values():
                tasks.create_task(each.run())
            tasks.create_task(work(self._queue, self._reconcile, workers=1, failed=self._failed))

    async def _register(self, name: str) -> None:
        deadline, delay = clock.monotonic() + DEFINITION_TIMEOUT_SECONDS, FIRST_DELAY
        while True:
            try:
                problem = await self._attempt(name)
            except NotLeader:
                raise
            except KubeError as error:
                problem = str(error)
                if isinstance(error, Forbidden):
                    problem += "; grant the operator's account what its role lists for customresourcedefinitions"
            if not problem:
                self._log.info("definition registered", name=name)
                return
            if clock.monotonic() + delay > deadline:
                raise RegistrationFailed(
                    f"the definition {name} is not in force after {DEFINITION_TIMEOUT_SECONDS:g} seconds: {problem};"
                    " correct that"
                    " and start the operator again"
                )
            self._log.info("definition not registered yet", name=name, error=problem)
            await asyncio.sleep(delay)
            delay = min(2 * delay, LONGEST_DELAY)

    async def _attempt(self, name: str) -> str:
        """Writes what differs; what is missing before the definition is in force, or nothing."""
        live, _ = await self._ensure(name)
        match standing(live):
            case Pending(text):
                return text
            case Established(versions):
                spec = live["spec"]
                for version in versions:
                    if not await self._is_discovered(spec["group"], version, spec["names"]["plural"]):
                        return f"discovery does not show its version {version} yet"
                return ""

    async def _ensure(self, name: str) -> tuple[Tree, bool]:
        """The definition as it is then, and whether it was written."""
        conflicts = 0
        while True:
            live = await self._read(name)
            self._note(name, live)
            if live is not None and live["metadata"].get("deletionTimestamp"):
                return live, False
            to_apply = self._wanted(name, live)
            self._repairs[name].authority = authority_of(to_apply) or b""
            if live is not None and not differs(to_apply, live, self._is_same_trust(live)):
                return live, False
            try:
                written = await self._apply(to_apply, name)
            except Conflict:
                conflicts += 1
                if conflicts == CONFLICTS:
                    raise
                continue
            self._note(name, written)
            return written, True

    def _wanted(self, name: str, live: Tree | None) -> Tree:
        definition = self._definitions[name]
        if self._webhook is None or not is_converted(definition):
            return wanted(definition, None, live)
        authority = b"" if is_injected(live) else self._publication.wanted()
        return wanted(definition, self._webhook.conversion(authority), live)

    def _is_same_trust(self, live: Tree) -> Callable[[bytes, bytes], bool]:
        return (lambda _ours, _held: True) if is_injected(live) else self._publication.is_enough

    async def _read(self, name: str) -> Tree | None:
        asked = request.get(Ref(DEFINITIONS, "", name))
        try:
            answer = await self._client.call(asked)
        except NotFound:
            return None
        return definition_in(answer.body, asked.doing)

    async def _apply(self, tree: Tree, name: str) -> Tree:
        sent = request.apply(Ref(DEFINITIONS, "", name), msgspec.json.encode(tree), self._manager, force=True)
        written = definition_in((await self._client.call(sent)).body, sent.doing)
        self._log.info("definition applied", name=name, generation=written["metadata"].get("generation"))
        return written

    async def _is_discovered(self, group: str, version: str, plural: str) -> bool:
        return plural in await served_names(self._client, group, version)

    def _informer(self, name: str, client: Client) -> Informer[Live]:
        troubles = Troubles(DEFINITIONS, "", self._log)
        made = Informer(
            client,
            DEFINITIONS,
            Live,
            fields=f"metadata.name={name}",
            trouble=troubles.failed,
            restored=troubles.restored,
        )
        made.subscribe(self._changed)
        return made

    def _changed(self, change: Change[Live]) -> None:
        if change.new is not None:
            name = change.new.metadata.name
            self._note(name, change.new.tree)
            self._queue.add(name)
        elif change.old is not None:
            name = change.old.metadata.name
            self._publication.saw(name, None)
            self._log.warning("definition deleted", name=name, help="the next operator that leads registers it")

    def _wake_all(self) -> None:
        for name in self._definitions:
            self._queue.add(name)

    def _note(self, name: str, live: Tree | None) -> None:
        if live is not None:
            self._heed(name, live)
        if is_converted(self._definitions[name]):
            self._publication.saw(name, authority_of(live))

    async def _reconcile(self, name: str) -> float | None:
        """Repairs the definition if what was last seen of it differs from what is wanted; a deletion was meant."""
        held = self._informers[name].store.get("", name)
        if held is None or held.metadata.deletion_timestamp is not None:
            return None
        tree = held.tree
        to_apply = self._wanted(name, tree)
        if not differs(to_apply, tree, self._is_same_trust(tree)):
            return self._publication.next_change()
        repairs, now = self._repairs[name], clock.monotonic()
        own = (authority_of(to_apply) or b"") != repairs.authority
        if not own and now < repairs.earliest():
            return repairs.earliest() - now
        try:
            _, was_written = await self._ensure(name)
        except NotLeader:
            return NOT_LEADING
        if was_written and not own:
            repairs.count = repairs.count + 1 if now - repairs.last < CALM else 1
            repairs.last = now
            self._tell_repair(name)
        return self._publication.next_change()

    def _tell_repair(self, name: str) -> None:
        text = "somebody changed its versions or its conversion; the operator has put them back"
        self._log.warning("definition repaired", name=name, why=text)
        self._tell(Ref(DEFINITIONS, "", name), True, "DefinitionRepaired", text)

    def _failed(self, name: str, error: Exception) -> None:
        if isinstance(error, KubeError):
            self._log.warning("definition not repaired", name=name, error=str(error))
        else:
            self._log.error("definition not repaired", name=name, exc_info=error)
