"""Rule sets as files and ConfigMaps hold them (section 2.6): read, held against the definition, and made ready to use.

Everything that is wrong with a set is told at once, each in a sentence with its place; a set with anything wrong is not
used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, get_args

import msgspec
from msgspec import Struct

from fairlead.contracts.apiversions.decide.convert import (
    Annotations,
    KindConversion,
    KindVersion,
    Spoke,
    Way,
    steps_way,
)
from fairlead.contracts.apiversions.decide.operations.base import (
    BadRule,
    Here,
    Op,
    faults,
    faults_of_ways_back,
    steps,
    ways_back,
)
from fairlead.contracts.apiversions.decide.operations.nested import AnyOp
from fairlead.contracts.apiversions.decide.pointers import Pointer, pointer
from fairlead.contracts.apiversions.decide.shapes import shape_of
from fairlead.contracts.apiversions.decide.sharing import opened, plan_of
from fairlead.contracts.apiversions.decide.trees import Tree, copied
from kubeloop.schemas.structural import Node, compile_schema

KIND = "ConversionRules"
_OPERATIONS = tuple(str(each.__struct_config__.tag) for each in get_args(AnyOp))


class SpokeRules(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    version: str
    to_hub: list[AnyOp] = []
    from_hub: list[AnyOp] | None = None
    """None: each of `toHub` has a way back of its own."""
    derived: list[str] = []
    carry: Literal["on", "off"] = "on"
    sticky: list[str] = []
    keys: dict[str, list[str]] = {}


class RuleSet(Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True):
    kind: Literal["ConversionRules"]
    api_version: str = ""
    metadata: dict[str, Any] = {}
    crd: str
    hub: str
    attach: bool = False
    spokes: list[SpokeRules] = []
    python: str = ""
    """`module:attribute` of an installed package, in the place of operations."""
    built_in: str = ""
    """Name of the set of this release that all of this is from."""


class Code(Protocol):
    """Rules in Python, of one spoke: pure functions on plain JSON."""

    def to_hub(self, body: Tree, annotations: Annotations) -> Tree: ...

    def from_hub(self, body: Tree, annotations: Annotations) -> Tree: ...


class RulesRejected(ValueError):
    """The set is not used; the text says all that is wrong with it."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = tuple(problems)


def read_rules(tree: Any) -> RuleSet:
    """What a parsed file holds; raises RulesRejected."""
    try:
        return msgspec.convert(tree, RuleSet)
    except msgspec.ValidationError as error:
        told = str(error)
        known = f"; operations are {', '.join(_OPERATIONS)}" if told.endswith(".op`") else ""
        raise RulesRejected([f"{told}{known}"]) from None


def kind_of(rules: RuleSet, definition: Tree, code: Callable[[str], Code] | None = None) -> KindConversion:
    """How objects of the definition are converted; `code` gives that of a spoke. Raises RulesRejected."""
    spec = definition["spec"]
    schemas = schemas_of(definition)
    problems = [*_misnamed(rules, definition["metadata"]["name"], schemas)]
    if problems:
        raise RulesRejected(problems)
    spokes: dict[str, Spoke] = {}
    hub_keys: dict[Pointer, Sequence[str]] = {}
    for each in rules.spokes:
        try:
            keys = {pointer(place): fields for place, fields in each.keys.items()}
            hub_keys |= keys
            if faulty := _faults(rules, each, schemas):
                problems += [f"spoke {each.version}: {problem}" for problem in faulty]
                continue
            spokes[each.version] = _spoke(rules, each, schemas, keys, code)
        except ValueError as error:
            problems.append(f"spoke {each.version}: {error}")
    if problems:
        raise RulesRejected(problems)
    hub = KindVersion(rules.hub, schemas[rules.hub], shape_of(schemas[rules.hub], hub_keys))
    return KindConversion(spec["group"], spec["names"]["kind"], hub, spokes)


def schemas_of(definition: Tree) -> dict[str, Node]:
    """Of each version."""
    return {each["name"]: _schema(each) for each in definition["spec"]["versions"]}


def _misnamed(rules: RuleSet, name: str, schemas: Mapping[str, Node]) -> list[str]:
    found = []
    known = ", ".join(schemas)
    if rules.crd != name:
        found.append(f"crd is {rules.crd}: the definition is {name}")
    if rules.hub not in schemas:
        found.append(f"hub is {rules.hub}: versions of {name} are {known}")
    names = [each.version for each in rules.spokes]
    found += [f"spoke {each} is no version of {name}: they are {known}" for each in names if each not in schemas]
    found += [f"spoke {each} is the hub" for each in names if each == rules.hub]
    found += [f"spoke {each} is there twice" for each in sorted({each for each in names if names.count(each) > 1})]
    if rules.python and any(each.to_hub or each.from_hub for each in rules.spokes):
        found.append("python takes the place of toHub and fromHub: give one of them")
    return found


def _faults(rules: RuleSet, given: SpokeRules, schemas: Mapping[str, Node]) -> list[str]:
    """All that is wrong with its operations, each told once."""
    own, hub = Here(schemas[given.version]), Here(schemas[rules.hub])
    found = [f"toHub, {each}" for each in faults(given.to_hub, hub)]
    if given.from_hub is not None:
        found += [f"fromHub, {each}" for each in faults(given.from_hub, own)]
    elif not found:
        found += [f"toHub, {each}" for each in faults_of_ways_back(given.to_hub, own)]
    return found


def _spoke(
    rules: RuleSet,
    given: SpokeRules,
    schemas: Mapping[str, Node],
    keys: Mapping[Pointer, Sequence[str]],
    code: Callable[[str], Code] | None,
) -> Spoke:
    own, hub = schemas[given.version], schemas[rules.hub]
    to_hub, from_hub = _coded(rules, given, code) if rules.python else _ways(given, own, hub)
    return Spoke(
        version=KindVersion(given.version, own, shape_of(own, keys)),
        to_hub=to_hub,
        from_hub=from_hub,
        derived=tuple(pointer(each) for each in given.derived),
        sticky=tuple(pointer(each) for each in given.sticky),
        carries=given.carry == "on",
    )


def _coded(rules: RuleSet, given: SpokeRules, code: Callable[[str], Code] | None) -> tuple[Way, Way]:
    if code is None:
        raise BadRule(
            f"python names {rules.python}: code comes from installed packages and files, never from a ConfigMap"
        )
    found = code(given.version)
    return _apart(found.to_hub), _apart(found.from_hub)


def _apart(way: Way) -> Way:
    """Code may change what it is given, or answer with it: neither is seen here."""
    return lambda body, annotations: copied(way(copied(body), annotations))


def _ways(given: SpokeRules, own: Node, hub: Node) -> tuple[Way, Way]:
    back: Sequence[Op] = given.from_hub if given.from_hub is not None else ways_back(given.to_hub, Here(own))
    return _way(given.to_hub, Here(hub)), _way(back, Here(own))


def _way(operations: Sequence[Op], here: Here) -> Way:
    plan = plan_of(operations)
    return steps_way(steps(operations, here), lambda body: opened(body, plan))


def _schema(version: Tree) -> Node:
    return compile_schema((version.get("schema") or {}).get("openAPIV3Schema") or {"type": "object"})
