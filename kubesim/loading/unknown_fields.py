"""Fields that this release does not know, found without decoding every object: one of each outline is looked at."""

from __future__ import annotations

from typing import Any

from kubesim.loading.remarks import Remarks
from kubesim.store.versions import Tree
from kubesim.typed.faults import Undecodable
from kubesim.typed.types import is_typed, type_of

_RELEASE = "1.36"
Outline = tuple[Any, ...]


class UnknownFields:
    """Of the built-in kinds of one copy."""

    def __init__(self, remarks: Remarks) -> None:
        self._remarks = remarks
        self._seen: dict[Outline, tuple[str, ...]] = {}

    def examine(self, tree: Tree, place: str) -> None:
        """Notes what is strange about the object; it is kept as it is."""
        outline = (tree["kind"], tree["apiVersion"], _outline(tree.get("spec")), _outline(tree.get("status")))
        found = self._seen.get(outline)
        if found is None:
            found = self._seen[outline] = tuple(_strange(tree))
        for sentence in found:
            self._remarks.count(sentence, place)


def _outline(value: Any) -> Outline:
    """Which fields there are, and which those of lists have; values do not matter."""
    if not isinstance(value, dict):
        return ()
    lists = (each[0] for each in value.values() if isinstance(each, list) and each)
    return (*value, *(tuple(first) for first in lists if isinstance(first, dict)))


def _strange(tree: Tree) -> list[str]:
    kind, api_version = tree["kind"], tree["apiVersion"]
    if not is_typed(api_version, kind):
        return []
    try:
        _, strict = type_of(api_version, kind).read(tree)
    except Undecodable as error:
        return [f"{kind} is written otherwise than {_RELEASE} writes it, and kept as it is: {error}"]
    return [f"{kind} has what {_RELEASE} does not know, and is kept as it is: {each}" for each in strict]
