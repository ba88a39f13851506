"""Edges of the webhooks about downscales, on both clusters: odd zones, pods and requests, and webhooks that fail."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from fairlead.contracts.zones.kinds import MIN_TIME, NO_DOWNSCALE, PREPARE_DOWNSCALE
from fairlead.contracts.zones.settings import Settings
from kubeloop import clock
from kubeloop.calls import Call, NoReply, Reply
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, create, delete, patch
from tests.e2e.clusters import Site, everywhere
from tests.e2e.downscaling import (
    TRACKER,
    TRACKING,
    a_prepared_zone,
    five_pods,
    last_downscale,
    patched,
    prepared,
    scaled,
    stamps,
    tracked,
)
from tests.e2e.endpoints import HANGING, Answer, endpoints
from tests.e2e.operators import Operator
from tests.e2e.roles import SEED_ROLE, grant
from tests.e2e.scaling import following, replicas, shrunk, tried_again
from tests.e2e.webhooks import ELSEWHERE
from tests.e2e.zones import PREFIX, Zone, a_zone, statefulset

OF_ELSEWHERE: dict[str, Any] = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": ELSEWHERE}}}
UNPREPARED = {PREPARE_DOWNSCALE: None}


@everywhere(controllers=False, on=("real",))
async def test_a_client_that_gives_up_while_pods_prepare_leaves_nothing_behind(site: Site) -> None:
    """Nothing was downscaled, so the pod is undone and no other zone waits."""
    pods = await endpoints(site)
    for letter in "ab":
        await a_prepared_zone(site, letter, 3, pods=pods, min_time="12h")
    answers = asyncio.Event()
    pods.answer("b-2", "POST", Answer(after=answers))
    watched = Watched(Operator(site))
    await prepared(site, operator=watched.operator, answering=watched)

    user = asyncio.create_task(scaled(site, 2, "b"))
    await site.until(lambda: pods.called("POST") == ["b-2"])
    user.cancel()
    await asyncio.gather(user, return_exceptions=True)
    await site.until(lambda: not all(call.is_awaited() for call in watched.calls))
    answers.set()

    await site.until(lambda: pods.called("DELETE") == ["b-2"])
    assert (await replicas(site, "b"), await last_downscale(site, "b")) == (3, None)
    await site.until(lambda: _allowed(site, "a"))


class Watched:
    """Stands before an operator and keeps the calls that it gets."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.calls: list[Call] = []

    async def webhooks(self, call: Call) -> Reply:
        self.calls.append(call)
        return await self.operator.webhooks(call)


async def _allowed(site: Site, letter: str) -> bool:
    return (await scaled(site, 2, letter)).status == 200


@everywhere(controllers=False, long=True)
async def test_e4_zones_of_the_group_without_a_name_do_not_mind_one_another(site: Site) -> None:
    """The controller rolls them as one group; a downscale looks at none of the others."""
    pods = await endpoints(site)
    await a_prepared_zone(site, "a", 3, pods=pods, group="")
    unsettled: dict[str, Any] = {"updated": 1, "min_time": "12h", "annotations": shrunk(minutes=1)}
    await a_prepared_zone(site, "b", 3, pods=pods, group="", **unsettled)
    play = await prepared(site)

    allowed = await scaled(site, 2)

    assert allowed.status == 200
    assert pods.called("POST") == ["a-2"]
    assert await last_downscale(site) is not None
    await play.operator.at_rest(group="")
    assert play.operator.failures("") == 0


@everywhere(controllers=False, long=True)
@pytest.mark.parametrize("subresource", ["", "scale"])
async def test_e10_slow_pods_do_not_keep_a_patch_going_for_ever(site: Site, subresource: str) -> None:
    """The time that is written while the request is under way makes the server ask again, once; so the pods hear it
    again and the time stays."""
    _, pods = await five_pods(site)
    for pod in ("a-3", "a-4"):
        pods.answer(pod, "POST", Answer(delay=1.5))

    allowed = await scaled(site, 3, subresource=subresource)

    assert allowed.status == 200
    assert await replicas(site) == 3
    assert sorted(pods.calls()) == ["POST a-3", "POST a-3", "POST a-4", "POST a-4"]
    await site.history.caught_up()
    assert len(stamps(site)) == 1


