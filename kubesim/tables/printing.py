"""What the cells of many kinds have in common: ages, labels, selectors, containers.

A printer is the columns of a kind and a function from an object, as it is stored, to its cells. Objects may lack
anything, because the object of a bookmark has nothing but a resource version.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, TypeAlias

from msgspec import Struct

from kubeloop import clock
from kubesim.store.versions import Tree

NONE = "<none>"
UNSET = "<unset>"
UNKNOWN = "<unknown>"
WIDE = 1
"""The priority of columns that are shown on demand."""

Cells: TypeAlias = list[Any]


class Column(Struct, frozen=True):
    """One column; its type and format are those of OpenAPI."""

    name: str
    type: str = "string"
    priority: int = 0
    format: str = ""
    description: str = ""

    def tree(self) -> Tree:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


class Printer(Struct, frozen=True):
    """How objects of one kind become rows."""

    columns: tuple[Column, ...]
    cells: Callable[[Tree], Cells]
    conditions: Callable[[Tree], list[Tree]] | None = None
    """What a row says of itself; None for kinds whose rows say nothing."""


NAME = Column("Name", format="name")


def columns(text: str, wide: str = "") -> tuple[Column, ...]:
    """The name, and columns such as `Desired:integer,Up-to-date`; wide ones come last."""
    made = [NAME]
    for names, priority in ((text, 0), (wide, WIDE)):
        for each in filter(None, names.split(",")):
            name, _, kind = each.partition(":")
            made.append(Column(name, kind or "string", priority))
    return tuple(made)


def at(tree: Any, *path: str) -> Any:
    """What lies at a path, None where there is nothing."""
    for key in path:
        tree = tree.get(key) if isinstance(tree, dict) else None
    return tree


def items(tree: Any, *path: str) -> list[Any]:
    """The list at a path."""
    return at(tree, *path) or []


def number(tree: Any, *path: str) -> int:
    """The number at a path, 0 where there is none."""
    return at(tree, *path) or 0


def text(tree: Any, *path: str) -> str:
    """What lies at a path, as text."""
    value = at(tree, *path)
    return "" if value is None else str(value)


def quantity(tree: Any, *path: str) -> str:
    """The quantity at a path; one that is not there is none of it."""
    return text(tree, *path) or "0"


def name_of(tree: Tree) -> str:
    return text(tree, "metadata", "name")


def age(tree: Tree) -> str:
    """How long ago the object was made."""
    return since(at(tree, "metadata", "creationTimestamp"))


def since(timestamp: Any) -> str:
    """How long ago something was, roughly."""
    moment = moment_of(timestamp)
    return UNKNOWN if moment is None else duration(clock.now() - moment)


def moment_of(timestamp: Any) -> datetime | None:
    """A time as metadata writes it; None for what is none."""
    if not isinstance(timestamp, str):
        return None
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    return None if moment.tzinfo is None else moment


def between(start: Any, end: Any) -> str:
    """How long something took."""
    first, last = moment_of(start), moment_of(end)
    return "" if first is None or last is None else duration(last - first)


def duration(length: timedelta) -> str:
    """Two or three digits of a duration: `95s`, `5m3s`, `26h`, `3d4h`, `2y8d`."""
    seconds = int(length.total_seconds())
    if seconds < 0:
        return "0s" if seconds == -1 else "<invalid>"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    for limit, whole, unit, rest, smaller in (
        (120, seconds, "s", 0, ""),
        (600, minutes, "m", seconds % 60, "s"),
        (3 * 3600, minutes, "m", 0, ""),
        (8 * 3600, hours, "h", minutes % 60, "m"),
        (2 * 86400, hours, "h", 0, ""),
        (8 * 86400, days, "d", hours % 24, "h"),
        (730 * 86400, days, "d", 0, ""),
        (8 * 365 * 86400, days // 365, "y", days % 365, "d"),
    ):
        if seconds < limit:
            return f"{whole}{unit}{rest}{smaller}" if rest else f"{whole}{unit}"
    return f"{days // 365}y"


def labels(pairs: Any) -> str:
    """A map of labels."""
    return ",".join(f"{key}={pairs[key]}" for key in sorted(pairs)) if pairs else NONE


def selector(tree: Any) -> str:
    """A label selector, as clients write it; empty when it selects everything or nothing."""
    parts = [(key, f"{key}={value}") for key, value in (at(tree, "matchLabels") or {}).items()]
    for each in items(tree, "matchExpressions"):
        key, values = each.get("key", ""), ",".join(sorted(each.get("values") or []))
        match each.get("operator"):
            case "Exists":
                parts.append((key, key))
            case "DoesNotExist":
                parts.append((key, f"!{key}"))
            case operator:
                parts.append((key, f"{key} {'in' if operator == 'In' else 'notin'} ({values})"))
    return ",".join(shown for _, shown in sorted(parts, key=lambda part: part[0]))


def containers(pod: Any) -> list[str]:
    """Names and images of the containers of a pod's template or specification."""
    found = items(pod, "containers")
    return [",".join(each.get(key, "") for each in found) for key in ("name", "image")]


def abridged(shown: Sequence[str], count: int, most: int) -> str:
    """The first few, and how many more there are."""
    text_ = ",".join(shown[:most])
    return f"{text_} + {count - most} more..." if len(shown) > most else text_


def has_condition(tree: Tree, kind: str) -> bool:
    """Whether the first condition of the type holds."""
    for each in items(tree, "status", "conditions"):
        if each.get("type") == kind:
            return bool(each.get("status") == "True")
    return False
