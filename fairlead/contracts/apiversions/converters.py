"""Who converts a kind: rule sets in files and ConfigMaps, and what ready replicas of an operator say of themselves."""

from __future__ import annotations

from typing import Any

import msgspec
import yaml

from fairlead.contracts.apiversions.decide.convert import Kind
from fairlead.contracts.apiversions.decide.crd_versions import client_of, name_of
from fairlead.contracts.apiversions.decide.lifecycle import Converters
from fairlead.contracts.apiversions.decide.rule_sets import KIND, RuleSet, RulesRejected, kind_of, read_rules
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.kinds import CONVERTIBLE, RULES_LABEL
from fairlead.contracts.apiversions.rule_files import code_of, rules_in
from kubeloop.client import Client
from kubeloop.errors import Forbidden, NotFound
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Resource
from kubeloop.unreadable import UNREADABLE

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")


async def rules_for(client: Client | None, definition: Tree, file: str) -> RuleSet | None:
    """The set of the file, else of a labelled ConfigMap; None where there is none. Raises RulesRejected, Unreadable."""
    crd = name_of(definition)
    if file:
        found = [each for each in rules_in(file) if each.crd == crd]
        if not found:
            raise RulesRejected([f"{file} holds no rules for {crd}"])
        return found[0]
    return None if client is None else await _in_config_maps(client, crd)


async def _in_config_maps(client: Client, crd: str) -> RuleSet | None:
    try:
        listed = await client.list(CONFIG_MAPS, dict[str, Any], labels=f"{RULES_LABEL}=true")
    except Forbidden:
        return None
    oldest_first = sorted(listed.items, key=lambda each: str(each["metadata"].get("creationTimestamp")))
    for each in oldest_first:
        for key, text in (each.get("data") or {}).items():
            if key.endswith((".yaml", ".yml")) and (found := _read(text, crd)) is not None:
                return found
    return None


def _read(text: str, crd: str) -> RuleSet | None:
    """What cannot be read is not in force either."""
    try:
        trees = [*yaml.safe_load_all(text)]
    except yaml.YAMLError:
        return None
    for each in trees:
        if isinstance(each, dict) and each.get("kind") == KIND and each.get("crd") == crd:
            try:
                return read_rules(each)
            except RulesRejected:
                return None
    return None


def kind_by(rules: RuleSet, definition: Tree) -> Kind:
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
