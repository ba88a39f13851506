"""What becomes of preparations whose downscale is denied or never takes place, on both clusters (B-4, H-15)."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta

import pytest

from fairlead.api.apps import STATEFULSETS
from fairlead.api.times import format_rfc3339
from fairlead.api.zones import PREPARING, Settings
from fairlead.decide.zones.unfinished import OVERDUE
from fairlead.kube import clock
from tests.e2e.clusters import Site, everywhere
from tests.e2e.downscaling import TRACKING, a_prepared_zone, five_pods, last_downscale, patched, prepared, scaled
from tests.e2e.endpoints import HANGING, Answer, Endpoints, endpoints
from tests.e2e.history import Tree
from tests.e2e.operators import Operator
from tests.e2e.scaling import replicas
from tests.e2e.webhooks import VALIDATING, answering, install, rule, serve
from tests.e2e.zones import PREFIX, begin

GROUPS = pytest.mark.parametrize("group", ["ingester", None], ids=["in a group", "without a group"])
HURRIED = Settings(request_timeout=2.0, pods_timeout=1.5)


async def note(site: Site, letter: str = "a") -> str | None:
    found = await site.get(STATEFULSETS, f"{PREFIX}{letter}")
    assert found is not None
    text: str | None = found["metadata"].get("annotations", {}).get(PREPARING)
    return text


def last_heard(pods: Endpoints) -> dict[str, str]:
    """By pod: what it was told last."""
    return {heard.pod: heard.method for heard in pods.heard}


@everywhere(controllers=False, seeds=range(6))
@GROUPS
@pytest.mark.parametrize("delay", [0.05, 0.2], ids=["50 ms", "200 ms"])
async def test_b4_who_tries_again_at_once_is_admitted_and_its_pods_stay_prepared(
    site: Site, group: str | None, delay: float
) -> None:
    """All pods have answered that they stay before the denial is sent; nothing of it comes later.

    A real API server whose object was changed meanwhile, here by the note, reviews the request once more before it
    believes the denial.
    """
    _, pods = await five_pods(site, group=group)
    for pod in ("a-2", "a-3", "a-4"):
        pods.answer(pod, "POST", Answer(delay=delay))
        pods.answer(pod, "DELETE", Answer(delay=delay))
    pods.answer("a-3", "POST", Answer(500, delay=delay / 2))

    denied = await scaled(site, 2)

    assert denied.status == 400
    undone = [heard for heard in pods.heard if heard.method == "DELETE"]
    reviews = 2 if site.real else 1
    assert sorted(heard.pod for heard in undone) == sorted(["a-2", "a-3", "a-4"] * reviews)
    assert {heard.status for heard in undone} == {200}
    assert (await last_downscale(site), await note(site)) == (None, None)

    pods.answer("a-3", "POST", Answer(delay=delay))
    since = pods.now
    allowed = await scaled(site, 2)
    await asyncio.sleep(2 * delay)

    assert allowed.status == 200
    assert pods.called("DELETE", since) == []
    assert last_heard(pods) == dict.fromkeys(("a-2", "a-3", "a-4"), "POST")
    assert await replicas(site) == 2


@everywhere(controllers=False, seeds=range(6))
@GROUPS
async def test_h15_what_does_not_fit_into_the_time_is_undone_under_the_mark(site: Site, group: str | None) -> None:
    """Who tries again before that is over is told so; afterwards it is admitted, and no call takes that back."""
    _, pods = await five_pods(site, operator=Operator(site, settings=HURRIED), group=group)
    done = asyncio.Event()
    pods.answer("a-3", "POST", HANGING)
    for pod in ("a-3", "a-4"):
        pods.answer(pod, "DELETE", Answer(after=done))

    denied = await scaled(site, 3)
    again = await scaled(site, 3)

    assert (denied.status, again.status) == (400, 400)
    assert "in progress" in again.text
    assert await note(site) is not None

    pods.answer("a-3", "POST", None)
    done.set()

    async def allowed() -> bool:
        return (await scaled(site, 3)).status == 200

    await site.until(allowed, every=0.05)
    await asyncio.sleep(1)
    assert last_heard(pods) == dict.fromkeys(("a-3", "a-4"), "POST")


@everywhere(controllers=False)
@GROUPS
async def test_a_downscale_that_is_denied_by_another_webhook_is_undone(site: Site, group: str | None) -> None:
    """Nobody hears of that denial; but when the time of any request is long over, the pods are still wanted."""
    _, pods = await five_pods(site, group=group)

    def deny(_: Tree) -> Tree:
        return {"allowed": False, "status": {"message": "not on Fridays"}}

    hook = {
        "clientConfig": await serve(site, answering(deny)),
        "rules": [rule("UPDATE", "statefulsets/scale", "apps", "v1")],
    }
    await install(site, VALIDATING, f"fridays-{site.namespace}", hook)

    denied = await scaled(site, 3)

    assert denied.status == 400
    assert "not on Fridays" in denied.text
    assert last_heard(pods) == dict.fromkeys(("a-3", "a-4"), "POST")
    assert await note(site) is not None
    if site.real:
        await age(site)
    else:
        await asyncio.sleep(OVERDUE.total_seconds() - 5)
        assert last_heard(pods) == dict.fromkeys(("a-3", "a-4"), "POST")

    await site.until(lambda: pods.called("DELETE") == ["a-3", "a-4"])
    await site.until(lambda: _is_forgotten(site), following=[STATEFULSETS])


async def _is_forgotten(site: Site) -> bool:
    return await note(site) is None


async def age(site: Site) -> None:
    """The note becomes as old as it would in some minutes."""
    text = await note(site)
    assert text is not None
    past = format_rfc3339(clock.now() - OVERDUE)
    tree = {"metadata": {"annotations": {PREPARING: f"{past} {text.split()[1]}"}}}

    async def changed() -> bool:
        """Not before the webhooks of an operator that starts are served."""
        return (await patched(site, "a", tree)).status == 200

    await site.until(changed, every=0.1)


@everywhere(controllers=False)
@GROUPS
@pytest.mark.parametrize("settings", [HURRIED, TRACKING], ids=["annotations", "tracker"])
async def test_a_process_killed_between_denial_and_undoing_leaves_nobody_prepared(
    site: Site, group: str | None, settings: Settings
) -> None:
    """The next one knows from the note whom to tell, also where nothing else was remembered."""
    hurried = Settings(request_timeout=2.0, pods_timeout=1.5, use_zone_tracker=settings.use_zone_tracker)
    play, pods = await five_pods(site, operator=Operator(site, settings=hurried), group=group)
    pods.answer("a-3", "POST", HANGING)
    for pod in ("a-3", "a-4"):
        pods.answer(pod, "DELETE", HANGING)

    assert (await scaled(site, 3)).status == 400
    play.task.cancel()
    with suppress(asyncio.CancelledError):
        await play.task
    assert await note(site) is not None

    for pod in ("a-3", "a-4"):
        pods.answer(pod, "DELETE", None)
    since = pods.now
    await begin(site, play.operator)
    if site.real:
        await age(site)

    await site.until(lambda: pods.called("DELETE", since) == ["a-3", "a-4"], within=400)
    await site.until(lambda: _is_forgotten(site), following=[STATEFULSETS])
    assert await replicas(site) == 5


@everywhere(controllers=False)
async def test_a_note_of_a_downscale_that_took_place_goes_and_nobody_is_called(site: Site) -> None:
    pods = await endpoints(site)
    old = f"{format_rfc3339(clock.now() - timedelta(minutes=10))} 3-4"
    await a_prepared_zone(site, "a", 3, pods=pods, group=None, annotations={PREPARING: old})

    await prepared(site)

    await site.until(lambda: _is_forgotten(site), following=[STATEFULSETS])
    assert pods.heard == []
