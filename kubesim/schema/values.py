"""Rules for single values, wherever they stand: names, labels, ports, numbers, shares, quantities, selectors.

A check answers with what is wrong in words, a rule with causes at a field; neither raises. `at` is the path of a field.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache

from kubesim.errors import Cause, required, shown, unsupported, wrong
from kubesim.store.versions import Tree

Check = Callable[[str], Sequence[str]]

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_KEY = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_ENDS = "and must start and end with an alphanumeric character"

IMMUTABLE = "field is immutable"
NEGATIVE = "must be greater than or equal to 0"
_LABEL_LENGTH = 63
_NAME_LENGTH = 253
_PORT_NAME_LENGTH = 15
_MOST_NUMBER = 2**31 - 1
_REMEMBERED = 4096


def _unlike(text: str, pattern: str, *examples: str) -> str:
    """A sentence about a value that does not look as it should."""
    shown_examples = " or ".join(f"'{example}', " for example in examples)
    return f"{text} (e.g. {shown_examples}regex used for validation is '{pattern}')"


_OLD_LABEL = "[a-z]([-a-z0-9]*[a-z0-9])?"
_OLD_LABEL_TEXT = _unlike(
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character",
    _OLD_LABEL,
    "my-name",
    "abc-123",
)
_LABEL_TEXT = _unlike(
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ENDS}",
    _LABEL,
    "my-name",
    "123-abc",
)
_SUBDOMAIN_TEXT = _unlike(
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ENDS}",
    _SUBDOMAIN,
    "example.com",
)
_KEY_TEXT = _unlike(
    f"must consist of alphanumeric characters, '-', '_' or '.', {_ENDS}", _KEY, "MyName", "my.name", "123-abc"
)
_VALUE_TEXT = _unlike(
    f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', {_ENDS}",
    f"({_KEY})?",
    "MyValue",
    "my_value",
    "12345",
)
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_CONFIG_KEY_TEXT = _unlike(
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
    _CONFIG_KEY,
    "key.name",
    "KEY_NAME",
    "key-name",
)
_PERCENT_TEXT = _unlike(
    "a valid percent string must be a numeric string followed by an ending '%'", "[0-9]+%", "1%", "93%"
)
_HEADER_TEXT = _unlike(
    "a valid HTTP header must consist of alphanumeric characters or '-'", "[-A-Za-z0-9]+", "X-Header-Name"
)
_WILDCARD = rf"\*\.{_SUBDOMAIN}"
_WILDCARD_TEXT = _unlike(
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
    _WILDCARD,
    "*.example.com",
)
_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_REASON_TEXT = _unlike(
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_'",
    _REASON,
    "my_name",
    "MY_NAME",
    "MyName",
    "ReasonA,ReasonB",
    "ReasonA:ReasonB",
)
_is_reason = re.compile(_REASON).fullmatch
_is_label = re.compile(_LABEL).fullmatch
_is_old_label = re.compile(_OLD_LABEL).fullmatch
_is_subdomain = re.compile(_SUBDOMAIN).fullmatch
_is_key = re.compile(_KEY).fullmatch
_is_value = re.compile(f"({_KEY})?").fullmatch
_is_percent = re.compile("[0-9]+%").fullmatch
_is_config_key = re.compile(_CONFIG_KEY).fullmatch
_is_header = re.compile("[-A-Za-z0-9]+").fullmatch
_is_wildcard = re.compile(_WILDCARD).fullmatch

# Causes that `errors` has no use for


def duplicate(at: str, value: object) -> Cause:
    return Cause("FieldValueDuplicate", f"Duplicate value: {shown(value)}", at)


def not_there(at: str, value: object) -> Cause:
    return Cause("FieldValueNotFound", f"Not found: {shown(value)}", at)


def too_long(at: str, most: int) -> Cause:
    return Cause("FieldValueTooLong", f"Too long: may not be more than {most} bytes", at)


def too_many(at: str, number: int, most: int) -> Cause:
    return Cause("FieldValueTooMany", f"Too many: {number}: must have at most {most} items", at)


def no_value(at: str, why: str) -> Cause:
    """A broken rule about something too large to be shown."""
    return Cause("FieldValueInvalid", f"Invalid value: {why}", at)


# Checks of text


def _longer(value: str, most: int, unit: str = "characters") -> list[str]:
    """What labels are made of is counted in bytes, in the server's words, everything else in characters."""
    return [f"must be no more than {most} {unit}"] if len(value.encode()) > most else []


