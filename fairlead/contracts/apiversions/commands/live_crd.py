"""A CRD as the cluster has it, for commands that name one."""

from __future__ import annotations

from msgspec import Struct

from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.kinds import CRD_OWNER, HOME
from fairlead.engine.decide.definitions import definition_in
from fairlead.engine.decide.registration import DEFINITIONS
from kubeloop import request
from kubeloop.client import Client
from kubeloop.errors import KubeError, NotFound
from kubeloop.objects.meta import Ref

MOST_NAMED = 8


class UnknownCrd(KubeError):
    """There is no such CRD; the text names those there are."""


class _Meta(Struct):
    name: str


class _Named(Struct):
    metadata: _Meta


async def live_crd(client: Client, name: str) -> Tree:
    """Raises UnknownCrd, and errors of the cluster."""
    try:
        answer = await client.call(request.get(Ref(DEFINITIONS, "", name)))
    except NotFound:
        raise UnknownCrd(await _unknown(client, name)) from None
    return definition_in(answer.body, f"CRD {name}")


def journal_namespace(definition: Tree, given: str) -> str:
    """Where its journal is: as `--journal` says, else with the installation that owns it."""
    annotations = definition["metadata"].get("annotations") or {}
    return given or annotations.get(CRD_OWNER) or HOME


async def _unknown(client: Client, name: str) -> str:
    found = [each.metadata.name for each in (await client.list(DEFINITIONS, _Named, metadata_only=True)).items]
    if not found:
        return f"there is no CRD {name}: the cluster has none at all"
    plural = name.partition(".")[0]
    near = [each for each in found if each.startswith(f"{plural}.") or plural in each] or found
    more = f" and {len(near) - MOST_NAMED} more" if len(near) > MOST_NAMED else ""
    return f"there is no CRD {name}: there are {', '.join(sorted(near)[:MOST_NAMED])}{more}"
