"""Numbers of custom resources as the server reads and writes them.

It reads what fits into 64 bits as an integer and all else as a float, by which the rules of a schema are checked. Go
writes a whole float without a fraction, and without an exponent up to 21 digits. So 12.0 and 1e3 are stored as 12 and
1000, and an integer of thirty digits loses most of them.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Any

from kubesim.store.versions import Tree

_ENDS = 2**63
_FIRST_WITH_EXPONENT = 1e21
_OUTLINE = bytes({**dict.fromkeys(b"0123456789", 48), **dict.fromkeys(b"eE", 101)}.get(byte, 32) for byte in range(256))
"""Every digit as 0, every e as e, anything else as a blank."""
_LONG = b"0" * 19
_HIGH = b"0e000"
_HUGE = re.compile(rb"[:\[,]\s*(-?[0-9]+(?:\.[0-9]+)?[eE]\+?[0-9]+|-?[0-9]{309,})")


def are_unusual(body: bytes) -> bool:
    """Whether there may be integers in the JSON that are read as floats, or numbers that are none."""
    outline = body.translate(_OUTLINE, b"+")
    return _LONG in outline or _HIGH in outline


def impossible(body: bytes) -> str:
    """The first number of the JSON that no float can be, as it stands there; empty when there is none."""
    for found in _HUGE.finditer(body):
        if math.isinf(float(found[1])):
            return found[1].decode()
    return ""


def read(value: Any) -> Any:
    """The value with its long integers as floats."""
    if isinstance(value, dict):
        return {key: read(each) for key, each in value.items()}
    if isinstance(value, list):
        return [read(each) for each in value]
    return float(value) if type(value) is int and not -_ENDS <= value < _ENDS else value


def settle(tree: Tree) -> None:
    """Makes whole floats of an object integers, in place, with the fewest digits that tell them."""
    for key, each in tree.items():
        if type(each) is float:
            tree[key] = _written(each)
        elif key != "metadata":  # in which there are none
            _settle(each)


def _settle(value: Any) -> None:
    if type(value) is list:
        for index, each in enumerate(value):
            if type(each) is float:
                value[index] = _written(each)
            elif type(each) is dict or type(each) is list:
                _settle(each)
    elif type(value) is dict:
        for key, each in value.items():
            if type(each) is float:
                value[key] = _written(each)
            elif type(each) is dict or type(each) is list:
                _settle(each)


def _written(value: float) -> float:
    return int(Decimal(repr(value))) if value.is_integer() and abs(value) < _FIRST_WITH_EXPONENT else value
