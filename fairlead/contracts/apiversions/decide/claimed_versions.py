"""An object as it is in the hub, if its fields are of a version that it need not claim."""

from __future__ import annotations

from fairlead.contracts.apiversions.decide.convert import KindConversion, convert
from fairlead.contracts.apiversions.decide.trees import Tree, copied


def as_hub(tree: Tree, kind: KindConversion, version: str) -> Tree | None:
    """Its status is left as it is: controllers write it in the hub. None where the rules cannot convert the rest."""
    if version == kind.hub.name:
        return tree
    claimed = {name: value for name, value in tree.items() if name != "status"}
    claimed["apiVersion"] = f"{kind.group}/{version}"
    status = {"status": tree["status"]} if "status" in tree else {}
    try:
        return {**convert(copied(claimed), kind.hub.name, kind).tree, **status}
    except Exception:  # noqa: BLE001  (rules in Python may raise anything, and then nobody can tell what was meant)
        return None
