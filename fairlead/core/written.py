"""Decisions written down: Snapshots, questions, answers, writes and decisions as JSON, and back to equal values.

The codec of a type follows from its annotations, so that a new question or write needs none of its own; a type that
cannot be written down is refused when its codec is made, and not when a round is recorded. Of several structs in one
place the name of the class tells which it is. Enums are their words, mappings with other keys than text are lists of
pairs, and a secret is its seal, which comes back shut. What the API server serves is written as the API has it.
"""

from __future__ import annotations

import types
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum
from functools import cache
from math import isfinite
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Raw, Struct, UnsetType

from kubeloop.sealed import Sealed
from kubeloop.unreadable import UNREADABLE

TAG = "type"
_SIMPLE = (str, int, bool, type(None), datetime, timedelta, Any, object, UnsetType)
_UNIONS = (Union, types.UnionType)

T = TypeVar("T")


class Unwritable(TypeError):
    """A type whose values cannot be written down: it holds more than facts."""


class Unwritten(ValueError):
    """Text that is no value of the wanted type; the text says why."""


class _Codec(Struct, frozen=True):
    write: Callable[[Any], Any]
    """From a value to what `msgspec.json.encode` takes."""
    read: Callable[[Any], Any]
    """From decoded JSON to the value."""


def written(value: object, of: Any) -> bytes:
    """The value, which is one of this type, as JSON."""
    return msgspec.json.encode(codec(of).write(value))


