"""A payload whose fields are of several versions, made into one body of the hub (section 3.4).

The parts are converted apart and laid over one another, the newer over the older. Where two of them say different
things of one field of the hub, that of the newest writer holds; where nobody can tell who that is, there is no body.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from fairlead.contracts.apiversions.decide.carry_entries import Path
from fairlead.contracts.apiversions.decide.claimed_versions import as_hub
from fairlead.contracts.apiversions.decide.convert import KindConversion
from fairlead.contracts.apiversions.decide.field_evidence import payload_of
from fairlead.contracts.apiversions.decide.field_owners import written_at
from fairlead.contracts.apiversions.decide.shapes import Shape, keyed
from fairlead.contracts.apiversions.decide.trees import Tree, same


class PayloadPart(Struct, frozen=True):
    """What one version knows of a payload."""

    version: str
    source: Tree
    tree: Tree
    """The same as an object of the hub."""


def joined(tree: Tree, kind: KindConversion, parts: Sequence[PayloadPart]) -> Tree | None:
    """The object made of the parts, the oldest first; None where nobody can tell what was meant."""
    first, *rest = parts
    made: Tree | None = first.tree
    earlier = [first]
    for part in rest:
        made = None if made is None else _laid(tree, kind, made, earlier, part)
        earlier.append(part)
    if made is None:
        return None
    return {**made, **({"status": tree["status"]} if "status" in tree else {})}


def _laid(
    tree: Tree, kind: KindConversion, under: Tree, earlier: Sequence[PayloadPart], part: PayloadPart
) -> Tree | None:
    below, above = payload_of(under), payload_of(part.tree)
    shape = kind.hub.shape
    theirs, ours = dict(leaves(below, shape)), dict(leaves(above, shape))
    result = _over(below, above, shape)
    for path in _at_odds(theirs, ours):
        older = max((_time(tree, kind, each, path) for each in earlier), default="")
        newer = _time(tree, kind, part, path)
        if not older or not newer or older == newer:
            return None
        if older > newer:
            result = _over(result, _alone(path, theirs[path]), shape)
    head = {name: value for name, value in under.items() if name not in below}
    metadata = {**_metadata(under), "annotations": {**_annotations(under), **_annotations(part.tree)}}
    return {**head, **({"metadata": metadata} if metadata["annotations"] else {}), **result}


def _at_odds(theirs: dict[Path, Any], ours: dict[Path, Any]) -> Iterator[Path]:
    """The leaves of which both say something, and not the same."""
    for path, value in theirs.items():
        if path in ours:
            if not same(value, ours[path]):
                yield path
        elif any(_excludes(path, value, other) or _excludes(other, ours[other], path) for other in ours):
            yield path


def _excludes(path: Path, value: Any, other: Path) -> bool:
    """Whether the other leaf is inside of what is a value here; an object without more to say excludes nothing."""
    return other[: len(path)] == path and not isinstance(value, dict)


def _time(tree: Tree, kind: KindConversion, part: PayloadPart, path: Path) -> str:
    """When what the part says of this leaf of the hub was last written; empty where nobody knows."""
    if part.version == kind.hub.name:
        return written_at(tree, path)
    shape = kind.spokes[part.version].version.shape
    times = [written_at(tree, source) for source in _sources(kind, part, path, shape)]
    return max(times, default="")


def _sources(kind: KindConversion, part: PayloadPart, path: Path, shape: Shape) -> Iterator[Path]:
    """The leaves of the part that, alone, say something of this leaf of the hub."""
    for source, value in leaves(part.source, shape):
        made = as_hub({"kind": kind.kind, "metadata": {}, **_alone(source, value)}, kind, part.version)
        if made is not None and any(each[: len(path)] == path for each, _ in leaves(payload_of(made), kind.hub.shape)):
            yield source


def leaves(value: Any, shape: Shape, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Values that are not looked into: scalars, lists without keys, and empty ones; keys of items are no leaves."""
    items = keyed(value, shape.keys)
    if isinstance(value, dict) and value:
        for name, each in value.items():
            yield from leaves(each, shape.child(name), (*path, name))
    elif items:
        for key, item in items.items():
            rest = {name: each for name, each in item.items() if (name, each) not in key}
            yield from leaves(rest, shape.item, (*path, key)) if rest else [((*path, key), item)]
    elif path:
        yield path, value


def _alone(path: Path, value: Any) -> Any:
    """A body with this leaf and nothing else."""
    made = value
    for segment in reversed(path):
        if isinstance(segment, str):
            made = {segment: made}
        else:
            made = [{**dict(segment), **made}] if isinstance(made, dict) else [dict(segment)]
    return made


def _over(below: Any, above: Any, shape: Shape) -> Any:
    """Both, and where both have something that of `above`."""
    if isinstance(below, dict) and isinstance(above, dict):
        both = {name: _over(below[name], above[name], shape.child(name)) for name in below if name in above}
        return {**below, **above, **both}
    under, over = keyed(below, shape.keys), keyed(above, shape.keys)
    if under is None or over is None:
        return above
    merged = {key: _over(item, over[key], shape.item) if key in over else item for key, item in under.items()}
    return [*{**merged, **{key: item for key, item in over.items() if key not in under}}.values()]


def _metadata(tree: Tree) -> Tree:
    found = tree.get("metadata")
    return found if isinstance(found, dict) else {}


def _annotations(tree: Tree) -> Tree:
    found = _metadata(tree).get("annotations")
    return found if isinstance(found, dict) else {}
