"""A lease is taken as soon as that is safe, and by one candidate."""

from __future__ import annotations

import asyncio
from math import inf

import pytest

from kubeloop import clock
from kubeloop.request import Request
from tests.kubeloop.candidates import PATH, Candidate, a_lease, play, spec
from tests.kubeloop.scripted import Scripted


def test_the_first_candidate_creates_the_lease_and_leads() -> None:
    async def scenario() -> None:
        api = Scripted()
        one = Candidate(api, "one").start()
        await one.leading.wait()

        assert one.passes()
        assert one.election.holder == "one"
        assert spec(api) == {
            "holderIdentity": "one",
            "leaseDurationSeconds": 15,
            "leaseTransitions": 0,
            "acquireTime": spec(api)["renewTime"],
            "renewTime": clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        }
        await one.stop()

    play(scenario)


def test_a_second_candidate_waits_while_the_first_renews() -> None:
    async def scenario() -> None:
        api = Scripted()
        one = Candidate(api, "one").start()
        await one.leading.wait()
        two = Candidate(api, "two").start()
        await asyncio.sleep(300)

        assert not two.leading.is_set()
        assert not two.passes()
        assert two.election.holder == "one"
        await two.stop()
        await one.stop()

    play(scenario)


@pytest.mark.parametrize("renew_time", ["1999-01-01T00:00:00.000000Z", "2199-01-01T00:00:00.000000Z"])
def test_the_clock_of_the_holder_is_not_trusted(renew_time: str) -> None:
    """A dead holder's lease is taken after its own duration as measured here, whatever times its record carries."""

    async def scenario() -> None:
        api = Scripted()
        api._store(PATH, a_lease("dead", leaseDurationSeconds=40, renewTime=renew_time))
        one = Candidate(api, "one").start()
        await asyncio.sleep(39.9)
        assert not one.leading.is_set()

        await asyncio.sleep(5)

        assert one.passes()
        assert spec(api)["leaseTransitions"] == 4
        assert api.objects[PATH]["metadata"]["labels"] == {"kept": "yes"}
        await one.stop()

    play(scenario)


def test_a_lease_that_was_given_back_is_taken_at_once() -> None:
    async def scenario() -> None:
        api = Scripted()
        api._store(PATH, a_lease("", leaseDurationSeconds=1))
        one = Candidate(api, "one").start()
        await one.leading.wait()

        assert clock.monotonic() == 0
        await one.stop()

    play(scenario)


def test_who_takes_the_lease_over_knows_until_when_another_was_seen_to_hold_it() -> None:
    async def scenario() -> None:
        api = Scripted()
        one = Candidate(api, "one").start()
        await one.leading.wait()
        assert one.election.led_until == -inf, "the lease is new"
        two = Candidate(api, "two", seed=1).start()
        await asyncio.sleep(100)

        await one.stop()
        stopped = clock.monotonic()
        await two.leading.wait()
        assert stopped <= two.election.led_until <= clock.monotonic() < stopped + 3

        api._store(PATH, a_lease("dead", leaseDurationSeconds=40))
        await asyncio.sleep(3)
        seen = clock.monotonic()
        await two.stop()
        two.start()
        await two.leading.wait()
        assert seen - 3 <= two.election.led_until <= seen < clock.monotonic() - 30
        await two.stop()

    play(scenario)


def test_fields_of_the_lease_that_are_not_ours_survive() -> None:
    async def scenario() -> None:
        api = Scripted()
        api._store(PATH, a_lease("", preferredHolder="somebody"))
        one = Candidate(api, "one").start()
        await one.leading.wait()
        await asyncio.sleep(10)
        await one.stop()

        assert spec(api)["preferredHolder"] == "somebody"
        assert api.objects[PATH]["metadata"]["labels"] == {"kept": "yes"}

    play(scenario)


def test_of_two_that_create_the_lease_at_once_one_leads_and_the_other_knows_it() -> None:
    async def scenario() -> None:
        api = Scripted()

        async def slow_reads(request: Request, when: str) -> None:
            if request.method == "GET" and when == "after" and PATH not in api.objects:
                await asyncio.sleep(1)

        api.fault = slow_reads
        one, two = Candidate(api, "one", seed=1).start(), Candidate(api, "two", seed=2).start()
        await asyncio.sleep(1.5)

        assert [one.passes(), two.passes()].count(True) == 1
        assert one.election.holder == two.election.holder != ""
        await one.stop()
        await two.stop()

    play(scenario)
