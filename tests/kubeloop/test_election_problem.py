"""A candidate that cannot even ask for its lease has a problem; one that waits for another has none."""

from __future__ import annotations

import asyncio

import pytest

from kubeloop.election import STUCK_AFTER_SECONDS, Election
from kubeloop.errors import TransportError
from kubeloop.request import Request, Response
from tests.kubeloop.candidates import LEASE, Candidate, play
from tests.kubeloop.scripted import Fault, Scripted, failure


async def forbidden(_request: Request, _when: str) -> Response:
    return failure(403, "Forbidden", "leases is forbidden")


async def unreachable(_request: Request, _when: str) -> Response:
    raise TransportError("no connection")


async def garbled(_request: Request, _when: str) -> Response:
    return Response(200, b"\xff<html>")


FAULTS = pytest.mark.parametrize("fault", [forbidden, unreachable, garbled])


@FAULTS
def test_after_half_a_minute_of_errors_there_is_a_problem_until_one_attempt_succeeds(fault: Fault) -> None:
    async def scenario() -> None:
        api, told = Scripted(), list[str]()
        api.fault = fault
        election = Election(api.client(), LEASE, "one", seed=1, stuck=told.append)
        task = asyncio.create_task(election.run(asyncio.Event().wait))  # type: ignore[arg-type]

        await asyncio.sleep(STUCK_AFTER_SECONDS - 5)
        assert election.problem == ""
        await asyncio.sleep(15)
        assert election.problem.startswith("cannot acquire the Lease fairlead for ")
        assert len(told) == 1

        api.fault = None
        await asyncio.sleep(10)
        assert election.problem == ""
        assert told[1:] == [""]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    play(scenario)


def test_who_waits_for_another_has_no_problem() -> None:
    async def scenario() -> None:
        api = Scripted()
        one, two = Candidate(api, "one").start(), Candidate(api, "two").start()

        await asyncio.sleep(300)

        assert [each.election.problem for each in (one, two)] == ["", ""]
        assert [each.leading.is_set() for each in (one, two)].count(True) == 1
        await one.stop()
        await two.stop()

    play(scenario)


def test_errors_now_and_then_are_no_problem() -> None:
    async def scenario() -> None:
        api = Scripted()
        first = Candidate(api, "one", duration=3600).start()
        await first.leading.wait()
        api.fault = unreachable  # it cannot give its lease back
        await first.stop()
        second = Candidate(api, "two").start()

        for _ in range(10):
            api.fault = unreachable
            await asyncio.sleep(STUCK_AFTER_SECONDS - 10)
            assert second.election.problem == ""
            api.fault = None
            await asyncio.sleep(10)
            assert second.election.problem == ""

        await second.stop()

    play(scenario)
