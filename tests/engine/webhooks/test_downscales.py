"""The decisions about downscales on the embedded cluster: real objects, selectors and versions."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import Raw

from fairlead.contracts.zones.decide.admission.no_downscale import no_downscale
from fairlead.contracts.zones.decide.admission.prepare_downscale import prepare_downscale
from fairlead.contracts.zones.decide.admission.review_reading import ReviewSnapshot
from fairlead.contracts.zones.settings import Settings
from fairlead.core.ask import Need
from fairlead.core.decision import Admit
from fairlead.engine.driver.questions import AskContext, asker
from fairlead.engine.driver.round import answer, settle
from kubeloop import clock, request
from kubeloop.calls import Call, Reply
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import CONFIGMAPS, PODS
from kubeloop.objects.meta import Ref
from kubeloop.objects.review import GroupVersionResource, Review
from kubeloop.records import MemoryRecords
from kubesim.time import run
from tests.engine.webhooks.world import World

LABELS = {
    "rollout-group": "ingester",
    "grafana.com/prepare-downscale": "true",
    "grafana.com/no-downscale": "true",
    "grafana.com/min-time-between-zones-downscale": "1h",
}
ANNOTATIONS = {
    "grafana.com/prepare-downscale-http-path": "prepare",
    "grafana.com/prepare-downscale-http-port": "8080",
}
TRACKER = Settings(use_zone_tracker=True)
Tree = dict[str, Any]


class Downscales(World):
    """Zones a and b of 3 ready pods each; `calls` is what the pods were asked."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[str] = []
        self.broken = ""
        self.outside = AskContext(self.client, self._called, MemoryRecords())

    async def _called(self, call: Call) -> Reply:
        self.calls.append(f"{call.method} {call.url}")
        return Reply(500 if self.broken and self.broken in call.url and call.method == "POST" else 204)

    async def zone(self, letter: str) -> None:
        name = f"ingester-zone-{letter}"
        labels = {"name": name}
        container = {"name": "ingester", "image": "ingester:1"}
        tree = {
            "metadata": {"name": name, "labels": LABELS, "annotations": ANNOTATIONS},
            "spec": {
                "replicas": 3,
                "serviceName": "ingester",
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
                "updateStrategy": {"type": "OnDelete"},
            },
        }
        await self.create(STATEFULSETS, tree)
        status = {"status": {"replicas": 3, "readyReplicas": 3, "updatedReplicas": 3}}
        await self.patch_status(Ref(STATEFULSETS, "test", name), status)
        for ordinal in range(3):
            pod = {"metadata": {"name": f"{name}-{ordinal}", "labels": labels}, "spec": {"containers": [container]}}
            await self.create(PODS, pod)
            await self.patch_status(Ref(PODS, "test", f"{name}-{ordinal}"), {"status": {"phase": "Running"}})

    async def patch_status(self, ref: Ref, tree: Tree) -> None:
        kind = "application/merge-patch+json"
        await self.client.call(request.patch(ref, kind, msgspec.json.encode(tree), "status"))

    async def review(self, letter: str, replicas: int, *, scale: bool) -> Review:
        """What the API server would send for this update."""
        ref = Ref(STATEFULSETS, "test", f"ingester-zone-{letter}")
        old = msgspec.json.decode((await self.client.call(request.get(ref, "scale" if scale else ""))).body)
        new = old | {"spec": old["spec"] | {"replicas": replicas}}
        return Review(
            uid="uid",
            resource=GroupVersionResource("apps", "v1", "statefulsets"),
            sub_resource="scale" if scale else "",
            name=ref.name,
            namespace=ref.namespace,
            operation="UPDATE",
            object=Raw(msgspec.json.encode(new)),
            old_object=Raw(msgspec.json.encode(old)),
        )

    async def prepared(self, letter: str, replicas: int, settings: Settings, *, scale: bool = False) -> Admit:
        review, ask = await self.review(letter, replicas, scale=scale), asker(self.outside)
        _, admit = await settle(
            prepare_downscale, lambda answers: ReviewSnapshot(review, answers, settings), clock.now(), ask
        )
        assert isinstance(admit, Admit)
        await answer(Need(admit.afterwards), ask)
        return admit

    async def last(self, letter: str) -> str | None:
        tree = await self.read(Ref(STATEFULSETS, "test", f"ingester-zone-{letter}"))
        assert tree is not None
        found: str | None = tree["metadata"]["annotations"].get("grafana.com/last-downscale")
        return found


