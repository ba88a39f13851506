"""Where the pods of a slice go (section 6.7): terms that are added when a child is created, and taken off to compare.

A change of the policy rolls nothing; it reaches the pods with the next revision.
"""

from __future__ import annotations

from typing import Any

from fairlead.contracts.leaderworker.disaggregated.kinds import (
    EXCLUSIVE_TOPOLOGY,
    NAME,
    NO_PLACEMENT,
    SLICE,
    DisaggregatedSet,
)
from fairlead.contracts.leaderworker.kinds import Json

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_AFFINITIES = ("podAffinity", "podAntiAffinity")
_OURS = frozenset({NAME, SLICE})


def with_placement(template: Json, given: DisaggregatedSet, index: int) -> None:
    """Puts the terms of the policy into a pod template, after those that are there."""
    policy = given.spec.placement_policy
    if policy is None or policy.type in ("", NO_PLACEMENT) or not policy.topology:
        return
    name, number = given.metadata.name, str(index)
    together = [_in(NAME, name), _in(SLICE, number)]
    # Pods without a slice are of slice 0: others keep away from them, and those of slice 0 do not.
    of_slices = [_exists(SLICE)] if index == 0 else []
    apart = [[_in(NAME, name), *of_slices, _not_in(SLICE, number)]]
    if policy.type == EXCLUSIVE_TOPOLOGY:
        apart.append([_exists(NAME), _not_in(NAME, name), _exists(SLICE)])
    spec = _object(template, "spec")
    affinity = _object(spec, "affinity")
    for where, terms in zip(_AFFINITIES, ([together], apart), strict=True):
        required = _object(affinity, where)
        before = required.get(_REQUIRED)
        required[_REQUIRED] = [
            *(before if isinstance(before, list) else []),
            *({"labelSelector": {"matchExpressions": each}, "topologyKey": policy.topology} for each in terms),
        ]


def without_placement(template: Json) -> None:
    """Takes such terms off a pod template, of whichever policy they were."""
    spec = template.get("spec")
    affinity = spec.get("affinity") if isinstance(spec, dict) else None
    for where in _AFFINITIES:
        found = affinity.get(where) if isinstance(affinity, dict) else None
        terms = found.get(_REQUIRED) if isinstance(found, dict) else None
        if isinstance(found, dict) and isinstance(terms, list):
            found[_REQUIRED] = [each for each in terms if not _is_ours(each)]


def _is_ours(term: Any) -> bool:
    """By the labels that it goes by: users have no others of these."""
    selector = term.get("labelSelector") if isinstance(term, dict) else None
    expressions = selector.get("matchExpressions") if isinstance(selector, dict) else None
    if not isinstance(expressions, list) or not expressions or not isinstance(selector, dict):
        return False
    keys = {each.get("key") for each in expressions if isinstance(each, dict)}
    return keys == _OURS and not selector.get("matchLabels")


def _object(tree: Json, name: str) -> Json:
    found = tree.get(name)
    tree[name] = found if isinstance(found, dict) else {}
    made: Json = tree[name]
    return made


def _in(key: str, value: str) -> Json:
    return {"key": key, "operator": "In", "values": [value]}


def _not_in(key: str, value: str) -> Json:
    return {"key": key, "operator": "NotIn", "values": [value]}


def _exists(key: str) -> Json:
    return {"key": key, "operator": "Exists"}