@everywhere(controllers=False)
async def test_e23_lookups_are_made_where_the_request_is_about(site: Site) -> None:
    """The labels that count are those over there, not those of the zone of the same name over here."""
    await a_prepared_zone(site, "a", 3, labels={**UNPREPARED, NO_DOWNSCALE: "true"})
    await a_prepared_zone(site, "b", 3, labels=UNPREPARED)
    await prepared(site, "no-downscale", **OF_ELSEWHERE)
    await make_elsewhere(site, "a", {})
    await make_elsewhere(site, "b", {NO_DOWNSCALE: "true"})
    try:
        answers = [(await scaled(site, 2, letter, namespace=ELSEWHERE)).status for letter in "ab"]
    finally:
        await remove_elsewhere(site, "ab")

    assert answers == [200, 400]


@everywhere(controllers=False)
async def test_e23_what_may_not_be_read_is_allowed_with_a_warning_and_what_may_not_be_checked_is_denied(
    site: Site,
) -> None:
    pods = await endpoints(site)
    may = {**SEED_ROLE, ("apps", "statefulsets"): ("list", "get", "watch", "patch")}
    user = await grant(site, may)
    operator = Operator(site, through=user.limits)
    await a_prepared_zone(site, "z", 1)
    await prepared(site, operator=operator, user=user.name, **OF_ELSEWHERE)
    await make_elsewhere(site, "a", {NO_DOWNSCALE: "true", PREPARE_DOWNSCALE: "true"})
    await make_elsewhere(site, "b", {PREPARE_DOWNSCALE: "true", "rollout-group": "ingester"})
    pods.serve(await make_elsewhere(site, "c", {PREPARE_DOWNSCALE: "true"}), 3, namespace=ELSEWHERE)
    try:
        unread = await scaled(site, 2, "a", namespace=ELSEWHERE)
        unlisted = await scaled(site, 2, "b", namespace=ELSEWHERE, subresource="")
        unknown = await scaled(site, 2, "c", namespace=ELSEWHERE, subresource="")
    finally:
        await remove_elsewhere(site, "abc")

    assert unread.status == 200
    assert f"statefulsets/{PREFIX}a was not checked for a downscale" in unread.warning
    assert (unlisted.status, unknown.status) == (400, 400)
    assert "could not be listed" in unlisted.text
    assert "could not be read" in unknown.text
    assert pods.heard == []


async def make_elsewhere(site: Site, letter: str, labels: dict[str, str]) -> Zone:
    """A zone of three in a namespace that is not the operator's."""
    asked = {"grafana.com/prepare-downscale-http-path": "p", "grafana.com/prepare-downscale-http-port": "80"}
    tree = statefulset(f"{PREFIX}{letter}", labels=labels, annotations=asked)
    body = msgspec.json.encode({"apiVersion": "apps/v1", "kind": "StatefulSet", **tree})
    made = await site.client.call(create(STATEFULSETS, ELSEWHERE, body))
    return Zone(site, msgspec.json.decode(made.body))


async def remove_elsewhere(site: Site, letters: str) -> None:
    for letter in letters:
        await site.client.call(delete(Ref(STATEFULSETS, ELSEWHERE, f"{PREFIX}{letter}")))


class Door:
    """Between the cluster and the webhooks of an operator; while it is shut, nobody is reached."""

    def __init__(self, operator: Operator) -> None:
        self.is_open = False
        self._operator = operator

    async def webhooks(self, call: Call) -> Reply:
        if not self.is_open:
            raise NoReply("the door is shut")
        return await self._operator.webhooks(call)


