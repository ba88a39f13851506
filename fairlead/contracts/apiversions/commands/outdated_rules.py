"""Rules that still name a version after it was removed, in ConfigMaps: rewritten where a command wrote them, else told.

An operator rejects a set that names a version which is not there, and goes on with the kept one; so nothing is lost
when this is cut short, and whoever runs the command again finishes it.
"""

from __future__ import annotations

from msgspec import Struct

from fairlead.contracts.apiversions import attach_map
from fairlead.contracts.apiversions.decide.rule_sources import RuleSource
from fairlead.contracts.apiversions.kinds import RULES_LABEL
from fairlead.contracts.apiversions.source_files import RuleMap, in_maps
from kubeloop.client import Client
from kubeloop.errors import Conflict, Forbidden
from kubeloop.objects.core import CONFIGMAPS


class Outdated(Struct, frozen=True):
    """A set in a ConfigMap that names the version."""

    source: RuleSource
    held: RuleMap
    is_ours: bool
    """Whether `attach` wrote it."""


async def outdated(client: Client, crd: str, version: str) -> tuple[Outdated, ...]:
    """Raises errors of the cluster; where ConfigMaps may not be listed nothing is known of them."""
    try:
        listed = await client.list(CONFIGMAPS, RuleMap, labels=f"{RULES_LABEL}=true")
    except Forbidden:
        return ()
    return tuple(
        Outdated(source, each, each.metadata.name == attach_map.map_name(crd))
        for each in listed.items
        for source in in_maps([each])
        if source.crd == crd and version in _named(source)
    )


async def put_right(client: Client, crd: str, version: str, *, dry_run: bool) -> tuple[str, ...]:
    """A sentence about each set that named the version."""
    said = []
    for each in await outdated(client, crd, version):
        place = each.source.place
        if each.source.tree.get("hub") == version:
            said.append(f"{place} has {version} as its hub: rewrite it with `fairlead api rules rehub`")
        elif each.is_ours:
            said.append(f"{place} {await _shortened(client, each, version, dry_run=dry_run)}")
        else:
            said.append(f"{place} still names {version}: take it out of the spokes there, else the set is rejected")
    return tuple(said)


async def _shortened(client: Client, found: Outdated, version: str, *, dry_run: bool) -> str:
    """What became of it, as the end of a sentence."""
    tree = found.source.tree
    rules = {**tree, "spokes": [each for each in tree["spokes"] if each.get("version") != version]}
    anyway, attach = found.source.anyway, tree.get("attach") is True
    namespace = found.held.metadata.namespace
    try:
        await attach_map.store(client, namespace, rules, found.held, anyway=anyway, dry_run=dry_run, attach=attach)
    except Conflict:
        return f"is written by somebody else and may still name {version}: run the command again"
    return f"{'would name' if dry_run else 'names'} {version} no longer"


def _named(source: RuleSource) -> tuple[str, ...]:
    spokes = source.tree.get("spokes")
    found = [each.get("version") for each in spokes if isinstance(each, dict)] if isinstance(spokes, list) else []
    return (str(source.tree.get("hub", "")), *map(str, found))
