"""The CRD that a command is about, as the cluster has it."""

from __future__ import annotations

from typing import Any

from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.engine.command import Invocation, Usage
from fairlead.engine.decide.registration import DEFINITIONS
from kubeloop.client import Client
from kubeloop.errors import NotFound
from kubeloop.objects.meta import Ref


class NoDefinition(Exception):
    """There is no such CRD; the text says which there are of that group."""


async def definition_of(client: Client, name: str) -> Tree:
    """Raises NoDefinition."""
    try:
        found: Tree = await client.read(Ref(DEFINITIONS, "", name), dict[str, Any])
    except NotFound:
        listed = await client.list(DEFINITIONS, dict[str, Any], metadata_only=True)
        names = sorted(each["metadata"]["name"] for each in listed.items)
        raise NoDefinition(f"there is no CRD {name}; {_known(name, names)}") from None
    return found


def refuse_namespaces(called: Invocation, what: str) -> None:
    """Raises Usage where somebody names namespaces for what is always about all of them."""
    if called.namespaces:
        raise Usage(f"{what} is about all objects of a CRD, so it takes no --namespace")


def _known(name: str, names: list[str]) -> str:
    plural, _, group = name.partition(".")
    close = [each for each in names if each.partition(".")[2] == group or each.partition(".")[0] == plural] or names
    return f"there are {', '.join(close[:10])}" if close else "there are none"