@everywhere(controllers=False)
async def test_e24_unreachable_webhooks_stop_scaling_and_no_rollout(site: Site) -> None:
    """Nobody's update passes, the operator's own neither; pods roll, and served again everything goes on."""
    await a_prepared_zone(site, "a", 4)
    b = await a_zone(site, "b", annotations=following("a"))
    operator = Operator(site)
    door = Door(operator)
    play = await prepared(site, operator=operator, answering=door)

    await play.rest()

    assert (play.scalings, await replicas(site, "b")) == ([], 3)
    assert play.deletions == ["b-0"]
    assert operator.failures() == 0
    (warning,) = {record.keys["text"] for record in operator.records("warn", "scaling impossible")}
    assert f"{PREFIX}b" in warning
    assert "failed calling webhook" in warning
    refused = await scaled(site, 5, "a")
    assert refused.status == 500
    assert "failed calling webhook" in refused.text

    door.is_open = True
    await b.make_pod(0)
    await tried_again(play, b)

    assert play.scalings == ["b: 3 to 4"]
    assert (await scaled(site, 5, "a")).status == 200


@everywhere(controllers=False, long=True)
@pytest.mark.parametrize("entry", ["nonsense", "{}", '{"lastDownscaled": "yesterday"}', '{"lastDownscaled": 7}'])
async def test_e28_tracker_that_cannot_be_read_denies_every_group_until_it_is_repaired(site: Site, entry: str) -> None:
    pods = await endpoints(site)
    await a_prepared_zone(site, "a", 3, pods=pods)
    await a_prepared_zone(site, "x", 3, pods=pods, group="other")
    await make_tracker(site, {"stranger": entry})
    await prepared(site, operator=Operator(site, settings=TRACKING))

    answers = [await scaled(site, 2, letter) for letter in "ax"]

    assert [answer.status for answer in answers] == [400, 400]
    assert all("stranger" in answer.text for answer in answers)
    assert pods.heard == []

    await repair_tracker(site, {"stranger": None})

    assert [(await scaled(site, 2, letter)).status for letter in "ax"] == [200, 200]
    assert sorted(await tracked(site)) == ["a", "x"]


async def make_tracker(site: Site, data: dict[str, str]) -> None:
    metadata = {"name": TRACKER, "labels": {"owner": "somebody"}, "annotations": {"note": "keep"}}
    await site.create(CONFIGMAPS, {"metadata": metadata, "data": data})


async def repair_tracker(site: Site, data: dict[str, str | None]) -> None:
    body = msgspec.json.encode({"data": data})
    await site.client.call(patch(Ref(CONFIGMAPS, site.namespace, TRACKER), MERGE_PATCH, body))


@everywhere(controllers=False)
async def test_e29_pod_that_answers_without_content_has_prepared(site: Site) -> None:
    _, pods = await five_pods(site)
    for pod in ("a-3", "a-4"):
        pods.answer(pod, "POST", Answer(204))

    assert (await scaled(site, 3)).status == 200
    assert await replicas(site) == 3


@everywhere(controllers=False, long=True)
async def test_e30_at_most_32_pods_are_called_at_once_and_all_must_succeed(site: Site) -> None:
    pods = await endpoints(site)
    absent: dict[str, Any] = {f"_{ordinal}": "missing" for ordinal in range(40)}
    await a_prepared_zone(site, "a", 40, pods=pods, **absent)
    names = [f"a-{ordinal}" for ordinal in range(40)]
    for pod in names:
        pods.answer(pod, "POST", Answer(delay=0.2))
        pods.answer(pod, "DELETE", Answer(delay=0.2))
    pods.answer("a-39", "POST", Answer(500, delay=0.2))
    await prepared(site)

    denied = await scaled(site, 0)

    assert denied.status == 400
    assert pods.called("DELETE") == names
    assert pods.most_at_once == 32

    pods.answer("a-39", "POST", Answer(delay=0.2))
    since, pods.most_at_once = pods.now, 0

    assert (await scaled(site, 0)).status == 200
    assert pods.called("POST", since) == names
    assert pods.called("DELETE", since) == []
    assert pods.most_at_once == 32
    assert await replicas(site) == 0


