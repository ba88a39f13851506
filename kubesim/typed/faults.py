"""What goes wrong when a tree is decoded into a typed object, in the server's words.

The server decodes in two ways. Bodies and the results of JSON patches are read as JSON: a value of the wrong type is
remembered and reading goes on, so the first one is told unless something worse comes later. The results of strategic
merge patches and of applying are restored from maps: the first mistake ends it, and its words know nothing of places.
"""

from __future__ import annotations

from typing import Any

from kubesim.errors import quoted

Path = tuple[Any, Any] | None
"""Where a value stands: the path of what it is in, and the field, index or key there; None for the whole."""
Words = tuple[str | int, ...]
MOST_STRICT = 100
_WORDS = {bool: "bool", dict: "object", float: "number", int: "number", list: "array", str: "string"}
_KINDS = {bool: "bool", dict: "map", float: "float64", int: "int64", list: "slice", str: "string"}


class Undecodable(Exception):
    """A tree is no object of its type; the message is the server's."""


class Again(str):
    """A key that an object has said before."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


class Repeating(dict[str, Any]):
    """An object that says keys twice: as a map the last value of each, as items all that was said."""

    def __init__(self, found: dict[str, Any], said: list[tuple[str, Any]]) -> None:
        super().__init__(found)
        self.said = said

    def items(self) -> list[tuple[str, Any]]:  # type: ignore[override]
        return self.said


class Spot:
    """A field of a struct."""

    __slots__ = ("name", "stack", "struct")

    def __init__(self, name: str, stack: str, struct: str) -> None:
        self.name = name
        self.stack = stack
        """Its name behind those of the structs that it was inherited from."""
        self.struct = struct
        """The name of the Go struct that it is a field of."""


BOUNDARY = object()
"""In a path: what is below is read on its own, and only what is above says which struct it belongs to."""


class Faults:
    """What has been found so far while one tree is decoded."""

    __slots__ = ("empty", "first", "is_json", "is_ordered", "strict")

    def __init__(self, *, is_json: bool = True, is_ordered: bool = False) -> None:
        self.is_json = is_json
        self.is_ordered = is_ordered
        """Fields are looked at in the order of the Go source, or of their names, instead of that of the tree."""
        self.first: str | None = None
        self.strict: list[str] = []
        """What a strict server refuses: unknown fields, and fields that are said twice."""
        self.empty: list[Path] = []
        """Lists and maps without anything in them, and bytes that are null: written as if they were not there, or
        there without anything."""

    def unknown(self, path: Path, key: str) -> None:
        self._strict("unknown", path, key)

    def repeated(self, path: Path, key: str) -> None:
        self._strict("duplicate", path, key)

    def _strict(self, what: str, path: Path, key: str) -> None:
        place = printed(path)
        text = f"{what} field {quoted(f'{place}.{key}' if place else str(key))}"
        if len(self.strict) < MOST_STRICT and text not in self.strict:
            self.strict.append(text)

    def mistyped(self, value: Any, path: Path, kind: str, go_type: str) -> None:
        """A value of the wrong type; `kind` is what Go calls what was expected: struct, map, slice, or a scalar's."""
        if self.is_json:
            said = _WORDS[_kind_of(value)]
            if said == "number" and kind in _NUMBERS:
                said = f"number {literal(value)}"
            self._remember(unmarshalled(said, path, go_type))
            return
        found = _KINDS[_kind_of(value)]
        if kind in ("map", "slice"):
            raise Undecodable(f"cannot restore {kind} from {found}")
        if kind == "struct":
            raise Undecodable(f"cannot restore struct from: {found}")
        if (found, kind) == ("int64", "string") or (found == "float64" and kind in _NUMBERS):
            raise Undecodable(f"cannot convert {found} to {go_type}")
        raise Undecodable(f"unrecognized type: {kind}")

    def refused(self, why: str) -> None:
        """A scalar that cannot be what it should; reading goes on."""
        if not self.is_json:
            raise Undecodable(f"error decoding from json: {why}")
        self._remember(why)

    def unread(self, said: str, path: Path, go_type: str) -> Undecodable:
        """A value that a type decodes itself has the wrong type; nothing is read after that."""
        return Undecodable(unmarshalled(said, path if self.is_json else None, go_type))

    def _remember(self, why: str) -> None:
        if self.first is None:
            self.first = why


_NUMBERS = ("int", "int32", "int64", "uint8", "float64")


def _kind_of(value: Any) -> type:
    return next(kind for kind in _WORDS if isinstance(value, kind))


def word_of(value: Any) -> str:
    """What Go calls a value of JSON."""
    return _WORDS[_kind_of(value)]


def literal(value: float) -> str:
    """A number as it stood in the body, as far as that can be told."""
    return str(value)


def unmarshalled(said: str, path: Path, go_type: str) -> str:
    struct, stack = "", []
    while path is not None:
        path, word = path
        if word is BOUNDARY:
            struct = ""
        elif isinstance(word, Spot):
            struct = struct or word.struct
            stack.append(word.stack)
    if not stack:
        return f"json: cannot unmarshal {said} into Go value of type {go_type}"
    place = ".".join(reversed(stack))
    return f"json: cannot unmarshal {said} into Go struct field {struct}.{place} of type {go_type}"


def words_of(path: Path) -> Words:
    """A path from the whole to the value, as the keys and indices that lead there."""
    words: list[str | int] = []
    while path is not None:
        path, word = path
        words.append(word.name if isinstance(word, Spot) else word)
    return tuple(reversed(words))


def printed(path: Path) -> str:
    """A path with its indices and keys."""
    words: list[str] = []
    while path is not None:
        path, word = path
        if isinstance(word, Spot):
            words.append(f".{word.name}")
        else:
            words.append(f"[{word}]" if isinstance(word, int) else f".{word}")
    return "".join(reversed(words)).removeprefix(".")
