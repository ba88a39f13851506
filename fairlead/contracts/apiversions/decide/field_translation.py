"""Who owns which field, told in another version: what moves in the object moves with its owner (section 3.6).

The part of an object that somebody owns is converted as the object is; what comes out is what they own then. For a
version that nobody has rules for, fields keep their names where the storage version has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fairlead.contracts.apiversions.decide.carry_differences import differences
from fairlead.contracts.apiversions.decide.carry_entries import Path
from fairlead.contracts.apiversions.decide.carry_laying import at
from fairlead.contracts.apiversions.decide.convert import ConversionRefused, KindConversion, convert
from fairlead.contracts.apiversions.decide.field_sets import FIELD, fields_of, part_of
from fairlead.contracts.apiversions.decide.pointers import RESERVED
from fairlead.contracts.apiversions.decide.shapes import Shape
from fairlead.contracts.apiversions.decide.trees import Absent, Tree, copied, same
from fairlead.engine.decide.managed_fields import Entry, Fields, known_fields
from kubeloop.schemas.structural import Node

HEAD = tuple(f"{FIELD}{each}" for each in RESERVED)


def translated(entry: Entry, tree: Tree, storage: str, schema: Node, kind: KindConversion | None) -> Fields:
    """The fields of an entry in the storage version, which the object is in."""
    fields: Mapping[str, Any] = entry.get("fieldsV1") or {}
    version = str(entry.get("apiVersion", "")).rpartition("/")[2]
    if kind is None or version not in kind.versions or storage not in kind.versions:
        return known_fields(fields, schema)
    head = {key: value for key, value in fields.items() if key in HEAD}
    owned = {key: value for key, value in fields.items() if key not in HEAD}
    if not owned:
        return head
    try:
        own = kind.hub.schema if version == kind.hub.name else kind.spokes[version].version.schema
        part = part_of(_converted(tree, version, kind), owned, own)
        if part is Absent:
            return head
        named = {"kind": kind.kind, "metadata": {}}
        body = _converted({**named, "apiVersion": f"{kind.group}/{version}", **part}, storage, kind)

        def back(body: Tree) -> Tree:
            return _converted({**named, "apiVersion": f"{kind.group}/{storage}", **body}, version, kind)

        return {**head, **fields_of(_without_nobodys(body, part, back, kind.shape(storage)), schema)}
    except ConversionRefused:
        return known_fields(fields, schema)


def _converted(tree: Tree, version: str, kind: KindConversion) -> Tree:
    """The body of the object in this version."""
    return {key: value for key, value in convert(tree, version, kind).tree.items() if key not in RESERVED}


def _without_nobodys(body: Tree, part: Tree, back: Callable[[Tree], Tree], shape: Shape) -> Tree:
    """Without leaves that nothing owned has become, such as those that a rule sets: the way back is the same without
    them. Those that are the same in the part need no look."""
    whole = back(body)
    for each in differences("", body, part, shape):
        if each.wanted is Absent or each.is_order or _is_key(each.path):
            continue
        less: Tree = copied(body)
        holder, name = at(less, each.path[:-1]), each.path[-1]
        if isinstance(holder, dict) and isinstance(name, str):
            del holder[name]
            body = less if same(back(less), whole) else body
    return body


def _is_key(path: Path) -> bool:
    """Whether it leads to a field by which an item of a list is known."""
    *_, item, name = ("", *path)
    return not isinstance(item, str) and name in {field for field, _ in item}
