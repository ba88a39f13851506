"""Downscales for end-to-end tests: zones that want to be prepared, the ways to ask for fewer replicas, and what the
cluster says to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from fairlead.contracts.zones.kinds import LAST_DOWNSCALE, MIN_TIME, PREPARE_DOWNSCALE, PREPARE_PATH, PREPARE_PORT
from fairlead.contracts.zones.settings import Settings
from kubeloop.client import Client
from kubeloop.errors import ApiError
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import JSON, MERGE_PATCH, Request, get, path_to
from tests.e2e.clusters import Site
from tests.e2e.endpoints import Endpoints, endpoints
from tests.e2e.history import Tree
from tests.e2e.operators import LOOK_EVERY, Operator
from tests.e2e.webhooks import Answering, register
from tests.e2e.zones import PREFIX, Play, Zone, a_zone, begin

BOTH = ("no-downscale", "prepare-downscale")
PATH, PORT = "ingester/prepare-downscale", "8080"
DRY_RUN = (("dryRun", "All"),)
TRACKER = "rollout-operator-zone-tracker"
TRACKING = Settings(use_zone_tracker=True)


class Answered(NamedTuple):
    """What a cluster says to a request."""

    status: int
    text: str = ""
    """Of a refusal."""
    warning: str = ""


class Prepared(NamedTuple):
    """An operator whose webhooks are asked about downscales, and the pods that it calls."""

    play: Play
    pods: Endpoints


async def a_prepared_zone(
    site: Site,
    letter: str = "a",
    replicas: int = 5,
    *,
    pods: Endpoints | None = None,
    updated: int | None = None,
    min_time: str | None = None,
    path: str = PATH,
    labels: Mapping[str, str | None] | None = None,
    annotations: Mapping[str, str] | None = None,
    service: str = "ingester",
    **others: Any,
) -> Zone:
    """At rest, and its pods are to be told before they go; `updated` is status.updatedReplicas.

    `labels` are those of the StatefulSet; one with None takes away what it would have. Its pods answer at `pods`.
    """
    own = {PREPARE_DOWNSCALE: "true", MIN_TIME: min_time, **(labels or {})}
    zone = await a_zone(
        site,
        letter,
        replicas,
        revision="new",
        current="new",
        own_labels={key: value for key, value in own.items() if value is not None},
        annotations={PREPARE_PATH: path, PREPARE_PORT: PORT, **(annotations or {})},
        service=service,
        **others,
    )
    await zone.write_status(updatedReplicas=replicas if updated is None else updated)
    if pods is not None:
        pods.serve(zone, replicas, service=service)
    return zone


async def prepared(
    site: Site,
    *names: str,
    operator: Operator | None = None,
    answering: Answering | None = None,
    user: str = "admin",
    **changes: Any,
) -> Play:
    """The operator at work on what is there, its webhooks of these names (both about downscales) asked from the start.

    `answering` stands between the cluster and the operator; `changes` are those of `register`.
    """
    operator = operator or Operator(site)
    await register(site, answering or operator, *(names or BOTH), **changes)
    play = await begin(site, operator, user=user)
    await site.until(lambda: operator.ready, every=LOOK_EVERY)
    return play


async def five_pods(site: Site, *, operator: Operator | None = None, **zone: Any) -> Prepared:
    """Zone a with five pods, alone in its group."""
    pods = await endpoints(site)
    await a_prepared_zone(site, "a", 5, pods=pods, **zone)
    return Prepared(await prepared(site, operator=operator), pods)


async def ask(client: Client, request: Request) -> Answered:
    """What the cluster says; it is asked once."""
    try:
        response = await client.call(msgspec.structs.replace(request, retry_when_throttled=False))
    except ApiError as error:
        return Answered(error.status, str(error))
    return Answered(response.status, warning=response.headers.get("warning", ""))


async def patched(site: Site, letter: str, tree: Tree, *, resource: Resource = STATEFULSETS) -> Answered:
    """A merge patch of the zone."""
    path = path_to(Ref(resource, site.namespace, f"{PREFIX}{letter}"))
    return await ask(site.client, Request("PATCH", path, body=msgspec.json.encode(tree), content_type=MERGE_PATCH))


async def scaled(
    site: Site,
    replicas: int,
    letter: str = "a",
    *,
    method: str = "PATCH",
    subresource: str = "scale",
    dry_run: bool = False,
    resource: Resource = STATEFULSETS,
    namespace: str = "",
    client: Client | None = None,
) -> Answered:
    """Asks for so many replicas; a PUT is of what a GET has just shown, with its resource version."""
    client = client or site.client
    ref = Ref(resource, namespace or site.namespace, f"{PREFIX}{letter}")
    tree: Tree = {"spec": {"replicas": replicas}}
    if method == "PUT":
        tree = msgspec.json.decode((await client.call(get(ref, subresource))).body)
        tree["spec"]["replicas"] = replicas
    request = Request(
        method,
        path_to(ref, subresource),
        query=DRY_RUN if dry_run else (),
        body=msgspec.json.encode(tree),
        content_type=JSON if method == "PUT" else MERGE_PATCH,
    )
    return await ask(client, request)


async def last_downscale(site: Site, letter: str = "a") -> str | None:
    found = await site.get(STATEFULSETS, f"{PREFIX}{letter}")
    assert found is not None
    time: str | None = found["metadata"].get("annotations", {}).get(LAST_DOWNSCALE)
    return time


def stamps(site: Site, letter: str = "a") -> list[str]:
    """All times that the zone was ever marked with, each once and in order."""
    events = [event for event in site.history.of(STATEFULSETS) if event.name == f"{PREFIX}{letter}"]
    found = [event.object["metadata"].get("annotations", {}).get(LAST_DOWNSCALE) for event in events]
    return list(dict.fromkeys(time for time in found if time))


async def tracked(site: Site) -> dict[str, str]:
    """The times in the zone tracker by letter; empty when there is none."""
    found = await site.get(CONFIGMAPS, TRACKER)
    data: dict[str, str] = (found or {}).get("data", {})
    return {name.removeprefix(PREFIX): msgspec.json.decode(entry)["lastDownscaled"] for name, entry in data.items()}
