"""Acceptance scenarios 1 to 13 of the zone contract, by their numbers; in 12 the cluster's own controllers act."""

from __future__ import annotations

import pytest

from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import delete
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.operators import LOOK_EVERY
from tests.e2e.rollouts import SECOND, ZONES, image_of, is_complete, pods_out, release, roll, three_zones, zones_out
from tests.e2e.zones import PREFIX, a_zone, begin, told


@everywhere(controllers=False)
async def test_01_sequential_default(site: Site) -> None:
    """One pod of the first zone goes, and nothing of the second."""
    await a_zone(site, "a")
    await a_zone(site, "b")

    play = await begin(site)
    await play.rest()

    assert play.deletions == ["a-0"]
    assert play.operator.failures() == 0


@everywhere(controllers=False)
async def test_02_parallel_batch(site: Site) -> None:
    """As many pods as may be unavailable go in one pass."""
    await a_zone(site, "a", max_unavailable="2")
    await a_zone(site, "b")

    play = await begin(site)
    await play.rest()

    assert play.deletions == ["a-0", "a-1"]
    assert len({record.keys["round"] for record in play.operator.records("info", "pod terminated")}) == 1


@everywhere(controllers=False)
async def test_03_natural_order(site: Site) -> None:
    """Pod 2 comes before pod 10."""
    await a_zone(site, "a", 12, max_unavailable="3")

    play = await begin(site)
    await play.rest()

    assert play.deletions == ["a-0", "a-1", "a-2"]


@everywhere(controllers=False)
async def test_04_existing_not_ready_counted(site: Site) -> None:
    """A pod that is out already uses its part of the budget, and its zone goes before one that sorts first."""
    await a_zone(site, "a", revision="new", current="new")
    await a_zone(site, "b", ready=2, max_unavailable="2", _2="notReady")

    play = await begin(site)
    await play.rest()

    assert play.deletions == ["b-0"]


@everywhere(controllers=False)
async def test_04_zone_that_is_not_ready_goes_before_one_that_sorts_first(site: Site) -> None:
    await a_zone(site, "a")
    await a_zone(site, "b", ready=2, max_unavailable="2", _2="notReady")

    play = await begin(site)
    await play.rest()

    assert play.deletions == ["b-0"]


@everywhere(controllers=False)
async def test_05_two_zones_not_ready(site: Site) -> None:
    """Nothing goes; the pass counts as a success, and a warning says why.

    When nothing is left that may become ready by itself, so does an Event for each zone.
    """
    a = await a_zone(site, "a", ready=2, _0="notReady")
    b = await a_zone(site, "b", ready=2, _0="notReady")

    play = await begin(site)
    await play.rest()

    assert play.deletions == []
    assert play.operator.failures() == 0
    (warning,) = play.operator.warnings()
    assert warning.message == "two or more zones not ready"
    assert "ingester-zone-a" in warning.keys["waiting_for"]
    assert "ingester-zone-b" in warning.keys["waiting_for"]
    assert "2 zones are not ready" in warning.keys["waiting_for"]

    for zone in (a, b):
        await zone.set_pod(0, "stuck")
    about = [event["regarding"]["name"] for event in await both_told(site, "RolloutBlocked")]
    assert sorted(about) == ["ingester-zone-a", "ingester-zone-b"]
    assert play.deletions == []
    assert play.operator.failures() == 0


@everywhere(controllers=False)
async def test_06_status_lag_terminating(site: Site) -> None:
    """The statuses count every pod as ready; the pods themselves tell that two zones are not."""
    await a_zone(site, "a", _0="terminating")
    await a_zone(site, "b", _2="terminating")

    play = await begin(site)
    await play.rest()

    assert play.deletions == []
    assert play.operator.records("info", "pod terminated") == []
    assert play.operator.failures() == 0


@everywhere(controllers=False)
async def test_07_status_lag_missing(site: Site) -> None:
    """A zone whose status counts a pod that does not exist is not complete, and holds back the next."""
    zone = await a_zone(site, "a", revision="new", _2="missing")
    await a_zone(site, "b")

    play = await begin(site)
    await play.rest()

    assert play.deletions == []
    assert play.completions == []
    assert (await zone.read())["status"]["currentRevision"] == "old"


@everywhere(controllers=False)
async def test_08_wrong_strategy(site: Site) -> None:
    """A zone that its own controller rolls stops its whole group, which fails and stays ready to be helped."""
    await a_zone(site, "a")
    zone = await a_zone(site, "b", strategy="RollingUpdate")

    play = await begin(site)
    await play.operator.keeps_failing()

    assert play.deletions == []
    assert play.operator.failures() >= 2
    assert play.operator.ready
    assert play.operator.records("warn", "wrong update strategy")

    await zone.change({"spec": {"updateStrategy": {"type": "OnDelete", "rollingUpdate": None}}})
    await zone.write_status()
    await play.rest()

    assert play.deletions == ["a-0"]


