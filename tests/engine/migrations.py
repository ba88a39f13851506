"""A kind whose objects are migrated in virtual time, on an API server whose misbehaviour the test chooses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from msgspec import Struct, structs

from fairlead.contracts.environments import migration
from fairlead.core.audit import AuditLine
from fairlead.core.replay import DecidedRound
from fairlead.engine.decide.migration import is_mixed, stored_in
from fairlead.engine.decide.registration import DEFINITIONS
from fairlead.engine.kinds.migrations import Migrations, MigrationTerms, MixedDefinition, RunEnd
from fairlead.engine.metrics import Metrics
from fairlead.engine.part import PartContext
from kubeloop.client import Client
from kubeloop.errors import NotLeader
from kubeloop.objects.meta import Ref
from kubeloop.request import Request, Response, place_of
from kubesim.time import run
from tests.engine.alone import caches_of, decided_again
from tests.engine.definition_server import NAME, DefinitionServer, a_definition
from tests.engine.world import Log
from tests.kubeloop.scripted import failure

LOOK_EVERY = 1.0
"""Seconds between looks whether the lead was lost, which nobody tells of."""
HOME = "operator"
OBJECTS = [f"w-{number:02}" for number in range(25)]
CONVERTED = {"conversion": {"strategy": "Webhook"}}


class Run(Struct, frozen=True):
    """One run that has ended."""

    stored: int
    gone: int
    failed: int
    finished: bool

    @classmethod
    def of(cls, end: RunEnd) -> Run:
        if (journal := end.journal) is None:
            return cls(0, 0, 0, finished=False)
        written = journal.rewritten
        return cls(written.done, written.skipped, journal.counts.failed, finished=not end.problem)


class World:
    """A kind whose objects may be stored in v1, and what comes of migrating them as environments are."""

    def __init__(self) -> None:
        self.server = DefinitionServer()
        self.server.write(a_definition("v1"))
        self.server.write(a_definition("v1", "v2"))
        self.server.write({"metadata": {"name": NAME}, "spec": CONVERTED})
        for name in OBJECTS:
            self.server.object(name)
        self.server.requests.clear()
        self.leads = True
        self.log = Log()
        self.ends: list[RunEnd] = []
        self.rests: list[float] = []
        """Seconds of rest after each run."""
        self.lines: list[AuditLine] = []
        self.decided: list[DecidedRound] = []
        self.at_once = 1
        self.sees_conversion = False
        """Whether a watch shows at once that nobody converts."""
        self.looks_mixed = False
        """Whether the definition is taken for mixed whatever it says, as where no watch has shown it yet."""

    @property
    def runs(self) -> list[Run]:
        return [Run.of(each) for each in self.ends]

    def migrations(self, ended: Callable[[], None] = lambda: None) -> Migrations:
        def heard(end: RunEnd, seconds: float) -> None:
            self.ends.append(end)
            self.rests.append(seconds)
            ended()

        client = Client(self.server, gate=self._gate)
        log = self.log.logger()
        context = PartContext(
            caches_of(client, log),
            client,
            (),
            None,
            Metrics(),
            log,
            home=HOME,
            replica_client=Client(self.server),
            record=self.decided.append,
        )
        terms = MigrationTerms(
            name=migration.NAME,
            decide=migration.decide,
            mixed=self._mixed,
            rests=migration.rests,
            view=structs.replace(migration.VIEW, page_size=10),
            spoiled=lambda _: migration.unconverted(self.server.definition()) if self.sees_conversion else "",
            qps=0,
            objects_at_once=self.at_once,
            ended=heard,
            audit=self.lines.append,
        )
        return Migrations(context, terms)

    async def migrate(self) -> None:
        """As a process that begins to lead; until a run has succeeded, or the lead is lost."""
        before = len(self.ends)
        ended = asyncio.Event()
        migrations = self.migrations(ended.set)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(migrations.run())
            while self.leads and not any(each.finished for each in self.runs[before:]):
                ended.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(ended.wait(), LOOK_EVERY)
            running.cancel()

    def before(self, method: str, name: str, happens: Callable[[], None]) -> None:
        """Before the first such request for that name something else happens."""
        done: list[str] = []

        async def fault(request: Request, when: str) -> Response | None:
            if when == "before" and request.method == method and request.path.endswith(name) and not done:
                done.append(name)
                happens()
            return None

        self.server.fault = fault

    def refuse(self, *names: str, status: int = 422) -> None:
        """Writes of these objects are refused."""

        def refuse(request: Request) -> Response | None:
            is_named = is_rewrite(request) and request.path.endswith(names)
            return failure(status, "Refused", "not this one") if is_named else None

        self.server.refuse = refuse

    @property
    def stored(self) -> list[str]:
        versions: list[str] = self.server.definition()["status"]["storedVersions"]
        return versions

    @property
    def rewrites(self) -> list[Request]:
        return [each for each in self.server.requests if is_rewrite(each)]

    @property
    def written(self) -> list[str]:
        return [each.path.rsplit("/", 1)[1] for each in self.rewrites]

    def _mixed(self) -> list[MixedDefinition]:
        definition = self.server.definition()
        if not (self.looks_mixed or is_mixed(definition)):
            return []
        ref = Ref(DEFINITIONS, "", NAME, definition["metadata"]["uid"])
        return [MixedDefinition(ref, definition["metadata"]["generation"], stored_in(definition))]

    def _gate(self) -> None:
        if not self.leads:
            raise NotLeader("the lease is not held")


def is_rewrite(request: Request) -> bool:
    return request.method == "PATCH" and place_of(request.path).plural == "widgets"


def played(scenario: Callable[[World], Awaitable[None]]) -> None:
    """All of its steps are decided alike when they are written down and read again."""

    async def play() -> World:
        world = World()
        await scenario(world)
        return world

    decided = run(play(), seed=0).decided
    assert decided
    decided_again(decided)
