"""What is wrong with a text that is not JSON, in the words of the Go library that the server reads JSON with.

Bodies are decoded by msgspec; only what it refuses is looked at again here. Python's own reader finds the place, and
what Go would have looked for there; mistakes inside of a number are told as if it ended before them.
"""

from __future__ import annotations

import json
import re
from itertools import takewhile
from typing import NoReturn

_HEAD = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
_VALUE, _KEY = "looking for beginning of value", "looking for beginning of object key string"
_PLACES = {
    "Expecting value": ("", _VALUE),
    "Expecting property name": ("", _KEY),
    "Expecting ':'": ("", "after object key"),
    "Illegal trailing comma before end of array": (r",\s*", _VALUE),
    "Illegal trailing comma before end of object": (r",\s*", _KEY),
    "Extra data": ("", "after top-level value"),
    "Invalid control": ("", "in string literal"),
    "Invalid \\escape": (r"\\", "in string escape code"),
    "Invalid \\uXXXX": ("u[0-9a-fA-F]*", "in \\u hexadecimal character escape"),
}
"""By how Python's reader begins to tell a mistake: what stands before the sign that Go minds, and how Go tells it."""
_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"|[^][{}"]+')
_WORDS = {"t": "true", "f": "false", "n": "null"}
_SIGNS = {"'": "'\\''", '"': "'\"'", "\\": "'\\\\'", "\a": "'\\a'", "\b": "'\\b'", "\f": "'\\f'", "\v": "'\\v'"}


def problem(text: bytes) -> str:
    """The first mistake; empty when the text is JSON."""
    signs = text.decode("latin-1")
    try:
        json.loads(signs, parse_constant=_refuse)
    except json.JSONDecodeError as mistake:
        return _told(signs, mistake)
    except _Constant as constant:
        return f"invalid character {_quoted(str(constant)[0])} {_VALUE}"
    except RecursionError:
        return "invalid character '[' exceeded max depth"
    return ""


class _Constant(Exception):
    """A word that Python takes for a number."""


def _refuse(constant: str) -> NoReturn:
    raise _Constant(constant)


def _told(signs: str, mistake: json.JSONDecodeError) -> str:
    found = [place for begun, place in _PLACES.items() if mistake.msg.startswith(begun)]
    before, where = found[0] if found else ("", "")
    rest = re.sub(f"^{before}", "", signs[mistake.pos :])
    if where == _VALUE and rest[:1] in _WORDS:
        return _wrong_word(rest, _WORDS[rest[0]])
    if mistake.msg.startswith("Unterminated") or not rest:
        return "unexpected end of JSON input"
    return f"invalid character {_quoted(rest[0])} {where or _unfinished(signs[: mistake.pos])}"


def _wrong_word(rest: str, word: str) -> str:
    """At the end of the text the library goes on with a blank."""
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(rest, word, strict=False)))
    found = rest[same : same + 1] or " "
    return f"invalid character {_quoted(found)} in literal {word} (expecting {_quoted(word[same])})"


def _unfinished(before: str) -> str:
    """Where something else than a comma follows a value."""
    opened: list[str] = []
    for sign in _TEXT.sub("", before):
        if sign in "[{":
            opened.append(sign)
        else:
            opened.pop()
    return "after array element" if opened[-1] == "[" else "after object key:value pair"


def _quoted(sign: str) -> str:
    if sign in _SIGNS:
        return _SIGNS[sign]
    if sign.isprintable():
        return f"'{sign}'"
    return f"'\\u{ord(sign):04x}'" if sign > "\x7f" else ascii(sign)


def not_an_object(value: object) -> str:
    """What Go says of a value in which it looks for what it is."""
    return f"json: cannot unmarshal {kind_of(value)} into Go value of type {_HEAD}"


def kind_of(value: object) -> str:
    """What Go calls a value of JSON."""
    if isinstance(value, bool):
        return "bool"
    kinds: dict[type, str] = {str: "string", list: "array", dict: "object"}
    return kinds.get(type(value), "number")
