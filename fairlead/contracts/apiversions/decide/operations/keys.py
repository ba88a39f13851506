"""Operations on lists and maps: one as the other, keys with other names, a value inside of a map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairlead.contracts.apiversions.decide import pointers
from fairlead.contracts.apiversions.decide.operations.base import Change, Here, NoWayBack, Op, Step, changed_at
from fairlead.contracts.apiversions.decide.operations.scalars import kind_of
from fairlead.contracts.apiversions.decide.pointers import Pointer, stars
from fairlead.contracts.apiversions.decide.trees import Absent, Tree


class ListToMap(Op, frozen=True, tag="listToMap"):
    path: str
    key: str

    def step(self, here: Here) -> Step:
        return changed_at(here.pointer(self.path), list_to_map(self.key))

    def back(self, _: Here) -> Op:
        return MapToList(self.path, self.key)


class MapToList(Op, frozen=True, tag="mapToList"):
    """The list is sorted by the key."""

    path: str
    key: str

    def step(self, here: Here) -> Step:
        return changed_at(here.pointer(self.path), map_to_list(self.key))

    def back(self, _: Here) -> Op:
        return ListToMap(self.path, self.key)


class RenameKeys(Op, frozen=True, tag="renameKeys"):
    path: str
    table: dict[str, str]

    def step(self, here: Here) -> Step:
        return changed_at(here.pointer(self.path), renamed_keys(self.table))

    def back(self, _: Here) -> Op:
        if len(set(self.table.values())) != len(self.table):
            raise NoWayBack(f"renameKeys at {self.path} gives one name to two keys: write fromHub")
        return RenameKeys(self.path, {new: old for old, new in self.table.items()})


class MergeInto(Op, frozen=True, tag="mergeInto", rename={"source": "from"}):
    """A scalar goes into a map under the key, unless the map has it."""

    source: str
    to: str
    key: str

    def step(self, here: Here) -> Step:
        source, target = here.pair(self.source, self.to)
        return merge_into(source, target, self.key)

    def back(self, here: Here) -> Op:
        source, target = here.pair(self.source, self.to)
        if stars(source) > stars(target):
            raise NoWayBack(f"mergeInto puts all values of {self.source} under one key of {self.to}: write fromHub")
        return TakeOut(self.to, self.key, self.source)


class TakeOut(Op, frozen=True, tag="takeOut", rename={"source": "from"}):
    """The way back of `mergeInto`; where the map had the key by itself, carry says so."""

    source: str
    key: str
    to: str

    def step(self, here: Here) -> Step:
        source, target = here.apart(self.source, self.to)
        return take_out(source, self.key, target)

    def back(self, _: Here) -> Op:
        return MergeInto(self.to, self.source, self.key)


def list_to_map(key: str) -> Change:
    """Objects by one of their fields, which they hold no more."""

    def change(value: Any) -> Any:
        if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
            return Absent
        names = [each.get(key) for each in value]
        if not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
            return Absent
        return {each[key]: {field: item for field, item in each.items() if field != key} for each in value}

    return change


def map_to_list(key: str) -> Change:
    def change(value: Any) -> Any:
        if not isinstance(value, dict):
            return Absent
        if not all(isinstance(each, dict) and key not in each for each in value.values()):
            return Absent
        return [{key: name, **value[name]} for name in sorted(value)]

    return change


def renamed_keys(table: Mapping[str, str]) -> Change:
    """Where a new name is taken already, the map is left out as a whole."""

    def change(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        names = [table.get(key, key) for key in value]
        if len(set(names)) != len(names):
            return Absent
        return dict(zip(names, value.values(), strict=True))

    return change


def merge_into(source: Pointer, target: Pointer, key: str) -> Step:
    def step(body: Tree) -> None:
        for place in pointers.last_first(body, source):
            value = pointers.at(body, place)
            if kind_of(value) and pointers.put(body, (*pointers.bound(target, source, place), key), value):
                pointers.take(body, place)

    return step


def take_out(source: Pointer, key: str, target: Pointer) -> Step:
    def step(body: Tree) -> None:
        for place in pointers.last_first(body, source):
            inside = (*place, key)
            value = pointers.at(body, inside)
            if kind_of(value) and pointers.put(body, pointers.bound(target, source, place), value):
                pointers.take(body, inside)

    return step
