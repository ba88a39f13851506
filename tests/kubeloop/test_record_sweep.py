"""Leases of removed records: they go in the end, and never so early that two who exclude one another both go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import suppress
from itertools import combinations, product
from math import inf

import msgspec
import pytest
from msgspec import Struct

from kubeloop import record_sweep, records, request
from kubeloop.client import Client
from kubeloop.errors import Forbidden, KubeError
from kubeloop.objects.core import LEASES
from kubeloop.record_sweep import LOOK_EVERY, QUIET, Sweep
from kubeloop.records import FRESH, KEY, VALUE, LeaseRecords, Outdated, Recorded
from kubeloop.request import Request, Response
from kubesim.auth.rbac import master
from kubesim.cluster import Cluster
from kubesim.faults import Fault, Faulty
from kubesim.time import run

LABELS = {"app.kubernetes.io/name": "x"}
GONE = QUIET + 2 * LOOK_EVERY

Strike = Callable[[Request, int], Fault | None]


class Named(Struct):
    class Meta(Struct):
        name: str

    metadata: Meta


class Site:
    """A cluster with a replica that keeps records and one that sweeps."""

    def __init__(self, strike: Strike = lambda *_: None) -> None:
        wire = Cluster(seed=1).transport(master("operator"))
        self.client = Client(wire)
        self.records = LeaseRecords(self.client, "default", "fairlead-operator", LABELS)
        self.told: list[KubeError] = []
        sweeping = Client(Faulty(wire, strike))
        self.sweep = Sweep(sweeping, "default", "fairlead-operator", LABELS, self.told.append)

    async def removed(self, key: str) -> str:
        """The version of a record that was made and removed."""
        begun = await self.records.swap(key, (await self.records.get(key)).version, b"x")
        return await self.records.swap(key, begun, b"")

    async def leases(self) -> list[str]:
        return [lease.metadata.name for lease in (await self.client.list(LEASES, Named)).items]

    async def create(self, name: str, annotations: Mapping[str, str], labels: Mapping[str, str] = LABELS) -> None:
        metadata = {"name": name, "annotations": dict(annotations), "labels": dict(labels)}
        body = {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": metadata}
        await self.client.call(request.create(LEASES, "default", msgspec.json.encode(body)))


def test_a_removed_record_leaves_no_lease() -> None:
    async def scenario() -> None:
        site = Site()
        for key in ("downscale/a/b", "zpdb/a/b"):
            await site.removed(key)
        keeping = asyncio.create_task(site.sweep.keep())
        await asyncio.sleep(QUIET - 1)
        assert len(await site.leases()) == 2
        await asyncio.sleep(LOOK_EVERY)

        assert await site.leases() == []
        assert (await site.records.get("zpdb/a/b")).value == b""
        await site.removed("zpdb/a/b")
        keeping.cancel()

    run(scenario())


def test_a_record_that_nobody_ended_goes_some_time_after_it_has_run_out() -> None:
    async def scenario() -> None:
        site = Site()
        for key, lasts in (("crashed", 2000), ("for ever", 0), ("longer than can be said", 2**31), ("wrong", -5)):
            await site.records.swap(key, (await site.records.get(key)).version, b"x", lasts)
        keeping = asyncio.create_task(site.sweep.keep())
        await asyncio.sleep(2000 + QUIET - 1)
        assert (await site.records.get("crashed")).value == b"x"
        await asyncio.sleep(LOOK_EVERY)

        assert len(await site.leases()) == 3
        assert (await site.records.get("crashed")).value == b""
        keeping.cancel()

    run(scenario())


def test_what_is_written_or_not_a_record_of_ours_stays() -> None:
    async def scenario() -> None:
        site = Site()
        await site.records.swap("in progress", (await site.records.get("in progress")).version, b"x")
        ours = records.lease_name("fairlead-operator", "k")
        await site.create("fairlead-operator", {})
        await site.create("fairlead-operator-1", {KEY: "k"})
        await site.create(records.lease_name("other", "k"), {KEY: "k"})
        await site.create(ours, {KEY: "k"}, {"app.kubernetes.io/name": "y"})
        await site.create(records.lease_name("fairlead-operator", "l"), {KEY: "l", VALUE: "v"})
        before = await site.leases()
        keeping = asyncio.create_task(site.sweep.keep())
        await asyncio.sleep(10 * QUIET)

        assert await site.leases() == before
        keeping.cancel()

    run(scenario())


def test_a_lease_that_changes_all_the_time_stays_and_is_the_same() -> None:
    async def scenario() -> None:
        site = Site()
        keeping = asyncio.create_task(site.sweep.keep())
        await site.removed("a")
        for _ in range(10):
            await asyncio.sleep(QUIET - 1)
            uid = (await site.records.get("a")).version.partition(":")[2]
            assert (await site.removed("a")).partition(":")[2] == uid
        keeping.cancel()

    run(scenario())


def test_a_record_made_between_the_look_and_the_deletion_wins() -> None:
    async def scenario() -> None:
        site = Site()
        ended = await site.removed("a")
        await site.sweep.look()
        await asyncio.sleep(QUIET)
        real, won = site.sweep._client.call, ""

        async def call(sent: Request) -> Response:
            nonlocal won
            if sent.method == "DELETE":
                won = await site.records.swap("a", ended, b"mine")
            return await real(sent)

        site.sweep._client.call = call  # type: ignore[method-assign,assignment]
        await site.sweep.look()

        assert won
        assert await site.records.get("a") == Recorded(b"mine", won)

    run(scenario())


def test_who_read_the_empty_record_before_it_was_deleted_comes_too_late_and_makes_none() -> None:
    async def scenario() -> None:
        site = Site()
        ended = await site.removed("a")
        keeping = asyncio.create_task(site.sweep.keep())
        await asyncio.sleep(GONE)
        keeping.cancel()

        with pytest.raises(Outdated):
            await site.records.swap("a", ended, b"late")
        assert await site.leases() == []

    run(scenario())


def test_that_there_is_no_record_holds_for_a_while_only() -> None:
    async def scenario() -> None:
        site = Site()
        absent = (await site.records.get("a")).version
        await asyncio.sleep(FRESH + 1)
        with pytest.raises(Outdated, match="too long ago"):
            await site.records.swap("a", absent, b"x")
        assert await site.leases() == []

        absent = (await site.records.get("a")).version
        await asyncio.sleep(FRESH - 1)
        await site.records.swap("a", absent, b"x")

    run(scenario())


def test_a_role_without_the_rights_changes_nothing_and_is_told_once() -> None:
    def strike(sent: Request, _: int) -> Fault | None:
        return Fault("status", status=403) if sent.verb in ("list", "delete") else None

    async def scenario() -> None:
        site = Site(strike)
        ended = await site.removed("a")
        keeping = asyncio.create_task(site.sweep.keep())
        await asyncio.sleep(10 * QUIET)

        assert [type(error) for error in site.told] == [Forbidden]
        assert not keeping.done()
        await site.records.swap("a", ended, b"again")
        keeping.cancel()

    run(scenario())


STEPS = {"A": 2, "B": 3}
"""A reads and takes the record; B reads, takes and ends it."""
PAUSES = (0.0, FRESH - 1, GONE)
BETWEEN = ["read A", "taken B", "ended B", "taken A"]
"""What must not be: A would not know that B had begun and ended since A read what it goes by."""


def orders() -> Iterator[tuple[str, ...]]:
    steps = range(sum(STEPS.values()))
    for mine in combinations(steps, STEPS["A"]):
        yield tuple("A" if step in mine else "B" for step in steps)


async def taking(records: LeaseRecords, name: str) -> AsyncIterator[str]:
    """What has come of each step."""
    seen = await records.get("a")
    yield f"read {name}"
    if not seen.value:
        with suppress(Outdated):
            version = await records.swap("a", seen.version, name.encode())
            yield f"taken {name}"
            await records.swap("a", version, b"")
            yield f"ended {name}"
    while True:
        yield f"denied {name}"


async def played(order: tuple[str, ...], pauses: tuple[float, ...]) -> list[str]:
    site = Site()
    keeping = asyncio.create_task(site.sweep.keep())
    replicas = {name: taking(site.records, name) for name in STEPS}
    happened = []
    for who, pause in zip(order, (*pauses, 0.0), strict=True):
        happened.append(await anext(replicas[who]))
        await asyncio.sleep(pause)
    keeping.cancel()
    return [each for each in happened if each in BETWEEN]


def all_plays(until: list[str] | None = None) -> list[list[str]]:
    """Every order of the steps, with the sweep between any two of them or not; up to the first that comes to that."""

    async def scenario() -> list[list[str]]:
        plays: list[list[str]] = []
        for order, pauses in product(orders(), product(PAUSES, repeat=sum(STEPS.values()) - 1)):
            plays.append(await played(order, pauses))
            if plays[-1] == until:
                break
        return plays

    return run(scenario())


def test_nobody_takes_a_record_that_another_began_and_ended_since_it_was_read() -> None:
    plays = all_plays()

    assert BETWEEN not in plays
    assert ["taken B", "ended B", "read A", "taken A"] in plays
    assert ["read A", "taken A"] in plays


@pytest.mark.parametrize("what", ["an absence that holds for ever", "a Lease that goes at once"])
def test_with_it_somebody_would(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """Why both times are needed."""
    if what == "a Lease that goes at once":
        monkeypatch.setattr(record_sweep, "QUIET", 0.0)
        monkeypatch.setattr(record_sweep, "LOOK_EVERY", 100.0)
    else:
        monkeypatch.setattr(records, "FRESH", inf)

    assert BETWEEN in all_plays(until=BETWEEN)
