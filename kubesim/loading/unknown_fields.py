"""Built-in objects of other releases: fields that this one does not know are kept, values of other types refused."""

from __future__ import annotations

from typing import Any

from kubesim.loading.remarks import Remarks
from kubesim.store.versions import Tree
from kubesim.typed.faults import Undecodable
from kubesim.typed.types import is_typed, type_of

MANY = ("Event", "Pod")
"""Kinds that there may be very many objects of."""
_RELEASE = "1.36"
Outline = tuple[Any, ...]


class UnknownFields:
    """Of the built-in kinds of one copy; of many that have the same fields one is looked at."""

    def __init__(self, remarks: Remarks) -> None:
        self._remarks = remarks
        self._seen: dict[Outline, tuple[str, ...]] = {}

    def examine(self, tree: Tree, place: str) -> None:
        """Notes what this release does not know of the object; raises ValueError for one that it cannot read at all."""
        kind, api_version = tree["kind"], tree["apiVersion"]
        if not is_typed(api_version, kind):
            return
        if kind not in MANY:
            found = _unknown(tree)
        else:
            outline = (kind, api_version, _outline(tree.get("spec")), _outline(tree.get("status")))
            if outline not in self._seen:
                self._seen[outline] = _unknown(tree)
            found = self._seen[outline]
        for each in found:
            self._remarks.count(f"{kind} has what {_RELEASE} does not know, and is kept as it is: {each}", place)


def _outline(value: Any) -> Outline:
    """Which fields there are, and which the first of each list has; values do not matter."""
    if not isinstance(value, dict):
        return (type(value),)
    lists = (each[0] for each in value.values() if isinstance(each, list) and each)
    return (*value, *(tuple(first) for first in lists if isinstance(first, dict)))


def _unknown(tree: Tree) -> tuple[str, ...]:
    # Who owns which fields is a third of many objects, and no release writes it otherwise.
    metadata = {key: value for key, value in tree["metadata"].items() if key != "managedFields"}
    try:
        _, unknown = type_of(tree["apiVersion"], tree["kind"]).read(tree | {"metadata": metadata})
    except Undecodable as error:
        raise ValueError(str(error)) from error
    return tuple(unknown)
