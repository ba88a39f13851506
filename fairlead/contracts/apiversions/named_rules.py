"""Rule sets that come with this release, which files and ConfigMaps ask for by `builtIn` (section 2.6, B2).

They are code of this package, so a ConfigMap may name one although it may name no other code.
"""

from __future__ import annotations

from fairlead.contracts import rule_sets
from fairlead.contracts.apiversions.decide.rule_sets import RulesRejected
from fairlead.contracts.apiversions.decide.trees import Tree

FIELD = "builtIn"
_OWN = ("kind", "apiVersion", "metadata", "crd", "attach", FIELD)
"""What whoever names a set may say besides."""


def is_named(name: str) -> bool:
    return name in rule_sets()


def named(name: str) -> Tree:
    """The set of that name; raises RulesRejected."""
    known = rule_sets()
    if name not in known:
        raise RulesRejected([f"{FIELD} is {name}: this release has {', '.join(known)}"])
    found: Tree = {**known[name].get(), FIELD: name}
    return found


def expanded(tree: Tree) -> Tree:
    """The tree itself, or where it names a set of this release, that one; raises RulesRejected."""
    name = tree.get(FIELD)
    if not name:
        return tree
    found = named(str(name))
    more = [each for each in tree if each not in _OWN]
    if more:
        raise RulesRejected([f"{FIELD} brings all rules of {name}: leave {', '.join(more)} out"])
    if tree.get("crd", found["crd"]) != found["crd"]:
        raise RulesRejected([f"{FIELD} {name} is for {found['crd']}: name no other definition in crd"])
    return {**found, **tree}


def shortened(tree: Tree) -> Tree:
    """What is to be stored of a set: of one of this release its name."""
    if not tree.get(FIELD):
        return {key: value for key, value in tree.items() if key != FIELD}
    return {key: value for key, value in tree.items() if key in _OWN}