def read(text: bytes | Raw, of: type[T]) -> T:
    """The value that was written; raises Unwritten."""
    try:
        return cast("T", codec(cast("Any", of)).read(msgspec.json.decode(text)))
    except Unwritten:
        raise
    except (*UNREADABLE, KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise Unwritten(f"no {_name(of)}: {error}") from error


@cache
def codec(of: Any) -> _Codec:
    """How values of a type are written and read; raises Unwritable."""
    if of in _LEAVES:
        return _LEAVES[of]
    if _is_plain(of, ()):
        return _Codec(lambda value: value, lambda tree: msgspec.convert(tree, of))
    origin = get_origin(of) or of
    if origin is Annotated:
        return codec(get_args(of)[0])
    if origin in _UNIONS:
        return _of_union(get_args(of))
    if isinstance(origin, type) and issubclass(origin, Enum):
        return _of_enum(origin)
    if isinstance(origin, type) and issubclass(origin, Struct):
        return _of_struct(of)
    if origin in (dict, Mapping):
        return _of_mapping(*get_args(of))
    if origin is tuple and get_args(of)[-1] is not Ellipsis:
        return _of_places(tuple(map(codec, get_args(of))))
    if origin in (tuple, list, frozenset, Sequence):
        return _of_items(codec(get_args(of)[0]), tuple if origin is Sequence else origin)
    raise Unwritable(f"{_name(of)} cannot be written down")


def _is_plain(of: Any, within: tuple[Any, ...]) -> bool:
    """Whether msgspec itself writes and reads values of the type so that they stay equal; `within` are its owners."""
    if of in _SIMPLE or get_origin(of) is Literal or of in within:
        return True
    if get_origin(of) is Annotated:
        return _is_plain(get_args(of)[0], within)
    origin, arguments = get_origin(of) or of, get_args(of)
    if origin in _UNIONS:
        structs = [each for each in arguments if _is_struct(each)]
        return len(structs) < 2 and all(_is_plain(each, within) for each in arguments)
    if origin in (list, tuple, frozenset):
        return all(each is Ellipsis or _is_plain(each, within) for each in arguments)
    if origin is dict:
        return arguments[:1] in ((), (str,)) and all(_is_plain(each, within) for each in arguments)
    if not isinstance(origin, type):
        return False
    if issubclass(origin, Enum):
        return all(isinstance(each.value, str) for each in origin)
    return issubclass(origin, Struct) and all(_is_plain(each, (*within, of)) for each in _fields(of).values())


def _is_struct(of: Any) -> bool:
    origin = get_origin(of) or of
    return isinstance(origin, type) and issubclass(origin, Struct)


def _fields(of: Any) -> dict[str, Any]:
    """The types of a struct's fields, type variables replaced by what stands for them."""
    origin = get_origin(of) or of
    given = dict(zip(getattr(origin, "__parameters__", ()), get_args(of), strict=False))
    hints = get_type_hints(origin, include_extras=True)
    return {name: _filled(hints[name], given) for name in origin.__struct_fields__}


def _filled(hint: Any, given: Mapping[Any, Any]) -> Any:
    if isinstance(hint, TypeVar):
        return given.get(hint, hint)
    wanted = getattr(hint, "__parameters__", ())
    return hint[tuple(given.get(each, each) for each in wanted)] if wanted else hint


def _of_struct(of: Any, tag: str = "") -> _Codec:
    origin: type[Struct] = get_origin(of) or of
    codecs = {name: codec(hint) for name, hint in _fields(of).items()}
    defaults = {
        each.name: each.default for each in msgspec.structs.fields(origin) if each.default is not msgspec.NODEFAULT
    }

    def write(value: Struct) -> dict[str, Any]:
        shown: dict[str, Any] = {TAG: tag} if tag else {}
        for name, each in codecs.items():
            field = getattr(value, name)
            if name not in defaults or field != defaults[name]:
                shown[name] = each.write(field)
        return shown

    def from_tree(tree: dict[str, Any]) -> Struct:
        given = {name: field for name, field in tree.items() if name != TAG or not tag}
        if unknown := sorted(given.keys() - codecs.keys()):
            raise Unwritten(f"{origin.__name__} has no {', '.join(unknown)} in this release")
        return origin(**{name: codecs[name].read(field) for name, field in given.items()})

    return _Codec(write, from_tree)


def _of_union(arguments: tuple[Any, ...]) -> _Codec:
    """None as itself, else one of several structs, or one other type."""
    others = [each for each in arguments if each is not type(None)]
    if len(others) == 1:
        only = codec(others[0])
        return _Codec(
            lambda value: None if value is None else only.write(value),
            lambda tree: None if tree is None else only.read(tree),
        )
    if not all(map(_is_struct, others)):
        raise Unwritable(f"{' | '.join(map(_name, others))} cannot be told apart")
    if taken := [_name(each) for each in others if TAG in _fields(each)]:
        raise Unwritable(f"{', '.join(taken)} has a field {TAG}, which tells structs apart")
    codecs = {_name(each): _of_struct(each, _name(each)) for each in others}

    def from_tree(tree: dict[str, Any] | None) -> Any:
        if tree is None and len(others) < len(arguments):
            return None
        if not isinstance(tree, dict):
            raise Unwritten(f"{tree!r:.50} is none of {', '.join(codecs)}")
        found = codecs.get(tree.get(TAG, ""))
        if found is None:
            raise Unwritten(f"this release knows no {tree.get(TAG, '')!r} among {', '.join(codecs)}")
        return found.read(tree)

    return _Codec(
        lambda value: None if value is None else codecs[type(value).__name__].write(value),
        from_tree,
    )


def _of_enum(of: type[Enum]) -> _Codec:
    """By the attribute `word` of its members."""
    words = {getattr(each, "word", None): each for each in of}
    if None in words or len(words) < len(of):
        raise Unwritable(f"members of {of.__name__} have no words of their own")

    def member(word: str) -> Enum:
        if word not in words:
            raise Unwritten(f"{of.__name__} has no {word!r} in this release")
        return words[word]

    return _Codec(lambda value: value.word, member)


def _of_mapping(key: Any, value: Any) -> _Codec:
    keys, values = codec(key), codec(value)
    if key is str:
        return _Codec(
            lambda mapping: {name: values.write(each) for name, each in mapping.items()},
            lambda tree: {name: values.read(each) for name, each in tree.items()},
        )
    return _Codec(
        lambda mapping: [(keys.write(name), values.write(each)) for name, each in mapping.items()],
        lambda tree: {keys.read(name): values.read(each) for name, each in tree},
    )


def _of_places(places: tuple[_Codec, ...]) -> _Codec:
    return _Codec(
        lambda value: [place.write(each) for place, each in zip(places, value, strict=True)],
        lambda tree: tuple(place.read(each) for place, each in zip(places, tree, strict=True)),
    )


def _of_items(item: _Codec, into: Callable[[list[Any]], Any]) -> _Codec:
    return _Codec(
        lambda value: [item.write(each) for each in value], lambda tree: into([item.read(each) for each in tree])
    )


def _bytes_written(value: bytes) -> str | dict[str, str]:
    """As text where it is text, for whoever reads a report."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(value).decode()}


def _bytes_read(tree: str | dict[str, str]) -> bytes:
    return tree.encode() if isinstance(tree, str) else b64decode(tree["base64"], validate=True)


_LEAVES: dict[Any, _Codec] = {
    Sealed: _Codec(str.__str__, Sealed.shut),
    bytes: _Codec(_bytes_written, _bytes_read),
    float: _Codec(lambda value: value if isfinite(value) else str(value), float),
    Raw: _Codec(lambda raw: bytes(raw).decode(), lambda text: Raw(text.encode())),
}


def _name(of: Any) -> str:
    return getattr(get_origin(of) or of, "__name__", str(of))
