"""Whether an apply would change nothing, told from what the cache shows (section 3.2 step 5, S9).

It changes nothing when the object has every value of the body, and the manager owns nothing that the body leaves out:
that would be taken away. What the server adds, defaults and what others own do not count, and neither does spelling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from fairlead.contracts.leaderworker.decide.field_kinds import QUANTITIES, QUANTITY_MAPS, is_map, is_pointer
from fairlead.contracts.leaderworker.decide.trees import part
from fairlead.contracts.leaderworker.kinds import MANAGER, REVISION_KEY, Json, StatefulSet
from fairlead.core.field_managers import APPLY
from kubeloop import quantities

_LIST_KEYS = {
    **dict.fromkeys(
        ("containers", "initContainers", "env", "volumes", "imagePullSecrets", "resourceClaims"), ("name",)
    ),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "ports": ("containerPort", "protocol"),
    "hostAliases": ("ip",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
}
"""Lists of which others may own entries, and what tells entries apart."""
_KEY_DEFAULTS = {"protocol": "TCP"}
_DROPPED = frozenset({"maxUnavailable"})
"""Fields that servers without the feature drop."""


def is_unchanged(body: Json, live: StatefulSet) -> bool:
    """Whether to apply the body would leave the StatefulSet as it is."""
    meta = body["metadata"]
    return (
        _has_owners(live, meta["ownerReferences"])
        and meta["labels"].items() <= live.metadata.labels.items()
        and meta["annotations"].items() <= live.metadata.annotations.items()
        and _covers("", "spec", live.spec, body["spec"])
        and _keeps_all(live, body)
    )


def has_containers(live: StatefulSet, body: Json) -> bool:
    """Whether the leaders are made of the containers that the body has, as far as the manager says what they are."""
    place = ("template", "spec")
    wanted = part(body["spec"], *place).get("containers", [])
    if not _covers_list("spec", "containers", part(live.spec, *place).get("containers"), wanted):
        return False
    owned = [part(each, "f:spec", "f:template", "f:spec", "f:containers") for each in _applied(live)]
    return all(_has_fields(each, wanted) for each in owned)


def has_own_key(live: StatefulSet) -> bool:
    """Whether the manager gave the leaders the key that they carry: it loses what somebody else says otherwise."""
    return any(f"f:{REVISION_KEY}" in part(each, "f:metadata", "f:labels") for each in _applied(live))


def _has_owners(live: StatefulSet, wanted: Sequence[Json]) -> bool:
    found = {(each.uid, each.controller) for each in live.metadata.owner_references}
    return all((each["uid"], each["controller"]) in found for each in wanted)


def _covers(parent: str, name: str, live: Any, wanted: Any) -> bool:
    """Whether the live value is the wanted one, with whatever else is in it."""
    if isinstance(wanted, dict):
        if is_map(name):
            return _has_entries(name, live or {}, wanted)
        below = {} if live is None else live
        return isinstance(below, dict) and all(_covers(name, key, below.get(key), each) for key, each in wanted.items())
    if isinstance(wanted, list):
        return _covers_list(parent, name, [] if live is None else live, wanted)
    if live is None:
        return name in _DROPPED or (not is_pointer(parent, name) and wanted in (None, "", 0, False))
    if name in QUANTITIES:
        return _is_amount(live, wanted)
    return type(live) is type(wanted) and bool(live == wanted)


def _has_entries(name: str, live: Any, wanted: Mapping[str, Any]) -> bool:
    if not isinstance(live, dict):
        return False
    if name in QUANTITY_MAPS:
        return all(key in live and _is_amount(live[key], value) for key, value in wanted.items())
    return wanted.items() <= live.items()


def _covers_list(parent: str, name: str, live: Any, wanted: Sequence[Any]) -> bool:
    """Entry by entry; entries more are those of others, where the list may have any."""
    if not isinstance(live, list):
        return False
    if len(live) != len(wanted):
        if name not in _LIST_KEYS:
            return False
        names = [_identity(name, each) for each in wanted]
        live = [each for each in live if _identity(name, each) in names]
    return len(live) == len(wanted) and all(
        _covers(parent, name, have, want) for have, want in zip(live, wanted, strict=True)
    )


def _identity(name: str, entry: Any) -> tuple[Any, ...]:
    found = entry if isinstance(entry, dict) else {}
    return tuple(found.get(key, _KEY_DEFAULTS.get(key)) for key in _LIST_KEYS[name])


def _is_amount(live: Any, wanted: Any) -> bool:
    """The server rounds amounts of pods up to thousandths."""
    try:
        return quantities.in_millis(str(live)) == quantities.in_millis(str(wanted)) or (
            quantities.number(str(live)) == quantities.number(str(wanted))
        )
    except (ValueError, ArithmeticError):
        return bool(live == wanted)


def _keeps_all(live: StatefulSet, body: Json) -> bool:
    """Whether the body has all that the manager has applied; False where it has applied nothing yet."""
    applied = _applied(live)
    return len(applied) == 1 and _has_fields(applied[0], body)


def _applied(live: StatefulSet) -> list[Json]:
    """The fields that the manager has applied, by entry."""
    return [
        each.fields_v1
        for each in live.metadata.managed_fields
        if each.manager == MANAGER and each.operation == APPLY and not each.subresource
    ]


def _has_fields(fields: Mapping[str, Any], tree: Any) -> bool:
    """Whether everything that a set of fields names is in the tree: `f:name`, `k:{…}` and `v:…` are its steps."""
    for step, below in fields.items():
        if step == ".":
            continue
        found = _found(step, tree)
        if found is None or (below and not _has_fields(below, found)):
            return False
    return True


def _found(step: str, tree: Any) -> Any:
    kind, _, rest = step.partition(":")
    if kind == "f":
        return tree.get(rest) if isinstance(tree, dict) else None
    if not isinstance(tree, list):
        return None
    wanted = msgspec.json.decode(rest)
    if kind == "v":
        return wanted if wanted in tree else None
    return next(
        (
            each
            for each in tree
            if isinstance(each, dict)
            and all(each.get(key, _KEY_DEFAULTS.get(key)) == value for key, value in wanted.items())
        ),
        None,
    )
