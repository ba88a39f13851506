"""Rule sets and definitions as files hold them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

from fairlead.contracts.apiversions.decide.rule_sets import KIND, Code, RuleSet, RulesRejected, read_rules
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.contracts.apiversions.named_rules import expanded, is_named, named
from fairlead.engine.object_files import UnreadableFile, objects_in, shown

DEFINITION = "CustomResourceDefinition"


def rules_in(name: str) -> list[RuleSet]:
    """The rule sets of a file, of which there is one at least, or the one of this release that has the name.

    Raises UnreadableFile and RulesRejected.
    """
    if is_named(name):
        return [read_rules(named(name))]
    found = [each for each in objects_in(name) if isinstance(each, dict) and each.get("kind") == KIND]
    if not found:
        raise UnreadableFile(f"{shown(name)} holds no {KIND}: give a file with `kind: {KIND}`")
    return [read_rules(expanded(each)) for each in found]


def definitions_in(name: str) -> list[Tree]:
    """The definitions of a file, of which there is one at least; raises UnreadableFile."""
    found = [each for each in objects_in(name) if isinstance(each, dict) and each.get("kind") == DEFINITION]
    if not found:
        raise UnreadableFile(f"{shown(name)} holds no {DEFINITION}: give the file that defines the kind")
    return [_definition(each, name) for each in found]


def code_of(rules: RuleSet) -> Callable[[str], Code] | None:
    """What gives the code of each spoke; None where rules are operations. Raises RulesRejected."""
    if not rules.python:
        return None
    module, _, attribute = rules.python.partition(":")
    try:
        found: Any = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise RulesRejected([f"python names {rules.python}, which is not installed here ({error})"]) from None
    single = len(rules.spokes) == 1 and not hasattr(found, "for_version")
    return lambda version: cast("Code", found if single else found.for_version(version))


def _definition(tree: dict[str, Any], name: str) -> Tree:
    spec = tree.get("spec")
    named = isinstance(tree.get("metadata"), dict) and isinstance(tree["metadata"].get("name"), str)
    versions = spec.get("versions") if isinstance(spec, dict) else None
    if not named or not isinstance(versions, list) or not all(isinstance(each, dict) for each in versions):
        raise UnreadableFile(f"{shown(name)} holds a {DEFINITION} without a name or without spec.versions")
    return tree
