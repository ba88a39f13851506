"""Label and field selectors as clients write them, turned into a test on stored versions.

Labels are read from the head of a version; fields other than the name and namespace need the object decoded, which
happens only for requests that ask for them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from fairlead.sim.converting import shown, unasked
from fairlead.sim.errors import StatusError, bad_request
from fairlead.sim.registry import EVENTS, Kind
from fairlead.sim.store import Match, Tree, Version

_TOKENS = re.compile(r"\s*(==|!=|=|!|,|\(|\)|<|>|[^\s=!,()<>]+)")
_WORD = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
# Absent means false.
_FLAGS = ("spec.unschedulable",)
_UNNAMED = {"reportingController": "reportingComponent"}


class Requirement(Struct, frozen=True):
    """One condition on labels; `operator` is one of in, notin, exists, absent, gt, lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def holds(self, labels: dict[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case "in":
                return value in self.values
            case "notin":
                return value not in self.values
            case "exists":
                return value is not None
            case "absent":
                return value is None
            case _:
                return self._compares(value)

    def _compares(self, value: str | None) -> bool:
        if value is None or not value.lstrip("-").isdigit():
            return False
        return int(value) > int(self.values[0]) if self.operator == "gt" else int(value) < int(self.values[0])


class _Words:
    """The words of a selector, read one by one."""

    def __init__(self, text: str) -> None:
        self._words = list(self._split(text))
        self._at = 0

    def _split(self, text: str) -> Iterator[str]:
        at = 0
        stripped = text.rstrip()
        while at < len(stripped):
            found = _TOKENS.match(stripped, at)
            if found is None:
                raise self.error(f"unexpected {stripped[at]!r}")
            yield found[1]
            at = found.end()

    def peek(self) -> str:
        return self._words[self._at] if self._at < len(self._words) else ""

    def take(self) -> str:
        word = self.peek()
        self._at += 1
        return word

    def error(self, why: str) -> StatusError:
        return bad_request(f"unable to parse requirement: {why}")


def parse_labels(text: str) -> tuple[Requirement, ...]:
    """Requirements of `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1`; empty text has none."""
    words = _Words(text)
    requirements: list[Requirement] = []
    while words.peek():
        requirements.append(_requirement(words))
        if words.peek() and words.take() != ",":
            raise words.error("found words after a requirement, expected ','")
    return tuple(requirements)


def _requirement(words: _Words) -> Requirement:
    if words.peek() == "!":
        words.take()
        return Requirement(_key(words), "absent")
    key = _key(words)
    operator = words.peek()
    if operator in ("", ","):
        return Requirement(key, "exists")
    words.take()
    match operator:
        case "=" | "==":
            return Requirement(key, "in", (_value(words),))
        case "!=":
            return Requirement(key, "notin", (_value(words),))
        case "in" | "notin":
            return Requirement(key, operator, _values(words))
        case "<" | ">":
            return _comparison(words, key, operator)
        case _:
            raise words.error(f"found {operator!r}, expected: in, notin, =, ==, !=, gt, lt")


def _comparison(words: _Words, key: str, operator: str) -> Requirement:
    value = _value(words)
    if not value.lstrip("-").isdigit():
        raise words.error(
            f"values[0][{key}]: Invalid value: {value!r}: for 'Gt', 'Lt' operators, the value must be an integer"
        )
    return Requirement(key, "gt" if operator == ">" else "lt", (value,))


def _key(words: _Words) -> str:
    key = words.take()
    prefix, _, name = key.rpartition("/")
    if not _WORD.fullmatch(name) or len(name) > 63 or ("/" in key and not prefix):
        raise words.error(f"{key!r} is not a label key")
    return key


def _value(words: _Words) -> str:
    """A label value, which may be empty."""
    if words.peek() in ("", ","):
        return ""
    value = words.take()
    if not _WORD.fullmatch(value) or len(value) > 63:
        raise words.error(f"{value!r} is not a label value")
    return value


def _values(words: _Words) -> tuple[str, ...]:
    if (found := words.take()) != "(":
        raise words.error(f"found '{found}' expected: '('")
    values: list[str] = []
    while True:
        values.append("" if words.peek() in (",", ")") else _value(words))
        match words.take():
            case ",":
                continue
            case ")":
                return tuple(sorted(set(values)))
            case other:
                raise words.error(f"found {other!r}, expected ',' or ')'")


def parse_fields(text: str, kind: Kind) -> tuple[tuple[str, bool, str], ...]:
    """Terms (path, wanted equal, value) of a field selector; 400 for a field that cannot be selected by."""
    terms: list[tuple[str, bool, str]] = []
    for part in filter(None, text.split(",")):
        path, equal, value = _field_term(part)
        stored = _stored_path(path, kind)
        if stored not in ("metadata.name", "metadata.namespace", *kind.fields):
            raise bad_request(f"field label not supported: {path}")
        terms.append((stored, equal, value))
    return tuple(terms)


def _stored_path(path: str, kind: Kind) -> str:
    """Fields of events.k8s.io have other names in the store."""
    if kind.resource != EVENTS:
        return path
    if path.startswith("involvedObject.") or path in _UNNAMED.values():
        raise bad_request(f"field label not supported: {path}")
    return _UNNAMED.get(path, path.replace("regarding.", "involvedObject.", 1))


def _field_term(part: str) -> tuple[str, bool, str]:
    for operator, equal in (("!=", False), ("==", True), ("=", True)):
        path, found, value = part.partition(operator)
        if found:
            return path.strip(), equal, value.strip()
    raise bad_request(f"invalid selector: '{part}'; can't understand '{part}'")


def _lookup(tree: Tree, path: str) -> str:
    value: object = tree
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "false" if path in _FLAGS else ""
    return str(value)


def _seen(kind: Kind, version: Version) -> Tree:
    """What fields are read from: the kind's own version, but where a webhook would have to say what that is."""
    if kind.custom is None or kind.custom.conversion.webhook is not None:
        return version.tree()
    return unasked(shown(kind, version))


def _field_test(kind: Kind, terms: tuple[tuple[str, bool, str], ...]) -> Callable[[Version], bool]:
    quick = [term for term in terms if term[0].startswith("metadata.")]
    deep = [term for term in terms if not term[0].startswith("metadata.")]

    def test(version: Version) -> bool:
        for path, equal, value in quick:
            found = version.head.name if path == "metadata.name" else version.head.namespace
            if (found == value) != equal:
                return False
        if not deep:
            return True
        tree = _seen(kind, version)
        return all((_lookup(tree, path) == value) == equal for path, equal, value in deep)

    return test


def matcher(kind: Kind, namespace: str, labels: str, fields: str) -> Match | None:
    """The test for a namespace (empty: all) and two selectors; None when everything passes."""
    requirements = parse_labels(labels)
    terms = parse_fields(fields, kind)
    if not namespace and not requirements and not terms:
        return None
    in_fields = _field_test(kind, terms)

    def match(version: Version) -> bool:
        return (
            (not namespace or version.key[0] == namespace)
            and all(requirement.holds(version.head.labels) for requirement in requirements)
            and in_fields(version)
        )

    return match


def is_unselective(labels: str, fields: str) -> bool:
    """Whether a list with these selectors contains everything there is."""
    return not labels.strip() and not fields.strip()
