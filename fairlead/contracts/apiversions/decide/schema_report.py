"""What differs between two definitions, or two versions of one, for release notes (section 6.1, B15)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from fairlead.contracts.apiversions.decide import schema_changes
from fairlead.contracts.apiversions.decide.operations.base import node_at
from fairlead.contracts.apiversions.decide.pointers import Pointer
from fairlead.contracts.apiversions.decide.rule_sets import schemas_of
from fairlead.contracts.apiversions.decide.schema_changes import SchemaChange
from fairlead.contracts.apiversions.decide.trees import Tree
from kubeloop.schemas.structural import Node

NEW, WIDER, STRICTER, GONE = "new", "wider", "stricter or different", "gone"
_WIDER = {
    schema_changes.REQUIRED_ADDED: "is no longer required",
    schema_changes.ENUM_NARROWED: "takes more values",
    schema_changes.ENUM_ADDED: "takes any value",
    schema_changes.BOUND_TIGHTENED: "has wider bounds",
}
"""What became wider is what would become stricter the other way round."""
LONGEST_NOTE = 120


class Row(Struct, frozen=True):
    kind: str
    field: str
    note: str


class Section(Struct, frozen=True):
    """One version, or the versions themselves."""

    title: str
    rows: tuple[Row, ...]


def between_definitions(old: Tree, new: Tree) -> list[Section]:
    """Version by version; empty where nothing differs."""
    before, after = schemas_of(old), schemas_of(new)
    found = [Section("Versions", tuple(_versions(old, new)))]
    found += [Section(name, tuple(between_schemas(before[name], after[name]))) for name in after if name in before]
    return [each for each in found if each.rows]


def between_schemas(old: Node, new: Node) -> Iterator[Row]:
    """What is new first, what is gone last."""
    forward, backward = schema_changes.changes(old, new), schema_changes.changes(new, old)
    for each in backward:
        if each.code == schema_changes.FIELD_REMOVED:
            yield Row(NEW, _text(each.place), _about(new, each.place))
    told = {each.place for each in forward}
    for each in backward:
        if each.code in _WIDER and each.place not in told:
            yield Row(WIDER, _text(each.place), _WIDER[each.code])
    yield from (Row(STRICTER, _text(each.place), each.message) for each in forward if not _is_gone(each))
    yield from (Row(GONE, _text(each.place), each.message) for each in forward if _is_gone(each))


def markdown(name: str, sections: list[Section]) -> str:
    """A heading, and a table for each section."""
    lines = [f"## {name}", ""]
    if not sections:
        return "\n".join([*lines, "Nothing differs.", ""])
    for section in sections:
        lines += [f"### {section.title}", "", "| Change | Field | What |", "|---|---|---|"]
        lines += [f"| {each.kind} | `{each.field}` | {_cell(each.note)} |" for each in section.rows]
        lines.append("")
    return "\n".join(lines)


def _is_gone(change: SchemaChange) -> bool:
    return change.code == schema_changes.FIELD_REMOVED


def _versions(old: Tree, new: Tree) -> Iterator[Row]:
    before, after = (_flags(each) for each in (old, new))
    for name in after:
        if name not in before:
            yield Row(NEW, name, after[name])
        elif before[name] != after[name]:
            yield Row(STRICTER, name, f"was {before[name]}, becomes {after[name]}")
    yield from (Row(GONE, name, "is no longer a version") for name in before if name not in after)


def _flags(definition: Tree) -> Mapping[str, str]:
    words = ("served", "storage", "deprecated")
    return {
        each["name"]: ", ".join(word for word in words if each.get(word)) or "not served"
        for each in definition["spec"]["versions"]
    }


def _about(schema: Node, place: Pointer) -> str:
    """Its type, and the first sentence of its description."""
    node = node_at(schema, place)
    if node is None:
        return ""
    first = " ".join(str(node.source.get("description") or "").split()).partition(". ")[0].rstrip(".")
    shown = first if len(first) <= LONGEST_NOTE else f"{first[: LONGEST_NOTE - 1]}…"
    kind = " or ".join(node.types) or "anything"
    return f"{kind}: {shown}" if shown else kind


def _text(place: Pointer) -> str:
    return "/" + "/".join(place)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
