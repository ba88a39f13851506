"""What a command did not find where it looked: the namespace itself, or a rollout that is in another one."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from msgspec import Struct

from fairlead.cli.views.render import NAMELESS
from fairlead.contracts import contracts
from fairlead.engine.contract import Root
from kubeloop.client import Client
from kubeloop.errors import KubeError, NotFound
from kubeloop.objects.core import NAMESPACES
from kubeloop.objects.meta import Meta, Ref


class _Named(Struct, frozen=True):
    metadata: Meta


async def missing_namespace(client: Client, namespaces: Sequence[str], *, one: bool = False) -> str:
    """That one of them does not exist, as a sentence; empty when they do, or when that may not be known.

    `one` says that the command is about one object and cannot look at all namespaces itself.
    """
    elsewhere = "`fairlead get -A` looks at all of them" if one else "or look at all of them with -A"
    for namespace in filter(None, namespaces):
        try:
            await client.read(Ref(NAMESPACES, "", namespace), _Named)
        except NotFound as error:
            if error.reason == "NotFound":  # in the words of the API server, not those of a proxy
                return f"namespace {namespace} does not exist: check the name, {elsewhere}"
        except KubeError:
            continue
    return ""


async def places_of(client: Client, name: str) -> tuple[str, ...]:
    """The namespaces in which a rollout, or what it is made of, has this name, as far as they may be seen."""
    last = name.rpartition("/")[2]
    wanted = "" if last == NAMELESS else last
    found: set[str] = set()
    for root in (root for contract in contracts() for root in contract.roots):
        with suppress(KubeError):
            listed = (await client.list(root.resource, _Named, labels=root.labels)).items
            found |= {one.metadata.namespace for one in listed if wanted in _names(one.metadata, root)}
    return tuple(sorted(found))


def _names(metadata: Meta, root: Root) -> tuple[str | None, ...]:
    return metadata.name, *map(metadata.labels.get, root.names)


async def why_not_found(client: Client, name: str, namespaces: Sequence[str], *, one: bool = False) -> str:
    """What helps whoever looked for a rollout in the wrong place; empty when nothing is known."""
    if "" in namespaces:
        return ""
    if missing := await missing_namespace(client, namespaces, one=one):
        return missing
    if not (places := [place for place in await places_of(client, name) if place not in namespaces]):
        return ""
    where = f"namespace{'s' * (len(places) > 1)} {', '.join(places)}"
    return f"{name or NAMELESS} is not in namespace {', '.join(namespaces)}, but in {where}: add -n {places[0]}"
