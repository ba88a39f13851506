"""What becomes of the text of a file when the objects in it are converted: pure, from text to text and findings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import yaml
from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.apiversions.decide.carry_entries import readable
from fairlead.contracts.apiversions.decide.convert import ConversionRefused, KindConversion, convert
from fairlead.contracts.apiversions.decide.trees import Absent, Tree, copied
from fairlead.contracts.apiversions.kinds import CARRY_PREFIX
from fairlead.contracts.apiversions.manifests import braces, kustomize, positions
from fairlead.contracts.apiversions.manifests.braces import Hidden, Unhidden
from fairlead.contracts.apiversions.manifests.rewriting import Edit, Unkept, applied, check, edits_of
from fairlead.engine.object_files import UnreadableFile, documents_in

Kinds: TypeAlias = Mapping[tuple[str, str], KindConversion]
"""By group and kind."""


_MARK = "\ufeff"
"""Of the order of bytes, with which some editors begin a text."""


class ManifestFinding(Struct, frozen=True, kw_only=True):
    """One object of a file, or one reference to its kind, and what becomes of it."""

    line: int
    what: str
    old: str
    new: str
    carried: tuple[str, ...] = ()
    """Fields for which the new version has no place."""
    problem: str = ""
    """Why it cannot be converted."""


class ConvertedText(Struct, frozen=True):
    text: str
    """The new one, or the old one where anything could not be converted."""
    found: tuple[ManifestFinding, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def problems(self) -> tuple[ManifestFinding, ...]:
        return tuple(each for each in self.found if each.problem)


class ManifestWish(Struct, frozen=True, kw_only=True):
    kinds: Kinds
    version: str
    drops_carried: bool = False
    """What the new version has no place for is left out, in the place of annotations that keep it."""
    beside: Callable[[str], list[object]] = lambda _: []
    """The documents of a file that this one names."""


class _Change(Struct, frozen=True):
    found: ManifestFinding
    node: yaml.Node
    old: Tree
    new: Tree


def converted(text: str, name: str, wish: ManifestWish) -> ConvertedText:
    """The text of a file; raises UnreadableFile where it may hold such objects and cannot be read."""
    if not any(group in text for group, _ in wish.kinds):
        return ConvertedText(text)
    mark = _MARK if text.startswith(_MARK) else ""
    is_windows = "\r\n" in text
    plain = text.removeprefix(mark).replace("\r\n", "\n")
    found = _converted_text(plain, name, wish)
    if found.text == plain:
        return replace(found, text=text)
    return replace(found, text=mark + (found.text.replace("\n", "\r\n") if is_windows else found.text))


def _converted_text(text: str, name: str, wish: ManifestWish) -> ConvertedText:
    try:
        hidden = braces.hidden(text)
        documents = documents_in(hidden.text, name)
    except Unhidden as error:
        raise UnreadableFile(f"{name} cannot be converted: {error}") from None
    nodes = [*yaml.compose_all(hidden.text, Loader=yaml.SafeLoader)]
    changes = [each for node, tree in zip(nodes, documents, strict=True) for each in _changes(node, tree, hidden, wish)]
    references = [
        each for node, tree in zip(nodes, documents, strict=True) for each in kustomize.references(node, tree, wish)
    ]
    found = [each.found for each in changes] + [_referred(each, wish) for each in references]
    edits: list[Edit] = [Edit(each.start, each.end, wish.version) for each in references if not each.problem]
    for index, each in enumerate(changes):
        if not each.found.problem and not _is_json(text):
            try:
                edits += edits_of(hidden, each.node, each.old, each.new)
            except Unkept as error:
                found[index] = replace(found[index], problem=str(error))
    if not found or any(each.problem for each in found):
        return ConvertedText(text, tuple(found))
    wanted = _wanted(documents, changes, references, wish)
    notes = tuple(_notes(hidden, changes))
    if _is_json(text):
        return ConvertedText(_json(text, wanted), tuple(found), notes)
    after = applied(hidden.text, edits)
    try:
        check(hidden, after, wanted)
    except Unkept as error:
        return ConvertedText(text, (replace(found[0], problem=str(error)), *found[1:]))
    return ConvertedText(hidden.shown(after), tuple(found), notes)


def _changes(node: yaml.Node, tree: object, hidden: Hidden, wish: ManifestWish) -> Iterator[_Change]:
    if not isinstance(tree, dict):
        return
    items = positions.value_at(node, "items")
    if str(tree.get("kind")).endswith("List") and isinstance(tree.get("items"), list) and items is not None:
        for each, item in zip(positions.children(items), tree["items"], strict=True):
            yield from _changes(each, item, hidden, wish)
        return
    group, _, version = str(tree.get("apiVersion")).rpartition("/")
    kind = wish.kinds.get((group, str(tree.get("kind"))))
    if kind is None or version == wish.version:
        return
    line = node.start_mark.line + 1
    found = ManifestFinding(line=line, what=_what(tree, hidden), old=version, new=wish.version)
    try:
        new = _ordered(tree, _converted(tree, version, kind, hidden, wish))
    except _Unconverted as error:
        yield _Change(replace(found, problem=str(error)), node, tree, tree)
        return
    carried = _carried(new, version)
    if wish.drops_carried:
        new = _uncarried(new)
    yield _Change(replace(found, carried=tuple(carried)), node, tree, new)


class _Unconverted(Exception):
    """The text is a sentence that says why."""


def _converted(tree: Tree, version: str, kind: KindConversion, hidden: Hidden, wish: ManifestWish) -> Tree:
    if version not in kind.versions:
        raise _Unconverted(f"the rules do not know {version}: they know {', '.join(kind.versions)}")
    if directive := next(_directives(tree), None):
        raise _Unconverted(f"it has {directive}, which says how to merge and is no field: rewrite it by hand")
    try:
        new = convert(copied(tree), wish.version, kind).tree
    except ConversionRefused as error:
        raise _Unconverted(str(error)) from None
    lost = braces.stand_ins(_texts(tree)) - braces.stand_ins(_texts(new if wish.drops_carried else _uncarried(new)))
    if lost:
        first = min(lost, key=hidden.text.index)
        line = hidden.text.count("\n", 0, hidden.text.index(first)) + 1
        place = next(_places(tree, first), "")
        raise _Unconverted(f"the template at line {line} gives {place}, which the rules compute with or drop")
    if not new["metadata"].get("annotations", True) and tree["metadata"]["annotations"]:
        del new["metadata"]["annotations"]  # all that was in them is at home again
    if not isinstance(tree.get("metadata"), dict) and not new["metadata"]:
        del new["metadata"]
    return new


def _places(value: Any, text: str, place: str = "") -> Iterator[str]:
    """Where the text is."""
    if isinstance(value, str) and text in value:
        yield place
    for name, each in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        if isinstance(name, str) and text in name:
            yield place
        yield from _places(each, text, f"{place}/{name}")


def _directives(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            if key.startswith("$"):
                yield key
            yield from _directives(each)
    elif isinstance(value, list):
        for each in value:
            yield from _directives(each)


def _texts(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _uncarried(tree: Tree) -> Tree:
    metadata = tree.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    kept = {key: value for key, value in annotations.items() if not key.startswith(CARRY_PREFIX)}
    if len(kept) == len(annotations):
        return tree
    others = {key: value for key, value in metadata.items() if key != "annotations"}
    return {**tree, "metadata": {**others, "annotations": kept} if kept else others}


def _carried(tree: Tree, version: str) -> list[str]:
    annotations = (tree.get("metadata") or {}).get("annotations") or {}
    entries = readable(annotations).values()
    mine = [each for each in entries if each.version == version and each.wanted is not Absent]
    return sorted(each.place for each in mine)


def _ordered(old: Any, new: Any) -> Any:
    """The new value with its keys in the order of the old one, and new ones behind."""
    if isinstance(old, dict) and isinstance(new, dict):
        names = [*(name for name in old if name in new), *(name for name in new if name not in old)]
        return {name: _ordered(old.get(name), new[name]) for name in names}
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [_ordered(before, after) for before, after in zip(old, new, strict=True)]
    return new


def _what(tree: Tree, hidden: Hidden) -> str:
    metadata = tree.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
    path = "/".join(str(each) for each in (namespace, name) if each)
    return hidden.shown(f"{tree['kind']} {path}".strip())


def _referred(reference: kustomize.FileReference, wish: ManifestWish) -> ManifestFinding:
    return ManifestFinding(
        line=reference.line, what=reference.what, old=reference.version, new=wish.version, problem=reference.problem
    )


def _wanted(
    documents: list[object], changes: list[_Change], references: list[kustomize.FileReference], wish: ManifestWish
) -> list[Any]:
    by_identity = {id(each.old): each.new for each in changes}
    targets = {id(each.tree) for each in references}

    def renewed(value: Any) -> Any:
        if id(value) in by_identity:
            return by_identity[id(value)]
        if isinstance(value, dict):
            made = {key: renewed(each) for key, each in value.items()}
            return {**made, "version": wish.version} if id(value) in targets else made
        return [renewed(each) for each in value] if isinstance(value, list) else value

    return [renewed(each) for each in documents]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _json(text: str, wanted: list[Any]) -> str:
    lines = text.splitlines()
    inset = next((len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()), 0)
    made = json.dumps(wanted[0], ensure_ascii=False, indent=inset or None)
    return made + ("\n" if text.endswith("\n") else "")


def _notes(hidden: Hidden, changes: list[_Change]) -> Iterator[str]:
    """Templates whose text is not seen here may hold fields of the old version."""
    inside = [
        str(hidden.text.count("\n", 0, position) + 1)
        for position in hidden.unseen
        if any(each.node.start_mark.index < position < each.node.end_mark.index for each in changes)
    ]
    if inside:
        where = "lines" if len(inside) > 1 else "line"
        yield f"what templates give at {where} {', '.join(inside)} is not seen here and stays as it is"
