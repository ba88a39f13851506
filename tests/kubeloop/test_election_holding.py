"""A leader holds its lease by renewing it, and stops in time when it cannot or may not."""

from __future__ import annotations

import asyncio

import pytest

from kubeloop import clock
from kubeloop.election import LostLease
from kubeloop.errors import TransportError
from kubeloop.request import Request, Response
from tests.kubeloop.candidates import PATH, Candidate, a_lease, play, spec
from tests.kubeloop.scripted import Scripted


async def unreachable(_request: Request, _when: str) -> Response | None:
    raise TransportError("no route")


def test_a_held_lease_is_renewed_and_keeps_its_time_of_acquisition() -> None:
    async def scenario() -> None:
        api = Scripted()
        one = Candidate(api, "one").start()
        await one.leading.wait()
        acquired = spec(api)["acquireTime"]

        await asyncio.sleep(100)

        assert one.passes()
        assert spec(api)["acquireTime"] == acquired < spec(api)["renewTime"]
        assert spec(api)["leaseTransitions"] == 0
        assert len(api.asked("GET")) == 1, "a renewal is one write"
        await one.stop()

    play(scenario)


def test_a_leader_that_cannot_renew_closes_its_gate_at_the_deadline_and_ends_its_work() -> None:
    async def scenario() -> None:
        api = Scripted()
        one = Candidate(api, "one").start()
        await one.leading.wait()
        api.fault = unreachable
        await asyncio.sleep(9.9)
        assert one.passes()

        await asyncio.sleep(0.2)

        assert not one.passes()
        assert one.ended == ["closed"]
        with pytest.raises(LostLease, match=r"10 seconds.*no route"):
            await one.task  # type: ignore[misc]

    play(scenario)


def test_a_paused_process_finds_its_gate_closed_before_anything_else_runs() -> None:
    async def scenario() -> None:
        api = Scripted()
        one = Candidate(api, "one").start()
        await one.leading.wait()
        assert one.passes()

        asyncio.get_running_loop()._now += 10.0  # type: ignore[attr-defined]

        assert not one.passes()
        await one.stop()

    play(scenario)


def test_the_time_of_a_renewal_counts_from_its_sending() -> None:
    async def scenario() -> None:
        api = Scripted()

        async def slow(request: Request, when: str) -> None:
            if request.method == "POST" and when == "after":
                await asyncio.sleep(3)
                api.fault = unreachable

        api.fault = slow
        one = Candidate(api, "one").start()
        await one.leading.wait()
        assert clock.monotonic() == 3
        await asyncio.sleep(6.9)
        assert one.passes()

        await asyncio.sleep(0.2)

        assert not one.passes()
        await one.stop()

    play(scenario)


def test_a_leader_that_sees_another_holder_stops_at_its_next_renewal() -> None:
    async def scenario() -> None:
        api = Scripted()
        one = Candidate(api, "one").start()
        await one.leading.wait()
        stolen = a_lease("thief")
        api._store(PATH, stolen)
        await asyncio.sleep(2.1)

        assert not one.passes()
        with pytest.raises(LostLease, match="thief"):
            await one.task  # type: ignore[misc]
        assert spec(api) == stolen["spec"], "the lease of another is not given back"

    play(scenario)


def test_a_lease_that_somebody_else_touched_is_still_ours() -> None:
    async def scenario() -> None:
        api = Scripted()
        one = Candidate(api, "one").start()
        await one.leading.wait()
        touched = api.objects[PATH]
        touched["metadata"]["labels"] = {"touched": "yes"}
        api._store(PATH, touched)
        await asyncio.sleep(60)

        assert one.passes()
        assert api.objects[PATH]["metadata"]["labels"] == {"touched": "yes"}
        await one.stop()

    play(scenario)


def test_a_lease_deleted_under_its_holder_is_made_anew_by_it() -> None:
    async def scenario() -> None:
        api = Scripted()
        one = Candidate(api, "one").start()
        await one.leading.wait()
        two = Candidate(api, "two").start()
        await asyncio.sleep(5)
        api._remove(PATH)
        # The candidate looks before the holder does, and must not take it for free.
        await asyncio.sleep(30)

        assert one.passes()
        assert not two.passes()
        assert spec(api)["holderIdentity"] == "one"
        await two.stop()
        await one.stop()

    play(scenario)


def test_a_lease_deleted_under_its_holder_and_made_by_another_ends_the_leadership() -> None:
    async def scenario() -> None:
        api = Scripted()
        one = Candidate(api, "one").start()
        await one.leading.wait()

        async def steal(request: Request, when: str) -> None:
            """Another process creates the lease just before the holder does."""
            if request.method == "POST" and when == "before":
                api.fault = None
                api._store(PATH, a_lease("thief"))

        api.fault = steal
        api._remove(PATH)
        await asyncio.sleep(2.1)

        assert not one.passes()
        with pytest.raises(LostLease, match="thief"):
            await one.task  # type: ignore[misc]

    play(scenario)
