"""Several leases: all are held, or nothing is done."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, suppress
from math import inf

import msgspec
import pytest

from kubeloop import clock, request
from kubeloop.client import Client
from kubeloop.election import Election, LostLease
from kubeloop.elections import Elections
from kubeloop.errors import NotLeader
from kubeloop.objects.core import LEASES
from kubeloop.objects.meta import Ref
from kubesim.cluster import Cluster
from kubesim.time import run

NAMES = ("fairlead-operator", "orchestratord")


def _elections(cluster: Cluster, identity: str, names: tuple[str, ...] = NAMES) -> Elections:
    client = Client(cluster.transport())
    return Elections([Election(client, Ref(LEASES, "default", name), identity) for name in names])


def _holder(cluster: Cluster, name: str) -> str:
    return str(cluster.get(LEASES, "default", name)["spec"].get("holderIdentity", ""))


def test_work_begins_when_all_leases_are_held_and_gives_all_back() -> None:
    async def main() -> None:
        cluster, seen = Cluster(seed=1), list[str]()
        elections = _elections(cluster, "me")
        with pytest.raises(NotLeader):
            elections.gate()

        async def lead() -> None:
            elections.gate()
            seen.extend(_holder(cluster, name) for name in NAMES)

        await elections.run(lead)

        assert seen == ["me", "me"]
        assert [_holder(cluster, name) for name in NAMES] == ["", ""]

    run(main(), seed=1)


def test_while_another_holds_one_of_them_nothing_is_done() -> None:
    async def main() -> None:
        cluster, began = Cluster(seed=1), asyncio.Event()
        other, ours = _elections(cluster, "other", NAMES[1:]), _elections(cluster, "me")

        async def wait() -> None:
            await asyncio.Event().wait()

        async def lead() -> None:
            began.set()
            await wait()

        theirs = asyncio.create_task(other.run(wait))
        await asyncio.sleep(1)
        mine = asyncio.create_task(ours.run(lead))
        await asyncio.sleep(120)
        assert not began.is_set()
        with pytest.raises(NotLeader):
            ours.gate()

        theirs.cancel()
        async with asyncio.timeout(20):
            await began.wait()
        for task in (theirs, mine):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    run(main(), seed=1)


def test_the_loss_of_one_ends_the_work_and_gives_back_the_other() -> None:
    async def main() -> None:
        cluster, ended = Cluster(seed=1), asyncio.Event()
        elections = _elections(cluster, "me")

        async def lead() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.set()

        running = asyncio.create_task(elections.run(lead))
        await asyncio.sleep(5)
        spec = {"spec": {"holderIdentity": "thief", "leaseDurationSeconds": 600, "renewTime": None}}
        patch = request.patch(
            Ref(LEASES, "default", NAMES[1]), "application/merge-patch+json", msgspec.json.encode(spec)
        )
        await Client(cluster.transport()).call(patch)

        with pytest.raises(LostLease, match=NAMES[1]):
            await running

        assert ended.is_set()
        assert _holder(cluster, NAMES[0]) == ""
        assert _holder(cluster, NAMES[1]) == "thief"

    run(main(), seed=1)


def test_of_several_leases_the_one_that_another_held_last_tells_until_when_he_led() -> None:
    async def main() -> None:
        cluster = Cluster(seed=1)
        theirs, ours = _elections(cluster, "they", NAMES[1:]), _elections(cluster, "we")
        assert ours.led_until == -inf
        leads, done = asyncio.Event(), asyncio.Event()

        async def lead() -> None:
            leads.set()
            await done.wait()

        async def forever() -> None:
            await asyncio.Event().wait()

        other = asyncio.create_task(theirs.run(lead))
        await leads.wait()
        task = asyncio.create_task(ours.run(forever))
        await asyncio.sleep(60)
        done.set()
        await other
        ended = clock.monotonic()
        await asyncio.sleep(10)
        assert ended <= ours.led_until < ended + 3
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    run(main(), seed=1)


def test_leadership_needs_a_lease() -> None:
    with pytest.raises(ValueError, match="needs a lease"):
        Elections([])


class _Cut:
    """The way to the cluster of a process that is killed."""

    def __init__(self, cluster: Cluster) -> None:
        self.dead = False
        self._transport = cluster.transport()

    async def send(self, message: request.Request) -> request.Response:
        if self.dead:
            await asyncio.Event().wait()
        return await self._transport.send(message)

    def stream(self, message: request.Request) -> AbstractAsyncContextManager[request.Stream]:
        return self._transport.stream(message)


def test_leases_of_a_process_that_died_run_out_together() -> None:
    async def main() -> None:
        cluster = Cluster(seed=1)
        led: list[str] = []
        cut = _Cut(cluster)

        def lead(name: str) -> Callable[[], Awaitable[None]]:
            async def forever() -> None:
                led.append(name)
                await asyncio.Event().wait()

            return forever

        client = Client(cut)
        first = Elections([Election(client, Ref(LEASES, "default", name), "first") for name in NAMES])
        tasks = [asyncio.create_task(first.run(lead("first")))]
        await asyncio.sleep(1)
        tasks.append(asyncio.create_task(_elections(cluster, "second").run(lead("second"))))
        await asyncio.sleep(30)
        assert led == ["first"]

        cut.dead = True
        tasks[0].cancel()
        await asyncio.sleep(20)
        assert led == ["first", "second"]
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    run(main(), seed=1)
