"""A kind whose objects are migrated in virtual time, on an API server whose misbehaviour the test chooses."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from fairlead.core.replay import DecidedRound
from fairlead.engine.decide.migration import is_mixed
from fairlead.engine.decide.migration_job import MigrationPace
from fairlead.engine.kinds.migration import Migration, Run
from fairlead.engine.lane import Lane
from kubeloop.client import Client
from kubeloop.errors import NotLeader
from kubeloop.records import MemoryRecords, Records
from kubeloop.request import Request, Response
from kubesim.time import run
from tests.engine.alone import decided_again, rounds_of
from tests.engine.definition_server import NAME, DefinitionServer, a_definition
from tests.engine.world import Log
from tests.kubeloop.scripted import failure

LOOK_EVERY = 1.0
"""Seconds between looks whether the lead was lost, which nobody tells of."""
OBJECTS = [f"w-{number:02}" for number in range(25)]


class World:
    """A kind whose objects may be stored in v1, and what comes of migrating them."""

    def __init__(self) -> None:
        self.server = DefinitionServer()
        self.server.write(a_definition("v1"))
        self.server.write(a_definition("v1", "v2"))
        for name in OBJECTS:
            self.server.object(name)
        self.server.requests.clear()
        self.leads = True
        self.log = Log()
        self.runs: list[Run] = []
        self.decided: list[DecidedRound] = []
        self.pace = MigrationPace(page=10, at_once=1)

    async def migrate(self, records: Records | None = None) -> None:
        """As a process that begins to lead, with this journal; until a run has succeeded, or the lead is lost."""
        before = len(self.runs)
        kept = records or MemoryRecords()
        ended = asyncio.Event()

        def heard(run: Run) -> None:
            self.runs.append(run)
            ended.set()

        migration = Migration(NAME, self._is_mixed, kept, pace=self.pace, heard=heard)
        client = Client(self.server, gate=self._gate)
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(self._rounds(migration, client).run())
            while self.leads and not any(run.finished for run in self.runs[before:]):
                ended.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(ended.wait(), LOOK_EVERY)
            running.cancel()

    def _rounds(self, migration: Migration, client: Client) -> Lane:
        return rounds_of(migration.controller, client, self.log.logger(), record=self.decided.append)

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
            is_named = request.method == "PUT" and request.path.endswith(names)
            return failure(status, "Refused", "not this one") if is_named else None

        self.server.refuse = refuse

    @property
    def stored(self) -> list[str]:
        versions: list[str] = self.server.definition()["status"]["storedVersions"]
        return versions

    @property
    def written(self) -> list[str]:
        return [path.rsplit("/", 1)[1] for path in self.server.sent("PUT")]

    def _is_mixed(self) -> bool:
        return is_mixed(self.server.definition())

    def _gate(self) -> None:
        if not self.leads:
            raise NotLeader("the lease is not held")


def played(scenario: Callable[[World], Awaitable[None]]) -> None:
    """All of its rounds are decided alike when they are written down and read again."""

    async def play() -> World:
        world = World()
        await scenario(world)
        return world

    decided = run(play(), seed=0).decided
    assert decided
    decided_again(decided)