@everywhere(controllers=False, long=True)
async def test_b12_a_limit_of_calls_keeps_no_large_downscale_from_being_prepared(site: Site) -> None:
    """A downscale writes one time, however many pods go; the notes on the pods are ours and do not count."""
    pods = await endpoints(site)
    await a_prepared_zone(site, "a", 70, pods=pods)
    pods.answer("a-69", "POST", Answer(500))
    await prepared(site, operator=Operator(site, qps=5, burst=10))

    begun = clock.now()
    denied = await scaled(site, 3)
    took = clock.now() - begun

    assert denied.status == 400
    assert "a-69" in denied.text
    assert len(pods.called("DELETE")) == 67
    assert took < timedelta(seconds=5), "whoever is denied is told at once"

    pods.answer("a-69", "POST", None)
    assert (await scaled(site, 3)).status == 200


@everywhere(controllers=False)
@pytest.mark.parametrize("settings", [Settings(), TRACKING], ids=["annotations", "tracker"])
async def test_h3_second_downscale_of_a_group_is_denied_while_one_is_in_progress(
    site: Site, settings: Settings
) -> None:
    """The zone in progress is named; other groups are unaffected, and when it is over the next may come."""
    pods = await endpoints(site)
    for letter, group in (("a", "ingester"), ("b", "ingester"), ("x", "other")):
        await a_prepared_zone(site, letter, 3, pods=pods, group=group)
    done = asyncio.Event()
    pods.answer("a-2", "POST", Answer(after=done))
    await prepared(site, operator=Operator(site, settings=settings))

    first = asyncio.create_task(scaled(site, 2, "a"))
    await site.until(lambda: pods.called("POST") == ["a-2"])
    second, other = await scaled(site, 2, "b"), await scaled(site, 2, "x")
    done.set()

    assert second.status == 400
    assert f"a downscale of {PREFIX}a" in second.text
    assert "in progress" in second.text
    assert f"statefulsets/{PREFIX}b in namespace {site.namespace} from 3 to 2 replicas" in second.text
    assert other.status == 200
    assert (await first).status == 200
    assert pods.called("POST") == ["a-2", "x-2"]
    assert (await scaled(site, 1, "a")).status == 200


@everywhere(controllers=False)
async def test_h15_undoing_has_its_own_time_and_goes_on_after_the_denial(site: Site) -> None:
    hurried = Settings(request_timeout=2.0, pods_timeout=5.0)
    _, pods = await five_pods(site, operator=Operator(site, settings=hurried))
    pods.answer("a-4", "POST", HANGING)
    done = asyncio.Event()
    for pod in ("a-3", "a-4"):
        pods.answer(pod, "DELETE", Answer(after=done, delay=2.5))

    begun = clock.monotonic()
    denied = await scaled(site, 3)

    assert denied.status == 400
    assert f"{PREFIX}a-4" in denied.text
    assert 1.7 < clock.monotonic() - begun < 4.0
    await site.until(lambda: pods.called("DELETE") == ["a-3", "a-4"])
    undone = [heard for heard in pods.heard if heard.method == "DELETE"]
    assert [heard.status for heard in undone] == [None, None]

    done.set()

    await site.until(lambda: [heard.status for heard in undone] == [200, 200])
    assert await replicas(site) == 5
    assert await last_downscale(site) is None


@everywhere(controllers=False)
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_h16_pod_that_redirects_has_not_prepared(site: Site, status: int) -> None:
    """Followed, the POST would become a GET that prepares nothing, or would prepare whom it points to."""
    _, pods = await five_pods(site)
    place = f"http://{PREFIX}a-0.ingester.{site.namespace}.svc.cluster.local.:8080/elsewhere"
    pods.answer("a-4", "POST", Answer(status, headers=(("Location", place),)))

    denied = await scaled(site, 3)

    assert denied.status == 400
    assert str(status) in denied.text
    await site.until(lambda: pods.called("DELETE") == ["a-3", "a-4"])
    assert pods.called("GET") == []
    assert "a-0" not in pods.called("POST")
    assert await last_downscale(site) is None


