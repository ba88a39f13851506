"""Garbage in place of an answer: whoever asked sees a KubeError, and no loop ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import msgspec
import pytest

from kubeloop import clock
from kubeloop.client import Client
from kubeloop.discovery import discover, served_names
from kubeloop.errors import Garbled, KubeError, error_of, error_of_event
from kubeloop.objects.core import PODS, Pod
from kubeloop.records import LeaseRecords
from kubeloop.request import Request, Response, name_in
from kubeloop.watch import Codec
from kubesim.time import run
from tests.kubeloop.candidates import PATH, Candidate
from tests.kubeloop.candidates import play as elect
from tests.kubeloop.garbage import GARBAGE, damaged
from tests.kubeloop.informing import Scene, running
from tests.kubeloop.informing import play as inform
from tests.kubeloop.scripted import Scripted, a_pod, pod_ref

Asking = Callable[[Client], Awaitable[object]]

LEASE_BODY = (
    b'{"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "fairlead", "namespace": "ns",'
    b' "uid": "u", "resourceVersion": "7"}, "spec": {"holderIdentity": "other", "leaseDurationSeconds": 15,'
    b' "leaseTransitions": 2, "renewTime": "2026-01-01T00:00:00.000000Z"}}'
)
POD_LINE = b'{"type":"ADDED","object":' + msgspec.json.encode(a_pod("a")) + b"}"

ABSENT = "absent at 0.0"
EMPTY = {"an empty object": b"{}", "metadata without anything in it": b'{"metadata": {}}'}

CALLERS: dict[str, Asking] = {
    "a read": lambda client: client.read(pod_ref("a"), Pod),
    "a list": lambda client: client.list(PODS, Pod),
    "a record": lambda client: LeaseRecords(client, "ns", "x").get("key"),
    "a swap that makes a record": lambda client: LeaseRecords(client, "ns", "x").swap("key", ABSENT, b"value"),
    "a swap": lambda client: LeaseRecords(client, "ns", "x").swap("key", "5:uid", b"value"),
    "discovery": lambda client: discover(client, "apps", "Deployment"),
    "discovery of the core": lambda client: discover(client, "", "Pod"),
    "names that are served": lambda client: served_names(client, "apps", "v1"),
}


def answering(body: bytes) -> Scripted:
    api = Scripted()

    async def fault(_request: Request, _when: str) -> Response:
        return Response(200, body)

    api.fault = fault
    return api


@pytest.mark.parametrize("caller", CALLERS.values(), ids=CALLERS)
@pytest.mark.parametrize("body", [*GARBAGE.values(), *EMPTY.values()], ids=[*GARBAGE, *EMPTY])
def test_whoever_asks_hears_that_nobody_can_read_the_answer(caller: Asking, body: bytes) -> None:
    async def scenario() -> None:
        with pytest.raises(Garbled):
            await caller(answering(body).client())

    run(scenario())


@pytest.mark.parametrize("seed", range(300))
def test_no_damage_to_an_answer_raises_anything_else(seed: int) -> None:
    async def scenario() -> None:
        for body in (LEASE_BODY, b'{"metadata": {"resourceVersion": "5"}, "items": [' + LEASE_BODY + b"]}"):
            for caller in CALLERS.values():
                with suppress(KubeError):
                    await caller(answering(damaged(body, seed)).client())

    run(scenario())


@pytest.mark.parametrize("body", [*GARBAGE.values(), *EMPTY.values()], ids=[*GARBAGE, *EMPTY])
def test_garbage_does_not_end_a_candidacy(body: bytes) -> None:
    """While it lasts nobody leads by it; when it ends the lease is taken."""

    async def scenario() -> None:
        api = answering(body)
        candidate = Candidate(api, "one").start()
        await asyncio.sleep(60)
        assert not candidate.leading.is_set()
        assert candidate.election.last_error is not None

        api.fault = None

        await asyncio.wait_for(candidate.leading.wait(), 30)
        await candidate.stop()

    elect(scenario)


@pytest.mark.parametrize("body", [*GARBAGE.values(), *EMPTY.values()], ids=[*GARBAGE, *EMPTY])
def test_a_leader_goes_on_through_a_few_seconds_of_garbage(body: bytes) -> None:
    async def scenario() -> None:
        api = Scripted()
        candidate = Candidate(api, "one").start()
        await candidate.leading.wait()
        garbled = answering(body).fault

        api.fault = garbled
        await asyncio.sleep(6)
        api.fault = None
        await asyncio.sleep(60)

        assert candidate.passes()
        assert candidate.ended == []
        assert api.objects[PATH]["spec"]["holderIdentity"] == "one"
        await candidate.stop()

    elect(scenario)


@pytest.mark.parametrize("seed", range(100))
def test_no_damage_to_a_lease_ends_a_candidacy(seed: int) -> None:
    async def scenario() -> None:
        answers = [0]
        api = Scripted()

        async def fault(_request: Request, _when: str) -> Response | None:
            answers[0] += 1
            return Response(200, damaged(LEASE_BODY, seed * 1000 + answers[0]))

        api.fault = fault
        candidate = Candidate(api, "one", seed=seed)
        running = candidate.start().task
        await asyncio.sleep(120)
        assert running is not None
        if running.done():
            with pytest.raises(KubeError):
                running.result()
        await candidate.stop()

    elect(scenario)


@pytest.mark.parametrize("body", [*GARBAGE.values(), *EMPTY.values()], ids=[*GARBAGE, *EMPTY])
def test_garbage_takes_nothing_from_a_cache(body: bytes) -> None:
    """Neither as a list nor in a watch; afterwards the cache follows again."""

    async def scenario() -> None:
        scene = Scene()
        scene.api.put(a_pod("a"))
        async with running(scene):
            scene.api.fault = answering(body).fault
            for line in body.split(b"\n"):
                scene.api.inject_line(line)
            scene.api.end_watches()
            scene.informer.ask_for_list()
            await asyncio.sleep(30)
            assert scene.names() == ["a"]

            scene.api.fault = None
            scene.api.put(a_pod("b"))
            await asyncio.sleep(120)

            assert scene.names() == ["a", "b"]

    inform(scenario)


@pytest.mark.parametrize("seed", range(300))
def test_no_damage_to_a_line_of_a_watch_raises_anything_else(seed: int) -> None:
    codec = Codec(Pod)
    line = damaged(POD_LINE, seed)

    codec.present(line)
    with suppress(KubeError):
        parts = codec.line(line)
        codec.identity(parts.object)
        codec.item(parts.object)


@pytest.mark.parametrize("body", GARBAGE.values(), ids=GARBAGE)
@pytest.mark.parametrize("status", [400, 404, 409, 429, 500, 503])
def test_a_failure_whose_body_is_garbage_is_the_failure_of_its_status(status: int, body: bytes) -> None:
    error = error_of(Response(status, body, {"retry-after": "9" * 400}), "get pods")

    assert error.status == status
    assert len(str(error)) < 1000
    assert error.retry_after == 3600
    assert isinstance(error_of_event(body, "watch pods"), KubeError)
    assert name_in(body) == ""


@pytest.mark.parametrize("asked", [b"1e300", b"99999999999", b"3601"])
def test_a_server_that_asks_for_a_pause_without_end_is_asked_again_within_an_hour(asked: bytes) -> None:
    body = b'{"details": {"retryAfterSeconds": ' + asked + b"}}"

    assert error_of(Response(503, body), "x").retry_after == 3600


def test_a_message_without_end_is_cut() -> None:
    error = error_of(Response(500, msgspec.json.encode({"message": "x" * 10**7, "reason": "y" * 10**7})), "x")

    assert len(str(error)) < 20_000
    assert len(error.reason) <= 300


def test_a_lease_with_numbers_beyond_all_is_not_computed_with() -> None:
    async def scenario() -> None:
        api = Scripted()
        candidate = Candidate(api, "one")
        await candidate.start().leading.wait()
        await candidate.stop()
        api.objects[PATH]["spec"] |= {
            "holderIdentity": "two",
            "leaseDurationSeconds": 10**400,
            "leaseTransitions": 2**80,
        }
        before = clock.monotonic()

        second = Candidate(api, "three").start()
        await asyncio.sleep(60)

        assert not second.leading.is_set()
        assert clock.monotonic() - before >= 60
        await second.stop()

    elect(scenario)
