"""One process with both contracts: each resource and selection is watched once, whoever reads it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import msgspec

from fairlead.contracts.zones.settings import Settings
from fairlead.engine.assembly import assemble
from fairlead.engine.manager import Manager
from fairlead.engine.metrics import Metrics
from fairlead.engine.options import OperatorOptions
from kubeloop import clock, request
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, Request, Response, Stream, Transport
from kubesim.auth.rbac import master
from tests.engine.estate import SPACE, Estate, play
from tests.engine.world import a_statefulset
from tests.operator_parts import zones

NEXT_IMAGE = b'{"spec":{"template":{"spec":{"containers":[{"name":"main","image":"v2"}]}}}}'
SELECTORS = ("labelSelector", "fieldSelector")


class OpenWatches:
    """A transport that knows which watches are open on it."""

    def __init__(self) -> None:
        self.open: Counter[tuple[str, ...]] = Counter()
        self._inner: Transport | None = None

    def on(self, inner: Transport) -> OpenWatches:
        self._inner = inner
        return self

    async def send(self, message: Request) -> Response:
        assert self._inner is not None
        return await self._inner.send(message)

    @asynccontextmanager
    async def stream(self, message: Request) -> AsyncIterator[Stream]:
        assert self._inner is not None
        query = dict(message.query)
        watched = (message.path, *(query.get(name, "") for name in SELECTORS))
        self.open[watched] += 1
        try:
            async with self._inner.stream(message) as stream:
                yield stream
        finally:
            self.open[watched] -= 1


def test_one_process_has_one_watch_per_resource_and_selection() -> None:
    watches = OpenWatches()

    async def scenario(estate: Estate) -> None:
        estate.through = watches.on
        async with estate.operating(beside=(zones(Settings(phased_deployments=True)),)) as manager:
            await manager.leading.wait()
            for name in ("a", "b"):
                tree = msgspec.json.encode(a_statefulset(name, "group"))
                await estate.client.call(request.create(STATEFULSETS, SPACE, tree))
            await estate.environment()
            await estate.until(lambda: estate.serves(1))

            twice = {watched: count for watched, count in watches.open.items() if count > 1}
            assert twice == {}
            pods = [watched for watched, count in watches.open.items() if count and watched[0].endswith("/pods")]
            assert pods == [("/api/v1/pods", "", "")], "zones, ready times, preparations and phased Deployments"
            selectors = {labels for path, labels, _ in watches.open if path == "/apis/apps/v1/statefulsets"}
            assert selectors == {"rollout-group", "materialize.cloud/mz-resource-id"}
        assert sum(watches.open.values()) == 0

    play(scenario)


@asynccontextmanager
async def zones_alone(estate: Estate) -> AsyncIterator[Manager]:
    options = OperatorOptions(process="fairlead", identity="one", parts=(zones(Settings()),))
    wire, network = estate.cluster.transport(master("one")), estate.cluster.network
    manager = await assemble(options, "default", wire, Metrics(), estate.log.logger(), network.call)
    task = asyncio.create_task(manager.run())
    try:
        yield manager
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def zones_with_environments(estate: Estate) -> AbstractAsyncContextManager[Manager]:
    return estate.operating(beside=(zones(Settings()),))


def seconds_to_roll(operating: Callable[[Estate], AbstractAsyncContextManager[Manager]]) -> float:
    """From the new template of two zones until their status says so."""
    took: list[float] = []

    async def scenario(estate: Estate) -> None:
        async with operating(estate) as manager:
            await manager.leading.wait()
            for name in ("a", "b"):
                tree = msgspec.json.encode(a_statefulset(name, "group"))
                await estate.client.call(request.create(STATEFULSETS, SPACE, tree))
            await estate.until(lambda: all(is_rolled(estate, name) for name in ("a", "b")))
            await asyncio.sleep(60)
            begun = clock.monotonic()
            for name in ("a", "b"):
                await estate.client.call(request.patch(Ref(STATEFULSETS, SPACE, name), MERGE_PATCH, NEXT_IMAGE))
            await estate.until(lambda: all(is_rolled(estate, name) for name in ("a", "b")))
            took.append(clock.monotonic() - begun)

    play(scenario)
    return took[0]


def is_rolled(estate: Estate, name: str) -> bool:
    zone = estate.cluster.get(STATEFULSETS, SPACE, name)
    status = zone.get("status", {})
    is_seen = status.get("observedGeneration") == zone["metadata"]["generation"]
    return bool(
        is_seen and status["currentRevision"] == status["updateRevision"] and status.get("updatedReplicas") == 3
    )


def test_a_rollout_does_not_wait_for_a_watch_that_selects_other_objects() -> None:
    """Environments watch StatefulSets too, and theirs never shows what is written to a zone."""
    alone, together = seconds_to_roll(zones_alone), seconds_to_roll(zones_with_environments)

    assert together < alone + 1
