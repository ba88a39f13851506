"""Exclusive placement: pods of one key share a domain of nodes, and keep pods of other keys out of it.

Section 3.7 step 4; by opt-in only pods of the same set are kept out (section 6.8).
"""

from __future__ import annotations

from fairlead.contracts.leaderworker.decide.pod_view import PodView
from fairlead.contracts.leaderworker.kinds import EXCLUSIVE_SCOPE, NAME, WITHIN_SET, Json

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_TOGETHER, _APART = "podAffinity", "podAntiAffinity"


def place_exclusively(pod: PodView, key: str, value: str, topology: str) -> None:
    """Adds a term each way for the label `key`; nothing where the pod has terms of that topology both ways."""
    if not topology or all(_has_term(pod.affinity, kind, topology) for kind in (_TOGETHER, _APART)):
        return
    others: list[Json] = [
        {"key": key, "operator": "Exists"},
        {"key": key, "operator": "NotIn", "values": [value]},
    ]
    if pod.annotations.get(EXCLUSIVE_SCOPE) == WITHIN_SET:
        others.append({"key": NAME, "operator": "In", "values": [pod.labels[NAME]]})
    with_own = _added(pod.affinity, _TOGETHER, topology, [{"key": key, "operator": "In", "values": [value]}])
    pod.put_affinity(_added(with_own, _APART, topology, others))


def _has_term(affinity: Json, kind: str, topology: str) -> bool:
    return any(term.get("topologyKey") == topology for term in _terms(affinity, kind))


def _terms(affinity: Json, kind: str) -> list[Json]:
    return (affinity.get(kind) or {}).get(_REQUIRED) or []


def _added(affinity: Json, kind: str, topology: str, expressions: list[Json]) -> Json:
    term = {"labelSelector": {"matchExpressions": expressions}, "topologyKey": topology}
    terms = {**(affinity.get(kind) or {}), _REQUIRED: [*_terms(affinity, kind), term]}
    return {**affinity, kind: terms}
