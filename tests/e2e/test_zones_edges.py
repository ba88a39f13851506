"""Edge cases of the zone contract that concern rolling, each on both clusters."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import EVENTS, PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import Request, Transport, delete, place_of
from tests.e2e.clusters import Site, everywhere
from tests.e2e.meddling import Meddling
from tests.e2e.operators import Operator
from tests.e2e.zones import a_zone, begin, change, told


@everywhere(controllers=False)
async def test_zone_without_a_name_label_finds_its_pods_by_its_selector(site: Site) -> None:
    """E-1 with H-9."""
    zone = await a_zone(site, "a", labels={"app": "ingester", "zone": "a"})
    await a_zone(site, "b")
    await zone.make_pod(7, ownerReferences=[], name="stranger", labels={"app": "ingester", "zone": "other"})

    play = await begin(site)
    await play.rest()

    assert play.deletions == ["a-0"]


@everywhere(controllers=False)
async def test_zone_without_replicas_is_done_once_its_revision_is_recorded(site: Site) -> None:
    """E-2."""
    await a_zone(site, "a", 0)
    await a_zone(site, "b")

    play = await begin(site)
    await play.rest()

    assert (play.completions, play.deletions) == (["a"], ["b-0"])


@everywhere(controllers=False)
async def test_group_of_one_zone_rolls_to_its_end(site: Site) -> None:
    """E-3: as many at a time as may be unavailable, each next one when one is back."""
    zone = await a_zone(site, "a", max_unavailable="2")
    play = await begin(site)
    await play.rest()
    assert play.deletions == ["a-0", "a-1"]

    await zone.make_pod(0)
    await play.rest()
    assert play.deletions == ["a-0", "a-1", "a-2"]

    await zone.make_pod(1)
    await zone.make_pod(2)
    await play.rest()
    assert play.completions == ["a"]
    assert len(play.deletions) == 3


@everywhere(controllers=False)
async def test_every_event_is_told_once(site: Site) -> None:
    """Each pod, each completion and the annotation, however many passes see them."""
    zone = await a_zone(site, "a", 2, max_unavailable="abc")
    play = await begin(site)
    for ordinal in range(2):
        await play.rest()
        await zone.make_pod(ordinal)
    await play.rest()

    await told(site, "RevisionCompleted")
    # What was gathered of the zone is told before its completion; two pods of one moment are one Event.
    events = [event for event in site.history.objects(EVENTS).values() if event["regarding"]["uid"] == zone.uid]

    assert sorted({event["reason"] for event in events}) == ["InvalidAnnotation", "PodTerminated", "RevisionCompleted"]
    assert all(event.get("series") is None for event in events)
    notes = "\n".join(event["note"] for event in events if event["reason"] == "PodTerminated")
    assert [notes.count(f"{zone.name}-{ordinal}") for ordinal in range(2)] == [1, 1]


@everywhere(controllers=False)
async def test_a_batch_is_told_in_one_event_that_names_its_pods(site: Site) -> None:
    zone = await a_zone(site, "a", 3, max_unavailable="3")
    play = await begin(site)
    await play.rest()

    await told(site, "PodTerminated")

    events = [event for event in site.history.objects(EVENTS).values() if event["reason"] == "PodTerminated"]
    names = ", ".join(f"{zone.name}-{ordinal}" for ordinal in range(3))
    assert [event["note"] for event in events] == [
        f"Deleted 3 pods of revision old: {names}; the StatefulSet creates them again"
    ]


@everywhere(controllers=False)
async def test_empty_group_label_names_a_group(site: Site) -> None:
    """E-4."""
    await a_zone(site, "a", group="")

    play = await begin(site)
    await play.operator.at_rest(group="")

    assert play.deletions == ["a-0"]


@everywhere(controllers=False)
async def test_budget_larger_than_the_zone_lets_all_pods_go_at_once(site: Site) -> None:
    """E-5: of one zone."""
    await a_zone(site, "a", max_unavailable="5")
    await a_zone(site, "b", max_unavailable="5")

    play = await begin(site)
    await play.rest()

    assert play.deletions == ["a-0", "a-1", "a-2"]


@everywhere(controllers=False)
async def test_zones_that_scale_up_during_a_rollout_are_waited_for(site: Site) -> None:
    """E-6: one goes first, two block without a failure, and with both ready the rollout goes on."""
    await a_zone(site, "a")
    second = await a_zone(site, "b", 4, ready=3, _3="notReady new")
    third = await a_zone(site, "c", 4, ready=4, _3="ready new")
    play = await begin(site)
    await play.rest()
    assert play.deletions == []
    assert play.operator.records("info", "budget reached")

    await third.set_pod(3, "notReady")
    await play.rest()
    assert play.deletions == []
    assert play.operator.records("warn", "two or more zones not ready")

    await third.set_pod(3, "ready")
    await second.set_pod(3, "ready")
    await second.write_status(readyReplicas=4)
    await play.rest()

    assert play.deletions == ["a-0"]
    assert play.operator.failures() == 0


@everywhere(controllers=False)
async def test_pod_that_stays_pending_holds_its_group_but_not_the_rest_of_its_zones_budget(site: Site) -> None:
    """E-7."""
    await a_zone(site, "a", max_unavailable="2", ready=2, _0="pending new")
    await a_zone(site, "b")

    play = await begin(site)
    await play.rest()

    assert play.deletions == ["a-1"]


@everywhere(controllers=False)
async def test_pod_of_another_controller_is_neither_counted_nor_deleted(site: Site) -> None:
    """E-31 with H-10: it is outdated and not ready, and carries the zone's label."""
    zone = await a_zone(site, "a", revision="new")
    other = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "other", "uid": "other", "controller": True}
    await zone.make_pod(9, "notReady", "old", ownerReferences=[other])

    play = await begin(site)
    await play.rest()

    assert (play.completions, play.deletions) == (["a"], [])
    assert f"{zone.name}-9" in site.history.objects(PODS)


