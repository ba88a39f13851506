"""Templates as Go's types write them: the spelling that revisions are stored and named in (section 3.12 point 1).

Nothing is lost: zeros are left out of fields only that mean the same without them, and fields that are not known stay
as they are.
"""

from __future__ import annotations

from typing import Any

from fairlead.contracts.leaderworker.decide.field_kinds import (
    ALWAYS_WRITTEN,
    CLAIMS,
    KEPT_LISTS,
    QUANTITIES,
    QUANTITY_MAPS,
    is_map,
    is_plain,
)
from fairlead.contracts.leaderworker.kinds import Json
from kubeloop import quantities

_LEFT_OUT = object()


def go_form(name: str, tree: Json) -> Json:
    """The object in the field of this name."""
    return _object("", name, tree)


def _object(parent: str, name: str, tree: Json) -> Json:
    whole = {**ALWAYS_WRITTEN.get(name, {}), **{key: value for key, value in tree.items() if value is not None}}
    if name == "spec" and parent in CLAIMS:
        whole.setdefault("resources", {})
    written = {key: _field(name, key, value) for key, value in whole.items()}
    return {key: value for key, value in written.items() if value is not _LEFT_OUT}


def _field(parent: str, name: str, value: Any) -> Any:
    if isinstance(value, dict):
        if is_map(name):
            return _map(name, value) or _LEFT_OUT
        return _object(parent, name, value)
    if isinstance(value, list):
        if not value and name not in KEPT_LISTS:
            return _LEFT_OUT
        return [_object(parent, name, each) if isinstance(each, dict) else each for each in value]
    if name in QUANTITIES:
        return _quantity(value)
    if is_plain(parent, name) and value in ("", 0, False):
        return _LEFT_OUT
    return value


def _map(name: str, entries: Json) -> Json:
    if name in QUANTITY_MAPS:
        return {key: _quantity(value) for key, value in entries.items()}
    return {key: "" if value is None else value for key, value in entries.items()}


def _quantity(value: Any) -> Any:
    """As Go writes it; what is no quantity stays as it is, and the API server refuses it."""
    if not isinstance(value, str | int | float) or isinstance(value, bool):
        return value
    try:
        return quantities.canonical(str(value))
    except (ValueError, ArithmeticError):
        return value
