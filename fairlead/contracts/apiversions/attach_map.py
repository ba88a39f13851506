"""The ConfigMap by which a command has a definition attached, and those of others that speak of it (section 3.13)."""

from __future__ import annotations

from typing import Any

import msgspec
import yaml
from msgspec import Struct

from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.kinds import ATTACH_ANYWAY, MANAGER, RULES_LABEL, kept_rules_name
from fairlead.contracts.apiversions.named_rules import shortened
from fairlead.contracts.apiversions.source_files import RuleMap, in_maps
from fairlead.core.domain import short_hash
from kubeloop.client import Client
from kubeloop.errors import NotFound
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import Ref
from kubeloop.request import Request, apply, create, delete, dry

KEY = "rules.yaml"


class Others(Struct, frozen=True):
    """Sets for a definition in other ConfigMaps."""

    names: tuple[str, ...]
    attach: tuple[str, ...]
    """Those of them that ask for it to be attached."""


def map_name(crd: str) -> str:
    return f"fairlead-attach-{short_hash(crd)}"


async def held(client: Client, namespace: str, crd: str) -> RuleMap | None:
    """The ConfigMap as it is now; None: there is none."""
    try:
        return await client.read(Ref(CONFIGMAPS, namespace, map_name(crd)), RuleMap)
    except NotFound:
        return None


async def store(
    client: Client,
    namespace: str,
    rules: Tree,
    before: RuleMap | None,
    *,
    anyway: bool,
    dry_run: bool,
    attach: bool = True,
) -> None:
    """The rules are in the ConfigMap, with the wish to have the definition attached, or without it.

    Raises Conflict where somebody has written it since `before` was read (None: there was none).
    """
    crd = str(rules["crd"])
    head = {"apiVersion": "v1", "kind": "ConfigMap"}
    named = {"name": map_name(crd), "namespace": namespace}
    annotations = {ATTACH_ANYWAY: "true"} if anyway else {}
    tree = {
        **head,
        "metadata": {**named, "labels": {RULES_LABEL: "true"}, "annotations": annotations},
        "data": {KEY: _text(rules, attach=attach)},
    }
    ref, version = Ref(CONFIGMAPS, namespace, map_name(crd)), ""
    if before is None and not dry_run:
        # An apply cannot be bound to there being none; an empty one, which says nothing to an operator, can be made.
        claim = create(CONFIGMAPS, namespace, msgspec.json.encode({**head, "metadata": named}), manager=MANAGER)
        before = msgspec.json.decode((await client.call(claim)).body, type=RuleMap)
    if before is not None:
        ref, version = before.ref, before.metadata.resource_version
    request = apply(ref, msgspec.json.encode(tree), MANAGER, force=True, resource_version=version)
    await client.call(_tried(request, dry_run=dry_run))


async def hub_in_force(client: Client, namespace: str, crd: str) -> str:
    """That of the set which the leader has kept; empty: there is none."""
    try:
        found = await client.read(Ref(CONFIGMAPS, namespace, kept_rules_name(crd)), RuleMap)
    except NotFound:
        return ""
    return next((str(each.tree.get("hub") or "") for each in in_maps([found]) if each.crd == crd), "")


async def holds(client: Client, namespace: str, rules: Tree) -> bool:
    """Whether it has these rules, with the wish to have the definition attached."""
    found = await held(client, namespace, str(rules["crd"]))
    return found is not None and found.data.get(KEY) == _text(rules, attach=True)


def _text(rules: Tree, *, attach: bool) -> str:
    return str(yaml.safe_dump({**shortened(rules), "attach": attach}, sort_keys=False, allow_unicode=True))


async def stop_asking(client: Client, namespace: str, crd: str, *, dry_run: bool) -> None:
    """Where there are rules, they no longer ask for the definition to be attached; raises Conflict as `store` does.

    An operator then neither puts the conversion back nor takes it away, so whoever writes the definition is alone.
    """
    found = await held(client, namespace, crd)
    for source in in_maps([found] if found is not None else []):
        if source.crd == crd:
            await store(client, namespace, source.tree, found, anyway=source.anyway, dry_run=dry_run, attach=False)


async def remove(client: Client, namespace: str, crd: str, *, dry_run: bool) -> bool:
    """Whether there was one."""
    try:
        await client.call(_tried(delete(Ref(CONFIGMAPS, namespace, map_name(crd))), dry_run=dry_run))
    except NotFound:
        return False
    return True


async def others(client: Client, namespace: str, crd: str) -> Others:
    """Whoever else has rules for it in that namespace."""
    listed: Any = await client.list(CONFIGMAPS, RuleMap, namespace=namespace, labels=f"{RULES_LABEL}=true")
    maps = [each for each in listed.items if each.metadata.name != map_name(crd)]
    found = [(each, source) for each in maps for source in in_maps([each]) if source.crd == crd]
    named = [f"{namespace}/{each.metadata.name}" for each, _ in found]
    attach = [f"{namespace}/{each.metadata.name}" for each, source in found if source.tree.get("attach") is True]
    return Others(tuple(dict.fromkeys(named)), tuple(dict.fromkeys(attach)))


def _tried(request: Request, *, dry_run: bool) -> Request:
    return dry(request) if dry_run else request