@everywhere(controllers=False)
async def test_09_revision_write(site: Site) -> None:
    """The record of the finished zone is all that changes of it, and the next zone starts in the same pass."""
    zone = await a_zone(site, "a", revision="new")
    await a_zone(site, "b")
    before = await zone.read()

    play = await begin(site)
    await play.rest()

    after = await zone.read()
    assert after["status"].pop("currentRevision") == "new"
    assert before["status"].pop("currentRevision") == "old"
    assert essence(after) == essence(before)
    assert (play.completions, play.deletions) == (["a"], ["b-0"])
    (record,) = play.operator.records("info", "revision updated")
    (deletion,) = play.operator.records("info", "pod terminated")
    assert record.keys["round"] == deletion.keys["round"]
    (event,) = await told(site, "RevisionCompleted")
    assert event["regarding"]["uid"] == zone.uid
    assert (await told(site, "PodTerminated"))[0]["regarding"]["name"] == "ingester-zone-b"


@everywhere(controllers=False)
async def test_10_rollback(site: Site) -> None:
    """With both revisions equal, a pod of the abandoned one is outdated all the same."""
    await a_zone(site, "a", update="old", _1="ready new")

    play = await begin(site)
    await play.rest()

    assert play.deletions == ["a-1"]


@everywhere(controllers=False)
@pytest.mark.parametrize("value", ["abc", "0", "-3"])
async def test_11_invalid_max(site: Site, value: str) -> None:
    """It counts as one pod at a time; the log and an Event name the value."""
    await a_zone(site, "a", max_unavailable=value)

    play = await begin(site)
    await play.rest()

    assert play.deletions == ["a-0"]
    warnings = play.operator.records("warn", "invalid max-unavailable")
    assert warnings
    assert f'"{value}"' in warnings[0].keys["text"]
    (event,) = await told(site, "InvalidAnnotation")
    assert (event["regarding"]["name"], event["type"]) == ("ingester-zone-a", "Warning")


@everywhere(controllers=True, seeds=tuple(range(5)))
async def test_12_full_cycle(site: Site) -> None:
    """Pods become ready only when the test says so; until then nothing else goes. Zones follow one another."""
    await three_zones(site)
    play = await begin(site)
    await play.operator.at_rest()
    before = site.history.events[-1].version
    order = [f"{letter}-{ordinal}" for letter in ZONES for ordinal in range(3)]

    await roll(site, hold=True)
    for pod in order:
        name = f"{PREFIX}{pod}"
        await runs(site, name, SECOND)
        await play.operator.at_rest()
        assert pods_out(site) == [name]
        await release(site, name)
    await site.until(lambda: is_complete(site, SECOND))

    assert play.deletions == order
    assert len(play.operator.records("info", "pod terminated")) == len(order)
    assert play.completions == list(ZONES)
    assert zones_out(site, since=before) == 1
    assert play.witness.unfinished() == []


@everywhere(controllers=False)
async def test_13_unlabelled_statefulset_and_groups_that_come_and_go(site: Site) -> None:
    await a_zone(site, "loose", group=None)
    await a_zone(site, "a")
    play = await begin(site)
    await play.rest()
    assert play.deletions == ["a-0"]

    late = await a_zone(site, "late", group="store")
    await play.operator.at_rest(group="store")
    assert play.deletions == ["a-0", "late-0"]
    assert play.operator.passes("store") > 0

    await site.client.call(delete(Ref(STATEFULSETS, site.namespace, late.name, late.uid)))
    await site.until(
        lambda: play.operator.sample("group_reconciles_total", rollout_group="store") is None, every=LOOK_EVERY
    )

    exposed = play.operator.metrics.exposition().decode()
    assert 'rollout_group="store"' not in exposed
    for series in (
        "group_reconciles_total",
        "group_reconciles_failed_total",
        "group_reconcile_duration_seconds_count",
        "last_successful_group_reconcile_timestamp_seconds",
    ):
        assert play.operator.sample(series, rollout_group="ingester") is not None
    assert [name for name in site.history.objects(PODS) if "loose" in name] == [
        f"ingester-zone-loose-{ordinal}" for ordinal in range(3)
    ]
    assert late.name not in site.history.objects(STATEFULSETS)


async def both_told(site: Site, reason: str) -> list[Tree]:
    async def two() -> list[Tree]:
        events = await told(site, reason)
        return events if len(events) == 2 else []

    return await site.until(two)


async def runs(site: Site, pod: str, image: str) -> None:
    """Returns when the pod's containers run with that image, ready or not."""

    def found() -> bool:
        tree = site.history.objects(PODS).get(pod)
        return tree is not None and tree["status"]["phase"] == "Running" and image_of(tree) == image

    await site.until(found)


def essence(tree: Tree) -> Tree:
    """Without the server's bookkeeping of versions and writers."""
    kept = {key: value for key, value in tree["metadata"].items() if key not in ("resourceVersion", "managedFields")}
    return {**tree, "metadata": kept}
