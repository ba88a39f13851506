"""A storage migration (environments section 3.14): pages, what happens between two of them, when it is tried again."""

from __future__ import annotations

import asyncio
import itertools

import msgspec
import pytest

from fairlead.engine.kinds.migration import Run
from kubeloop import clock
from kubeloop.errors import TransportError
from kubeloop.request import Request, Response
from tests.engine.definition_server import NAME, a_definition
from tests.engine.migrations import OBJECTS, World, played
from tests.kubeloop.scripted import failure


def test_every_object_is_written_as_it_was_read_and_the_old_version_forgotten() -> None:
    async def scenario(world: World) -> None:
        assert world.stored == ["v1", "v2"]
        before = {path: tree["metadata"]["resourceVersion"] for path, tree in world.server.objects.items()}

        await world.migrate()

        assert world.written == [*OBJECTS, *OBJECTS]
        for sent in [each for each in world.server.requests if each.method == "PUT"][: len(OBJECTS)]:
            assert msgspec.json.decode(sent.body)["metadata"]["resourceVersion"] == before[sent.path]
        assert world.stored == ["v2"]
        assert world.runs == [Run(25, 0, 0, True)]
        assert len(world.server.asked("GET", limit="10")) == 6

    played(scenario)


def test_it_begins_at_once_and_ends_when_all_api_servers_have_heard_of_the_storage_version() -> None:
    """What one of them wrote in the old version meanwhile is written once more, before that is forgotten."""

    async def scenario(world: World) -> None:
        begun = clock.monotonic()
        task = asyncio.create_task(world.migrate())
        await asyncio.sleep(0.1)
        assert world.written == OBJECTS
        assert world.stored == ["v1", "v2"]

        await asyncio.sleep(9.8)
        assert world.written == OBJECTS
        assert world.stored == ["v1", "v2"]
        world.server.object("w-99")

        await task
        assert world.written == [*OBJECTS, *OBJECTS, "w-99"]
        assert world.stored == ["v2"]
        assert clock.monotonic() - begun < 11

    played(scenario)


def test_a_clean_kind_is_left_alone() -> None:
    async def scenario(world: World) -> None:
        await world.migrate()
        world.server.requests.clear()

        await world.migrate()

        assert [each.method for each in world.server.requests] == ["GET"]

    played(scenario)


def test_an_object_written_meanwhile_is_read_and_written_again() -> None:
    async def scenario(world: World) -> None:
        world.before("PUT", "w-05", lambda: world.server.object("w-05", size=2))

        await world.migrate()

        assert world.written.count("w-05") == 3
        assert world.server.objects["/apis/shop.example.com/v2/namespaces/ns/widgets/w-05"]["spec"] == {"size": 2}
        assert world.runs == [Run(25, 0, 0, True)]

    played(scenario)


@pytest.mark.parametrize("method", ["PUT", "GET"])
def test_an_object_deleted_meanwhile_is_done(method: str) -> None:
    async def scenario(world: World) -> None:
        if method == "GET":  # after a conflict
            world.refuse("w-24", status=409)
        world.before(method, "w-24", lambda: world.server.drop("w-24"))

        await world.migrate()

        assert world.runs == [Run(24, 1, 0, True)]
        assert world.stored == ["v2"]

    played(scenario)


def test_nothing_is_forgotten_while_an_object_fails_and_it_is_tried_again_later() -> None:
    async def scenario(world: World) -> None:
        world.refuse("w-05", "w-07")
        task = asyncio.create_task(world.migrate())

        await asyncio.sleep(100)
        assert world.stored == ["v1", "v2"]
        assert world.runs[0] == Run(23, 0, 2, False)
        assert {each["object"] for each in world.log.of("object not migrated")} == {"ns/w-05", "ns/w-07"}

        world.server.refuse = lambda _: None
        await task
        assert world.stored == ["v2"]
        assert world.runs[-1].finished

    played(scenario)


def test_an_object_that_is_written_all_the_time_fails_this_run() -> None:
    async def scenario(world: World) -> None:
        world.refuse("w-05", status=409)
        task = asyncio.create_task(world.migrate())
        await asyncio.sleep(4)

        assert world.runs == [Run(24, 0, 1, False)]
        assert world.written.count("w-05") == 5
        task.cancel()

    played(scenario)


def test_failed_runs_come_more_and_more_slowly_but_do_not_end() -> None:
    async def scenario(world: World) -> None:
        times: list[float] = []

        def down(request: Request) -> Response | None:
            if "widgets?" in request.target:
                times.append(clock.monotonic())
                return failure(500, "InternalError", "conversion webhook failed")
            return None

        world.server.refuse = down
        task = asyncio.create_task(world.migrate())
        await asyncio.sleep(4000)

        gaps = [round(after - before) for before, after in itertools.pairwise(times)]
        assert gaps[:7] == [5, 10, 20, 40, 80, 160, 300]
        assert set(gaps[6:]) == {300}
        assert world.stored == ["v1", "v2"]
        task.cancel()

    played(scenario)


def test_a_lost_connection_ends_the_run_and_not_the_migration() -> None:
    async def scenario(world: World) -> None:
        lost: list[Request] = []

        async def lose(request: Request, when: str) -> Response | None:
            if request.method == "PUT" and when == "before" and not lost:
                lost.append(request)
                raise TransportError("the connection broke")
            return None

        world.server.fault = lose
        await world.migrate()

        assert [each.finished for each in world.runs] == [False, True]
        assert world.stored == ["v2"]

    played(scenario)


@pytest.mark.parametrize("token", ["", "103:10"])
def test_pages_that_have_expired_are_gone_on_with_or_begun_anew(token: str) -> None:
    async def scenario(world: World) -> None:
        expired: list[Request] = []

        def expire(request: Request) -> Response | None:
            if ("continue", "10") in [(key, value.split(":")[-1]) for key, value in request.query] and not expired:
                expired.append(request)
                status = {"code": 410, "reason": "Expired", "metadata": {"continue": token} if token else {}}
                return Response(410, msgspec.json.encode(status))
            return None

        world.server.refuse = expire
        await world.migrate()

        assert expired
        assert sorted(set(world.written)) == OBJECTS
        assert len(world.written) == 25 + (25 if token else 35)
        assert world.stored == ["v2"]

    played(scenario)


def test_a_definition_written_meanwhile_is_read_again_before_anything_is_forgotten() -> None:
    async def scenario(world: World) -> None:
        definition = {"metadata": {"name": NAME, "labels": {"touched": "yes"}}, "spec": {}}
        world.before("PATCH", "status", lambda: world.server.write(definition))

        await world.migrate()

        assert len(world.server.sent("PATCH")) == 2
        assert world.stored == ["v2"]

    played(scenario)


def test_a_storage_version_that_changes_meanwhile_keeps_everything_remembered() -> None:
    async def scenario(world: World) -> None:
        world.before("PUT", "w-24", lambda: world.server.write(a_definition("v2", "v1")))
        task = asyncio.create_task(world.migrate())
        await asyncio.sleep(12)

        assert [each.finished for each in world.runs] == [False]
        assert world.stored == ["v1", "v2"]
        task.cancel()

    played(scenario)


def test_a_replica_that_has_lost_its_lease_leaves_the_rest_to_the_next() -> None:
    async def scenario(world: World) -> None:
        def lose() -> None:
            world.leads = False

        world.before("PUT", "w-05", lose)
        await world.migrate()

        assert world.written == OBJECTS[:6]
        assert world.stored == ["v1", "v2"]

    played(scenario)
