"""Whatever ends the work, the lease is given back after it, and only if it is ours."""

from __future__ import annotations

import asyncio

import pytest

from kubeloop import clock
from kubeloop.election import Election
from kubeloop.errors import TransportError
from kubeloop.request import Request, Response
from tests.kubeloop.candidates import LEASE, PATH, Candidate, a_lease, play, spec
from tests.kubeloop.scripted import Scripted


def test_cancelling_ends_the_work_first_and_then_gives_the_lease_back() -> None:
    async def scenario() -> None:
        api = Scripted()
        one = Candidate(api, "one").start()
        await one.leading.wait()
        await asyncio.sleep(5)
        await one.stop()

        assert one.ended == ["open"]
        assert not one.passes()
        assert (spec(api)["holderIdentity"], spec(api)["leaseDurationSeconds"]) == ("", 1)
        assert one.election.holder == ""
        two = Candidate(api, "two").start()
        await asyncio.wait_for(two.leading.wait(), 0.1)
        assert spec(api)["leaseTransitions"] == 1
        await two.stop()

    play(scenario)


def test_the_lease_is_renewed_while_the_cancelled_work_still_ends() -> None:
    async def scenario() -> None:
        api = Scripted()
        election = Election(api.client(), LEASE, "one")
        open_at_end = []

        async def slow_to_end() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(30)
                election.gate()
                open_at_end.append(True)

        task = asyncio.create_task(election.run(slow_to_end))
        await asyncio.sleep(1)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

        assert open_at_end == [True]
        assert spec(api)["holderIdentity"] == ""

    play(scenario)


def test_a_release_that_gets_no_answer_is_given_up_in_time() -> None:
    async def scenario() -> None:
        api = Scripted()
        one = Candidate(api, "one").start()
        await one.leading.wait()

        async def silent(_request: Request, _when: str) -> Response | None:
            await asyncio.sleep(3600)
            return None

        api.fault = silent
        before = clock.monotonic()
        await one.stop()

        assert clock.monotonic() - before <= one.election.write_timeout < 5
        assert not one.passes()

    play(scenario)


def test_a_candidate_that_is_cancelled_while_waiting_leaves_the_lease_alone() -> None:
    async def scenario() -> None:
        api = Scripted()
        api._store(PATH, a_lease("other"))
        one = Candidate(api, "one").start()
        await asyncio.sleep(5)
        await one.stop()

        assert spec(api)["holderIdentity"] == "other"
        assert api.asked("PUT") == []

    play(scenario)


def test_a_taking_whose_answer_was_lost_is_given_back_on_exit() -> None:
    async def scenario() -> None:
        api = Scripted()

        async def lose_answers(request: Request, when: str) -> None:
            if request.method == "POST" and when == "after":
                raise TransportError("lost")

        api.fault = lose_answers
        one = Candidate(api, "one").start()
        await asyncio.sleep(0.1)
        assert spec(api)["holderIdentity"] == "one"
        assert not one.leading.is_set()

        await one.stop()

        assert spec(api)["holderIdentity"] == ""

    play(scenario)


def test_the_end_of_the_work_is_the_end_of_the_election() -> None:
    async def scenario() -> None:
        api = Scripted()

        async def short() -> None:
            await asyncio.sleep(5)

        await Election(api.client(), LEASE, "one").run(short)

        assert clock.monotonic() == 5
        assert spec(api)["holderIdentity"] == ""

    play(scenario)


def test_a_failure_of_the_work_is_raised_as_it_is_and_the_lease_given_back() -> None:
    async def scenario() -> None:
        api = Scripted()

        async def broken() -> None:
            await asyncio.sleep(5)
            raise ValueError("broken")

        with pytest.raises(ValueError, match="broken"):
            await Election(api.client(), LEASE, "one").run(broken)

        assert spec(api)["holderIdentity"] == ""

    play(scenario)