@lru_cache(_REMEMBERED)
def label(value: str) -> tuple[str, ...]:
    """A name of one part, as hosts have it."""
    problems = _longer(value, _LABEL_LENGTH)
    if not _is_label(value):
        problems.append("must not contain dots" if _is_subdomain(value) else _LABEL_TEXT)
    return tuple(problems)


def old_label(value: str) -> list[str]:
    """The same, but beginning with a letter."""
    return _longer(value, _LABEL_LENGTH) + ([] if _is_old_label(value) else [_OLD_LABEL_TEXT])


def subdomain(value: str) -> list[str]:
    """A name of parts with dots between them."""
    return _longer(value, _NAME_LENGTH) + ([] if _is_subdomain(value) else [_SUBDOMAIN_TEXT])


def wildcard(value: str) -> list[str]:
    return _longer(value, _NAME_LENGTH) + ([] if _is_wildcard(value) else [_WILDCARD_TEXT])


@lru_cache(_REMEMBERED)
def qualified(value: str) -> tuple[str, ...]:
    """The key of a label, the name of a condition: a name, with a domain before it where it is not everybody's."""
    problems: list[str] = []
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        text = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return (f"a valid label key {_KEY_TEXT} {text}",)
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    elif slash:
        problems += [f"prefix part {text}" for text in _longer(prefix, _NAME_LENGTH, "bytes")]
        problems += [] if _is_subdomain(prefix) else [f"prefix part {_SUBDOMAIN_TEXT}"]
    if not name:
        problems.append("name part must be non-empty")
    problems += [f"name part {text}" for text in _longer(name, _LABEL_LENGTH, "bytes")]
    if not _is_key(name):
        problems.append(f"name part {_KEY_TEXT}")
    return tuple(problems)


@lru_cache(_REMEMBERED)
def label_value(value: str) -> tuple[str, ...]:
    return tuple(_longer(value, _LABEL_LENGTH, "bytes") + ([] if _is_value(value) else [_VALUE_TEXT]))


def config_key(value: str) -> list[str]:
    """The key of an entry of a map or Secret, which becomes the name of a file."""
    problems = _longer(value, _NAME_LENGTH) + ([] if _is_config_key(value) else [_CONFIG_KEY_TEXT])
    if value in (".", ".."):
        return [*problems, f"must not be '{value}'"]
    return [*problems, "must not start with '..'"] if value.startswith("..") else problems


def condition_reason(value: str) -> list[str]:
    return [] if _is_reason(value) else [_REASON_TEXT]


def port_name(value: str) -> list[str]:
    problems = _longer(value, _PORT_NAME_LENGTH)
    if not re.fullmatch("[-a-z0-9]+", value):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", value):
        problems.append("must contain at least one letter (a-z)")
    if "--" in value:
        problems.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def variable(value: str) -> list[str]:
    """The name of an environment variable, which may be nearly anything."""
    if all(" " <= letter <= "~" and letter != "=" for letter in value):
        return []
    return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]


def header(value: str) -> list[str]:
    return [] if _is_header(value) else [_HEADER_TEXT]


_BYTE = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = re.compile(rf"{_BYTE}(?:\.{_BYTE}){{3}}")
"""What most addresses are, which takes long to find out otherwise."""


def address(value: str) -> list[str]:
    """An address of either family, without zone."""
    if _IPV4.fullmatch(value):
        return []
    try:
        ipaddress.ip_address(value)
    except ValueError:
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    return []


