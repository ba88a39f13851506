"""Evictions for end-to-end tests: zones under a disruption budget, and what the cluster says to those who evict."""

from __future__ import annotations

from typing import Any

import msgspec

from fairlead.contracts.zones.configuration_kinds import ZPDBS
from fairlead.contracts.zones.install.definitions import definitions as zone_kinds
from fairlead.contracts.zones.kinds import GROUP_LABEL, NAME_LABEL
from kubeloop.client import Client
from kubeloop.errors import NotFound
from kubeloop.objects.apps import REVISION_LABEL
from kubeloop.objects.core import PODS
from kubeloop.request import JSON, Request, list_page, path_of
from tests.e2e.clusters import CUSTOM_RESOURCES, Site
from tests.e2e.downscaling import DRY_RUN, Answered, ask
from tests.e2e.history import Tree
from tests.e2e.operators import LOOK_EVERY
from tests.e2e.zones import PREFIX, Zone, a_zone, pod_status


async def define_budgets(site: Site) -> None:
    """Installs the definition that the project ships; returns when the kind is served."""
    (tree,) = [each for each in zone_kinds() if each["spec"]["names"]["plural"] == ZPDBS.plural]
    await site.create(CUSTOM_RESOURCES, tree)

    async def served() -> bool:
        try:
            await site.client.call(list_page(ZPDBS, site.namespace, limit=1))
        except NotFound:
            return False
        return True

    await site.until(served, every=LOOK_EVERY)


def budget(**spec: Any) -> Tree:
    selector = {"matchLabels": {GROUP_LABEL: "ingester"}}
    return {"metadata": {"name": "budget"}, "spec": {"selector": selector, **spec}}


async def a_guarded_zone(site: Site, letter: str, *, revision: str = "new", max_unavailable: str | None = None) -> Zone:
    """Three ready pods on a node, so that one that is deleted stays and terminates."""
    labels = {NAME_LABEL: f"{PREFIX}{letter}", GROUP_LABEL: "ingester"}
    missing: dict[str, Any] = {f"_{ordinal}": "missing" for ordinal in range(3)}
    zone = await a_zone(site, letter, labels=labels, current=revision, max_unavailable=max_unavailable, **missing)
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": zone.name, "uid": zone.uid, "controller": True}
    for ordinal in range(3):
        metadata = {
            "name": f"{zone.name}-{ordinal}",
            "labels": {**labels, REVISION_LABEL: revision},
            "ownerReferences": [owner],
        }
        spec = {
            "containers": [{"name": "main", "image": "none"}],
            "terminationGracePeriodSeconds": 600,
            "nodeName": "node",
        }
        await site.create(PODS, {"metadata": metadata, "spec": spec}, status=pod_status("ready"))
    return zone


async def evict(
    site: Site, pod: str, *, dry_run: bool = False, options: Tree | None = None, client: Client | None = None
) -> Answered:
    """A pod of a zone, by what its name has after the prefix."""
    return await evict_pod(site, f"{PREFIX}{pod}", dry_run=dry_run, options=options, client=client)


async def evict_pod(
    site: Site, name: str, *, dry_run: bool = False, options: Tree | None = None, client: Client | None = None
) -> Answered:
    eviction: Tree = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    if options is not None:
        eviction["deleteOptions"] = options
    path = path_of(PODS, site.namespace, name, "eviction")
    body = msgspec.json.encode(eviction)
    sent = Request("POST", path, query=DRY_RUN if dry_run else (), body=body, content_type=JSON)
    return await ask(client or site.client, sent)


def going(site: Site) -> list[str]:
    pods = site.history.objects(PODS)
    return [name.removeprefix(PREFIX) for name, pod in pods.items() if "deletionTimestamp" in pod["metadata"]]
