"""The text of a manifest after its object has changed, with everything else as it was.

Only what differs is written anew. A value that has moved takes its quotes and its comments along. Whether the text says
what it should, and whether every comment is still there, is looked at afterwards: a text is right or it is refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import yaml
from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.apiversions.decide.pointers import Place
from fairlead.contracts.apiversions.decide.trees import same
from fairlead.contracts.apiversions.manifests import positions, rendering
from fairlead.contracts.apiversions.manifests.braces import Hidden, depth_above, gives_text, hides
from fairlead.contracts.apiversions.manifests.moves import Moves, moves_of, stays
from fairlead.contracts.apiversions.manifests.positions import Entry, end_of, is_block, line_end, line_start
from fairlead.contracts.apiversions.manifests.rendering import Style
from fairlead.engine.object_files import UnreadableFile, documents_in


class Unkept(ValueError):
    """The text cannot be rewritten with all that is in it; the sentence says why."""


class Edit(Struct, frozen=True):
    start: int
    end: int
    text: str
    places: tuple[Place, ...] = ()
    """Of the values in it."""


class ManifestText(Struct, frozen=True):
    """A text, and what is known of the change."""

    hidden: Hidden
    moves: Moves
    style: Style

    @property
    def text(self) -> str:
        return self.hidden.text


def edits_of(hidden: Hidden, root: yaml.Node, old: Any, new: Any) -> list[Edit]:
    """What to write where, from the first to the last; raises Unkept."""
    text = hidden.text
    if repeated := next(positions.twice(root), None):
        line = repeated.start_mark.line + 1
        raise Unkept(f"{repeated.value} at line {line} is there twice (in two branches of a condition?)")
    page = ManifestText(hidden, moves_of(text, root, old, new), style_of(root))
    ranges = [*_changes(page, root, old, new, ())]
    inside = [
        each for each in positions.comments(text, [root]) if any(one.start <= each.start < one.end for one in ranges)
    ]
    if unseen := next((each for each in inside if hides(each.text)), None):
        line = text.count("\n", 0, unseen.start) + 1
        raise Unkept(f"the template at line {line} is inside of what changes")
    page = replace(page, moves=page.moves.with_comments(inside, text))
    edits = sorted(_changes(page, root, old, new, ()), key=lambda edit: edit.start)
    if any(one.end > other.start for one, other in pairwise(edits)):
        raise Unkept("too many of its entries change at once: rewrite it by hand")
    _check_branches(page, edits)
    return edits


def applied(text: str, edits: list[Edit]) -> str:
    for edit in sorted(edits, key=lambda each: each.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def check(hidden: Hidden, after: str, wanted: list[Any]) -> None:
    """Raises Unkept unless the text says what is wanted, and has all that it had."""
    before = hidden.text
    for letter in filter(after.__contains__, hidden.held):
        if depth_above(before, before.index(letter)) != depth_above(after, after.index(letter)):
            line = before.count("\n", 0, before.index(letter)) + 1
            raise Unkept(f"the template at line {line} gives lines of one depth, and its field moves to another")
    try:
        found = documents_in(after, "what would be written")
    except UnreadableFile as error:
        raise Unkept(str(error)) from None
    if not same(found, wanted):
        raise Unkept("the way it is written (anchors, or an unusual layout) cannot be kept: rewrite it by hand")
    if lost := _comments(before) - _comments(after):
        raise Unkept(f"the comment {min(lost)} would be lost: move it to a line of its own")


def style_of(root: yaml.Node) -> Style:
    """As the text does it already."""
    indent = next(_insets(root, yaml.MappingNode), 2)
    return Style(max(indent, 1), next(_insets(root, yaml.SequenceNode), 2 if indent else 0))


def _insets(node: yaml.Node, kind: type[yaml.Node]) -> Iterator[int]:
    for _, value in positions.entries(node) if is_block(node) else []:
        if isinstance(value, kind) and is_block(value):
            yield value.start_mark.column - node.start_mark.column
    for each in positions.children(node):
        yield from _insets(each, kind)


def _comments(text: str) -> Counter[str]:
    return Counter(each.text for each in positions.comments(text, [*yaml.compose_all(text, Loader=yaml.SafeLoader)]))


def _changes(page: ManifestText, node: yaml.Node, old: Any, new: Any, place: Place) -> Iterator[Edit]:
    if same(old, new):
        return
    start, end, column = node.start_mark.index, end_of(node, page.text), node.start_mark.column
    if stays(node, old, new) and isinstance(node, yaml.MappingNode):
        yield from _in_mapping(page, node, old, new, place)
    elif stays(node, old, new):
        for index, (item, before, after) in enumerate(zip(node.value, old, new, strict=True)):
            yield from _changes(page, item, before, after, (*place, index))
    elif isinstance(node, yaml.CollectionNode) and not is_block(node):
        yield _replaced(page, start, end, rendering.flow(new), column, place)
    elif isinstance(node, yaml.ScalarNode) and rendering.is_leaf(new):
        yield Edit(start, end, rendering.scalar(new, node.style or ""))
    else:
        text = rendering.value_text(new, place, column, page.style, page.moves.leaf)
        yield _replaced(page, start, end, text, column, place)


def _fits(node: yaml.Node, old: Any, new: Any) -> bool:
    """Whether the value can be changed where it stands; else its whole entry is written anew."""
    if isinstance(node, yaml.ScalarNode):
        return rendering.is_leaf(new) and bool(node.value or node.style)
    return not is_block(node) or stays(node, old, new)


def _in_mapping(
    page: ManifestText, node: yaml.Node, old: dict[str, Any], new: dict[str, Any], place: Place
) -> Iterator[Edit]:
    there = positions.entries(node)
    if [key.value for key, _ in there] != [*old]:
        raise Unkept(f"the mapping at line {node.start_mark.line + 1} takes values from elsewhere (an anchor?)")
    kept = [each for each in there if each[0].value in new]
    removed = [each for each in there if each[0].value not in new]
    for key, value in kept:
        before, after = old[key.value], new[key.value]
        if same(before, after):
            continue
        if _fits(value, before, after):
            yield from _changes(page, value, before, after, (*place, key.value))
        else:
            yield _entries_at(page, (key, value), [key.value], new, place)
    added = [name for name in new if name not in old]
    at = page.moves.anchored(place, [key.value for key, _ in removed], added)
    for each in removed:
        if names := at.get(each[0].value):
            yield _entries_at(page, each, names, new, place)
    stays_put = [*kept, *(each for each in removed if each[0].value in at)]
    yield from _without(page, [each for each in removed if each[0].value not in at], stays_put)
    if rest := [name for name in added if not any(name in names for names in at.values())]:
        yield _appended(page, node, rest, new, place)


def _entries_at(page: ManifestText, old: Entry, names: list[str], new: dict[str, Any], place: Place) -> Edit:
    key, value = old
    column = key.start_mark.column
    text = f"\n{' ' * column}".join(_entry(page, name, new, place, column) for name in names)
    _refuse_unseen(page, old)
    end = max(end_of(value, page.text), page.text.index(":", key.end_mark.index) + 1)
    return _replaced(page, key.start_mark.index, end, text, column, *((*place, name) for name in names))


def _refuse_unseen(page: ManifestText, entry: Entry) -> None:
    """Templates below an entry that give more of what it holds cannot be moved, and must not stay without it."""
    key, value = entry
    is_empty = isinstance(value, yaml.ScalarNode) and not value.value and not value.style
    here = line_end(page.text, max(end_of(value, page.text), key.end_mark.index)) + 1
    for line in page.text[here:].splitlines():
        if not line.strip():
            continue
        if not hides(line.strip()):
            return
        if gives_text(page.hidden.shown(line.strip())) and (is_empty or _inset(line) > key.start_mark.column):
            number = key.start_mark.line + 1
            raise Unkept(f"a template gives more of what {key.value} at line {number} holds, and cannot be moved")


def _inset(line: str) -> int:
    return len(line) - len(line.lstrip())


def _entry(page: ManifestText, name: str, new: dict[str, Any], place: Place, column: int) -> str:
    return rendering.entry(name, new[name], place, column, page.style, page.moves.leaf)


def _replaced(page: ManifestText, start: int, end: int, text: str, column: int, *places: Place) -> Edit:
    """Comments in between that go with no value stand before it."""
    left = page.moves.left_in(start, end)
    return Edit(start, end, "".join(f"{each}\n{' ' * column}" for each in left) + text, places)


def _without(page: ManifestText, gone: list[Entry], others: list[Entry]) -> Iterator[Edit]:
    """The mapping without these entries; something else is in it."""
    text = page.text
    for key, value in gone:
        _refuse_unseen(page, (key, value))
        start, column = key.start_mark.index, key.start_mark.column
        end = line_end(text, end_of(value, text))
        if positions.is_first(text, start):
            start = line_start(text, start)
            left = "".join(f"{' ' * column}{each}\n" for each in page.moves.left_in(start, end))
            yield Edit(start, min(end + 1, len(text)), left)
        elif following := [each.start_mark.index for each, _ in others if each.start_mark.index > start]:
            yield _replaced(page, start, min(following), "", column)
        else:
            raise Unkept(f"{key.value} at line {key.start_mark.line + 1} begins an item of which nothing else stays")


def _appended(page: ManifestText, node: yaml.Node, names: list[str], new: dict[str, Any], place: Place) -> Edit:
    column = node.start_mark.column
    end = line_end(page.text, end_of(node, page.text))
    text = "".join(f"\n{' ' * column}{_entry(page, name, new, place, column)}" for name in names)
    return Edit(end, end, text, tuple((*place, name) for name in names))


def _check_branches(page: ManifestText, edits: list[Edit]) -> None:
    """A value must stay in its branch of a condition, and no condition may lose a part of what it is about."""
    hidden, moves = page.hidden, page.moves
    if not hidden.bounds:
        return
    for edit in edits:
        line = hidden.text.count("\n", 0, edit.start) + 1
        if hidden.is_cut(edit.start, edit.end):
            raise Unkept(f"a condition or a loop of the template is inside of what changes at line {line}")
        own = hidden.region(edit.start)
        if any(hidden.region(origin) != own for place in edit.places for origin in moves.origins(place)):
            raise Unkept(f"what would be written at line {line} comes from another branch of the template")
