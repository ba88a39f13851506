"""Whole rollouts on a cluster whose own StatefulSet controller acts: three zones, a new image, pods that come back."""

from __future__ import annotations

from collections.abc import Mapping

from fairlead.contracts.zones.kinds import MAX_UNAVAILABLE, NAME_LABEL
from kubeloop.objects.apps import REVISION_LABEL, STATEFULSETS
from kubeloop.objects.core import PODS
from kubesim.pods.behaviour import HOLD
from tests.e2e.clusters import Site
from tests.e2e.history import Tree
from tests.e2e.zones import PREFIX, change, statefulset

ZONES = ("a", "b", "c")
FIRST, SECOND = "image:1", "image:2"


async def three_zones(site: Site, replicas: int = 3, *, max_unavailable: str | None = None) -> None:
    """Zones a, b and c, complete and ready; pods come and go quickly from now on."""
    site.start_kubelet(ready_after=0.02, gone_after=0.01)
    annotations = {} if max_unavailable is None else {MAX_UNAVAILABLE: max_unavailable}
    for letter in ZONES:
        tree = statefulset(f"{PREFIX}{letter}", replicas, annotations=annotations)
        tree["spec"]["podManagementPolicy"] = "Parallel"
        await site.create(STATEFULSETS, tree)
    await site.until(lambda: is_complete(site, FIRST))
    await site.history.caught_up()


async def roll(site: Site, image: str = SECOND, *, hold: bool = False) -> None:
    """Gives every zone a new image; with `hold` its pods become ready only by `release`."""
    template: Tree = {
        "metadata": {"annotations": {HOLD: "true"}} if hold else {},
        "spec": {"containers": [{"name": "main", "image": image}]},
    }
    for letter in ZONES:
        await change(site, STATEFULSETS, f"{PREFIX}{letter}", {"spec": {"template": template}})


async def release(site: Site, pod: str) -> None:
    """The pod becomes ready, once its controller has made it."""

    def is_there() -> bool:
        found = site.history.objects(PODS).get(pod)
        return found is not None and "deletionTimestamp" not in found["metadata"]

    await site.until(is_there)
    await change(site, PODS, pod, {"metadata": {"annotations": {HOLD: None}}})


def is_complete(site: Site, image: str) -> bool:
    """Every zone has all its pods, ready and with this image, and its current revision is its update revision."""
    world = {resource: site.history.objects(resource) for resource in (PODS, STATEFULSETS)}
    for zone in world[STATEFULSETS].values():
        status = zone.get("status", {})
        pods = pods_of(zone, world[PODS])
        update = status.get("updateRevision")
        if (
            status.get("observedGeneration") != zone["metadata"]["generation"]
            or status.get("currentRevision") != update
            or status.get("readyReplicas") != zone["spec"]["replicas"]
            or len(pods) != zone["spec"]["replicas"]
            or not all(is_ready(pod) and image_of(pod) == image for pod in pods)
            or {pod["metadata"]["labels"][REVISION_LABEL] for pod in pods} != {update}
        ):
            return False
    return bool(world[STATEFULSETS])


def zones_out(site: Site, since: int) -> int:
    """How many zones were not ready at the worst moment after that version, by their pods and their wishes."""
    worst = 0
    for event, world in site.history.replay():
        if event.version > since:
            out = [zone for zone in world[STATEFULSETS].values() if is_out(zone, world[PODS])]
            worst = max(worst, len(out))
    return worst


def pods_out(site: Site) -> list[str]:
    """Pods that are not ready, by the newest that is known."""
    return [name for name, pod in site.history.objects(PODS).items() if not is_ready(pod)]


def is_out(zone: Tree, pods: Mapping[str, Tree]) -> bool:
    mine = pods_of(zone, pods)
    return len(mine) < zone["spec"]["replicas"] or not all(map(is_ready, mine))


def pods_of(zone: Tree, pods: Mapping[str, Tree]) -> list[Tree]:
    name = zone["metadata"]["name"]
    return [pod for pod in pods.values() if pod["metadata"]["labels"].get(NAME_LABEL) == name]


def is_ready(pod: Tree) -> bool:
    containers = pod["status"].get("containerStatuses", ())
    return "deletionTimestamp" not in pod["metadata"] and bool(containers) and all(each["ready"] for each in containers)


def image_of(pod: Tree) -> str:
    image: str = pod["spec"]["containers"][0]["image"]
    return image
