"""Migrations while others write, delete, change the definition and break connections, by chance."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any

import msgspec
import pytest

from fairlead.contracts.apiversions.commands import codes
from kubeloop import request
from kubeloop.client import Client
from kubeloop.errors import KubeError, TransportError
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import Request, Response, Stream, Transport
from tests.chaos.machine import SOAKS, soaked
from tests.e2e.api_commands import api
from tests.e2e.clusters import SimGround, Site, everywhere
from tests.e2e.stored_widgets import (
    NAME,
    NEW,
    OLD,
    QUICK,
    a_version,
    apply,
    stored_in_v1,
    stored_versions,
    with_versions,
)
from tests.kubeloop.scripted import failure

COUNT = 17
SEEDS = 200 if SOAKS else 12
RUNS = 4
"""That are meddled with; the one after them is left in peace."""


class Meddler:
    """Before every request of a migration something may happen, drawn from a seed."""

    def __init__(self, site: Site, seed: int) -> None:
        self._site = site
        self._chance = random.Random(seed)
        self._transport: Transport = site.ground.transport("admin")
        self.killed = asyncio.Event()
        self._deeds: tuple[Callable[[], Coroutine[Any, Any, None]], ...] = (
            self._write,
            self._delete,
            self._replace,
            self._expire,
            self._flip_twice,
            self._flip,
        )

    async def send(self, sent: Request) -> Response:
        if self.killed.is_set():
            await asyncio.Event().wait()
        drawn = self._chance.random()
        if drawn < 0.10:
            with suppress(KubeError):
                await self._chance.choices(self._deeds, (6, 3, 3, 3, 1, 1))[0]()
        elif drawn < 0.13:
            return failure(self._chance.choice((500, 503, 429)), "Busy", headers={"retry-after": "1"})
        elif drawn < 0.15:
            await self._transport.send(sent)
            raise TransportError("the connection broke")
        elif drawn < 0.155:
            self.killed.set()
            await asyncio.Event().wait()
        return await self._transport.send(sent)

    def stream(self, sent: Request) -> AbstractAsyncContextManager[Stream]:
        return self._transport.stream(sent)

    def _name(self) -> str:
        return f"w-{self._chance.randrange(COUNT + 3)}"

    async def _write(self) -> None:
        await apply(self._site, self._name(), colour=self._chance.choice(("red", "blue")))

    async def _delete(self) -> None:
        await self._site.client.call(request.delete(Ref(NEW, self._site.namespace, self._name())))

    async def _replace(self) -> None:
        name = self._name()
        with suppress(KubeError):
            await self._site.client.call(request.delete(Ref(NEW, self._site.namespace, name)))
        await apply(self._site, name)

    async def _expire(self) -> None:
        assert isinstance(self._site.ground, SimGround)
        self._site.ground.cluster.compact()

    async def _flip_twice(self) -> None:
        await store_in(self._site, OLD)
        await self._write()
        await store_in(self._site, NEW)

    async def _flip(self) -> None:
        await store_in(self._site, self._chance.choice((OLD, NEW)))


async def store_in(site: Site, resource: Resource) -> None:
    """On the embedded cluster it is in force at once."""
    await with_versions(site.client, *(a_version(each.version, storage=each == resource) for each in (OLD, NEW)))


def stored(site: Site) -> set[str]:
    """Versions in which objects really are stored."""
    assert isinstance(site.ground, SimGround)
    found = set()
    for resource, version in site.ground.cluster.store.everything():
        if resource.plural == NEW.plural and resource.group == NEW.group:
            found.add(msgspec.json.decode(version.body)["apiVersion"].rpartition("/")[2])
    return found


@soaked
@everywhere(controllers=False, on=("sim",))
@pytest.mark.parametrize("seed", range(SEEDS))
async def test_no_version_is_forgotten_while_an_object_is_stored_in_it(site: Site, seed: int) -> None:
    """Section 3.5."""
    await stored_in_v1(site, COUNT)
    assert stored(site) == {"v1"}
    words = ("migrate", NAME, *QUICK, "--page-size", "5", "--journal", site.namespace)
    for run in range(RUNS):
        meddler = Meddler(site, seed * RUNS + run)
        running = asyncio.ensure_future(api(Client(meddler), *words))
        killing = asyncio.ensure_future(meddler.killed.wait())
        await asyncio.wait([running, killing], return_when=asyncio.FIRST_COMPLETED)
        if meddler.killed.is_set():
            running.cancel()
        killing.cancel()
        with suppress(asyncio.CancelledError, KubeError):
            await running
        assert stored(site) <= {*await stored_versions(site.client)}, f"run {run}"

    await store_in(site, NEW)
    ran = await api(site.client, *words)

    assert (ran.code, await stored_versions(site.client)) == (codes.DONE, ["v2"]), ran
    assert stored(site) == {"v2"}
