"""A CRD that is attached to an operator, and what tests do to its conversion."""

from __future__ import annotations

import json
import re
from pathlib import Path

from fairlead.contracts.apiversions.kinds import CA_MANAGER, MANAGER
from fairlead.engine.decide.owned_definitions import BUNDLE, owns
from fairlead.engine.decide.registration import Tree
from tests.e2e.clusters import Site
from tests.e2e.converting import patched
from tests.e2e.converting_operator import rules_in_a_map
from tests.e2e.replicated_operator import Replica, Replicas
from tests.e2e.widgets import Widgets, widgets

NOBODY = {"strategy": "None"}


def conversion(tree: Tree) -> Tree:
    found: Tree = tree["spec"].get("conversion") or NOBODY
    return found


async def is_attached(kind: Widgets) -> bool:
    return bool(conversion(await kind.live_definition())["strategy"] == "Webhook")


async def defined(site: Site) -> Widgets:
    """Two versions that would lose something of one another, and objects of the stored one."""
    kind = widgets(site)
    await kind.define("v1", "v2", storage="v2")
    for number in range(3):
        await kind.make(f"w-{number}", "v2", size=number, paint={"colour": "red", "finish": "matt"})
    return kind


async def settled(kind: Widgets) -> Tree:
    tree = await kind.live_definition()
    settled = owns(tree, CA_MANAGER, *BUNDLE) and not owns(tree, MANAGER, *BUNDLE)
    return tree if settled else {}


async def attached_by_one(site: Site) -> tuple[Widgets, Replicas, Replica]:
    """The same, converted by one replica."""
    kind = await defined(site)
    replicas = Replicas(site)
    await replicas.begin()
    replica = await replicas.add()
    await rules_in_a_map(site, {**kind.rules(), "attach": True})
    await site.until(lambda: settled(kind), every=0.1)
    return kind, replicas, replica


async def unserve(site: Site, kind: Widgets) -> None:
    await patched(site, {"op": "replace", "path": "/spec/versions/0/served", "value": False}, name=kind.name)


async def unconvert(site: Site, kind: Widgets) -> None:
    """As whoever applies the definition without its conversion."""
    await patched(site, {"op": "replace", "path": "/spec/conversion", "value": NOBODY}, name=kind.name)


def written(rules: Tree, folder: Path) -> str:
    path = folder / "rules.yaml"
    path.write_text(json.dumps(rules))
    return str(path)


def probe_of(replica: Replica, kind: Widgets) -> str:
    """What the last probe said, by the metric."""
    shown = replica.metrics.exposition().decode()
    found = re.findall(rf'fairlead_conversion_probe{{crd="{re.escape(kind.name)}",result="(\w+)"}} 1', shown)
    return found[0] if found else ""
