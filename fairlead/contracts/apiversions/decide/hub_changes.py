"""Whether a rule set may have another hub than the one before it.

What an object that is stored in a spoke cannot hold of the hub is carried for the hub, and laid on the way to that
version alone. With another hub nobody goes that way: neither the new hub nor any third version, which is reached
through it, would show what is carried, and controllers would take it for removed.
"""

from __future__ import annotations

from fairlead.contracts.apiversions.decide.crd_versions import name_of, stored_versions, strategy_of, versions_of
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.kinds import ATTACH_ANYWAY

FEWEST = 3
"""Versions: between two there is one way, whichever of them is the hub."""


def hidden_by(before: str, hub: str, definition: Tree) -> str:
    """What is in the way of this hub after that one; empty: nothing is."""
    versions = versions_of(definition)
    if before in ("", hub) or before not in versions or len(versions) < FEWEST or strategy_of(definition) != "Webhook":
        return ""
    others = [each for each in stored_versions(definition) if each != before]
    if not others:
        return ""
    crd = name_of(definition)
    return (
        f"the hub was {before} and is {hub} here, while objects may be stored in {', '.join(others)}, with what"
        f" {before} alone holds in annotations that {hub} would not see: run `fairlead api set-storage {crd} {before}`"
        f" and `fairlead api migrate {crd}` first; where no object has such annotations (`fairlead api status {crd}`),"
        f' write {ATTACH_ANYWAY}: "true" on the ConfigMap'
    )