def network(value: str) -> list[str]:
    """An address range."""
    try:
        ipaddress.ip_network(value, strict=False)
    except ValueError:
        return ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]
    return [] if "/" in value else ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]


def each(check: Check, value: str, at: str) -> list[Cause]:
    """What a check finds, at a field."""
    return [wrong(at, value, text) for text in check(value)]


def needed(check: Check, value: str | None, at: str) -> list[Cause]:
    """The same for a value that must be there."""
    return each(check, value, at) if value else [required(at)]


# Numbers


def not_negative(tree: Tree, key: str, at: str) -> list[Cause]:
    value = tree.get(key)
    return [wrong(f"{at}.{key}", value, NEGATIVE)] if isinstance(value, int) and value < 0 else []


def positive(value: int, at: str) -> list[Cause]:
    return [] if value > 0 else [wrong(at, value, "must be greater than zero")]


def within(value: int, least: int, most: int, at: str) -> list[Cause]:
    return [] if least <= value <= most else [wrong(at, value, f"must be between {least} and {most}, inclusive")]


def port_number(value: int, at: str) -> list[Cause]:
    return within(value, 1, 65535, at)


def port(value: int | str, at: str) -> list[Cause]:
    """A port by its number or name."""
    return each(port_name, value, at) if isinstance(value, str) else port_number(value, at)


def identity(value: int, at: str) -> list[Cause]:
    """A user or group, by its number."""
    return within(value, 0, _MOST_NUMBER, at)


def share(value: int | str, at: str) -> list[Cause]:
    """A number that is not negative, or a percentage."""
    if isinstance(value, int):
        return [wrong(at, value, NEGATIVE)] if value < 0 else []
    return [] if _is_percent(value) else [wrong(at, value, _PERCENT_TEXT)]


def part_of_all(value: int | str, at: str) -> list[Cause]:
    """A percentage, if it is one, of at most all."""
    if isinstance(value, int) or not _is_percent(value) or int(value[:-1]) <= 100:
        return []
    return [wrong(at, value, "must not be greater than 100%")]


def amount(value: int | str | None) -> int:
    """The number in a number or percentage; 0 for what is neither."""
    if isinstance(value, str):
        return int(value[:-1]) if _is_percent(value) else 0
    return value or 0


# Paths in volumes


def below(path: str, at: str) -> Iterator[Cause]:
    """A path that stays below where it starts."""
    if path.startswith("/"):
        yield wrong(at, path, "must be a relative path")
    yield from no_steps_back(path, at)


def no_steps_back(path: str, at: str) -> list[Cause]:
    return [wrong(at, path, "must not contain '..'")] if ".." in path.split("/") else []


def unreserved(path: str, at: str) -> Iterator[Cause]:
    """A path below that does not look like what the kubelet puts beside the files of a volume."""
    yield from below(path, at)
    if path.startswith("..") and not path.startswith("../"):
        yield wrong(at, path, "must not start with '..'")


# Choices


def one_of(value: str | None, choices: Sequence[str], at: str) -> list[Cause]:
    """A value that must be there and is one of a few; they are told in the order given."""
    if value in choices:
        return []
    return [unsupported(at, value, choices)] if value else [required(at)]


def given(value: str | None, choices: Sequence[str], at: str) -> list[Cause]:
    """The same where an empty value is there."""
    return [required(at)] if value is None else chosen(value, choices, at)


def chosen(value: str | None, choices: Sequence[str], at: str) -> list[Cause]:
    """The same for a value that may be absent."""
    return [] if value is None or value in choices else [unsupported(at, value, choices)]


def fixed(old: Tree, new: Tree, keys: Iterable[str], at: str) -> list[Cause]:
    """Fields that stay as they are once the object is made."""
    return [wrong(f"{at}.{key}", new.get(key), IMMUTABLE) for key in keys if old.get(key) != new.get(key)]


def as_struct(tree: Tree, *fields: str) -> Tree:
    """A tree as the server prints those that it does not print as JSON of the API: all fields, in capitals."""
    return {field: tree.get(field[0].lower() + field[1:]) for field in fields}
