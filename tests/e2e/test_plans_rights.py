"""A right that is missing holds rollouts up; it never counts as a kind that is not there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial

from fairlead.contracts.plans.kinds import FAILED, ROLLING
from kubeloop.errors import Forbidden
from kubeloop.request import Request, Response, Stream, Transport
from tests.e2e.clusters import Site
from tests.e2e.plan_play import a_pair, batches, begin
from tests.e2e.plans import with_traits
from tests.e2e.test_plans_16_to_18 import act
from tests.e2e.test_plans_commands import told

REFUSED = b'{"kind": "Status", "status": "Failure", "reason": "Forbidden", "code": 403, "message": "no right"}'


def of_lists(request: Request) -> bool:
    return request.path.endswith("/deployments")


def of_releases(request: Request) -> bool:
    """What gives a workload free: its rollout is the only owner."""
    is_patch = request.method == "PATCH" and "/deployments/" in request.path
    return is_patch and json.loads(request.body).get("metadata", {}).get("ownerReferences", ()) is None


class Forbidding:
    """Lists and watches of Deployments, or other requests, are refused until somebody grants them."""

    def __init__(
        self, transport: Transport, granted: asyncio.Event, refused: Callable[[Request], bool] = of_lists
    ) -> None:
        self._transport, self._granted, self._refused = transport, granted, refused

    def _is_refused(self, request: Request) -> bool:
        return self._refused(request) and not self._granted.is_set()

    async def send(self, request: Request) -> Response:
        return Response(403, REFUSED) if self._is_refused(request) else await self._transport.send(request)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        if self._is_refused(request):
            raise Forbidden(403, "no right")
        async with self._transport.stream(request) as lines:
            yield lines

    async def close(self) -> None:
        if (close := getattr(self._transport, "close", None)) is not None:
            await close()


@with_traits(on=("sim",))
async def test_a_rollout_waits_for_the_right_to_look_at_its_workloads(site: Site) -> None:
    play = await begin(site)
    target, source = await a_pair(site)
    await play.kill()
    granted = asyncio.Event()
    play.start(partial(Forbidding, granted=granted))

    await play.roll(batches(2, 3), target, source)
    await asyncio.sleep(120)
    assert play.state() in ("", "verifyingSpec")
    granted.set()
    await play.ends()

    assert play.sizes_of("d2") == [0, 2, 5]


@with_traits(on=("sim",))
async def test_people_are_told_of_a_workload_that_cannot_be_given_free(site: Site) -> None:
    """Section 2.12: as its Event, by the kind of the workload; it is given free when that is allowed."""
    play = await begin(site)
    target, source = await a_pair(site)
    await play.kill()
    granted = asyncio.Event()
    play.start(partial(Forbidding, granted=granted, refused=of_releases))

    await play.roll(batches(2, 3), target, source)
    refused = ["patch deployments/d1 in namespace test: no right"]
    assert await play.tells("Failed to release the Deployment") == refused
    await asyncio.sleep(120)
    assert play.state() == "finalising"
    assert "RolloutTrait" in play.owners("d2")
    granted.set()
    await play.ends()

    assert play.owners("d2") == []
    assert play.told("Failed to release the Deployment") == refused


def of_resizes(request: Request) -> bool:
    """What gives `d2` its pods."""
    if request.method != "PATCH" or not request.path.endswith("/deployments/d2"):
        return False
    body = json.loads(request.body)
    return "replicas" in body.get("spec", {}) and "ownerReferences" not in body.get("metadata", {})


@with_traits(on=("sim",))
async def test_a_rollout_says_what_keeps_it_from_changing_a_workload(site: Site) -> None:
    """In its condition, in what the operator tells, and as the cause when its deadline passes; it goes on once that is
    allowed."""
    play = await begin(site)
    target, source = await a_pair(site)
    await play.kill()
    granted = asyncio.Event()
    play.start(partial(Forbidding, granted=granted, refused=of_resizes))
    text = "the Deployment d2 was not changed: patch deployments/d2 in namespace test: no right"

    await play.roll(batches(2, 3, progressDeadlineSeconds=300), target, source)
    await play.until(lambda: play.condition("RolloutInProgress").get("message") == text)
    shown = await told(play)
    assert [(each.object, each.text) for each in shown.blocked_by] == [("deployment/d2", text)]
    await play.until(lambda: play.state() == FAILED, within=400)
    assert play.condition("RolloutFailed")["message"] == f"no progress within 300 s: {text}"

    await act(play, "retry@2030-01-01T00:10:00Z")
    await play.until(lambda: play.at() == (ROLLING, "batchInRolling", 0))
    granted.set()
    await play.ends()

    assert play.sizes_of("d2") == [0, 2, 5]
