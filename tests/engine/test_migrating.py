"""Migrations by the leader (environments section 3.14): pages, what happens between two of them, when to try again."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from fairlead.engine.decide.storage_migration.journal import MOST_ROUNDS
from fairlead.engine.decide.storage_migration.names import migration_name
from kubeloop import clock
from kubeloop.errors import TransportError
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.request import Request, Response, path_of
from tests.engine.definition_server import NAME, a_definition
from tests.engine.migrations import CONVERTED, HOME, OBJECTS, Run, World, is_rewrite, played
from tests.kubeloop.scripted import failure


def test_every_object_is_written_as_it_is_and_the_old_version_forgotten() -> None:
    async def scenario(world: World) -> None:
        assert world.stored == ["v1", "v2"]
        before = {path: tree for path, tree in world.server.objects.items() if path in world.server.stored_in}

        await world.migrate()

        assert world.written == [*OBJECTS, *OBJECTS]
        for sent in world.rewrites[: len(OBJECTS)]:
            meta = msgspec.json.decode(sent.body)["metadata"]
            assert meta["resourceVersion"] == before[sent.path]["metadata"]["resourceVersion"]
            assert meta["uid"] == before[sent.path]["metadata"]["uid"]
        assert set(world.server.stored_in.values()) == {"v2"}
        assert world.stored == ["v2"]
        assert world.runs == [Run(25, 0, 0, True)]

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
        assert set(world.server.stored_in.values()) == {"v2"}
        assert world.stored == ["v2"]
        assert clock.monotonic() - begun < 11

    played(scenario)


def test_a_clean_kind_is_left_alone_whatever_was_seen_of_it() -> None:
    async def scenario(world: World) -> None:
        await world.migrate()
        world.server.requests.clear()
        world.looks_mixed = True

        await world.migrate()

        assert not [each for each in world.server.requests if "widgets?" in each.target or is_rewrite(each)]
        assert world.runs[-1].finished

    played(scenario)


def test_an_object_written_meanwhile_is_stored_anew_when_it_is_proven() -> None:
    async def scenario(world: World) -> None:
        world.before("PATCH", "w-05", lambda: world.server.object("w-05", size=2))

        await world.migrate()

        assert world.written.count("w-05") == 2
        path = "/apis/shop.example.com/v2/namespaces/ns/widgets/w-05"
        assert world.server.objects[path]["spec"] == {"size": 2}
        assert world.server.stored_in[path] == "v2"
        assert world.runs == [Run(24, 1, 0, True)]

    played(scenario)


def test_an_object_deleted_meanwhile_is_done() -> None:
    async def scenario(world: World) -> None:
        world.before("PATCH", "w-24", lambda: world.server.drop("w-24"))

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
        journal = world.ends[0].journal
        assert journal is not None
        assert {each.object for each in journal.failures} == {"ns/w-05", "ns/w-07"}

        world.server.refuse = lambda _: None
        await task
        assert world.stored == ["v2"]
        assert world.runs[-1].finished

    played(scenario)


def test_an_object_that_is_written_all_the_time_fails_this_run() -> None:
    async def scenario(world: World) -> None:
        world.refuse("w-05", status=409)
        task = asyncio.create_task(world.migrate())
        await asyncio.sleep(12)

        assert [each.finished for each in world.runs] == [False]
        assert world.written.count("w-05") == 2 * MOST_ROUNDS
        assert world.stored == ["v1", "v2"]
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

        assert world.rests[:9] == [5, 10, 20, 40, 80, 160, 300, 300, 300]
        assert times[-1] > clock.monotonic() - 340
        assert world.stored == ["v1", "v2"]
        task.cancel()

    played(scenario)


def test_a_definition_that_is_another_one_is_taken_up_at_once() -> None:
    async def scenario(world: World) -> None:
        migrations = world.migrations()
        world.refuse("w-05")
        task = asyncio.create_task(migrations.run())
        await asyncio.sleep(200)
        runs, rest = len(world.runs), world.rests[-1]
        world.server.refuse = lambda _: None

        migrations.wake()
        await asyncio.sleep(1)
        assert len(world.runs) == runs
        world.server.write({"metadata": {"name": NAME, "labels": {"touched": "yes"}}, "spec": {}})
        migrations.wake()
        await asyncio.sleep(20)

        assert rest > 60
        assert world.runs[runs:] == [Run(25, 0, 0, True)]
        task.cancel()

    played(scenario)


def test_a_kind_that_becomes_mixed_again_is_taken_up_at_once() -> None:
    async def scenario(world: World) -> None:
        migrations = world.migrations()
        task = asyncio.create_task(migrations.run())
        await asyncio.sleep(20)
        assert world.runs == [Run(25, 0, 0, True)]
        migrations.wake()

        status = world.server.definition()["status"]
        status["storedVersions"] = ["v1", "v2"]
        migrations.wake()
        await asyncio.sleep(20)

        assert len(world.runs) == 2
        assert world.stored == ["v2"]
        task.cancel()

    played(scenario)


def test_a_lost_connection_is_tried_again_in_the_same_run() -> None:
    async def scenario(world: World) -> None:
        lost: list[Request] = []

        async def lose(request: Request, when: str) -> Response | None:
            if is_rewrite(request) and when == "before" and not lost:
                lost.append(request)
                raise TransportError("the connection broke")
            return None

        world.server.fault = lose
        await world.migrate()

        assert lost
        assert world.runs == [Run(25, 0, 0, True)]
        assert world.stored == ["v2"]

    played(scenario)


@pytest.mark.parametrize("token", ["", "103:10"])
def test_pages_that_have_expired_are_gone_on_with_behind_the_cursor(token: str) -> None:
    async def scenario(world: World) -> None:
        expired: list[Request] = []

        def expire(request: Request) -> Response | None:
            is_second = ("continue", "10") in [(key, value.split(":")[-1]) for key, value in request.query]
            if is_second and world.written and not expired:
                expired.append(request)
                status = {"code": 410, "reason": "Expired", "metadata": {"continue": token} if token else {}}
                return Response(410, msgspec.json.encode(status))
            return None

        world.server.refuse = expire
        await world.migrate()

        assert expired
        assert world.written == [*OBJECTS, *OBJECTS]
        assert world.stored == ["v2"]

    played(scenario)


def test_a_definition_written_meanwhile_is_read_again_before_anything_is_forgotten() -> None:
    async def scenario(world: World) -> None:
        definition = {"metadata": {"name": NAME, "labels": {"touched": "yes"}}, "spec": {}}
        world.before("PATCH", "status", lambda: world.server.write(definition))

        await world.migrate()

        assert len([path for path in world.server.sent("PATCH") if path.endswith("/status")]) == 2
        assert world.stored == ["v2"]

    played(scenario)


def test_a_storage_version_that_changes_meanwhile_keeps_everything_remembered() -> None:
    async def scenario(world: World) -> None:
        world.before("PATCH", "w-24", lambda: world.server.write(a_definition("v2", "v1")))
        task = asyncio.create_task(world.migrate())
        await asyncio.sleep(12)

        assert [each.finished for each in world.runs] == [False]
        assert world.ends[0].is_conflict
        assert world.stored == ["v1", "v2"]
        task.cancel()

    played(scenario)


def test_nothing_is_written_while_nobody_converts() -> None:
    async def scenario(world: World) -> None:
        world.server.write({"metadata": {"name": NAME}, "spec": {"conversion": {"strategy": "None"}}})
        task = asyncio.create_task(world.migrate())
        await asyncio.sleep(60)

        assert not world.written
        assert world.stored == ["v1", "v2"]
        assert {each.problem for each in world.ends} == {
            "nobody converts its objects; the operator puts its webhook back"
        }
        world.server.write({"metadata": {"name": NAME}, "spec": {"conversion": {"strategy": "Webhook"}}})
        await task
        assert world.stored == ["v2"]

    played(scenario)


def test_a_page_ends_where_the_watch_shows_that_nobody_converts() -> None:
    async def scenario(world: World) -> None:
        world.sees_conversion = True
        unconverted = {"metadata": {"name": NAME}, "spec": {"conversion": {"strategy": "None"}}}
        world.before("PATCH", "w-05", lambda: world.server.write(unconverted))
        task = asyncio.create_task(world.migrate())
        await asyncio.sleep(60)

        assert world.written == OBJECTS[:6]
        assert {each.problem for each in world.ends} == {
            "nobody converts its objects; the operator puts its webhook back"
        }
        world.server.write({"metadata": {"name": NAME}, "spec": CONVERTED})
        await task
        assert world.stored == ["v2"]
        assert {*world.server.stored_in.values()} == {"v2"}

    played(scenario)


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("leases", "may not be taken: ask for a role that allows to get, create and update leases there"),
        ("configmaps", "the journal cannot be kept: "),
    ],
)
def test_an_operator_that_lacks_a_right_is_told_what_an_operator_can_do(kind: str, problem: str) -> None:
    """Nobody has called a command, and nobody has an option of one."""

    async def scenario(world: World) -> None:
        def refuse(request: Request) -> Response | None:
            lacks = f'{kind} is forbidden: User "x" cannot {request.verb} resource "{kind}" in API group ""'
            return failure(403, "Forbidden", lacks) if f"/{kind}" in request.path else None

        world.server.refuse = refuse
        task = asyncio.create_task(world.migrate())
        await asyncio.sleep(30)

        assert problem in world.ends[0].problem
        assert not any(word in world.ends[0].problem for word in ("--journal", "command", "you"))
        world.server.refuse = lambda _: None
        await task
        assert world.stored == ["v2"]

    played(scenario)


def test_no_further_page_is_written_once_somebody_has_taken_the_conversion_away() -> None:
    """Each write would drop what the old version has alone."""

    async def scenario(world: World) -> None:
        unconverted = {"metadata": {"name": NAME}, "spec": {"conversion": {"strategy": "None"}}}
        world.before("PATCH", "w-05", lambda: world.server.write(unconverted))
        task = asyncio.create_task(world.migrate())
        await asyncio.sleep(60)

        assert world.written == OBJECTS[:10]
        assert world.stored == ["v1", "v2"]
        world.server.write({"metadata": {"name": NAME}, "spec": CONVERTED})
        await task
        assert world.stored == ["v2"]
        assert {*world.server.stored_in.values()} == {"v2"}

    played(scenario)


def test_a_replica_that_has_lost_its_lease_leaves_the_rest_to_the_next() -> None:
    async def scenario(world: World) -> None:
        def lose() -> None:
            world.leads = False

        world.before("PATCH", "w-05", lose)
        await world.migrate()

        assert world.written == OBJECTS[:6]
        assert world.stored == ["v1", "v2"]
        assert [each.problem for each in world.ends] == ["its Lease was lost, so another run may be at work"]

    played(scenario)


def test_a_journal_that_cannot_be_kept_has_nothing_written() -> None:
    async def scenario(world: World) -> None:
        journal = path_of(CONFIGMAPS, HOME)

        def refuse(request: Request) -> Response | None:
            return failure(403, "Forbidden", "no right") if request.path.startswith(journal) else None

        world.server.refuse = refuse
        task = asyncio.create_task(world.migrate())
        await asyncio.sleep(30)

        assert not world.written
        assert "the journal cannot be kept" in world.ends[0].problem
        world.server.refuse = lambda _: None
        await task
        assert world.stored == ["v2"]
        assert path_of(CONFIGMAPS, HOME, migration_name(NAME)) in world.server.objects

    played(scenario)


@pytest.mark.parametrize(
    "edited",
    [
        {"place": 7},
        {"settled": "2030-01-01T00:00:00"},
        {"crd": "gadgets.shop.example.com"},
        {"phase": "Swept"},
        {"plan": None},
        {"plan": {"resource": "widgets"}},
        {"phase": "Verify", "listVersion": "9" * 5000},
    ],
    ids=str,
)
def test_a_journal_that_people_have_edited_harms_nobody(edited: dict[str, Any]) -> None:
    """The next leader begins anew where it cannot go by what it finds."""

    async def scenario(world: World) -> None:
        def lose() -> None:
            world.leads = False

        world.before("PATCH", "w-15", lose)
        await world.migrate()
        path = path_of(CONFIGMAPS, HOME, migration_name(NAME))
        found = world.server.objects[path]
        journal = {**msgspec.json.decode(found["data"]["journal"]), **edited}
        world.server.objects[path] = {**found, "data": {"journal": msgspec.json.encode(journal).decode()}}
        world.leads = True

        await world.migrate()

        assert world.runs[-1].finished
        assert world.stored == ["v2"]
        assert {*world.server.stored_in.values()} == {"v2"}

    played(scenario)


def test_a_kind_that_becomes_mixed_by_an_edit_of_its_status_is_taken_up_although_the_watch_was_quick() -> None:
    """The watch shows the end of a run before the run has ended, and then nothing for a long time."""

    async def scenario(world: World) -> None:
        migrations = world.migrations()

        async def shown(request: Request, when: str) -> Response | None:
            if when == "after" and request.path.endswith("/status"):
                migrations.wake()
            return None

        world.server.fault = shown
        task = asyncio.create_task(migrations.run())
        await asyncio.sleep(20)
        assert world.stored == ["v2"]

        world.server.definition()["status"]["storedVersions"] = ["v1", "v2"]
        migrations.wake()
        await asyncio.sleep(20)

        assert len(world.runs) == 2
        assert world.stored == ["v2"]
        task.cancel()

    played(scenario)
