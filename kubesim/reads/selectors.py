"""Label and field selectors as clients write them, turned into a test on stored versions.

Labels are read from the head of a version; fields other than the name and namespace need the object decoded, which
happens only for requests that ask for them. What cannot be understood is refused in the words of the real server.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from kubesim.errors import StatusError, bad_request, quoted
from kubesim.kinds.converting import shown, unasked
from kubesim.kinds.registry import CORE_EVENTS, EVENTS, JOBS, NODES, PODS, REPLICATION_CONTROLLERS, Kind
from kubesim.schema.values import label_value, qualified
from kubesim.store.versions import Match, Tree, Version

_TOKENS = re.compile(r"[ \t\r\n]*(==|!=|=|!|,|\(|\)|<|>|[^ \t\r\n=!,()<>]+)?")
_SIGNS = ("==", "!=", "=", "!", ",", "(", ")", "<", ">", "")
_OPERATORS = "in, notin, =, ==, !=, gt, lt"
_INTEGER = re.compile(r"[-+]?[0-9]+")
_LARGEST = 2**63
_EVERYWHERE = ("metadata.name", "metadata.namespace")
_ESCAPED = ("\\", ",", "=")


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
        if value is None or not _is_integer(value):
            return False
        return int(value) > int(self.values[0]) if self.operator == "gt" else int(value) < int(self.values[0])


def _is_integer(text: str) -> bool:
    """Whether it is a number of 64 bits."""
    return _INTEGER.fullmatch(text) is not None and -_LARGEST <= int(text) < _LARGEST


class _Words:
    """The words of a selector, read one by one; after the last comes the empty word."""

    def __init__(self, text: str) -> None:
        self._words = [found[1] or "" for found in _TOKENS.finditer(text)]
        self._at = 0

    def peek(self) -> str:
        return self._words[self._at] if self._at < len(self._words) else ""

    def take(self) -> str:
        word = self.peek()
        self._at += 1
        return word

    def at_key(self) -> bool:
        """Whether a word comes next, or what says that it is not to be there."""
        return self.peek() == "!" or self.peek() not in _SIGNS


class _Nonsense(Exception):
    """A requirement that cannot be understood."""


def parse_labels(text: str) -> tuple[Requirement, ...]:
    """Requirements of `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1`; empty text has none."""
    words = _Words(text)
    requirements: list[Requirement] = []
    if not words.at_key() and words.peek():
        raise bad_request(f"found '{words.peek()}', expected: !, identifier, or 'end of string'")
    while words.peek():
        try:
            requirements.append(_requirement(words))
        except _Nonsense as error:
            raise bad_request(f"unable to parse requirement: {error}") from None
        follows = words.take()
        if not follows:
            break
        if follows != ",":
            raise bad_request(f"found '{follows}', expected: ',' or 'end of string'")
        if not words.at_key():
            raise bad_request(f"found '{words.peek()}', expected: identifier after ','")
    return tuple(requirements)


def _requirement(words: _Words) -> Requirement:
    is_absent = words.peek() == "!"
    if is_absent:
        words.take()
    key = words.take()
    if key in _SIGNS:
        raise _Nonsense(f"found '{key}', expected: identifier")
    if problems := qualified(key):
        raise _Nonsense(f"<nil>: Invalid value: {quoted(key)}: {'; '.join(problems)}")
    if is_absent:
        return Requirement(key, "absent")
    if words.peek() in ("", ","):
        return Requirement(key, "exists")
    match words.take():
        case "=" | "==":
            return _checked(key, "in", (_value(words),))
        case "!=":
            return _checked(key, "notin", (_value(words),))
        case "in" | "notin" as operator:
            return _checked(key, operator, _values(words))
        case "<" | ">" as operator:
            return _checked(key, "gt" if operator == ">" else "lt", (_value(words),))
        case other:
            raise _Nonsense(f"found '{other}', expected: {_OPERATORS}")


def _checked(key: str, operator: str, values: tuple[str, ...]) -> Requirement:
    problems: list[str] = []
    if operator in ("gt", "lt") and not _is_integer(values[0]):
        text = "for 'Gt', 'Lt' operators, the value must be an integer"
        problems.append(f"values[0]: Invalid value: {quoted(values[0])}: {text}")
    for index, value in enumerate(values):
        if wrong := label_value(value):
            problems.append(f"values[{index}][{key}]: Invalid value: {quoted(value)}: {'; '.join(wrong)}")
    if problems:
        raise _Nonsense(problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]")
    return Requirement(key, operator, values)


def _value(words: _Words) -> str:
    """A label value, which may be empty."""
    if words.peek() in ("", ","):
        return ""
    value = words.take()
    if value in _SIGNS:
        raise _Nonsense(f"found '{value}', expected: identifier")
    return value


def _values(words: _Words) -> tuple[str, ...]:
    if (found := words.take()) != "(":
        raise _Nonsense(f"found '{found}' expected: '('")
    first = words.peek()
    if first in _SIGNS and first not in (",", ")"):
        raise _Nonsense(f"found '{first}', expected: ',', ')' or identifier")
    values: list[str] = []
    while True:
        if words.peek() in (",", ")"):
            values.append("")
        elif words.peek() in _SIGNS:
            raise _Nonsense(f"found '{words.peek()}', expected: ',', or identifier")
        else:
            values.append(words.take())
        match words.take():
            case ",":
                continue
            case ")":
                return tuple(sorted(set(values)))
            case other:
                raise _Nonsense(f"found '{other}', expected: ',' or ')'")


# Fields


def parse_fields(text: str, kind: Kind) -> tuple[tuple[str, bool, str], ...]:
    """Terms (path, wanted equal, value) of a field selector; 400 for a field that cannot be selected by."""
    terms = [_field_term(part, text) for part in sorted(_parts(text)) if part]
    # A term without a field and a value asks for nothing.
    return tuple((_selectable(path, kind), equal, value) for path, equal, value in terms if path or value)


def _parts(text: str) -> Iterator[str]:
    """Between commas that are not escaped."""
    start, is_escaped = 0, False
    for at, sign in enumerate(text):
        if is_escaped:
            is_escaped = False
        elif sign == "\\":
            is_escaped = True
        elif sign == ",":
            yield text[start:at]
            start = at + 1
    yield text[start:]


def _field_term(part: str, text: str) -> tuple[str, bool, str]:
    found = re.search("!=|==|=", part)
    if found is None:
        raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
    return part[: found.start()], found[0] != "!=", _unescaped(part[found.end() :])


def _unescaped(value: str) -> str:
    made: list[str] = []
    signs = iter(value)
    for sign in signs:
        if sign == "\\":
            escaped = next(signs, "")
            if escaped not in _ESCAPED:
                raise bad_request(f"invalid field selector: invalid escape sequence: \\{escaped}")
            made.append(escaped)
        elif sign in _ESCAPED:
            raise bad_request(f"invalid field selector: unescaped character in value: {ord(sign)}")
        else:
            made.append(sign)
    return "".join(made)


def _selectable(path: str, kind: Kind) -> str:
    """The name under which a field is looked up."""
    if not kind.fields and kind.custom is None:
        if path in _EVERYWHERE:
            return path
        raise bad_request(f'{quoted(path)} is not a known field selector: only "metadata.name", "metadata.namespace"')
    stored = _RENAMED.get(kind.resource, {}).get(path, path)
    # Kinds that have fields of their own say which of the common ones they have, too.
    common = _EVERYWHERE if kind.resource.namespaced else _EVERYWHERE[:1]
    hidden = _RENAMED[EVENTS].values() if kind.resource == EVENTS else ()
    if path in hidden or stored not in (*common, *kind.fields):
        raise _unsupported(path, kind)
    return stored


def _unsupported(path: str, kind: Kind) -> StatusError:
    if kind.resource == JOBS:
        return bad_request(f"field label {quoted(path)} not supported for Job")
    return bad_request(f"field label not supported: {path}")


_RENAMED = {
    PODS: {"spec.host": "spec.nodeName"},
    EVENTS: {
        "reportingController": "reportingComponent",
        **{
            f"regarding.{part}": f"involvedObject.{part}"
            for part in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
        },
    },
}
"""Fields that clients know under another name than the store."""


def _lookup(tree: Tree, path: str) -> str:
    value: object = tree
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _first_address(pod: Tree) -> str:
    addresses = (pod.get("status") or {}).get("podIPs") or [{}]
    return str(addresses[0].get("ip") or "")


_READ: dict[object, dict[str, Callable[[Tree], str]]] = {
    CORE_EVENTS: {"source": lambda tree: _lookup(tree, "source.component") or _lookup(tree, "reportingComponent")},
    JOBS: {"status.successful": lambda tree: _lookup(tree, "status.succeeded") or "0"},
    NODES: {"spec.unschedulable": lambda tree: _lookup(tree, "spec.unschedulable") or "false"},
    PODS: {
        "spec.hostNetwork": lambda tree: _lookup(tree, "spec.hostNetwork") or "false",
        "status.podIP": _first_address,
        # Can be asked for, and is never found.
        "status.podIPs": lambda _: "",
    },
    REPLICATION_CONTROLLERS: {"status.replicas": lambda tree: _lookup(tree, "status.replicas") or "0"},
}
"""Fields that are not simply what lies at their path."""


def _reader(kind: Kind, path: str) -> Callable[[Tree], str]:
    special = _READ.get(kind.storage, {}).get(path)
    return special or (lambda tree: _lookup(tree, path))


def _seen(kind: Kind, version: Version) -> Tree:
    """What fields are read from: the kind's own version, but where a webhook would have to say what that is."""
    if kind.custom is None or kind.custom.conversion.webhook is not None:
        return version.tree()
    return unasked(shown(kind, version))


def _field_test(kind: Kind, terms: tuple[tuple[str, bool, str], ...]) -> Callable[[Version], bool]:
    quick = [term for term in terms if term[0] in _EVERYWHERE]
    deep = [(_reader(kind, path), equal, value) for path, equal, value in terms if path not in _EVERYWHERE]

    def test(version: Version) -> bool:
        for path, equal, value in quick:
            found = version.head.name if path == "metadata.name" else version.head.namespace
            if (found == value) != equal:
                return False
        if not deep:
            return True
        tree = _seen(kind, version)
        return all((read(tree) == value) == equal for read, equal, value in deep)

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


def names_one(kind: Kind, namespace: str, fields: str) -> bool:
    """Whether a field selector means a single object, in a place that is known."""
    wanted = {path for path, equal, _ in parse_fields(fields, kind) if equal}
    is_placed = bool(namespace) or not kind.resource.namespaced or "metadata.namespace" in wanted
    return is_placed and "metadata.name" in wanted


def is_unselective(labels: str, fields: str) -> bool:
    """Whether a list with these selectors contains everything there is."""
    return not labels.strip() and not fields.strip()
