"""The CRD that a command is about, as the cluster has it."""

from __future__ import annotations

import re

from msgspec import Struct

from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.kinds import CRD_OWNER, HOME
from fairlead.engine.command import Invocation, Usage
from fairlead.engine.decide.definitions import definition_in
from fairlead.engine.decide.registration import DEFINITIONS
from kubeloop import request
from kubeloop.client import Client
from kubeloop.errors import KubeError, NotFound
from kubeloop.objects.meta import Ref

MOST_NAMED = 8
_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
"""Any other text could be the path of something else: servers take a quoted slash for one."""


class _Meta(Struct):
    name: str


class _Named(Struct):
    metadata: _Meta


class NoDefinition(KubeError):
    """There is no such CRD; the text says which there are."""


async def definition_of(client: Client, name: str) -> Tree:
    """Raises NoDefinition, and errors of the cluster."""
    body = await _read(client, name) if _NAME.fullmatch(name) else None
    if body is not None:
        return definition_in(body, f"CRD {name}")
    listed = await client.list(DEFINITIONS, _Named, metadata_only=True)
    names = sorted(each.metadata.name for each in listed.items)
    shown = name or "without a name"
    raise NoDefinition(f"there is no CRD {shown}: {_known(name, names)}")


async def _read(client: Client, name: str) -> bytes | None:
    try:
        return (await client.call(request.get(Ref(DEFINITIONS, "", name)))).body
    except NotFound:
        return None


def journal_namespace(definition: Tree, given: str) -> str:
    """Where its journal is: as `--journal` says, else with the installation that owns it."""
    annotations = definition["metadata"].get("annotations") or {}
    return given or annotations.get(CRD_OWNER) or HOME


def refuse_namespaces(called: Invocation, what: str) -> None:
    """Raises Usage where somebody names namespaces for what is always about all of them."""
    if called.namespaces:
        raise Usage(f"{what} is about all objects of a CRD, so it takes no --namespace")


def _known(name: str, names: list[str]) -> str:
    plural, _, group = name.partition(".")
    close = [each for each in names if each.partition(".")[2] == group or each.partition(".")[0] == plural] or names
    more = f" and {len(close) - MOST_NAMED} more" if len(close) > MOST_NAMED else ""
    return f"there are {', '.join(close[:MOST_NAMED])}{more}" if close else "the cluster has none at all"
