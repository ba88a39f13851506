"""Where bytes of the wire become values: whatever they are, the caller sees a value or a Garbled.

Between us and the API server may stand a proxy that answers in its place, with a page, half a body or anything else,
and calls it a success.
"""

from __future__ import annotations

from typing import TypeVar, overload

import msgspec
from msgspec import Raw

from kubeloop.errors import Garbled
from kubeloop.shallow import reaches, shallow
from kubeloop.unreadable import UNREADABLE

T = TypeVar("T")


@overload
def decoded(data: bytes | Raw, into: type[T], what: str, *, whole: bool = False) -> T: ...


@overload
def decoded(data: bytes | Raw, into: msgspec.json.Decoder[T], what: str, *, whole: bool = False) -> T: ...


def decoded(data: bytes | Raw, into: type[T] | msgspec.json.Decoder[T], what: str, *, whole: bool = False) -> T:
    """`what` begins the sentence: what was being done, or what cannot be read.

    What lies too deep to be followed is passed over where nothing of it is asked for, unless all is to be read `whole`.
    """
    try:
        try:
            return into.decode(data) if isinstance(into, msgspec.json.Decoder) else msgspec.json.decode(data, type=into)
        except RecursionError:
            decoder = into if isinstance(into, msgspec.json.Decoder) else msgspec.json.Decoder(into)
            value = decoder.decode(shallow(bytes(data)))
            if whole or reaches(value):
                raise
            return value
    except UNREADABLE as error:
        raise Garbled(f"{what}: the answer cannot be read: {why(error)}") from error


def why(error: Exception) -> str:
    """In a few words, without what was read."""
    match error:
        case UnicodeDecodeError():
            return "it is no UTF-8; does a proxy answer in the API server's place?"
        case RecursionError():
            return "it is nested too deeply"
        case msgspec.ValidationError():
            return str(error)
        case _:
            return f"{error}; does a proxy answer in the API server's place?"
