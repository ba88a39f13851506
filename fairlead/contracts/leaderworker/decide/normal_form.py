"""When two templates are the same: their normal forms are, whoever wrote them (section 3.13 point 1).

Go, kubectl and we spell one template differently: nulls, empty lists and zeros come and go, quantities have several
spellings, and a release of the definition adds defaults. Not one of these may roll a workload, and every real change
must.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

import msgspec

from fairlead.contracts.leaderworker.decide.field_kinds import (
    QUANTITIES,
    QUANTITY_MAPS,
    SELECTORS,
    VOLUME_SOURCES,
    is_map,
    is_pointer,
)
from fairlead.contracts.leaderworker.install.definitions import leader_worker_sets
from fairlead.contracts.leaderworker.kinds import (
    DEFAULT_RESTART,
    NO_RESTART,
    RECREATE_ON_RESTART,
    SHARED,
    Json,
)
from kubeloop import quantities
from kubeloop.go_json import go_json
from kubeloop.schema_defaults import Defaults, defaulted, defaults_in
from kubeloop.unreadable import UNREADABLE

PATCH_MARK = "$patch"
TEMPLATE, NETWORK = "leaderWorkerTemplate", "networkConfig"
_REMEMBERED = 512
_ABSENT = object()
_KEPT_EMPTY = VOLUME_SOURCES | SELECTORS
_OF_CLAIMS = frozenset({"apiVersion", "kind", "status"})


class UnreadableData(ValueError):
    """What a revision stores is none of the two maps."""


def maps_in(data: bytes) -> tuple[Json, Json | None]:
    """The template and the network configuration that a revision stores, without the marks of the patch."""
    try:
        spec = msgspec.json.decode(data)["spec"]
        template, network = _map_of(spec[TEMPLATE]), spec.get(NETWORK)
        network = None if network is None else _map_of(network)
    except (*UNREADABLE, LookupError, TypeError, AttributeError) as error:
        raise UnreadableData(f"it holds no {TEMPLATE} of a LeaderWorkerSet") from error
    return template, network


def _map_of(tree: Any) -> Json:
    """Without the mark; raises TypeError for what is no map, since an empty list makes one of nothing."""
    if not isinstance(tree, dict):
        raise TypeError
    return {key: value for key, value in tree.items() if key != PATCH_MARK}


def is_same(one: bytes, other: bytes) -> bool:
    """Whether two revisions store the same; raises UnreadableData."""
    return one == other or normal_form(one) == normal_form(other)


@lru_cache(maxsize=_REMEMBERED)
def normal_form(data: bytes) -> bytes:
    """What a revision stores, in the one spelling that all of its spellings share (N1 to N6).

    It is text, because trees would call `1` and `true` the same.
    """
    template, network = maps_in(data)
    template = defaulted(template, template_defaults())
    if not template.get("restartPolicy"):
        template["restartPolicy"] = RECREATE_ON_RESTART
    if template["restartPolicy"] == DEFAULT_RESTART:
        template["restartPolicy"] = NO_RESTART
    network = {**(network or {})}
    network["subdomainPolicy"] = network.get("subdomainPolicy") or SHARED
    return go_json({TEMPLATE: _fields(TEMPLATE, template), NETWORK: _fields(NETWORK, network)})


@cache
def template_defaults() -> Defaults:
    """N2: those of this release's definition; a default that only the installed one has is left to the witness."""
    schema = leader_worker_sets()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return defaults_in(schema["properties"]["spec"]["properties"][TEMPLATE])


def _fields(name: str, tree: Mapping[str, Any]) -> Json:
    found = {
        key: _field(name, key, value)
        for key, value in tree.items()
        if not (name == "volumeClaimTemplates" and key in _OF_CLAIMS)
        and not (name == "metadata" and key == "creationTimestamp")
    }
    return {key: value for key, value in found.items() if value is not _ABSENT}


def _field(parent: str, name: str, value: Any) -> Any:
    """The normal form of a field; `_ABSENT` where it means the same as no field (N3, N4)."""
    if isinstance(value, dict):
        if is_map(name):
            return _map(name, value) or _ABSENT
        return _fields(name, value) or ({} if name in _KEPT_EMPTY else _ABSENT)
    if isinstance(value, list):
        return [_fields(name, each) if isinstance(each, dict) else each for each in value] or _ABSENT
    if value is None:
        return _ABSENT
    if name in QUANTITIES:
        value = _amount(value)
    if not is_pointer(parent, name) and value in ("", "0" if name in QUANTITIES else 0):
        return _ABSENT
    return value


def _map(name: str, entries: Mapping[str, Any]) -> Json:
    if name in QUANTITY_MAPS:
        return {key: _amount(value) for key, value in entries.items() if value is not None}
    return {key: value for key, value in entries.items() if value is not None}


def _amount(value: Any) -> Any:
    """N5: by what it stands for; what is no quantity stays as it is."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return value
    try:
        return str(quantities.number(str(value)).normalize())
    except (ValueError, ArithmeticError):
        return value
