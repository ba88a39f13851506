"""Who converts a kind: rule sets in files and ConfigMaps, and what ready replicas of an operator say of themselves."""

from __future__ import annotations

from typing import Any

import msgspec

from fairlead.contracts.apiversions.decide.convert import KindConversion
from fairlead.contracts.apiversions.decide.crd_versions import client_of, name_of
from fairlead.contracts.apiversions.decide.lifecycle import Converters
from fairlead.contracts.apiversions.decide.rule_sets import RuleSet, RulesRejected, kind_of, read_rules
from fairlead.contracts.apiversions.decide.rule_sources import RuleSource, chosen, without_gone
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.kinds import CONVERTIBLE, RULES_LABEL, kept_rules_name
from fairlead.contracts.apiversions.rule_files import code_of, rules_in
from fairlead.contracts.apiversions.source_files import RuleMap, in_maps
from kubeloop.client import Client
from kubeloop.errors import Forbidden, NotFound
from kubeloop.objects.core import CONFIGMAPS, PODS
from kubeloop.objects.meta import Ref
from kubeloop.unreadable import UNREADABLE


async def rules_for(client: Client | None, definition: Tree, file: str, *, upcoming: bool = False) -> RuleSet | None:
    """The set of the file, else that in force where the operator keeps it, else of a labelled ConfigMap; None where
    there is none. Raises RulesRejected, Unreadable.

    `upcoming`: what somebody has published counts first; with a version that is not there yet it is not in force.
    """
    crd = name_of(definition)
    if file:
        found = [each for each in rules_in(file) if each.crd == crd]
        if not found:
            raise RulesRejected([f"{file} holds no rules for {crd}"])
        return found[0]
    if client is None:
        return None
    home = str((client_of(definition).get("service") or {}).get("namespace") or "")
    published = await _published(client, home, crd)
    if published is not None and (upcoming or published.is_built_in):  # what comes with a release is not kept
        return _usable(published)
    source = await _kept(client, home, definition) or published
    return None if source is None else _usable(source)


async def _kept(client: Client, home: str, definition: Tree) -> RuleSource | None:
    """What the leader of the operator that converts has found good last; a ConfigMap may hold what it has rejected."""
    if not home:
        return None
    try:
        found = await client.read(Ref(CONFIGMAPS, home, kept_rules_name(name_of(definition))), RuleMap)
    except (Forbidden, NotFound):
        return None
    sources = (each for each in in_maps([found]) if each.crd == name_of(definition))
    return next((without_gone(each, definition) for each in sources), None)


async def _published(client: Client, home: str, crd: str) -> RuleSource | None:
    """The set that counts in the namespace of whoever converts, else of all there are."""
    try:
        listed = await client.list(CONFIGMAPS, RuleMap, labels=f"{RULES_LABEL}=true")
    except Forbidden:
        return None
    at_home = chosen(in_maps(each for each in listed.items if each.metadata.namespace == home)).chosen
    return at_home.get(crd) or chosen(in_maps(listed.items)).chosen.get(crd)


def _usable(source: RuleSource) -> RuleSet | None:
    """A set that cannot be read, or that names code, which never comes from a ConfigMap, is not in force either."""
    try:
        found = read_rules(source.tree)
    except RulesRejected:
        return None
    return None if found.python and not source.is_built_in else found


def kind_by(rules: RuleSet, definition: Tree) -> KindConversion:
    """Raises RulesRejected."""
    return kind_of(rules, definition, code_of(rules))


async def converters_of(client: Client, definition: Tree, rules: RuleSet | None) -> Converters:
    """As far as it is told; replicas of another party say nothing."""
    covered = None if rules is None else frozenset({rules.hub, *(each.version for each in rules.spokes)})
    replicas = await replicas_of(client, definition)
    return Converters(rules=covered, hub="" if rules is None else rules.hub, replicas=replicas)


async def replicas_of(client: Client, definition: Tree) -> dict[str, frozenset[str]]:
    """Of ready pods beside the Service that converts, each with the versions of this kind that it converts."""
    service = client_of(definition).get("service") or {}
    if not service.get("namespace"):
        return {}
    try:
        listed = await client.list(PODS, dict[str, Any], namespace=service["namespace"])
    except (Forbidden, NotFound):
        return {}
    found = {}
    for pod in listed.items:
        said = (pod["metadata"].get("annotations") or {}).get(CONVERTIBLE)
        if said is not None and _is_ready(pod):
            found[pod["metadata"]["name"]] = _versions(said, name_of(definition))
    return found


def _is_ready(pod: Tree) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def _versions(said: str, crd: str) -> frozenset[str]:
    try:
        return frozenset(msgspec.json.decode(said, type=dict[str, list[str]]).get(crd, ()))
    except UNREADABLE:
        return frozenset()
