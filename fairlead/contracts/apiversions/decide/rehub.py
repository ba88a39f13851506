"""A rule set for another hub: the same conversions, told from another middle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from fairlead.contracts.apiversions.decide.operations.base import Here, Op, node_at, ways_back
from fairlead.contracts.apiversions.decide.pointers import pointer
from fairlead.contracts.apiversions.decide.rule_sets import RuleSet, RulesRejected, SpokeRules
from kubeloop.schemas.structural import Node


def rehubbed(rules: RuleSet, hub: str, schemas: Mapping[str, Node]) -> RuleSet:
    """The same rules with this version, which is a spoke, as the hub; raises RulesRejected."""
    if hub == rules.hub:
        raise RulesRejected([f"{hub} is the hub already"])
    chosen = next((each for each in rules.spokes if each.version == hub), None)
    if chosen is None:
        names = ", ".join(each.version for each in rules.spokes)
        raise RulesRejected([f"{hub} is no spoke: the spokes are {names or 'none'}"])
    if rules.python:
        raise RulesRejected(["the rules are in Python: write to_hub and from_hub for the new hub there"])
    into, out = _ways(chosen, schemas)
    spokes = [_spoke(SpokeRules(rules.hub), out, into, chosen, hub, schemas)]
    for each in rules.spokes:
        if each is not chosen:
            to_hub, from_hub = _ways(each, schemas)
            spokes.append(_spoke(each, [*to_hub, *out], [*into, *from_hub], chosen, hub, schemas))
    return replace(rules, hub=hub, spokes=spokes)


def written_rules(rules: RuleSet) -> dict[str, Any]:
    """As a file has it, without what is left out."""
    head: dict[str, Any] = {"kind": rules.kind, "crd": rules.crd, "hub": rules.hub}
    if rules.api_version:
        head = {"apiVersion": rules.api_version, **head}
    if rules.metadata:
        head["metadata"] = rules.metadata
    if rules.attach:
        head["attach"] = True
    if rules.python:
        head["python"] = rules.python
    return {**head, "spokes": [_written(each) for each in rules.spokes]}


def written_op(op: Op) -> dict[str, Any]:
    """Without fields that say what would hold anyway."""
    made: dict[str, Any] = msgspec.to_builtins(op)
    for name, field, default in zip(op.__struct_encode_fields__, op.__struct_fields__, _defaults(op), strict=True):
        if default is not msgspec.NODEFAULT and getattr(op, field) == default:
            made.pop(name, None)
    if "rules" in made:
        made["rules"] = [written_op(each) for each in op.rules]  # type: ignore[attr-defined]
    return made


def _defaults(op: Op) -> Sequence[Any]:
    fields = msgspec.structs.fields(op)
    return [each.default for each in fields]


def _written(spoke: SpokeRules) -> dict[str, Any]:
    made: dict[str, Any] = {"version": spoke.version}
    if spoke.to_hub:
        made["toHub"] = [written_op(each) for each in spoke.to_hub]
    if spoke.from_hub is not None:
        made["fromHub"] = [written_op(each) for each in spoke.from_hub]
    if spoke.carry != "on":
        made["carry"] = spoke.carry
    for name in ("derived", "sticky", "keys"):
        if getattr(spoke, name):
            made[name] = getattr(spoke, name)
    return made


def _ways(spoke: SpokeRules, schemas: Mapping[str, Node]) -> tuple[list[Op], list[Op]]:
    """To the hub, and from it."""
    to_hub: list[Op] = [*spoke.to_hub]
    if spoke.from_hub is not None:
        return to_hub, [*spoke.from_hub]
    return to_hub, ways_back(to_hub, Here(schemas[spoke.version]))


def _spoke(
    old: SpokeRules, to_hub: list[Op], from_hub: list[Op], chosen: SpokeRules, hub: str, schemas: Mapping[str, Node]
) -> SpokeRules:
    derived = dict.fromkeys([*old.derived, *chosen.derived])
    sticky = dict.fromkeys([*_moved(old.sticky, chosen, schemas, hub)])
    return SpokeRules(
        version=old.version,
        to_hub=to_hub,  # type: ignore[arg-type]
        from_hub=None if _is_derived(to_hub, from_hub, schemas[old.version]) else from_hub,  # type: ignore[arg-type]
        derived=[*derived],
        carry="off" if "off" in (old.carry, chosen.carry) else "on",
        sticky=[*sticky],
        keys={**chosen.keys, **old.keys},
    )


def _is_derived(to_hub: list[Op], from_hub: list[Op], own: Node) -> bool:
    try:
        back = ways_back(to_hub, Here(own))
    except ValueError:
        return False
    return [msgspec.to_builtins(each) for each in back] == [msgspec.to_builtins(each) for each in from_hub]


def _moved(sticky: Sequence[str], chosen: SpokeRules, schemas: Mapping[str, Node], hub: str) -> list[str]:
    """Leaves of the old hub, where the new one has them."""
    found = []
    for text in sticky:
        path = pointer(text)
        for each in _ways(chosen, schemas)[1]:
            path = each.went_to(path)
        if node_at(schemas[hub], path) is not None:
            found.append("/" + "/".join(path))
    return found
