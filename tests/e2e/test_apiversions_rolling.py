"""Operators that are replaced, killed and stopped while everybody reads in all versions.

Nothing fails, no workload rolls, and one leads at a time.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import msgspec

from fairlead.contracts.leaderworker.install.definitions import definitions
from fairlead.contracts.leaderworker.kinds import LEADER_WORKER_SETS
from fairlead.engine.decide.downgrade import MAX_OPERATOR_VERSION
from fairlead.engine.decide.registration import Tree
from kubeloop import clock
from kubeloop.errors import KubeError
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import LEASES
from tests.e2e.clusters import Site, everywhere
from tests.e2e.converting_operator import rules_in_a_map
from tests.e2e.installing import define
from tests.e2e.replicated_operator import LEASE
from tests.e2e.rolling_readers import Readers
from tests.e2e.rolling_replicas import Replica, RollingReplicas
from tests.e2e.service_proxy import LOCAL
from tests.e2e.widgets import Widgets, widgets

OLD, NEW = "1.2.0", "1.3.0"
WITHIN = 25.0
"""Seconds from the death of a leader to the next."""
JSON = {"Content-Type": "application/json"}


class World:
    """Widgets that two replicas of the older version convert, a workload that they made, and readers."""

    def __init__(self, site: Site, folder: Path) -> None:
        self.site = site
        self.kind: Widgets = widgets(site)
        self.replicas = RollingReplicas(site, folder, (OLD, NEW), "apiversions,leaderworker")
        self.readers = Readers(site, self.kind)
        self._made: Tree = {}

    async def begin(self) -> None:
        await define(self.site, *definitions())
        await self.kind.define("v1", "v2", storage="v2")
        for number in range(3):
            await self.kind.make(f"w-{number}", "v2", size=number, paint={"colour": "red", "finish": "matt"})
        await self.replicas.begin()
        for _ in range(2):
            await self.replicas.add(OLD)
        await rules_in_a_map(self.site, {**self.kind.rules(), "attach": True})
        await self.site.until(self._converts, every=0.1)
        containers = [{"name": "worker", "image": "worker"}]
        template = {"size": 2, "workerTemplate": {"spec": {"containers": containers}}}
        spec = {"replicas": 2, "leaderWorkerTemplate": template}
        await self.site.create(LEADER_WORKER_SETS, {"metadata": {"name": "crew"}, "spec": spec})
        made = await self.site.until(lambda: self.site.get(STATEFULSETS, "crew"), every=0.1)
        assert made is not None
        self._made = made
        await self.readers.begin()

    async def _converts(self) -> bool:
        tree = await self.kind.live_definition()
        if (tree["spec"].get("conversion") or {}).get("strategy") != "Webhook":
            return False
        return bool((await self.kind.live("w-1", "v1"))["spec"] == {"size": 1, "colour": "red"})

    async def replace(self, version: str, *options: str) -> None:
        """Every replica by one of this version, one after the other, as a Deployment with a surge of one does."""
        for each in [*self.replicas.all]:
            await self.replicas.add(version, *options)
            each.signal(signal.SIGTERM)
            is_answered, _ = await asyncio.gather(self.still_converts(each), self.site.until(each.unready, every=0.02))
            assert is_answered, f"{each.name} hangs up before the slice has lost it"
            self.replicas.leave(each)
            await self.replicas.publish()
            await self.readers.more()

    async def lose(self, replica: Replica) -> None:
        """The slice names it no more, and nobody keeps a connection to it."""
        self.replicas.leave(replica)
        await self.replicas.publish()
        self.replicas.proxy.cut(replica.endpoint.address)
        await self.site.until(self._converts_again, every=0.05)

    async def _converts_again(self) -> bool:
        """The API server may send one more review to where nobody is any more."""
        try:
            return await self._converts()
        except KubeError:
            return False

    async def still_converts(self, replica: Replica) -> bool:
        """Whether somebody who has not heard yet that it goes is answered."""
        widget = {**await self.kind.live("w-1", "v2")}
        request = {"uid": "late", "desiredAPIVersion": f"{self.kind.group}/v1", "objects": [widget]}
        review = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request}
        name = f"fairlead.{self.site.namespace}.svc"
        url = f"https://{LOCAL}:{replica.port}/convert"
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=await self.replicas.trust())) as session,
            session.post(url, data=msgspec.json.encode(review), headers=JSON, server_hostname=name) as answer,
        ):
            told: Tree = msgspec.json.decode(await answer.read())
            return bool(told["response"]["result"]["status"] == "Success")

    async def check(self) -> None:
        """Nothing failed, nothing rolled, and nobody wrote who did not hold the Lease."""
        assert self.readers.failures == []
        crew = await self.site.get(STATEFULSETS, "crew")
        assert crew is not None
        assert crew["spec"] == self._made["spec"]
        assert crew["metadata"]["generation"] == self._made["metadata"]["generation"]
        assert await self.replicas.intruders() == []


@asynccontextmanager
async def a_rolling_world(site: Site, folder: Path) -> AsyncIterator[World]:
    world = World(site, folder)
    try:
        await world.begin()
        yield world
    finally:
        await world.readers.end()
        await world.replicas.close()


async def highest(site: Site) -> str:
    lease = await site.get(LEASES, LEASE)
    return "" if lease is None else lease["metadata"].get("annotations", {}).get(MAX_OPERATOR_VERSION, "")


@everywhere(controllers=False, on=("real",))
async def test_i17_a_rolling_update_and_the_way_back_fail_nobody(site: Site, tmp_path: Path) -> None:
    """I10, I11 and I17: every version is read all the time, by clients and by the replicas that go."""
    async with a_rolling_world(site, tmp_path) as world:
        await world.replace(NEW)
        leader = await world.replicas.leader()
        assert leader.version == NEW
        await site.until(lambda: is_highest(site, NEW), every=0.1)

        await world.replace(OLD, "--allow-downgrade")
        leader = await world.replicas.leader()
        assert leader.version == OLD
        await site.until(lambda: is_highest(site, OLD), every=0.1)
        await world.readers.more()

        assert await world.replicas.ended() == [0, 0, 0, 0]
        await world.check()


async def is_highest(site: Site, version: str) -> bool:
    return await highest(site) == version


@everywhere(controllers=False, on=("real",), long=True)
async def test_a_leader_that_is_killed_or_stopped_is_followed_by_one_other(site: Site, tmp_path: Path) -> None:
    """I10, I16: whoever is stopped for longer than the Lease lasts writes nothing when it goes on.

    Requests that the killed process had in hand are lost with it, and a stopped one answers what it has in hand when it
    goes on: no operator can help that, so none is under way at these two moments.
    """
    async with a_rolling_world(site, tmp_path) as world:
        await world.readers.more()
        killed = await world.replicas.leader()
        async with world.readers.held():
            killed.signal(signal.SIGKILL)
            died = clock.monotonic()
            await killed.program.ended()
            await world.lose(killed)
        await site.until(lambda: world.replicas.holders[-1:] != [killed.name], every=0.1)
        assert clock.monotonic() - died < WITHIN
        await world.readers.more()
        await world.replicas.add(OLD)

        stopped = await world.replicas.leader()
        async with world.readers.held():
            stopped.signal(signal.SIGSTOP)
            await site.until(stopped.unready, every=0.1)
            await world.lose(stopped)
        try:
            await site.until(lambda: world.replicas.holders[-1:] != [stopped.name], every=0.1)
        finally:
            stopped.signal(signal.SIGCONT)
        await stopped.program.said("lease lost")
        await site.until(stopped.ready, every=0.1)
        await world.replicas.rejoin(stopped)
        await world.readers.more()

        await world.check()
        holders = world.replicas.holders
        assert holders[0] == killed.name
        assert holders.count(killed.name) == holders.count(stopped.name) == 1
