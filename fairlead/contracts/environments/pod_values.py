"""Flags that hold parts of pods in JSON, checked as far as their types are known.

A mistake here would otherwise show in every environment at once, as an object that the API server refuses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from fairlead.core.flag_kinds import Json, an_object, objects

_QUANTITY = re.compile(
    r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+))?"
)


def _text(value: object) -> bool:
    return isinstance(value, str)


def _whole(value: object) -> bool:
    return type(value) is int


def _object(value: object) -> bool:
    return isinstance(value, dict)


def _quantity(value: object) -> bool:
    if isinstance(value, str):
        return _QUANTITY.fullmatch(value) is not None
    return isinstance(value, int | float) and not isinstance(value, bool)


def _quantities(value: object) -> bool:
    return isinstance(value, dict) and all(map(_quantity, value.values()))


def _claims(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(one, dict) and _text(one.get("name")) for one in value)


AMOUNTS = (_quantities, 'an object of quantities, such as {"cpu":"500m","memory":"1Gi"}')
WORD = (_text, "a text in quotes")
TERMS = (_object, "a JSON object")

AFFINITY = {"nodeAffinity": TERMS, "podAffinity": TERMS, "podAntiAffinity": TERMS}
TOLERATION = {
    **dict.fromkeys(("key", "operator", "value", "effect"), WORD),
    "tolerationSeconds": (_whole, "a whole number"),
}
RESOURCES = {"limits": AMOUNTS, "requests": AMOUNTS, "claims": (_claims, "a list of objects with a name each")}


def _checked(fields: Mapping[str, tuple[Callable[[object], bool], str]]) -> Callable[[Json], None]:
    """A null says what an absent field says, as for the API server."""

    def check(given: Json) -> None:
        for name, value in given.items():
            is_right, what = fields[name]
            if value is not None and not is_right(value):
                raise ValueError(f'has a value of "{name}" that does not fit: set it to {what}')

    return check


AN_AFFINITY = an_object(tuple(AFFINITY), "an affinity of pods", _checked(AFFINITY))
SOME_TOLERATIONS = objects(tuple(TOLERATION), "a toleration", _checked(TOLERATION))
SOME_RESOURCES = an_object(tuple(RESOURCES), "resource requirements", _checked(RESOURCES))
