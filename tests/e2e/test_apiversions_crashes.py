"""Commands that die at any of their writes, or do not hear what became of it: run again they come to the same end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress

import msgspec
import pytest

from fairlead.contracts.apiversions.commands import codes
from kubeloop import request
from kubeloop.client import Client
from kubeloop.errors import KubeError, TransportError
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref
from kubeloop.request import Request, Response, Stream, Transport
from tests.chaos.machine import SOAKS, soaked
from tests.e2e.api_commands import Ran, api
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.stored_widgets import (
    NAME,
    NEW,
    OLD,
    PROBE,
    QUICK,
    apply,
    move_storage,
    read,
    stored_in_v1,
    stored_versions,
    versions_of,
    widgets,
)

COUNT = 7
MOST_WRITES = 60
"""More than any of these takes."""
STRIDE = 1 if SOAKS else 3
PACE = ("--qps", "0", "--progress", "none", "--page-size", "3", "--concurrency", "2")


class Struck:
    """A transport whose n-th write is the last that its process sends, or one whose answer is lost."""

    def __init__(self, transport: Transport, number: int, accident: str) -> None:
        self.happened = asyncio.Event()
        self._transport, self._left, self._accident = transport, number, accident

    async def send(self, sent: Request) -> Response:
        if self.happened.is_set() and self._accident != "lost answer":
            await asyncio.Event().wait()
        if sent.method == "GET":
            return await self._transport.send(sent)
        self._left -= 1
        if self._left:
            return await self._transport.send(sent)
        self.happened.set()
        if self._accident != "before":
            await self._transport.send(sent)
        if self._accident == "lost answer":
            raise TransportError("the connection broke")
        await asyncio.Event().wait()
        raise AssertionError("nothing is heard of it any more")

    def stream(self, sent: Request) -> AbstractAsyncContextManager[Stream]:
        return self._transport.stream(sent)


Command = Callable[[Client], Awaitable[Ran]]


async def struck_at(site: Site, number: int, accident: str, command: Command) -> bool:
    """Whether there was such a write; the command has died at it, or has gone on without the answer."""
    transport = Struck(site.ground.transport("admin"), number, accident)
    running = asyncio.ensure_future(command(Client(transport)))
    happening = asyncio.ensure_future(transport.happened.wait())
    await asyncio.wait([running, happening], return_when=asyncio.FIRST_COMPLETED)
    happening.cancel()
    if transport.happened.is_set() and accident != "lost answer":
        running.cancel()
    with suppress(asyncio.CancelledError, KubeError):
        await running
    return transport.happened.is_set()


@soaked
@everywhere(controllers=False, on=("sim",))
@pytest.mark.parametrize("accident", ["before", "after", "lost answer"])
async def test_a_migration_survives_any_accident(site: Site, accident: str) -> None:
    """A12 at every write: each object is written once, whatever happens."""

    def migrate(client: Client) -> Awaitable[Ran]:
        return api(client, "migrate", NAME, *QUICK, "--page-size", "3", "--journal", site.namespace)

    await stored_in_v1(site, COUNT, manager="a")
    accidents = 0
    for number in range(1, MOST_WRITES, STRIDE):
        before = await versions_of(site)
        written = Written(site)
        await written.follow()

        happened = await struck_at(site, number, accident, migrate)
        ran = await migrate(site.client)

        assert (ran.code, await stored_versions(site.client)) == (codes.DONE, ["v2"]), ran
        assert await written.times() == dict.fromkeys(before, 1)
        entries = [each for tree in (await widgets(site)).values() for each in tree["metadata"]["managedFields"]]
        assert {each["manager"] for each in entries} == {"a"}
        accidents += happened
        if not happened:
            break
        await back_to_v1(site, migrate)
    assert accidents * STRIDE > 15


class Written:
    """How often each Widget is written."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._since = 0

    async def follow(self) -> None:
        await self._site.history.follow(NEW)
        await self._site.history.caught_up()
        self._since = len(self._events())

    async def times(self) -> dict[str, int]:
        await self._site.history.caught_up()
        found: dict[str, int] = {}
        for each in self._events()[self._since :]:
            found[each] = found.get(each, 0) + 1
        return found

    def _events(self) -> list[str]:
        names = (each.object["metadata"]["name"] for each in self._site.history.of(NEW, "MODIFIED"))
        return [each for each in names if each != PROBE]


async def back_to_v1(site: Site, migrate: Command) -> None:
    """All objects are stored in v1 again, and v2 is the storage version."""
    await move_storage(site, OLD)
    assert (await migrate(site.client)).code == codes.DONE
    await move_storage(site, NEW)


@soaked
@everywhere(controllers=False, on=("sim",))
@pytest.mark.parametrize("accident", ["before", "after", "lost answer"])
async def test_fixing_references_survives_any_accident(site: Site, accident: str) -> None:
    """A22 at every write."""

    def fix(client: Client) -> Awaitable[Ran]:
        return api(client, "fix-refs", NAME, *PACE, "--dependents", "Secret")

    await stored_in_v1(site, COUNT)
    owners = {name: tree["metadata"]["uid"] for name, tree in (await widgets(site)).items()}
    accidents = 0
    for number in range(1, MOST_WRITES, STRIDE):
        for name, uid in owners.items():
            await apply(site, name, manager=f"m-{number}", via=OLD)
            await own(site, name, uid, number)

        happened = await struck_at(site, number, accident, fix)
        ran = await fix(site.client)

        assert ran.code == codes.DONE, ran
        for name in owners:
            secret = await read(site.client, Ref(SECRETS, site.namespace, f"of-{name}-{number}"))
            assert [each["apiVersion"] for each in secret["metadata"]["ownerReferences"]] == [NEW.api_version]
        trees = (await widgets(site)).values()
        entries = [each for tree in trees for each in tree["metadata"]["managedFields"]]
        assert {each["apiVersion"] for each in entries} == {NEW.api_version}
        assert all(f"m-{number}" in {each["manager"] for each in _managed(tree)} for tree in trees)
        accidents += happened
        if not happened:
            break
    assert accidents * STRIDE > 2 * COUNT - STRIDE


def _managed(tree: Tree) -> list[Tree]:
    entries: list[Tree] = tree["metadata"]["managedFields"]
    return entries


async def own(site: Site, name: str, uid: str, number: int) -> None:
    owner = {"apiVersion": OLD.api_version, "kind": "Widget", "name": name, "uid": uid}
    tree = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"of-{name}-{number}", "ownerReferences": [owner]},
    }
    await site.client.call(request.create(SECRETS, site.namespace, msgspec.json.encode(tree)))