@everywhere(controllers=False)
async def test_h21_tracker_keeps_what_is_not_its_own(site: Site) -> None:
    """Entries of others, labels and annotations stay, with a group and without."""
    pods = await endpoints(site)
    await a_prepared_zone(site, "a", 3, pods=pods)
    await a_prepared_zone(site, "x", 3, pods=pods, group=None)
    other = '{"LASTDOWNSCALED": "2026-01-01T00:00:00+01:00"}'
    await make_tracker(site, {"stranger": other})
    before = await site.get(CONFIGMAPS, TRACKER)
    await prepared(site, operator=Operator(site, settings=TRACKING))

    assert [(await scaled(site, 2, letter)).status for letter in "ax"] == [200, 200]

    after = await site.get(CONFIGMAPS, TRACKER)
    assert before is not None
    assert after is not None
    assert sorted(after["data"]) == [f"{PREFIX}a", f"{PREFIX}x", "stranger"]
    assert after["data"]["stranger"] == other
    for kept in ("labels", "annotations", "uid"):
        assert after["metadata"][kept] == before["metadata"][kept]
    assert [await last_downscale(site, letter) for letter in "ax"] == [None, None]


@everywhere(controllers=False)
async def test_h21_zone_without_a_group_makes_the_tracker_where_there_is_none(site: Site) -> None:
    _, pods = await five_pods(site, operator=Operator(site, settings=TRACKING), group=None, min_time="1h")

    assert (await scaled(site, 3)).status == 200
    assert list(await tracked(site)) == ["a"]
    assert pods.called("POST") == ["a-3", "a-4"]


@everywhere(controllers=False)
async def test_taking_a_label_away_and_scaling_down_do_not_go_together(site: Site) -> None:
    """Each webhook goes by the labels that were there before."""
    pods = await endpoints(site)
    await a_prepared_zone(site, "a", 3, labels={**UNPREPARED, NO_DOWNSCALE: "true"})
    await a_prepared_zone(site, "b", 3, pods=pods)
    await prepared(site)

    denied = await patched(site, "a", {"metadata": {"labels": {NO_DOWNSCALE: None}}, "spec": {"replicas": 2}})
    told = await patched(site, "b", {"metadata": {"labels": {PREPARE_DOWNSCALE: None}}, "spec": {"replicas": 2}})

    assert denied.status == 400
    assert "grafana.com/no-downscale=true" in denied.text
    assert told.status == 200
    assert pods.called("POST") == ["b-2"]
    assert await last_downscale(site, "b") is not None

    assert (await patched(site, "a", {"metadata": {"labels": {NO_DOWNSCALE: None}}})).status == 200
    assert (await scaled(site, 2, "a")).status == 200


@everywhere(controllers=False, long=True)
@pytest.mark.parametrize(
    ("label", "annotation", "status"),
    [
        pytest.param(None, "12h", 400, id="annotation alone"),
        pytest.param("1s", "12h", 400, id="annotation that is longer"),
        pytest.param("12h", "1s", 200, id="annotation that is shorter"),
        pytest.param("12h", None, 400, id="label alone"),
    ],
)
async def test_u2_annotation_with_the_time_between_zones_goes_before_the_label(
    site: Site, label: str | None, annotation: str | None, status: int
) -> None:
    pods = await endpoints(site)
    given = {MIN_TIME: annotation} if annotation else {}
    await a_prepared_zone(site, "a", 3, pods=pods)
    await a_prepared_zone(site, "b", 3, min_time=label, annotations={**given, **shrunk(minutes=1)})
    await prepared(site)

    answer = await scaled(site, 2, "a")

    assert answer.status == status
    assert (f"{PREFIX}b was downscaled at" in answer.text) == (status == 400)


@everywhere(controllers=False, long=True)
@pytest.mark.parametrize(
    "path", ["ingester/prepare", "/ingester/prepare", "//ingester//./prepare", "x/../ingester/prepare"]
)
async def test_u3_path_is_called_in_its_normal_form(site: Site, path: str) -> None:
    _, pods = await five_pods(site, path=path)

    assert (await scaled(site, 4)).status == 200
    assert {heard.path for heard in pods.heard} == {"/ingester/prepare"}
