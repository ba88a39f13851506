"""What a plain word of YAML means to the library that the server reads it with, which follows YAML 1.1 loosely."""

from __future__ import annotations

import math
import re

from kubesim.errors import quoted

_TAG = "tag:yaml.org,2002:"
NULL, BOOL, INT, FLOAT, TEXT, MERGE = (_TAG + name for name in ("null", "bool", "int", "float", "str", "merge"))

_WORDS: dict[str, object] = {"": None, "~": None}
for _meant, _spelled in (
    (None, ("null",)),
    (True, ("y", "yes", "true", "on")),
    (False, ("n", "no", "false", "off")),
):
    for _word in _spelled:
        _WORDS |= dict.fromkeys((_word, _word.capitalize(), _word.upper()), _meant)
for _sign, _infinite in (("", math.inf), ("+", math.inf), ("-", -math.inf)):
    _WORDS |= dict.fromkeys((f"{_sign}.inf", f"{_sign}.Inf", f"{_sign}.INF"), _infinite)
_WORDS |= dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan)

_INTEGER = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_LEAST, _ENDS = -(2**63), 2**64
_LONGEST_INTEGER = 1e21
"""From here on numbers are written with an exponent."""


class Meaningless(ValueError):
    """A value that JSON cannot say, in the server's words."""


def meaning(word: str) -> object:
    """The value of a word without quotes; most words are themselves."""
    if word in _WORDS:
        return _WORDS[word]
    if word[0] not in "+-.0123456789":
        return word
    digits = word.replace("_", "") if word[0] != "." else word
    found = _INTEGER.fullmatch(digits)
    if found is not None:
        number = _integer(*found.groups())
        if _LEAST <= number < _ENDS:
            return number
    return float(digits) if _FLOAT.fullmatch(digits) else word


def _integer(sign: str, *written: str | None) -> int:
    bases = zip((16, 2, 8, 10), written, strict=True)
    base, digits = next((base, digits) for base, digits in bases if digits is not None)
    return -int(digits, base) if sign == "-" else int(digits, base)


def tag(word: str) -> str:
    """The type of a word without quotes."""
    if word == "<<":
        return MERGE
    value = meaning(word)
    if isinstance(value, bool):
        return BOOL
    return {type(None): NULL, int: INT, float: FLOAT}.get(type(value), TEXT)


def number(value: float) -> int | float:
    """A number as JSON has it: without a fraction that says nothing."""
    if not math.isfinite(value):
        name = "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
        raise Meaningless(f"json: unsupported value: {name}")
    return int(value) if value.is_integer() and abs(value) < _LONGEST_INTEGER else value


def key(meant: object, value: object) -> str:
    """A key of a map as text."""
    if isinstance(meant, bool):
        return "true" if meant else "false"
    if isinstance(meant, float):
        if not math.isfinite(meant):
            return ".nan" if math.isnan(meant) else ".inf" if meant > 0 else "-.inf"
        return str(number(meant))
    if meant is None:
        shown = quoted(value) if isinstance(value, str) else "<nil>" if value is None else str(value).lower()
        raise Meaningless(f"unsupported map key of type: %!s(<nil>), key: <nil>, value: {shown}")
    return str(meant)
