"""Who owns which field, told in another version: what moves in the object moves with its owner (section 3.6).

The part of an object that somebody owns is converted as the object is; what comes out is what they own then. For a
version that nobody has rules for, fields keep their names where the storage version has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlead.contracts.apiversions.decide.convert import ConversionRefused, KindConversion, convert
from fairlead.contracts.apiversions.decide.field_sets import FIELD, fields_of, part_of
from fairlead.contracts.apiversions.decide.pointers import RESERVED
from fairlead.contracts.apiversions.decide.trees import Absent, Tree
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
        there = convert(tree, version, kind).tree
        own = kind.hub.schema if version == kind.hub.name else kind.spokes[version].version.schema
        part = part_of({key: value for key, value in there.items() if key not in RESERVED}, owned, own)
        if part is Absent:
            return head
        bare = {"apiVersion": there["apiVersion"], "kind": there["kind"], "metadata": {}, **part}
        back = convert(bare, storage, kind).tree
    except ConversionRefused:
        return known_fields(fields, schema)
    body = {key: value for key, value in back.items() if key not in RESERVED}
    return {**head, **fields_of(body, schema)}
