"""A migration as a job: several writes at a time, an audit line each, a Lease, and a journal to go on from."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from fairlead.engine.driver.request_pace import BETWEEN_TRIES, HOPELESS
from kubeloop.errors import TransportError
from kubeloop.request import Request, Response
from tests.chaos.machine import SOAKS, soaked
from tests.engine.definition_server import NAME, a_definition, a_version
from tests.engine.migrations import OBJECTS, Run, World, is_rewrite, played


def test_a_bounded_number_is_written_at_a_time_and_no_failure_stops_the_others() -> None:
    async def scenario(world: World) -> None:
        world.at_once = 4
        world.refuse("w-00", "w-05")
        under_way = 0
        most: list[int] = []

        async def slow(request: Request, when: str) -> Response | None:
            nonlocal under_way
            if is_rewrite(request) and when == "before":
                under_way += 1
                most.append(under_way)
                await asyncio.sleep(1)
                under_way -= 1
            return None

        world.server.fault = slow
        task = asyncio.create_task(world.migrate())
        await asyncio.sleep(10)

        assert sorted(world.written) == OBJECTS
        assert world.runs == [Run(23, 0, 2, False)]
        assert max(most) == 4
        task.cancel()

    played(scenario)


def test_every_write_has_an_audit_line() -> None:
    async def scenario(world: World) -> None:
        world.refuse("w-05")
        task = asyncio.create_task(world.migrate())
        await asyncio.sleep(1)
        world.server.refuse = lambda _: None
        await task

        lines = [each for each in world.lines if each.does == "rewrite-object"]
        assert [each.subject.rsplit("/", 1)[1] for each in lines] == world.written
        assert {each.outcome for each in lines} == {"ok", "apply widgets/w-05 in namespace ns: not this one"}
        assert all(each.round and each.precondition for each in lines)
        (forgotten,) = [each for each in world.lines if each.does == "forget-versions"]
        assert (forgotten.change_from, forgotten.change_to) == ("v1,v2", "v2")

    played(scenario)


class Killed(BaseException):
    """The process ends at once."""


class Crash:
    """The process is killed at the effect of this number, before it is carried out or after, until it is revived."""

    def __init__(self, number: int, *, before: bool) -> None:
        self.left = number
        self.when = "before" if before else "after"
        self.struck = False
        self.is_revived = False

    async def __call__(self, request: Request, when: str) -> Response | None:
        if self.is_revived:
            return None
        if self.struck:  # nothing that a dead process would send arrives
            raise Killed
        if _is_effect(request) and when == self.when:
            self.left -= 1
            if self.left == 0:
                self.struck = True
                raise Killed
        return None


def _is_effect(request: Request) -> bool:
    """Of those that objects and definitions show."""
    return request.method == "PATCH"


def killed_and_resumed(crash: Crash, at_once: int) -> None:
    """The journal outlasts the process: of all pages only the one that it was killed in is written again."""

    async def scenario(world: World) -> None:
        world.at_once = at_once
        world.server.fault = crash
        with suppress(BaseExceptionGroup):
            await world.migrate()
        at = len(world.written)
        if world.stored == ["v2"]:
            assert at == 50
        crash.is_revived = True
        world.looks_mixed = True
        await world.migrate()

        assert world.stored == ["v2"]
        assert set(world.server.stored_in.values()) == {"v2"}
        page = (at - 1) % 25 // 10
        counts = [{world.written.count(each) for each in OBJECTS[begin : begin + 10]} for begin in (0, 10, 20)]
        assert all(found == {2} or (place == page and found <= {2, 3}) for place, found in enumerate(counts)), counts

    played(scenario)


EFFECTS = 50 + 1
"""Two passes, and the definition."""


@soaked
@pytest.mark.parametrize("before", [True, False], ids=["before it is sent", "after it is carried out"])
@pytest.mark.parametrize("at_once", [1, 4])
def test_a_job_that_is_killed_at_any_effect_goes_on_from_its_journal(before: bool, at_once: int) -> None:
    for number in range(1, EFFECTS + 2, 1 if SOAKS else 3):
        crash = Crash(number, before=before)
        killed_and_resumed(crash, at_once)
        assert crash.struck == (number <= EFFECTS)


def test_of_two_that_run_at_once_one_waits_for_the_other() -> None:
    async def scenario(world: World) -> None:
        async def slow(_: Request, when: str) -> Response | None:
            await asyncio.sleep(0.1 if when == "before" else 0.0)
            return None

        world.server.fault = slow
        await asyncio.gather(world.migrate(), world.migrate())

        assert world.stored == ["v2"]
        assert sorted(world.written) == sorted([*OBJECTS, *OBJECTS])

    played(scenario)


def test_a_server_that_is_away_is_not_asked_for_every_object_again_and_again() -> None:
    async def scenario(world: World) -> None:
        async def away(request: Request, when: str) -> Response | None:
            if is_rewrite(request) and when == "before":
                raise TransportError("nobody listens")
            return None

        world.server.fault = away
        task = asyncio.create_task(world.migrate())
        await asyncio.sleep(HOPELESS * sum(BETWEEN_TRIES) + 1)

        tries = 1 + len(BETWEEN_TRIES)
        assert [world.written.count(each) for each in OBJECTS[:10]] == [tries] * HOPELESS + [1] * (10 - HOPELESS)
        task.cancel()

    played(scenario)


def test_a_definition_that_was_another_meanwhile_has_everything_written_once_more() -> None:
    """Objects may have been stored in the old version for a while, and what the definition says now does not tell."""

    async def scenario(world: World) -> None:
        def flip() -> None:
            world.server.write(a_definition("v2", "v1"))
            world.server.write(a_definition("v1", "v2"))

        world.before("PATCH", "status", flip)
        await world.migrate()

        assert world.written == [*OBJECTS, *OBJECTS, *OBJECTS]
        assert world.stored == ["v2"]
        assert world.runs == [Run(25, 0, 0, True)]

    played(scenario)


def test_a_definition_that_keeps_changing_ends_the_run() -> None:
    async def scenario(world: World) -> None:
        def busy(request: Request) -> Response | None:
            if is_rewrite(request) and request.path.endswith("w-24"):
                columns = [{"name": f"c{len(world.written)}", "type": "string", "jsonPath": ".spec"}]
                version = {**a_version("v2", storage=True), "additionalPrinterColumns": columns}
                world.server.write({"metadata": {"name": NAME}, "spec": {"versions": [a_version("v1"), version]}})
            return None

        world.server.refuse = busy
        task = asyncio.create_task(world.migrate())
        await asyncio.sleep(75)

        assert world.stored == ["v1", "v2"]
        assert [each.problem for each in world.ends] == ["its definition keeps changing"]
        task.cancel()

    played(scenario)
