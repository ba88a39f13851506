"""Structs that hold only those annotations that somebody reads: thousands of objects carry many more."""

from __future__ import annotations

from functools import cache
from typing import Any, TypedDict, TypeVar, cast, get_type_hints

from msgspec import defstruct, field

T = TypeVar("T")


def narrowed(into: type[T], keys: frozenset[str]) -> type[T]:
    """A struct with metadata that is decoded with these annotations and no others; what it makes is one of `into`.

    The others are skipped where they stand in the server's bytes, so that they cost next to nothing.
    """
    unchecked: Any = into  # the cache wants something hashable, which the checker does not see in a class
    return cast("type[T]", _narrowed(unchecked, keys))


@cache
def _narrowed(into: Any, keys: frozenset[str]) -> Any:
    metadata = get_type_hints(into)["metadata"]
    annotations = TypedDict("annotations", dict.fromkeys(sorted(keys), str), total=False)  # type: ignore[misc]
    of_metadata = defstruct(
        metadata.__name__,
        [("annotations", annotations, field(default_factory=dict))],
        bases=(metadata,),
        frozen=True,
        module=metadata.__module__,
    )
    return defstruct(into.__name__, [("metadata", of_metadata)], bases=(into,), frozen=True, module=into.__module__)