async def a_world() -> Downscales:
    world = Downscales()
    await world.zone("a")
    await world.zone("b")
    return world


@pytest.mark.parametrize("scale", [False, True])
def test_a_zone_is_prepared_and_the_other_then_waits(scale: bool) -> None:
    """zones scenarios 23 and 25; a repetition of the first is allowed and moves no time."""

    async def scenario() -> None:
        world = await a_world()

        first = await world.prepared("a", 1, Settings(), scale=scale)
        stamped = await world.last("a")
        other = await world.prepared("b", 1, Settings(), scale=scale)
        again = await world.prepared("a", 1, Settings(), scale=scale)

        url = "http://ingester-zone-a-{}.ingester.test.svc.cluster.local.:8080/prepare"
        assert first.allowed, first.message
        assert sorted(world.calls[:2]) == [f"POST {url.format(ordinal)}" for ordinal in (1, 2)]
        assert stamped is not None
        assert (other.allowed, other.word) == (False, "too-soon")
        assert again.allowed, again.message
        assert await world.last("a") == stamped
        assert await world.last("b") is None

    run(scenario())


def test_a_pod_that_fails_is_undone_and_the_group_is_free_again() -> None:
    """zones scenario 24."""

    async def scenario() -> None:
        world = await a_world()
        world.broken = "zone-a-2"

        denied = await world.prepared("a", 1, Settings())
        other = await world.prepared("b", 2, Settings())

        deleted = [call.split(".")[0] for call in world.calls if call.startswith("DELETE")]
        assert (denied.allowed, denied.word) == (False, "prepare-failed")
        assert sorted(deleted) == ["DELETE http://ingester-zone-a-1", "DELETE http://ingester-zone-a-2"]
        assert await world.last("a") is None
        assert other.allowed, other.message

    run(scenario())


def test_a_pod_that_is_not_ready_holds_the_other_zone_back() -> None:
    async def scenario() -> None:
        world = await a_world()
        await world.patch_status(Ref(PODS, "test", "ingester-zone-b-1"), {"status": {"phase": "Pending"}})

        admit = await world.prepared("a", 1, Settings())

        assert (admit.allowed, admit.word) == (False, "zone-unsettled")
        assert world.calls == []

    run(scenario())


def test_the_tracker_is_made_then_written_to_and_keeps_what_others_put_there() -> None:
    """zones scenario 28."""

    async def scenario() -> None:
        world = await a_world()
        ref = Ref(CONFIGMAPS, "test", TRACKER.tracker_name)
        old = '{"lastDownscaled":"2000-01-01T00:00:00Z"}'

        first = await world.prepared("a", 1, TRACKER)
        made = await world.read(ref)
        assert made is not None
        change = {"metadata": {"labels": {"mine": "yes"}}, "data": dict.fromkeys([*made["data"], "store-zone-a"], old)}
        patch = request.patch(ref, "application/merge-patch+json", msgspec.json.encode(change))
        await world.client.call(patch)
        second = await world.prepared("a", 1, TRACKER)
        written = await world.read(ref)

        assert (first.allowed, first.word) == (False, "too-soon")
        assert sorted(made["data"]) == ["ingester-zone-a", "ingester-zone-b"]
        assert second.allowed, second.message
        assert written is not None
        assert written["metadata"]["labels"] == {"mine": "yes"}
        assert written["data"].pop("ingester-zone-a") != old
        assert written["data"] == {"ingester-zone-b": old, "store-zone-a": old}
        assert await world.last("a") is None

    run(scenario())


@pytest.mark.parametrize("scale", [False, True])
def test_a_labelled_zone_is_not_made_smaller(scale: bool) -> None:
    """zones scenario 22."""

    async def scenario() -> None:
        world = await a_world()
        review = await world.review("a", 2, scale=scale)

        _, admit = await settle(
            no_downscale, lambda answers: ReviewSnapshot(review, answers), clock.now(), asker(world.outside)
        )

        assert isinstance(admit, Admit)
        assert not admit.allowed
        assert "from 3 to 2 replicas" in admit.message

    run(scenario())
