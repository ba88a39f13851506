"""Records: compare-and-swap in memory and on Leases, between clients that race, with versions that never come back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from kubeloop import request
from kubeloop.client import Client
from kubeloop.errors import TransportError
from kubeloop.objects.core import LEASES
from kubeloop.objects.meta import Ref
from kubeloop.records import (
    FRESH,
    LARGEST,
    LeaseRecords,
    MemoryRecords,
    Outdated,
    Recorded,
    Records,
    TooLarge,
    VersionAges,
)
from kubeloop.request import Request
from kubesim.auth.rbac import master
from kubesim.cluster import Cluster
from kubesim.faults import Fault, Faulty
from kubesim.time import run

KINDS = pytest.mark.parametrize("kind", ["memory", "lease"])


def records_on(cluster: Cluster, user: str = "operator") -> LeaseRecords:
    return LeaseRecords(Client(cluster.transport(master(user))), "default", "fairlead-operator")


def play(kind: str, scenario: Callable[[Records], Awaitable[None]], seed: int = 1) -> None:
    async def whole() -> None:
        await scenario(MemoryRecords() if kind == "memory" else records_on(Cluster(seed=seed)))

    run(whole(), seed=seed)


async def made(records: Records, key: str, value: bytes, lasts: int = 0) -> str:
    """The version of a new record."""
    found = await records.get(key)
    assert not found.value
    return await records.swap(key, found.version, value, lasts)


@KINDS
def test_a_record_is_made_replaced_and_removed(kind: str) -> None:
    async def scenario(records: Records) -> None:
        first = await made(records, "a", b'{"zone": "x"}')
        assert await records.get("a") == Recorded(b'{"zone": "x"}', first)
        second = await records.swap("a", first, b"two")
        assert await records.get("a") == Recorded(b"two", second)
        await records.swap("a", second, b"")
        assert (await records.get("a")).value == b""

    play(kind, scenario)


@KINDS
def test_a_record_is_known_since_it_was_first_read_or_written_in_its_version(kind: str) -> None:
    """By the loop's clock, so that it tells how old a mark is wherever the time of day was set meanwhile."""

    async def scenario(records: Records) -> None:
        first, ages = await made(records, "a", b"one"), []
        for seconds in (0.0, 20.0, 30.0):
            await asyncio.sleep(seconds)
            ages.append((await records.get("a")).age)
        second = await records.swap("a", first, b"two")
        await asyncio.sleep(7.0)
        ages.append((await records.get("a")).age)
        await records.swap("a", second, b"")
        ages.append((await records.get("a")).age)

        assert ages == [pytest.approx(each, abs=0.1) for each in (0.0, 20.0, 50.0, 7.0)] + [None]

    play(kind, scenario)


def test_a_replica_counts_from_when_it_first_read_what_another_wrote() -> None:
    async def scenario() -> None:
        cluster = Cluster(seed=1)
        one, other = records_on(cluster), records_on(cluster)
        await made(one, "a", b"mark")
        await asyncio.sleep(100.0)

        ages = [(await each.get("a")).age for each in (one, other)]

        assert ages == [pytest.approx(100.0, abs=0.1), pytest.approx(0.0, abs=0.1)]

    run(scenario(), seed=1)


def test_the_age_of_a_record_that_was_forgotten_counts_anew() -> None:
    async def scenario() -> None:
        ages = VersionAges(most=2)
        for key in ("a", "b"):
            ages.of(key, "1")
        await asyncio.sleep(10.0)
        ages.of("a", "1")
        ages.of("c", "1")

        assert [ages.of(key, "1") for key in ("a", "b")] == [10.0, 0.0]

    run(scenario(), seed=1)


@KINDS
def test_who_read_another_version_comes_too_late(kind: str) -> None:
    async def scenario(records: Records) -> None:
        absent = (await records.get("a")).version
        first = await records.swap("a", absent, b"one")
        await records.swap("a", first, b"two")

        for version in (absent, "", first, "nonsense" if kind == "memory" else "999999:uid"):
            with pytest.raises(Outdated):
                await records.swap("a", version, b"three")
        assert (await records.get("a")).value == b"two"

    play(kind, scenario)


@KINDS
def test_who_saw_no_record_learns_that_one_began_and_ended_meanwhile(kind: str) -> None:
    async def scenario(records: Records) -> None:
        seen = await records.get("a")
        begun = await records.swap("a", seen.version, b"in progress")
        ended = await records.swap("a", begun, b"")

        with pytest.raises(Outdated):
            await records.swap("a", seen.version, b"mine")
        assert await records.swap("a", ended, b"mine") not in (seen.version, begun, ended)

    play(kind, scenario)


@KINDS
def test_records_do_not_disturb_one_another_whatever_their_names(kind: str) -> None:
    names = ["downscale/ns/group", "downscale/ns/GROUP", "downscale/ns/", "ü/" + "x" * 500, "downscale/ns-group"]

    async def scenario(records: Records) -> None:
        for name in names:
            await made(records, name, name.encode())

        assert [(await records.get(name)).value.decode() for name in names] == names

    play(kind, scenario)


