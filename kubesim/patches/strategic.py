"""Strategic merge patches: what the Go types of the release say is merged, by a key where it is a list of objects.

The order of a merged list follows the server's rule: what the patch names comes in the order of the patch, everything
else keeps its place relative to what it stood before. Whatever else a list or an object is, it is replaced as it is
written, directives included. As on the server, carrying out a patch uses it up: what is left of it is told where the
result cannot be decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from kubesim.crds.custom import go_text
from kubesim.errors import StatusError, bad_request, internal, quoted, unprocessable
from kubesim.patches import places
from kubesim.store.versions import Tree

_PATCH = "$patch"
_RETAIN = "$retainKeys"
_ORDER = "$setElementOrder"
_DELETE_VALUES = "$deleteFromPrimitiveList"
_MERGE, _REPLACE, _DELETE = "merge", "replace", "delete"
_GO = {dict: "map[string]interface {}", list: "[]interface {}", str: "string", bool: "bool", int: "int64"}


class Patched(dict[str, Any]):
    """What a patch made of an object, with what is left of the patch."""

    def __init__(self, tree: Tree, patch: Tree) -> None:
        super().__init__(tree)
        self.patch = patch


def merge(original: Tree, patch: Tree) -> Patched:
    """The original with the patch carried out; the original stays as it is, the patch does not."""
    struct = places.struct_of(original.get("apiVersion", ""), original.get("kind", ""))
    return Patched(_merged_map(original, patch, struct), patch)


class _Field:
    """How the values of a field are merged, and the type of their parts."""

    def __init__(self, schema: Tree) -> None:
        words = (schema.get("x-kubernetes-patch-strategy") or "").split(",")
        self.strategy = next((word for word in words if word != "retainKeys"), "")
        self.key: str = schema.get("x-kubernetes-patch-merge-key") or ""
        self.struct: str = schema.get("$ref") or (schema.get("items") or {}).get("$ref") or ""


@cache
def _field(struct: str, name: str) -> _Field:
    found = places.fields_of(struct).get(name)
    if found is None:
        text = f"unable to find api field in struct {_go_name(struct)} for the json field {quoted(name)}"
        raise internal(text)
    return _Field(found)


def _go_name(struct: str) -> str:
    return struct.rpartition(".")[2]


# Objects


def _merged_map(original: Tree, patch: Tree, struct: str) -> Tree:
    if _PATCH in patch:
        return _directed(patch)
    merged = _retained(original, patch)
    for key in [key for key in patch if key.startswith(_ORDER)]:
        _order_list(merged, patch, key, struct)
    for key, value in patch.items():
        is_deletion = key.startswith(_DELETE_VALUES)
        name = _named(key, _DELETE_VALUES) if is_deletion else key
        if value is None:
            merged.pop(name, None)
        elif type(merged.get(name)) is not type(value):
            if not is_deletion:
                _take(merged, name, _without_nulls(value))
        elif isinstance(value, dict):
            field = _field(struct, name)
            replaced = field.strategy == _REPLACE
            merged[name] = value if replaced else _merged_map(merged[name], value, field.struct)
        elif isinstance(value, list):
            merged[name] = _merged_list(merged[name], value, _field(struct, name), is_deletion=is_deletion)
        else:
            merged[name] = value
    return merged


def _directed(patch: Tree) -> Tree:
    match patch[_PATCH]:
        case "replace":
            del patch[_PATCH]
            return patch
        case "delete":
            return {}
        case _:
            raise _unknown(patch)


def _retained(original: Tree, patch: Tree) -> Tree:
    """A copy of the original, reduced to what the patch wants to keep."""
    if _RETAIN not in patch:
        return dict(original)
    keys = patch.pop(_RETAIN)
    directives = _DELETE_VALUES, _ORDER
    named = [key for key, value in patch.items() if value is not None and not key.startswith(directives)]
    if not isinstance(keys, list) or any(key not in keys for key in named):
        raise bad_request("invalid patch format of retainKeys")
    return {key: value for key, value in original.items() if key in keys}


def _take(merged: Tree, name: str, value: Any) -> None:
    """Sets what was not there, or was something else."""
    if _is_directive(value):
        merged.pop(name, None)
    else:
        merged[name] = _without_directives(value)


def _is_directive(value: Any) -> bool:
    return isinstance(value, dict) and _PATCH in value


def _without_directives(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_directives(each) for key, each in value.items() if not _is_directive(each)}
    if isinstance(value, list):
        return [_without_directives(each) for each in value if not _is_directive(each)]
    return value


def _without_nulls(value: Any) -> Any:
    """The value, which loses its nulls in place."""
    if isinstance(value, dict):
        for key in [key for key, each in value.items() if each is None]:
            del value[key]
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _without_nulls(each)
    return value


def _named(key: str, prefix: str) -> str:
    """The field that a directive is about."""
    first, slash, name = key.partition("/")
    if first != prefix or not slash:
        kind = "primitive list" if prefix == _DELETE_VALUES else "setElementOrder list"
        raise bad_request(f"invalid patch format of {kind}")
    return name


# Lists


def _order_list(merged: Tree, patch: Tree, key: str, struct: str) -> None:
    """Merges a list whose wanted order the patch tells, in place; both are then done with."""
    order = _typed_list(patch.pop(key))
    name = _named(key, _ORDER)
    current = _typed_list(merged[name]) if name in merged else None
    given = _typed_list(patch[name]) if name in patch else None
    field = _field(struct, name)
    _check_order(given or [], order, field.key)
    if current is None and given is None:
        return
    if current is None:
        found = _without_directives(given)
    elif given is None:
        found = current
    else:
        found = _merged_list(current, given, field, is_deletion=False)
    if _element_type(current or [], given or []) is dict:
        for items in (found, order, current or []):
            _check_keys(items, field.key)
    elif any(isinstance(each, dict | list) for each in order):  # the server breaks off
        raise internal("an order of plain values has others in it")
    merged[name] = _woven(found, order, current or [], field.key)
    patch.pop(name, None)


def _typed_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise _mistyped("[]interface {}", value)
    return value


def _check_order(given: list[Any], order: list[Any], key: str) -> None:
    """What a patch sets must come in the order that it wants."""
    if not order or not given:
        return
    wanted = [item for item in _maps(given) if item.get(_PATCH) != _DELETE] if key else given
    left, orders = list(wanted), list(order)
    while left and orders:
        if _is_directive(left[0]) or _value(left[0], key) == _value(orders.pop(0), key):
            del left[0]
    if left:
        text = f"The order in patch list:\n{go_text(given)}\n doesn't match {_ORDER} list:\n{go_text(order)}\n"
        raise internal(text)


def _maps(items: list[Any]) -> Iterator[Tree]:
    for item in items:
        if not isinstance(item, dict):
            raise _mistyped("map[string]interface {}", item)
        yield item


def _value(item: Any, key: str) -> Any:
    """What tells an item from others."""
    if not key:
        return item
    _check_keys([item], key)
    return item[key]


def _check_keys(items: list[Any], key: str) -> None:
    for item in _maps(items):
        if key not in item:
            raise _no_key(item, key)


def _merged_list(current: list[Any], patch: list[Any], field: _Field, *, is_deletion: bool) -> list[Any]:
    if field.strategy != _MERGE and not is_deletion:
        return patch
    if not current and not patch:
        return current
    if _element_type(current, patch) is not dict:
        if is_deletion:
            return [item for item in current if item not in patch]
        return _woven(_once([*current, *patch]), patch, current, "")
    if not field.key:
        raise internal(f"cannot merge lists without merge key for {_go_name(field.struct)}")
    kept, given = _after_directives(current, patch, field.key)
    merged = list(kept)
    for item in given:
        value = _value(item, field.key)
        at = next(
            (index for index, known in enumerate(merged) if field.key in known and known[field.key] == value), None
        )
        if at is None:
            merged.append(item)
        else:
            merged[at] = _merged_map(merged[at], item, field.struct)
    _check_keys(merged, field.key)
    _check_keys(kept, field.key)
    return _woven(merged, given, kept, field.key)


def _once(items: list[Any]) -> list[Any]:
    return [item for index, item in enumerate(items) if item not in items[:index]]


def _element_type(*lists: list[Any]) -> type:
    """The type of all items of the lists."""
    found = [type(item) for items in lists for item in items]
    if not found:
        raise internal("no elements in any of the given slices")
    if found[0] is list:
        raise unprocessable()
    if any(each is not found[0] for each in found):
        raise internal(f"list element types are not identical: {go_text(list(lists))}")
    return found[0]


def _after_directives(current: list[Tree], patch: list[Tree], key: str) -> tuple[list[Tree], list[Tree]]:
    """What the directives of a patch leave of the list, and the patch without them."""
    given: list[Tree] = []
    is_replaced = False
    for item in patch:
        match item.get(_PATCH, given):
            case directive if directive is given:
                given.append(item)
            case "delete":
                gone = _value(item, key)
                current = [each for each in current if key not in each or each[key] != gone]
            case "replace":
                is_replaced = True
            case "merge":
                raise internal("merging lists cannot yet be specified in the patch")
            case _:
                raise _unknown(item)
    return (given, []) if is_replaced else (current, given)


def _woven(items: list[Any], wanted: Sequence[Any], live: Sequence[Any], key: str) -> list[Any]:
    """Wanted items in the wanted order, the others in live order, each before the first wanted one it stood before.

    Live a b c d, wanted d b: a stays before d and b; c stands after b but before d, and d comes first: a c d b.
    """
    name: Callable[[Any], Any] = (lambda item: item.get(key)) if key else (lambda item: item)
    names, places_ = [name(item) for item in wanted], [name(item) for item in live]

    def place(item: Any) -> int:
        return places_.index(name(item)) if name(item) in places_ else -1

    right = _arranged([item for item in items if name(item) in names], lambda item: names.index(name(item)))
    left = _arranged([item for item in items if name(item) not in names], place)
    woven: list[Any] = []
    while left and right:
        before = 0 <= place(left[0]) < place(right[0])
        woven.append((left if before else right).pop(0))
    return woven + left + right


def _arranged(items: list[Any], place: Callable[[Any], int]) -> list[Any]:
    """The items by their places. One without a place (-1) comes after those that it is compared with.

    That is no order, so what comes of it depends on who is compared with whom: each item goes forward as far as it is
    before its neighbour.
    """
    made: list[Any] = []
    for item in items:
        at = len(made)
        while at and (place(item) < place(made[at - 1]) or -1 in (place(item), place(made[at - 1]))):
            at -= 1
        made.insert(at, item)
    return made


# Refusals


def _unknown(patch: Tree) -> StatusError:
    directive = patch[_PATCH]
    text = (
        directive if isinstance(directive, str) else f"%!s({_GO.get(type(directive), 'float64')}={go_text(directive)})"
    )
    return internal(f"unknown patch type: {'%!s(<nil>)' if directive is None else text} in map: {go_text(patch)}")


def _no_key(item: object, key: str) -> StatusError:
    return internal(f"map: {go_text(item)} does not contain declared merge key: {key}")


def _mistyped(wanted: str, value: object) -> StatusError:
    kind = "%!s(<nil>)" if value is None else _GO.get(type(value), "float64")
    return internal(f"expected a {wanted}, but received a {kind}")