@everywhere(controllers=False)
async def test_pod_that_was_never_created_counts_as_out(site: Site) -> None:
    """H-7: the status knows of three pods and calls all of them ready; the spec asks for four."""
    zone = await a_zone(site, "a", revision="new")
    await a_zone(site, "b")
    await zone.change({"spec": {"replicas": 4}})
    await zone.write_status()

    play = await begin(site)
    await play.rest()
    assert (play.completions, play.deletions) == ([], [])

    await zone.make_pod(3)
    await play.rest()

    assert (play.completions, play.deletions) == (["a"], ["b-0"])


@everywhere(controllers=False)
async def test_status_of_an_older_generation_is_not_acted_on(site: Site) -> None:
    """H-18."""
    zone = await a_zone(site, "a")
    await zone.change({"spec": {"template": {"metadata": {"annotations": {"changed": "again"}}}}})
    play = await begin(site)
    await play.rest()
    assert play.deletions == []

    await zone.write_status(updateRevision="newer")
    await play.rest()

    assert play.deletions == ["a-0"]


@everywhere(controllers=False)
async def test_pod_that_somebody_else_deleted_first_is_no_failure(site: Site) -> None:
    """E-32: the deletion is answered with 404."""
    zone = await a_zone(site, "a")

    async def delete_first(request: Request) -> None:
        await site.client.call(delete(Ref(PODS, site.namespace, place_of(request.path).name)))

    operator = Operator(site, through=meddling("delete", "pods", delete_first))
    play = await begin(site, operator)
    await play.rest()
    assert play.deletions == ["a-0"]

    await zone.make_pod(0)
    await play.rest()

    assert play.deletions == ["a-0", "a-1"]
    assert operator.failures() == 0
    assert [record.keys["outcome"] for record in operator.records("info", "pod terminated")] == ["gone", "ok"]


@everywhere(controllers=False)
async def test_pod_that_was_made_anew_in_time_is_not_deleted(site: Site) -> None:
    """H-2 and E-11: the one that was seen is gone, its successor of the same name is at the new revision."""
    zone = await a_zone(site, "a")

    async def replace_first(request: Request) -> None:
        await site.client.call(delete(Ref(PODS, site.namespace, place_of(request.path).name)))
        await zone.make_pod(0)

    operator = Operator(site, through=meddling("delete", "pods", replace_first))
    play = await begin(site, operator)
    await play.rest()

    # The first deletion is that of the test.
    assert play.deletions == ["a-0", "a-1"]
    assert f"{zone.name}-0" in site.history.objects(PODS)
    assert operator.failures() == 0


@everywhere(controllers=False)
async def test_zone_that_vanishes_before_its_revision_is_recorded_is_no_failure(site: Site) -> None:
    """E-32: the write of the status is answered with 404."""
    zone = await a_zone(site, "a", revision="new")
    await a_zone(site, "b")

    async def delete_first(_request: Request) -> None:
        await site.client.call(delete(Ref(STATEFULSETS, site.namespace, zone.name, zone.uid)))

    operator = Operator(site, through=meddling("update", "statefulsets/status", delete_first))
    play = await begin(site, operator)
    await site.until(lambda: zone.name not in site.history.objects(STATEFULSETS))
    await play.rest()

    assert play.deletions == ["b-0"]
    assert operator.failures() == 0


@everywhere(controllers=False)
async def test_zone_that_changes_before_its_revision_is_recorded_is_recorded_later(site: Site) -> None:
    """E-12: the write is refused with 409, the pass fails and is tried again."""
    zone = await a_zone(site, "a", revision="new")

    async def change_first(_request: Request) -> None:
        await change(site, STATEFULSETS, zone.name, {"metadata": {"annotations": {"changed": "meanwhile"}}})

    operator = Operator(site, through=meddling("update", "statefulsets/status", change_first))
    play = await begin(site, operator)
    await site.until(lambda: play.completions == ["a"])
    await play.rest()

    assert operator.failures() == 1
    assert (await zone.read())["metadata"]["annotations"] == {"changed": "meanwhile"}


def meddling(verb: str, resource: str, before: Callable[[Request], Awaitable[object]]) -> Callable[..., Transport]:
    def through(transport: Transport) -> Transport:
        return Meddling(transport, verb, resource, before)

    return through
