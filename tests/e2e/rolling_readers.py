"""Clients that ask for widgets in all versions all the time, and what they were told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

import msgspec

from fairlead.engine.decide.registration import Tree
from kubeloop.errors import KubeError
from kubeloop.objects.meta import Ref
from kubeloop.request import JSON, Request, path_to
from tests.e2e.clusters import Site
from tests.e2e.widgets import Widgets, body_of

VERSIONS = ("v1", "v2")
PAUSE_SECONDS = 0.05
"""Twenty requests a second and client, so that the processes under test get their part of the machine."""


class Readers:
    """One client for each way of asking; what they are told must stay as it was when they began."""

    def __init__(self, site: Site, kind: Widgets) -> None:
        self.failures: list[str] = []
        self.answered: dict[str, int] = {}
        """By client."""
        self._site, self._kind = site, kind
        self._expected: dict[str, dict[str, Tree]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._may_ask = asyncio.Event()
        self._may_ask.set()
        self._asking = 0

    async def begin(self) -> None:
        for version in VERSIONS:
            self._expected[version] = {name: body_of(each) for name, each in (await self._kind.all(version)).items()}
        for version in VERSIONS:
            for ask in (self._get, self._list, self._put):
                name = f"{ask.__name__.lstrip('_')} {version}"
                self.answered[name] = 0
                self._tasks.append(self._site.start(self._ask(name, partial(ask, version))))

    async def end(self) -> None:
        for task in self._tasks:
            await self._site.stop(task)

    async def more(self) -> None:
        """Returns when each has been answered twice more: the first answer may be to what was asked before."""
        goal = {name: count + 2 for name, count in self.answered.items()}
        await self._site.until(lambda: all(self.answered[name] >= count for name, count in goal.items()), every=0.05)

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """While it lasts nobody asks, and no answer is under way: what a process has in hand dies with it."""
        self._may_ask.clear()
        try:
            await self._site.until(lambda: not self._asking, every=0.02)
            yield
        finally:
            self._may_ask.set()

    async def _ask(self, name: str, ask: Callable[[], Awaitable[str]]) -> None:
        while True:
            await self._may_ask.wait()
            self._asking += 1
            try:
                trouble = await ask()
            except KubeError as error:
                trouble = str(error)
            finally:
                self._asking -= 1
            if trouble:
                self.failures.append(f"{name}: {trouble}")
            self.answered[name] += 1
            await asyncio.sleep(PAUSE_SECONDS)

    async def _get(self, version: str) -> str:
        name = min(self._expected[version])
        return self._compared(version, {name: await self._kind.live(name, version)})

    async def _list(self, version: str) -> str:
        return self._compared(version, await self._kind.all(version))

    async def _put(self, version: str) -> str:
        """Back as it was read, each version an object of its own: nobody else writes it meanwhile."""
        name = sorted(self._expected[version])[VERSIONS.index(version)]
        tree = await self._kind.live(name, version)
        path = path_to(Ref(self._kind.resource(version), self._site.namespace, name))
        sent = Request("PUT", path, body=msgspec.json.encode(tree), content_type=JSON)
        answer = msgspec.json.decode((await self._site.client.call(sent)).body)
        if answer["metadata"]["generation"] != tree["metadata"]["generation"]:
            return f"{name} changed by being written back as it was"
        return self._compared(version, {name: answer})

    def _compared(self, version: str, found: dict[str, Tree]) -> str:
        expected = self._expected[version]
        wrong = [name for name, tree in found.items() if body_of(tree) != expected[name]]
        return f"{', '.join(wrong)} read otherwise than before" if wrong else ""
