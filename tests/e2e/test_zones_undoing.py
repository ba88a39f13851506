"""What becomes of preparations whose downscale is denied or never takes place, on both clusters (B-4, H-15)."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import timedelta

import pytest

from fairlead.contracts.zones.decide.admission.unfinished_preparations import OVERDUE
from fairlead.contracts.zones.kinds import PREPARE_DOWNSCALE, PREPARING
from fairlead.contracts.zones.settings import Settings
from fairlead.core.times import format_rfc3339
from kubeloop import clock
from kubeloop.objects.core import PODS
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


async def notes(site: Site) -> list[str]:
    """The pods of zone a that have one."""
    found = [(ordinal, await site.get(PODS, f"{PREFIX}a-{ordinal}")) for ordinal in range(5)]
    return [f"a-{ordinal}" for ordinal, pod in found if pod and PREPARING in pod["metadata"].get("annotations", {})]


def last_heard(pods: Endpoints) -> dict[str, str]:
    """By pod: what it was told last."""
    return {heard.pod: heard.method for heard in pods.heard}


@everywhere(controllers=False, seeds=range(6), long=True)
@GROUPS
@pytest.mark.parametrize("delay", [0.05, 0.2], ids=["50 ms", "200 ms"])
async def test_b4_who_tries_again_at_once_is_admitted_and_its_pods_stay_prepared(
    site: Site, group: str | None, delay: float
) -> None:
    """All pods have answered that they stay before the denial is sent; nothing of it comes later."""
    _, pods = await five_pods(site, group=group)
    for pod in ("a-2", "a-3", "a-4"):
        pods.answer(pod, "POST", Answer(delay=delay))
        pods.answer(pod, "DELETE", Answer(delay=delay))
    pods.answer("a-3", "POST", Answer(500, delay=delay / 2))

    denied = await scaled(site, 2)

    assert denied.status == 400
    undone = [heard for heard in pods.heard if heard.method == "DELETE"]
    assert sorted(heard.pod for heard in undone) == ["a-2", "a-3", "a-4"]
    assert [heard.status for heard in undone] == [200] * 3
    assert (await last_downscale(site), await notes(site)) == (None, [])

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
    assert await notes(site) == ["a-3", "a-4"]

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
    assert await notes(site) == ["a-3", "a-4"]
    if site.real:
        await age(site)
    else:
        await asyncio.sleep(OVERDUE.total_seconds() - 5)
        assert last_heard(pods) == dict.fromkeys(("a-3", "a-4"), "POST")

    await site.until(lambda: sorted(pods.called("DELETE")) == ["a-3", "a-4"])
    await site.until(lambda: _is_forgotten(site), following=[PODS])


async def _is_forgotten(site: Site) -> bool:
    return await notes(site) == []


async def age(site: Site) -> None:
    """The notes become as old as they would in some minutes."""
    past = format_rfc3339(clock.now() - OVERDUE)
    tree = {"metadata": {"annotations": {PREPARING: past}}}
    for pod in await notes(site):
        assert (await patched(site, pod, tree, resource=PODS)).status == 200


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
    assert await notes(site) == ["a-3", "a-4"]

    for pod in ("a-3", "a-4"):
        pods.answer(pod, "DELETE", None)
    since = pods.now
    await begin(site, play.operator)
    if site.real:
        await age(site)

    await site.until(lambda: sorted(pods.called("DELETE", since)) == ["a-3", "a-4"], within=400)
    await site.until(lambda: _is_forgotten(site), following=[PODS])
    assert await replicas(site) == 5


@everywhere(controllers=False)
async def test_a_note_of_a_pod_that_is_not_to_be_prepared_any_more_goes_and_nobody_is_called(site: Site) -> None:
    pods = await endpoints(site)
    await a_prepared_zone(site, "a", 5, pods=pods, group=None, labels={PREPARE_DOWNSCALE: None})
    old = format_rfc3339(clock.now() - timedelta(minutes=10))
    await patched(site, "a-4", {"metadata": {"annotations": {PREPARING: old}}}, resource=PODS)
    assert await notes(site) == ["a-4"]

    await prepared(site)

    await site.until(lambda: _is_forgotten(site), following=[PODS])
    assert pods.heard == []


@everywhere(controllers=False)
@pytest.mark.parametrize("method", ["PATCH", "PUT"])
@pytest.mark.parametrize("settings", [Settings(), TRACKING], ids=["annotations", "tracker"])
async def test_a_denial_says_why_and_asks_the_pods_once(site: Site, method: str, settings: Settings) -> None:
    """Nothing of the StatefulSet has changed, so the API server neither repeats the review nor finds a conflict."""
    _, pods = await five_pods(site, operator=Operator(site, settings=settings))
    pods.answer("a-4", "POST", Answer(500))

    denied = await scaled(site, 4, method=method)

    assert denied.status == 400
    assert "a-4" in denied.text
    assert (pods.called("POST"), pods.called("DELETE")) == (["a-4"], ["a-4"])
