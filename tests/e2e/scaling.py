"""Scaling for end-to-end tests: zones that follow, ReplicaTemplates (zones section 2.8), and their annotations."""

from __future__ import annotations

import itertools
from datetime import timedelta

from fairlead.contracts.zones.install.definitions import definitions as zone_kinds
from fairlead.contracts.zones.kinds import (
    API_GROUP,
    DELAY,
    DELAY_URL,
    LAST_DOWNSCALE,
    LEADER,
    MIRROR_API_VERSION,
    MIRROR_KIND,
    MIRROR_NAME,
)
from fairlead.core.ask import REFUSAL_HOLDS
from fairlead.core.times import format_rfc3339
from kubeloop import clock
from kubeloop.errors import NotFound
from kubeloop.ledger import SETTLE
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import delete
from tests.e2e.clusters import CUSTOM_RESOURCES, Site
from tests.e2e.endpoints import Endpoints, endpoints
from tests.e2e.history import Tree
from tests.e2e.operators import LOOK_EVERY
from tests.e2e.zones import PREFIX, Play, Zone, a_zone, change

TEMPLATES = Resource(API_GROUP, "v1", "replicatemplates", "ReplicaTemplate")
URL = "http://pod:8080/prepare/delayed?unset=false"
NUDGE = "fairlead.test/nudge"

_nudges = itertools.count(1)


def following(letter: str, **annotations: str) -> dict[str, str]:
    """Of a zone that follows this one."""
    return {LEADER: f"{PREFIX}{letter}", **annotations}


def shrunk(**ago: float) -> dict[str, str]:
    """Of a zone that was scaled down so long ago; words of a timedelta."""
    return {LAST_DOWNSCALE: format_rfc3339((clock.now() - timedelta(**ago)).replace(microsecond=0))}


def mirroring(name: str = "rt", kind: str = "ReplicaTemplate", **annotations: str) -> dict[str, str]:
    """Of a zone that takes its replicas from a reference."""
    return {MIRROR_NAME: name, MIRROR_KIND: kind, MIRROR_API_VERSION: TEMPLATES.api_version, **annotations}


def delaying(delay: str = "1h", url: str = URL) -> dict[str, str]:
    """Of a zone whose downscale waits for its pods."""
    return {DELAY: delay, DELAY_URL: url}


async def define_templates(site: Site) -> None:
    """Installs the definition that the project ships; returns when the kind is served."""
    (definition,) = (each for each in zone_kinds() if each["spec"]["names"]["kind"] == TEMPLATES.kind)
    await site.create(CUSTOM_RESOURCES, definition)

    async def served() -> bool:
        try:
            await site.client.list(TEMPLATES, Tree, namespace=site.namespace)
        except NotFound:
            return False
        return True

    await site.until(served, every=LOOK_EVERY)


async def a_template(site: Site, replicas: int, name: str = "rt", *, told: int | None = None) -> None:
    """A reference that asks for so many replicas and was told of others, if any."""
    status = None if told is None else {"replicas": told}
    await site.create(TEMPLATES, {"metadata": {"name": name}, "spec": {"replicas": replicas}}, status=status)


async def ask_for(site: Site, replicas: int, name: str = "rt") -> None:
    """As an autoscaler does; nobody tells the operator."""
    await change(site, TEMPLATES, name, {"spec": {"replicas": replicas}})


async def remove_template(site: Site, name: str = "rt") -> None:
    await site.client.call(delete(Ref(TEMPLATES, site.namespace, name)))


async def told(site: Site, name: str = "rt") -> int | None:
    """What the reference was told; None before it was told anything."""
    found = await site.get(TEMPLATES, name)
    assert found is not None
    replicas: int | None = found.get("status", {}).get("replicas")
    return replicas


async def replicas(site: Site, letter: str = "a") -> int:
    found = await site.get(STATEFULSETS, f"{PREFIX}{letter}")
    assert found is not None
    wanted: int = found["spec"]["replicas"]
    return wanted


async def looked(play: Play, zone: Zone) -> None:
    """Has the operator look at the group now rather than when it would by itself, and act on what it sees."""
    await zone.annotate(**{NUDGE: str(next(_nudges))})
    await play.rest()


async def tried_again(play: Play, zone: Zone) -> None:
    """Has the operator try once more what the cluster has refused, as soon as it does that.

    A refusal holds from the pass that was decided with it: a write that the server failed at is waited for first.
    """
    due = clock.monotonic() + SETTLE + REFUSAL_HOLDS.total_seconds() + 1.0
    await play.site.until(lambda: clock.monotonic() > due, every=REFUSAL_HOLDS.total_seconds() / 10)
    await looked(play, zone)


async def grown(zone: Zone, replicas: int, *, first: int, revision: str = "new") -> None:
    """What controller and kubelet do when a zone has got more replicas: pods from `first` on, ready, and the status."""
    zone.generation = (await zone.read())["metadata"]["generation"]
    for ordinal in range(first, replicas):
        await zone.make_pod(ordinal, "ready", revision)
    await zone.write_status(replicas=replicas, readyReplicas=replicas)


async def delayed(
    site: Site, *, wanted: int, have: int = 5, delay: str = "1h", url: str = URL
) -> tuple[Zone, Endpoints]:
    """Zone a, up to date, whose downscales wait, and a reference that wants other replicas than it has."""
    await define_templates(site)
    await a_template(site, wanted)
    annotations = mirroring() | delaying(delay, url)
    zone = await a_zone(site, "a", have, revision="new", current="new", annotations=annotations)
    return zone, (await endpoints(site)).serve(zone, have)
