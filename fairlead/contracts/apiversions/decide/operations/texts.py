"""Operations on texts of several parts: cut at separators, and joined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fairlead.contracts.apiversions.decide import pointers
from fairlead.contracts.apiversions.decide.operations.base import BadRule, Change, Here, Op, Step, changed_at
from fairlead.contracts.apiversions.decide.pointers import Pointer
from fairlead.contracts.apiversions.decide.trees import Absent, Tree

_FEWEST = 2
"""Parts, without which nothing is cut."""


class Split(Op, frozen=True, tag="split", rename={"source": "from"}):
    """Cuts at the first separators, with `last` at the last ones."""

    source: str
    to: list[str]
    by: str
    last: bool = False

    def step(self, here: Here) -> Step:
        if len(self.to) < _FEWEST or not self.by:
            raise BadRule(f"split of {self.source} needs a separator and two pointers or more")
        targets = [here.pair(self.source, each)[1] for each in self.to]
        return split(here.pointer(self.source), targets, self.by, last=self.last)

    def back(self, _: Here) -> Op:
        return Join(self.to, self.source, self.by, self.last)


class Join(Op, frozen=True, tag="join", rename={"sources": "from"}):
    sources: list[str]
    to: str
    by: str
    last: bool = False
    """Which separators its way back cuts at."""

    def step(self, here: Here) -> Step:
        if len(self.sources) < _FEWEST or not self.by:
            raise BadRule(f"join to {self.to} needs a separator and two pointers or more")
        sources = [here.pointer(each) for each in self.sources]
        return join(sources, here.pair(self.sources[0], self.to)[1], self.by)

    def back(self, _: Here) -> Op:
        return Split(self.to, self.sources, self.by, self.last)


class TextToList(Op, frozen=True, tag="textToList"):
    path: str
    by: str

    def step(self, here: Here) -> Step:
        _refuse_empty(self.by, self.path)
        return changed_at(here.pointer(self.path), text_to_list(self.by))

    def back(self, _: Here) -> Op:
        return ListToText(self.path, self.by)


class ListToText(Op, frozen=True, tag="listToText"):
    path: str
    by: str

    def step(self, here: Here) -> Step:
        _refuse_empty(self.by, self.path)
        return changed_at(here.pointer(self.path), list_to_text(self.by))

    def back(self, _: Here) -> Op:
        return TextToList(self.path, self.by)


def _refuse_empty(by: str, path: str) -> None:
    if not by:
        raise BadRule(f"the list at {path} needs a separator")


def split(source: Pointer, targets: Sequence[Pointer], by: str, *, last: bool) -> Step:
    """Parts that are missing are absent."""

    def step(body: Tree) -> None:
        for place in pointers.last_first(body, source):
            value = pointers.at(body, place)
            if not isinstance(value, str):
                continue
            cuts = len(targets) - 1
            parts = value.rsplit(by, cuts) if last else value.split(by, cuts)
            pointers.take(body, place)
            for target, part in zip(targets, parts, strict=False):
                pointers.put(body, pointers.bound(target, source, place), part)

    return step


def join(sources: Sequence[Pointer], target: Pointer, by: str) -> Step:
    """All parts up to the last that is there; with a gap between them there is no text."""
    first = sources[0]

    def step(body: Tree) -> None:
        for place in pointers.last_first(body, first):
            found = [pointers.bound(each, first, place) for each in sources]
            parts = [pointers.at(body, each) for each in found]
            present = [each for each in parts if each is not Absent]
            if present != parts[: len(present)] or not all(isinstance(each, str) for each in present):
                continue
            for each in found[: len(present)]:
                pointers.take(body, each)
            if not pointers.put(body, pointers.bound(target, first, place), by.join(present)):
                for each, part in zip(found, present, strict=False):
                    pointers.put(body, each, part)

    return step


def text_to_list(by: str) -> Change:
    def change(value: Any) -> Any:
        if not isinstance(value, str):
            return Absent
        return value.split(by) if value else []

    return change


def list_to_text(by: str) -> Change:
    """An item with the separator in it, and a list of one empty text, would be read back as another list."""

    def change(value: Any) -> Any:
        if not isinstance(value, list) or not all(isinstance(each, str) and by not in each for each in value):
            return Absent
        return Absent if value == [""] else by.join(value)

    return change
