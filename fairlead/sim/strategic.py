"""Strategic merge patches: lists of objects are merged by a key instead of being replaced.

The order of a merged list follows the server's rule: what the patch names comes in the order of the patch, everything
else keeps its place relative to what it stood before. Keys are those of the release for the kinds that are served.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fairlead.sim import go_json
from fairlead.sim.custom import go_text
from fairlead.sim.errors import StatusError, bad_request, internal
from fairlead.sim.store import Tree

# Field, merge key; an empty key merges plain values. Lists not named here are replaced.
_KEYS = {
    "addresses": "type",
    "conditions": "type",
    "containers": "name",
    "env": "name",
    "ephemeralContainers": "name",
    "finalizers": "",
    "hostAliases": "ip",
    "hostIPs": "ip",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "podCIDRs": "",
    "podIPs": "ip",
    "resourceClaimStatuses": "name",
    "resourceClaims": "name",
    "schedulingGates": "name",
    "secrets": "name",
    "topologySpreadConstraints": "topologyKey",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
    "webhooks": "name",
}
_PATCH = "$patch"
_RETAIN = "$retainKeys"
_ORDER = "$setElementOrder/"
_DELETE_VALUES = "$deleteFromPrimitiveList/"


def _merge_key(parent: str, field: str) -> str | None:
    """The key that a list is merged by; ports of containers and of Services differ."""
    if field == "ports":
        return "port" if parent == "spec" else "containerPort"
    return _KEYS.get(field)


def merge(original: Tree, patch: Tree, parent: str = "") -> Tree:
    """The original with the patch applied; neither is changed."""
    match patch.get(_PATCH):
        case None:
            pass
        case "replace":
            return {key: value for key, value in patch.items() if key != _PATCH}
        case "delete":
            return {}
        case _:
            raise _unknown(patch)
    merged = _retained(original, patch)
    for key, value in patch.items():
        if key.startswith(_DELETE_VALUES):
            field = key.removeprefix(_DELETE_VALUES)
            if isinstance(merged.get(field), list):
                merged[field] = [item for item in merged[field] if item not in value]
        elif key == _RETAIN or key.startswith(_ORDER):
            continue
        elif value is None:
            merged.pop(key, None)
        else:
            _merge_field(merged, key, value, _order(patch.get(_ORDER + key), value, parent, key), parent)
    for key, order in patch.items():
        field = key.removeprefix(_ORDER)
        if key.startswith(_ORDER):
            _order(order, [], parent, field)
        if key.startswith(_ORDER) and field not in patch and isinstance(merged.get(field), list):
            name = _identity(_merge_key(parent, field))
            merged[field] = _woven(merged[field], [name(item) for item in order], merged[field], name)
    return merged


def _order(order: Any, value: Any, parent: str, field: str) -> list[Any] | None:
    """The wanted order of a list, which that of what a patch sets must follow."""
    if order is not None and not isinstance(order, list):
        raise internal(f"expected a []interface {{}}, but received a {go_json.kind_of(order)}")
    if not order or not isinstance(value, list):
        return order
    name = _identity(_merge_key(parent, field))
    given = [item for item in value if not (isinstance(item, dict) and _PATCH in item)]
    wanted = iter([name(item) for item in order])
    if not all(name(item) in wanted for item in given):
        text = f"The order in patch list:\n{go_text(given)}\n doesn't match $setElementOrder list:\n{go_text(order)}\n"
        raise internal(text)
    return order


def _retained(original: Tree, patch: Tree) -> Tree:
    """A copy of the original, reduced to what the patch wants to keep."""
    keys = patch.get(_RETAIN)
    if keys is None:
        return dict(original)
    extra = [key for key, value in patch.items() if not key.startswith("$") and value is not None and key not in keys]
    if not isinstance(keys, list) or extra:
        raise bad_request("invalid patch format of retainKeys")
    return {key: value for key, value in original.items() if key in keys}


def _merge_field(merged: Tree, key: str, value: Any, order: list[Any] | None, parent: str) -> None:
    current = merged.get(key)
    if isinstance(value, dict) and isinstance(current, dict):
        merged[key] = merge(current, value, key)
    elif isinstance(value, list) and isinstance(current, list):
        merged[key] = _merge_list(current, value, order, parent, key)
    elif isinstance(value, dict) and value.get(_PATCH) == "delete":
        merged.pop(key, None)
    else:
        merged[key] = _plain(value)
        if order is not None and isinstance(merged[key], list):
            name = _identity(_merge_key(parent, key))
            merged[key] = _woven(merged[key], [name(item) for item in order], [], name)


def _merge_list(current: list[Any], patch: list[Any], order: list[Any] | None, parent: str, field: str) -> list[Any]:
    merge_key = _merge_key(parent, field)
    if merge_key is None:
        return [_plain(item) for item in patch]
    name = _identity(merge_key)
    if merge_key == "":
        given = patch
        kept = current
        merged = list(dict.fromkeys([*current, *patch]))
    else:
        given, kept, merged = _merge_objects(current, patch, merge_key, field)
    merged = _woven(merged, [name(item) for item in given], kept, name)
    return merged if order is None else _woven(merged, [name(item) for item in order], current, name)


def _merge_objects(
    current: list[Tree], patch: list[Tree], key: str, field: str
) -> tuple[list[Tree], list[Tree], list[Tree]]:
    """What the patch gives, what it leaves of the current list, and both together."""
    if not all(isinstance(item, dict) for item in patch):
        raise internal(f"list element types are not identical: {go_text([current, patch])}")
    for item in patch:
        if item.get(_PATCH) == "merge":
            raise internal("merging lists cannot yet be specified in the patch")
        if item.get(_PATCH) not in (None, "replace", "delete"):
            raise _unknown(item)
        if key not in item and item.get(_PATCH) != "replace":
            raise _no_key(item, key)
    given = [item for item in patch if _PATCH not in item]
    if any(item.get(_PATCH) == "replace" for item in patch):
        plain = [_plain(item) for item in given]
        return [], plain, plain
    gone = [item[key] for item in patch if item.get(_PATCH) == "delete"]
    kept = [item for item in current if item.get(key) not in gone]
    merged = list(kept)
    for item in given:
        at = next((index for index, known in enumerate(merged) if known.get(key) == item[key]), None)
        if at is None:
            merged.append(_plain(item))
        else:
            merged[at] = merge(merged[at], item, field)
    return given, kept, merged


def _unknown(patch: Tree) -> StatusError:
    directive = patch[_PATCH]
    kind = directive if isinstance(directive, str) else f"%!s(int64={directive})"
    return internal(f"unknown patch type: {kind} in map: {go_text(patch)}")


def _no_key(item: object, key: str) -> StatusError:
    return internal(f"map: {go_text(item)} does not contain declared merge key: {key}")


def _identity(merge_key: str | None) -> Callable[[Any], Any]:
    """What tells the items of a list apart."""
    if not merge_key:
        return lambda item: item
    return lambda item: item.get(merge_key) if isinstance(item, dict) else item


def _woven(items: list[Any], wanted: list[Any], live: Sequence[Any], name: Callable[[Any], Any]) -> list[Any]:
    """Wanted items in the wanted order, the others in live order, each before the first wanted one it stood before.

    Live a b c d, wanted d b: a stays before d and b; c stands after b but before d, and d comes first: a c d b.
    """
    places: list[Any] = [name(item) for item in live]

    def place(item: Any) -> int:
        return places.index(name(item)) if name(item) in places else -1

    right = sorted((item for item in items if name(item) in wanted), key=lambda item: wanted.index(name(item)))
    left = sorted((item for item in items if name(item) not in wanted), key=place)
    woven: list[Any] = []
    while left and right:
        before = 0 <= place(left[0]) < place(right[0])
        woven.append((left if before else right).pop(0))
    return woven + left + right


def _plain(value: Any) -> Any:
    """A value taken over whole: without directives, without nulls."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item is not None and not key.startswith("$")}
    if isinstance(value, list):
        return [_plain(item) for item in value if not (isinstance(item, dict) and _PATCH in item)]
    return value
