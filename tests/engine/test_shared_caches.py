"""One process with both contracts: each resource and selection is watched once, whoever reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from fairlead.contracts.zones.settings import Settings
from kubeloop import request
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.request import Request, Response, Stream, Transport
from tests.engine.estate import SPACE, Estate, play
from tests.engine.world import a_statefulset
from tests.operator_parts import zones

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
