"""The stand-in environmentd: who catches up, who takes over, who leads, and what goes wrong when it is told to."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from fairlead.contracts.environments.stand_in.environmentd import AnsweredCall
from fairlead.contracts.environments.stand_in.rules import (
    NEVER,
    Faults,
    LeaderState,
    StandInSettings,
    StatusFacts,
    settings_of,
    standing,
)
from kubeloop.calls import Call, NoReply
from kubesim.kubelet.programs import Hosted
from tests.contracts.environments.generations import World, play

SETTINGS = StandInSettings(catch_up=10, promote_takes=5)


@pytest.mark.parametrize(
    ("facts", "now", "expected"),
    [
        pytest.param(StatusFacts(2, 0.0), 4.0, LeaderState("Initializing", 10.0), id="it is catching up"),
        pytest.param(StatusFacts(2, 0.0), 10.0, LeaderState("ReadyToPromote"), id="it has caught up"),
        pytest.param(StatusFacts(2, 0.0, skipped=True), 4.0, LeaderState("ReadyToPromote"), id="it need not catch up"),
        pytest.param(StatusFacts(2, 0.0, told=20.0), 21.0, LeaderState("Promoting", 25.0), id="it takes over"),
        pytest.param(StatusFacts(2, 0.0, told=20.0), 25.0, LeaderState("IsLeader"), id="it has taken over"),
        pytest.param(
            StatusFacts(2, 30.0, told=20.0), 31.0, LeaderState("IsLeader"), id="it took over while it restarted"
        ),
        pytest.param(StatusFacts(2, 0.0, leader=2), 1.0, LeaderState("IsLeader"), id="it leads, and has restarted"),
        pytest.param(StatusFacts(2, 0.0, leader=1), 1.0, LeaderState("Initializing", 10.0), id="an earlier one leads"),
        pytest.param(StatusFacts(1, 0.0, leader=2), 99.0, None, id="a later one leads"),
    ],
)
def test_a_status_follows_from_facts(facts: StatusFacts, now: float, expected: LeaderState | None) -> None:
    assert standing(SETTINGS, facts, now) == expected


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, SETTINGS),
        ({"catch-up": "1m", "promote-takes": "2s", "boot": "3s"}, StandInSettings(60, 2, 3)),
        ({"catch-up": "never", "promote-takes": "never"}, StandInSettings(NEVER, NEVER)),
        ({"catch-up": "soon", "promote-takes": "-1s"}, StandInSettings(10, 0)),
        ({"password": "x"}, StandInSettings(10, 5, password="x")),
        (
            {"fail": "status=500, slow=3s,restart-on-promote,lie,promote=lost"},
            StandInSettings(10, 5, faults=Faults({"status": "500", "promote": "lost"}, 3.0, restarts=True, lies=True)),
        ),
    ],
)
def test_annotations_say_how_it_behaves(annotations: dict[str, str], expected: StandInSettings) -> None:
    given = {f"fairlead.dev/environmentd-{key}": value for key, value in annotations.items()}

    assert settings_of(given, SETTINGS) == expected


def test_a_generation_catches_up_takes_over_and_leads() -> None:
    async def scenario(world: World) -> list[str]:
        world.make(1)
        seen = []
        for pause in (0.5, 1.5, 4.0):
            await asyncio.sleep(pause)
            seen.append(await world.status(1))
        reply = await world.promote(1)
        seen.append(f"{reply.status} {reply.body.decode()}")
        for pause in (0.0, 2.1):
            await asyncio.sleep(pause)
            seen.append(await world.status(1))
        return seen

    assert play(scenario) == [
        "refused",  # its pod is not ready
        "Initializing",
        "ReadyToPromote",
        '200 {"result":"Success"}',
        "Promoting",
        "IsLeader",
    ]


def test_whoever_led_before_is_fenced_when_another_leads_even_if_nobody_asks() -> None:
    async def scenario(world: World) -> tuple[Any, ...]:
        await world.led_by(1)
        world.make(2, catch_up="0s", promote_takes="3s")
        await asyncio.sleep(2)
        await world.promote(2)
        during = [await world.status(1), await world.status(2)]
        await asyncio.sleep(3.5)
        return during, world.environments.leaders, await world.status(1), world.is_ready(1), world.restarts(1)

    during, leaders, status, ready, restarts = play(scenario)

    assert during == ["IsLeader", "Promoting"]
    assert leaders == {("default", "abc"): 2}
    assert (status, ready) == ("refused", False)
    assert restarts >= 1


def test_a_fenced_generation_ends_as_often_as_it_is_started_again_and_ever_more_rarely() -> None:
    async def scenario(world: World) -> list[int]:
        await world.led_by(1)
        await world.led_by(2)
        counts = []
        for pause in (5, 60):
            await asyncio.sleep(pause)
            counts.append(world.restarts(1))
        return counts

    soon, later = play(scenario)

    assert soon >= 2
    assert soon < later <= soon + 6


def test_a_restarted_leader_leads_and_a_restarted_newcomer_starts_over() -> None:
    async def scenario(world: World) -> list[str]:
        await world.led_by(1)
        world.make(2)
        await asyncio.sleep(6)
        before = await world.status(2)
        for generation in (1, 2):
            world.delete(generation)
        await asyncio.sleep(1)
        world.make(1, service=False)
        world.make(2, service=False)
        await asyncio.sleep(2)
        return [before, await world.status(1), await world.status(2)]

    assert play(scenario) == ["ReadyToPromote", "IsLeader", "Initializing"]


def test_catching_up_is_skipped_on_request_but_not_while_it_boots() -> None:
    async def scenario(world: World) -> list[int | str]:
        world.make(1, catch_up="never", boot="10s")
        await asyncio.sleep(5)
        early = await world.call(1, "/api/leader/skip-catchup")
        await asyncio.sleep(6)
        late = await world.call(1, "/api/leader/skip-catchup")
        return [early.status, late.status, await world.status(1)]

    assert play(scenario) == [400, 204, "ReadyToPromote"]


def test_a_generation_that_is_catching_up_is_not_promoted() -> None:
    async def scenario(world: World) -> tuple[int, str, Any]:
        world.make(1, catch_up="never")
        await asyncio.sleep(2)
        reply = await world.promote(1)
        return reply.status, await world.status(1), msgspec.json.decode(reply.body)

    status, state, body = play(scenario)

    assert (status, state) == (400, "Initializing")
    assert "initializing" in body["result"]["Failure"]["message"]


def test_promoting_again_changes_nothing() -> None:
    async def scenario(world: World) -> list[int | str]:
        await world.led_by(1)
        again = await world.promote(1)
        return [again.status, await world.status(1)]

    assert play(scenario) == [200, "IsLeader"]


def test_annotations_may_change_while_it_lives() -> None:
    async def scenario(world: World) -> list[str]:
        world.make(1, catch_up="never", promote_takes="never")
        await asyncio.sleep(20)
        seen = [await world.status(1)]
        world.say(1, catch_up="1s")
        await asyncio.sleep(0.1)
        seen.append(await world.status(1))
        await world.promote(1)
        await asyncio.sleep(100)
        seen.append(await world.status(1))
        world.say(1, promote_takes="0s")
        await asyncio.sleep(0.1)
        return [*seen, str(world.environments.leaders)]

    assert play(scenario) == ["Initializing", "ReadyToPromote", "Promoting", "{('default', 'abc'): 1}"]


def test_with_a_password_a_session_is_needed_and_ends_with_the_process() -> None:
    async def scenario(world: World) -> list[int]:
        world.make(1, password="hush", catch_up="0s")
        await asyncio.sleep(2)
        answers = [(await world.call(1, "/api/leader/status", "GET")).status]
        for user, password in (("mz_system", "wrong"), ("root", "hush"), ("mz_system", "hush")):
            body = msgspec.json.encode({"username": user, "password": password})
            reply = await world.call(1, "/api/login", body=body)
            answers.append(reply.status)
        cookie = dict(reply.headers)["Set-Cookie"].partition(";")[0]
        answers.append((await world.call(1, "/api/leader/status", "GET", cookie=cookie)).status)
        world.delete(1)
        await asyncio.sleep(1)
        world.make(1, service=False, password="hush")
        await asyncio.sleep(2)
        answers.append((await world.call(1, "/api/leader/status", "GET", cookie=cookie)).status)
        return answers

    assert play(scenario) == [401, 401, 401, 200, 200, 401]


@pytest.mark.parametrize(
    ("fail", "path", "method", "status"),
    [
        ("status=500", "/api/leader/status", "GET", 500),
        ("promote=503", "/api/leader/promote", "POST", 503),
        ("skip-catchup=404", "/api/leader/skip-catchup", "POST", 404),
        ("login=401", "/api/login", "POST", 401),
        ("", "/api/leader/promote", "GET", 405),
        ("", "/api/other", "GET", 404),
    ],
)
def test_a_call_fails_as_told_and_nothing_comes_of_it(fail: str, path: str, method: str, status: int) -> None:
    async def scenario(world: World) -> tuple[int, str]:
        world.make(1, catch_up="0s", fail=fail)
        await asyncio.sleep(2)
        body = b'{"username":"mz_system","password":""}'
        reply = await world.call(1, path, method, body)
        world.say(1, fail=None)
        await asyncio.sleep(0.1)
        return reply.status, await world.status(1)

    assert play(scenario) == (status, "ReadyToPromote")


def test_an_answer_may_be_lost_although_the_call_was_heard() -> None:
    async def scenario(world: World) -> str:
        world.make(1, catch_up="0s", fail="promote=lost")
        await asyncio.sleep(2)
        with pytest.raises(NoReply, match="cut off"):
            await world.promote(1)
        return await world.status(1)

    assert play(scenario) == "Promoting"


def test_it_may_say_that_it_takes_over_and_not_do_it() -> None:
    async def scenario(world: World) -> list[int | str]:
        world.make(1, catch_up="0s", fail="lie")
        await asyncio.sleep(2)
        reply = await world.promote(1)
        await asyncio.sleep(60)
        return [reply.status, await world.status(1)]

    assert play(scenario) == [200, "ReadyToPromote"]


def test_it_may_restart_when_it_is_told_to_take_over() -> None:
    async def scenario(world: World) -> list[str]:
        world.make(1, catch_up="0s", promote_takes="0s", fail="restart-on-promote")
        await asyncio.sleep(2)
        with pytest.raises(NoReply):
            await world.promote(1)
        seen = [await world.status(1)]
        await asyncio.sleep(5)
        return [*seen, await world.status(1)]

    assert play(scenario) == ["refused", "IsLeader"]


def test_it_may_be_slow_and_the_caller_gives_up_in_time() -> None:
    async def scenario(world: World) -> tuple[str, list[AnsweredCall]]:
        world.make(1, fail="slow=30s")
        await asyncio.sleep(2)
        with pytest.raises(NoReply, match="no answer in 10 seconds"):
            await world.promote(1)
        world.say(1, fail="slow=3s")
        await asyncio.sleep(0.1)
        return await world.status(1), world.environments.seen

    status, seen = play(scenario)

    assert status == "ReadyToPromote"
    assert [call.status for call in seen] == [None, 200]


def test_every_call_is_on_record() -> None:
    async def scenario(world: World) -> tuple[list[AnsweredCall], Any]:
        world.make(1, catch_up="never")
        world.make(2)
        await asyncio.sleep(2)
        await world.status(1)
        await world.promote(2)
        reply = await world.programs.handle(Call(method="GET", url="/fairlead/calls"))
        return world.environments.seen, msgspec.json.decode(reply.body)

    seen, told = play(scenario)

    assert [(call.generation, call.method, call.path, call.port, call.status) for call in seen] == [
        (1, "GET", "/api/leader/status", 6878, 200),
        (2, "POST", "/api/leader/promote", 6878, 400),
    ]
    assert all(call.at >= 2 and call.namespace == "default" for call in seen)
    assert told == msgspec.to_builtins(seen)


def test_calls_are_found_by_path_and_generation() -> None:
    async def scenario(world: World) -> list[int]:
        world.make(1)
        world.make(2)
        await asyncio.sleep(2)
        await world.promote(1)
        found = world.environments.calls
        return [len(found("/api/leader/promote")), len(found("/api/leader/promote", 2))]

    assert play(scenario) == [1, 0]


@pytest.mark.parametrize(
    ("labels", "annotations"),
    [
        ({}, {"materialize.cloud/generation": "1"}),
        ({"materialize.cloud/app": "balancerd"}, {"materialize.cloud/generation": "1"}),
        ({"materialize.cloud/app": "environmentd"}, {}),
        ({"materialize.cloud/app": "environmentd"}, {"materialize.cloud/generation": "one"}),
    ],
)
def test_other_pods_run_no_environmentd(labels: dict[str, str], annotations: dict[str, str]) -> None:
    pod = Hosted("default", "p", "u", {"materialize.cloud/mz-resource-id": "abc"} | labels, annotations)

    assert World().environments.make(pod, lambda: None) is None
