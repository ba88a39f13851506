"""Who owns which fields: the entries of `metadata.managedFields`, read, written and kept few.

An owner is known by its identity: name, operation, subresource and, for updates, the version it wrote in. Somebody who
applies is the same owner in every version.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kubesim.errors import quoted
from kubesim.patches import field_sets
from kubesim.patches.field_sets import Fields, Unreadable
from kubesim.store.versions import Tree

APPLY = "Apply"
UPDATE = "Update"
MOST_UPDATERS = 10
_ANCIENT = "ancient-changes"
_FIELDS_TYPE = "FieldsV1"


class Owner(Struct, frozen=True):
    """One entry."""

    manager: str
    operation: str
    version: str
    """The apiVersion whose fields these are."""
    fields: Fields
    subresource: str = ""
    time: str | None = None

    @property
    def applied(self) -> bool:
        return self.operation == APPLY


Owners = dict[str, Owner]
"""By identity."""


def identity(manager: str, operation: str, version: str = "", subresource: str = "") -> str:
    """Two entries with the same identity are one."""
    parts = {"manager": manager, "operation": operation}
    parts |= {"apiVersion": "" if operation == APPLY else version, "subresource": subresource}
    return json.dumps({key: value for key, value in parts.items() if value}, separators=(",", ":"), ensure_ascii=False)


def read(entries: object) -> Owners:
    """The owners that an object names; raises Unreadable in the server's words."""
    owners: Owners = {}
    for index, entry in enumerate(entries if isinstance(entries, list) else []):
        owner = _read(entry if isinstance(entry, dict) else {}, index)
        owners[identity(owner.manager, owner.operation, owner.version, owner.subresource)] = owner
    return owners


def _read(entry: Tree, index: int) -> Owner:
    operation, version = entry.get("operation"), entry.get("apiVersion")
    if operation not in (APPLY, UPDATE):
        raise Unreadable("operation must be `Apply` or `Update`")
    if not version:
        raise Unreadable("apiVersion must not be empty")
    kind = entry.get("fieldsType")
    if not kind:
        raise Unreadable(f"missing fieldsType in managed fields entry {index}")
    if kind != _FIELDS_TYPE:
        raise Unreadable(f"invalid fieldsType {quoted(str(kind))} in managed fields entry {index}")
    fields = field_sets.read(entry.get("fieldsV1") or {})
    return Owner(
        entry.get("manager") or "", operation, version, fields, entry.get("subresource") or "", entry.get("time")
    )


def written(owners: Owners) -> list[Tree]:
    """As entries: who applies before who updates, earlier ones first."""
    return [_written(owner) for owner in sorted(owners.values(), key=_order)]


def _order(owner: Owner) -> tuple[str, ...]:
    return owner.operation, owner.time or "", owner.manager, owner.version, owner.subresource


def _written(owner: Owner) -> Tree:
    parts: dict[str, Any] = {
        "manager": owner.manager,
        "operation": owner.operation,
        "apiVersion": owner.version,
        "time": owner.time,
        "fieldsType": _FIELDS_TYPE,
        "fieldsV1": field_sets.write(owner.fields),
        "subresource": owner.subresource,
    }
    return {key: value for key, value in parts.items() if value is not None and value != ""}


def is_reset(entries: object) -> bool:
    """Whether a write says that nobody shall own anything any more."""
    return isinstance(entries, list) and (not entries or (len(entries) == 1 and not entries[0]))


def capped(owners: Owners) -> Owners:
    """The owners with the oldest updaters taken together, where there are more of them than are kept."""
    updaters = [name for name, owner in owners.items() if not owner.applied]
    if len(updaters) <= MOST_UPDATERS:
        return owners
    left = dict(owners)
    count, first = len(updaters), dict[str, str]()
    for name in sorted(updaters, key=lambda each: (owners[each].time or "", each)):
        if count <= MOST_UPDATERS:
            break
        owner = left[name]
        if owner.version not in first:
            first[owner.version] = name
            continue
        bucket = identity(_ANCIENT, UPDATE, owner.version)
        if bucket not in left:
            left[bucket] = _ancient(left.pop(first[owner.version]))
        left[bucket] = replace(left[bucket], fields=left[bucket].fields | owner.fields, time=owner.time)
        del left[name]
        count -= 1
    return left


def _ancient(owner: Owner) -> Owner:
    return replace(owner, manager=_ANCIENT, subresource="")


def equal_but_for_times(left: Sequence[Tree], right: Sequence[Tree]) -> bool:
    """Whether two lists of entries differ in nothing but when."""
    if len(left) != len(right):
        return False
    return all({**one, "time": None} == {**other, "time": None} for one, other in zip(left, right, strict=True))


def described(owner: Owner) -> str:
    """As a conflict names somebody."""
    text = quoted(owner.manager)
    if owner.subresource:
        text += f" with subresource {quoted(owner.subresource)}"
    return f"{text} using {owner.version}" if owner.operation == UPDATE else text
