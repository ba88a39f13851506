"""What a command did not find where it looked: the namespace itself, or a rollout that is in another one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct

from fairlead.contracts.environments.kinds import MATERIALIZES
from fairlead.contracts.zones.kinds import GROUP_LABEL
from kubeloop.client import Client
from kubeloop.errors import KubeError, NotFound
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import NAMESPACES
from kubeloop.objects.meta import Meta, Ref


class _Named(Struct, frozen=True):
    metadata: Meta


async def missing_namespace(client: Client, namespaces: Sequence[str]) -> str:
    """That one of them does not exist, as a sentence; empty when they do, or when that may not be known."""
    for namespace in filter(None, namespaces):
        try:
            await client.read(Ref(NAMESPACES, "", namespace), _Named)
        except NotFound as error:
            if error.reason == "NotFound":  # in the words of the API server, not those of a proxy
                return f"namespace {namespace} does not exist: check the name, or look at all of them with -A"
        except KubeError:
            continue
    return ""


async def places_of(client: Client, name: str) -> tuple[str, ...]:
    """The namespaces in which a rollout, or a StatefulSet of one, has this name, as far as they may be seen."""
    wanted = name.rpartition("/")[2]
    found: dict[str, None] = {}
    with suppress(KubeError):
        for zone in (await client.list(STATEFULSETS, _Named, labels=GROUP_LABEL)).items:
            if wanted in (zone.metadata.name, zone.metadata.labels.get(GROUP_LABEL)):
                found[zone.metadata.namespace] = None
    with suppress(KubeError):
        for environment in (await client.list(MATERIALIZES, _Named)).items:
            if environment.metadata.name == wanted:
                found[environment.metadata.namespace] = None
    return tuple(sorted(found))


async def why_not_found(client: Client, name: str, namespaces: Sequence[str]) -> str:
    """What helps whoever looked for a rollout in the wrong place; empty when nothing is known."""
    if "" in namespaces:
        return ""
    if missing := await missing_namespace(client, namespaces):
        return missing
    if not (places := [place for place in await places_of(client, name) if place not in namespaces]):
        return ""
    where = f"namespace{'s' * (len(places) > 1)} {', '.join(places)}"
    return f"{name} is not in namespace {', '.join(namespaces)}, but in {where}: add -n {places[0]}"