@KINDS
def test_a_value_that_does_not_fit_is_refused_and_the_largest_is_kept(kind: str) -> None:
    async def scenario(records: Records) -> None:
        version = await made(records, "a", b"x" * LARGEST)
        assert len((await records.get("a")).value) == LARGEST

        with pytest.raises(TooLarge, match="200001 bytes"):
            await records.swap("a", version, b"x" * (LARGEST + 1))

    play(kind, scenario)


def test_what_is_remembered_of_removed_records_is_bounded_and_still_safe() -> None:
    async def scenario() -> None:
        records = MemoryRecords(most_removed=2)
        seen = await records.get("a")
        for name in "abcde":
            await records.swap(name, await records.swap(name, (await records.get(name)).version, b"x"), b"")

        assert len(records._removed) == 2
        with pytest.raises(Outdated):
            await records.swap("a", seen.version, b"mine")
        await records.swap("a", (await records.get("a")).version, b"mine")

    run(scenario())


def test_what_has_run_out_does_not_stay_in_memory_and_its_version_does_not_come_back() -> None:
    async def scenario() -> None:
        records = MemoryRecords(most_removed=2)
        seen = await records.get("0")
        for number in range(50):
            last = await made(records, str(number), b"x", 60)
            await asyncio.sleep(FRESH)
        lasting = await made(records, "for ever", b"x")
        assert (await records.get("49")).version == last
        await asyncio.sleep(FRESH + 60)
        ended = await made(records, "other", b"x", 60)
        ended = await records.swap("other", ended, b"")

        assert set(records._kept) == {"for ever"}
        assert records._ends == {}
        for key, version in (("0", seen.version), ("49", last)):
            with pytest.raises(Outdated):
                await records.swap(key, version, b"late")
        await records.swap("for ever", lasting, b"y")
        await records.swap("other", ended, b"y")

    run(scenario())


@pytest.mark.parametrize("seed", range(10))
def test_of_replicas_that_race_each_step_is_won_by_one(seed: int) -> None:
    """Two clients count up in the same record: no count is lost, and every version was written by one of them."""

    async def count(records: LeaseRecords, times: int) -> int:
        lost = 0
        while times:
            seen = await records.get("a")
            try:
                await records.swap("a", seen.version, str(int(seen.value or b"0") + 1).encode())
                times -= 1
            except Outdated:
                lost += 1
        return lost

    async def scenario() -> None:
        cluster = Cluster(seed=seed, latency=(0.001, 0.01))
        both = (records_on(cluster, "one"), records_on(cluster, "two"))

        lost = await asyncio.gather(*(count(records, 20) for records in both))

        assert (await both[0].get("a")).value == b"40"
        assert sum(lost) > 0

    run(scenario(), seed=seed)


def test_a_lease_that_is_deleted_by_hand_counts_as_no_record() -> None:
    async def scenario() -> None:
        cluster = Cluster(seed=1)
        records, client = records_on(cluster), Client(cluster.transport(master("person")))
        version = await made(records, "a", b"x")
        (lease,) = (await client.list(LEASES, _Named, namespace="default")).items
        await client.call(request.delete(Ref(LEASES, "default", lease.metadata.name)))

        with pytest.raises(Outdated):
            await records.swap("a", version, b"y")
        await made(records, "a", b"y")
        assert (await records.get("a")).value == b"y"

    run(scenario())


class _Meta(msgspec.Struct):
    name: str
    annotations: dict[str, str] = {}


class _Named(msgspec.Struct):
    metadata: _Meta


def test_people_can_read_what_a_lease_is_for() -> None:
    async def scenario() -> None:
        cluster = Cluster(seed=1)
        await made(records_on(cluster), "downscale/ns/group", b'{"zone":"a"}')

        (lease,) = (await Client(cluster.transport(master("person"))).list(LEASES, _Named)).items

        assert lease.metadata.name.startswith("fairlead-operator-")
        assert lease.metadata.annotations == {
            "fairlead.dev/record": "downscale/ns/group",
            "fairlead.dev/value": '{"zone":"a"}',
        }

    run(scenario())


def test_a_write_whose_answer_is_lost_is_not_sent_again() -> None:
    writes: list[Request] = []

    def strike(sent: Request, _: int) -> Fault | None:
        if sent.method == "GET":
            return None
        writes.append(sent)
        return Fault("lost-answer")

    async def scenario() -> None:
        cluster = Cluster(seed=1)
        wire = Faulty(cluster.transport(master("operator")), strike)
        records = LeaseRecords(Client(wire), "default", "fairlead-operator")

        with pytest.raises(TransportError):
            await made(records, "a", b"x")
        assert (await records.get("a")).value == b"x"

    run(scenario())

    assert len(writes) == 1
