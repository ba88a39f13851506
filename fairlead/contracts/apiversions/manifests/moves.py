"""Which value of a manifest went where, as far as the values themselves tell it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import yaml
from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.apiversions.decide.pointers import Place
from fairlead.contracts.apiversions.decide.trees import same
from fairlead.contracts.apiversions.manifests.positions import Comment, end_of, entries, is_block, is_first, line_start
from fairlead.contracts.apiversions.manifests.rendering import Leaf, is_leaf


class GoneLeaf(Struct, frozen=True):
    """A leaf that is not at its place any more."""

    place: Place
    value: Any
    start: int
    end: int
    text: str


class Moves(Struct, frozen=True):
    gone: tuple[GoneLeaf, ...]
    came: Mapping[Place, GoneLeaf]
    """By the place where it is now."""
    new: tuple[Place, ...]
    """Leaves that were not there before."""
    comments: tuple[tuple[Comment, GoneLeaf | None], ...] = ()
    """Those in what is written anew, with the leaf that each goes with."""

    def leaf(self, place: Place) -> Leaf | None:
        found = self.came.get(place)
        if found is None:
            return None
        mine = [comment for comment, leaf in self.comments if leaf is found]
        above = tuple(each.text for each in mine if each.end <= found.start)
        return Leaf(found.text, above, tuple(each.text for each in mine if each.end > found.start))

    def left_in(self, start: int, end: int) -> list[str]:
        """Comments between that go nowhere."""
        return [each.text for each, leaf in self.comments if leaf is None and start <= each.start < end]

    def anchored(self, place: Place, removed: Sequence[str], added: Sequence[str]) -> dict[str, list[str]]:
        """In whose place of the same mapping new entries stand."""
        found: dict[str, list[str]] = {}
        for name in added:
            if (source := self._source(place, name, removed)) is not None:
                found.setdefault(source, []).append(name)
        moved = {each.place for each in self.came.values()}
        free = [
            name for name in removed if name not in found and not any(_is_below((*place, name), each) for each in moved)
        ]
        for name in added:
            if free and not any(name in names for names in found.values()) and not self._is_known(place, name):
                found[free.pop(0)] = [name]
        return found

    def origins(self, place: Place) -> Iterator[int]:
        """Where what is written at this place may have come from."""
        for each in self.new:
            if _is_below(place, each):
                if each in self.came:
                    yield self.came[each].start
                else:
                    moved = [*self.came.values()]
                    yield from (one.start for one in self.gone if one not in moved)

    def with_comments(self, found: Sequence[Comment], text: str) -> Moves:
        moved = {id(each) for each in self.came.values()}
        pairs = []
        for comment in found:
            leaf = _beside(self.gone, comment, text)
            pairs.append((comment, leaf if leaf is not None and id(leaf) in moved else None))
        return replace(self, comments=tuple(pairs))

    def _source(self, place: Place, name: str, removed: Sequence[str]) -> str | None:
        for each in self.new:
            if _is_below((*place, name), each) and each in self.came:
                source = self.came[each].place
                if len(source) > len(place) and source[: len(place)] == place and source[len(place)] in removed:
                    return str(source[len(place)])
        return None

    def _is_known(self, place: Place, name: str) -> bool:
        return any(_is_below((*place, name), each) and each in self.came for each in self.new)


def moves_of(text: str, root: yaml.Node, old: Any, new: Any) -> Moves:
    gone = tuple(_gone(text, root, old, new, ()))
    added = [*_new(root, old, new, ())]
    free = list(gone)
    came: dict[Place, GoneLeaf] = {}
    for by_name in (True, False):
        for place, value in added:
            found = [
                each for each in free if same(each.value, value) and (not by_name or each.place[-1:] == place[-1:])
            ]
            if place not in came and (len(found) == 1 or (by_name and found)):
                came[place] = found[0]
                free.remove(found[0])
    return Moves(gone, came, tuple(place for place, _ in added))


def _is_below(place: Place, other: Place) -> bool:
    return other[: len(place)] == place


def _beside(gone: Sequence[GoneLeaf], comment: Comment, text: str) -> GoneLeaf | None:
    """The leaf on the line of the comment, or the next one."""
    same_line = [each for each in gone if each.end <= comment.start and each.end >= line_start(text, comment.start)]
    if same_line:
        return same_line[-1]
    return next((each for each in gone if each.start >= comment.end), None)


def stays(node: yaml.Node, old: Any, new: Any) -> bool:
    """Whether what is inside can be changed one by one; else all of it is written anew."""
    if not is_block(node) or not old or not new:
        return False
    if isinstance(node, yaml.MappingNode):
        return isinstance(old, dict) and isinstance(new, dict)
    return isinstance(old, list) and isinstance(new, list) and len(old) == len(new)


def _gone(text: str, node: yaml.Node, old: Any, new: Any, place: Place) -> Iterator[GoneLeaf]:
    if same(old, new):
        return
    if not stays(node, old, new):
        if not (isinstance(node, yaml.ScalarNode) and is_leaf(new)):
            yield from _leaves(text, node, old, place)
        return
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _gone(text, item, old[index], new[index], (*place, index))
        return
    for key, value in entries(node):
        here = (*place, key.value)
        if key.value in new and key.value in old:
            yield from _gone(text, value, old[key.value], new[key.value], here)
        elif key.value in old:
            yield from _leaves(text, value, old[key.value], here)


def _leaves(text: str, node: yaml.Node, value: Any, place: Place) -> Iterator[GoneLeaf]:
    if is_leaf(value) or not is_block(node):
        start, end = node.start_mark.index, end_of(node, text)
        shown = text[start:end]
        if shown and is_leaf(value):
            below = is_first(text, start) and not isinstance(place[-1], int)
            yield GoneLeaf(place, value, start, end, f"\n{shown}" if below else shown)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _leaves(text, item, value[index], (*place, index))
    else:
        for key, each in entries(node):
            if key.value in value:
                yield from _leaves(text, each, value[key.value], (*place, key.value))


def _new(node: yaml.Node | None, old: Any, new: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    if same(old, new):
        return
    if node is None or not stays(node, old, new):
        if node is None or not (isinstance(node, yaml.ScalarNode) and is_leaf(new)):
            yield from _all(new, place)
        return
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield from _new(item, old[index], new[index], (*place, index))
        return
    nodes = {key.value: value for key, value in entries(node)}
    for name, each in new.items():
        yield from _new(nodes.get(name), old.get(name), each, (*place, name))


def _all(value: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    if is_leaf(value):
        yield place, value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from _all(each, (*place, name))
    else:
        for index, each in enumerate(value):
            yield from _all(each, (*place, index))
