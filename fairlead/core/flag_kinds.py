"""Kinds of values of flags whose mistakes are told in sentences, as clap's and our own are."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_address, ip_network
from math import isfinite
from typing import TypeAlias, TypeVar

from fairlead.core.alternatives import alternatives
from fairlead.core.flags import FlagKind, meant
from fairlead.core.names import is_label, is_name
from kubeloop.durations import format_go, parse_human

T = TypeVar("T")
Json: TypeAlias = dict[str, object]
ValueCheck: TypeAlias = Callable[[Json], None]
"""Raises ValueError with the end of a sentence for values that do not fit their keys."""
Address: TypeAlias = tuple[str, int]
"""Host and port to listen at."""

EVERYWHERE = "::"
FALSE = ("false", "f", "no", "n", "off", "0")
TRUE = ("true", "t", "yes", "y", "on", "1")
MOST_PORT = 65535
LEAST_INTERVAL = 1.0
"""Seconds between two looks at something: any less would be work without an end."""
QUOTES = "put it in quotes"


def _number(value: object) -> tuple[str, ...]:
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return (str(value),)
    raise ValueError("is no number: set it to a whole number")


def _switch(value: object) -> tuple[str, ...]:
    if not isinstance(value, bool):
        raise ValueError("is neither true nor false: set it to one of them")  # noqa: TRY004
    return (str(value).lower(),)


def _words(value: object) -> tuple[str, ...]:
    many = [value] if isinstance(value, str) else value
    if not isinstance(many, list) or not all(isinstance(one, str) for one in many):
        raise ValueError("is no list of texts: write one as [a, b], each in quotes where YAML needs them")
    return tuple(many)


def _pairs(value: object) -> tuple[str, ...]:
    if not isinstance(value, dict) or not all(isinstance(one, str) for pair in value.items() for one in pair):
        raise ValueError("is no mapping of texts: write it as key: value, with values such as true in quotes")
    return tuple(f"{key}={one}" for key, one in value.items())


def document(value: object) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else (_compact(value),)


def _documents(value: object) -> tuple[str, ...]:
    return tuple(_compact(one) for one in value) if isinstance(value, list) else document(value)


def _compact(value: object) -> str:
    try:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    except TypeError as error:  # YAML has dates, JSON has none
        raise ValueError(f"holds what JSON has no word for ({error}): {QUOTES}") from error


def _commas(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (part.strip() for part in text.split(","))))


def _text(texts: tuple[str, ...]) -> str:
    if not texts[0]:
        raise ValueError("is empty: give a value, or leave it out")
    return texts[0]


def _checked(is_right: Callable[[str], bool], advice: str) -> Callable[[tuple[str, ...]], str]:
    def read(texts: tuple[str, ...]) -> str:
        text = _text(texts)
        if not is_right(text):
            raise ValueError(f'is "{text}": {advice}')
        return text

    return read


def _bool(texts: tuple[str, ...]) -> bool:
    text = texts[0].lower()
    if text not in TRUE + FALSE:
        raise ValueError(f'is "{texts[0]}": set it to true or false')
    return text in TRUE


def _whole(least: int, most: int, advice: str) -> Callable[[tuple[str, ...]], int]:
    def read(texts: tuple[str, ...]) -> int:
        text = texts[0]
        # By the length first: Python does not convert thousands of digits.
        if not (text.isascii() and text.isdigit() and len(text) <= len(str(most)) and least <= int(text) <= most):
            raise ValueError(f'is "{text}": set it to {advice}')
        return int(text)

    return read


def _time(texts: tuple[str, ...]) -> float:
    try:
        seconds = parse_human(texts[0])
    except ValueError as error:
        raise ValueError(f"is no time: {error}") from error
    if seconds < LEAST_INTERVAL:
        raise ValueError(f'is "{texts[0]}": set it to {format_go(LEAST_INTERVAL)} or more')
    return seconds


def _address(texts: tuple[str, ...]) -> Address:
    host, colon, port = texts[0].rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        number = PORT_OR_ANY((port,))
        inside = str(ip_address(bare)) if bare else EVERYWHERE
        if not colon or (":" in inside and host not in ("", f"[{bare}]")):
            raise ValueError
    except ValueError:
        raise ValueError(
            f'is "{texts[0]}": set it to an address and a port, such as [::]:8001, 127.0.0.1:8001 or :8001'
        ) from None
    return inside, number


def _map(texts: tuple[str, ...]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key or not equals:
            raise ValueError(f'holds "{text}": write each entry as key=value')
        if key in pairs:
            raise ValueError(f'holds the key "{key}" more than once: give it once')
        pairs[key] = value
    return pairs


def _ranges(texts: tuple[str, ...]) -> tuple[str, ...]:
    for text in texts:
        try:
            ip_network(text)
        except ValueError as error:
            raise ValueError(f'holds "{text}": write a range of addresses, such as 10.0.0.0/8') from error
    return texts


def _files(texts: tuple[str, ...]) -> tuple[str, ...]:
    if "" in texts:
        raise ValueError("is empty: name a file, or leave it out")
    return texts


def decoded(text: str) -> object:
    """The JSON in a text; what is wrong with it is told by its place, since the text may be long and may be private."""
    try:
        value: object = json.loads(text, parse_constant=_no_number, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON ({error.msg} at character {error.pos + 1}): correct it") from error
    except RecursionError as error:
        raise ValueError("is JSON that is nested too deeply: correct it") from error
    return value


def _no_number(word: str) -> object:
    raise ValueError(f"holds {word}, which is no number of JSON: correct it")


def _finite(digits: str) -> float:
    number = float(digits)
    if not isfinite(number):
        raise ValueError("holds a number out of range: correct it")
    return number


def object_of(value: object, keys: Sequence[str], what: str) -> Json:
    """The value as an object that has no other keys; a sentence's end otherwise."""
    if not isinstance(value, dict):
        raise ValueError(f"is no JSON object: set it to {what}")  # noqa: TRY004
    for key in value:
        if key not in keys:
            raise ValueError(f'has the unknown key "{key}"{meant(key, keys)}: {what} has {", ".join(keys)}')
    return value


def an_object(keys: Sequence[str], what: str, check: ValueCheck = lambda _: None) -> FlagKind[Json | None]:
    def read(texts: tuple[str, ...]) -> Json | None:
        value = object_of(decoded(texts[0]), keys, what)
        check(value)
        return value

    return FlagKind("JSON", read, nothing, document)


def objects(keys: Sequence[str], what: str, check: ValueCheck = lambda _: None) -> FlagKind[tuple[Json, ...]]:
    """Each text is one object, or a list of them."""

    def read(texts: tuple[str, ...]) -> tuple[Json, ...]:
        values = [decoded(text) for text in texts]
        flat = [one for value in values for one in (value if isinstance(value, list) else [value])]
        found = tuple(object_of(one, keys, what) for one in flat)
        for one in found:
            check(one)
        return found

    return FlagKind("JSON", read, nothing, _documents, repeats=True)


def one_of(words: Sequence[str]) -> FlagKind[str]:
    def read(texts: tuple[str, ...]) -> str:
        found = texts[0].lower()
        if found not in words:
            raise ValueError(f'is "{texts[0]}": set it to {alternatives(words)}')
        return found

    return FlagKind("WORD", read, str)


def nothing(_: object) -> str:
    return ""


def _maybe(value: str | None) -> str:
    return value or ""


def _shown(values: Sequence[str]) -> str:
    return ", ".join(values)


def _shown_map(values: Mapping[str, str]) -> str:
    return ", ".join(f"{key}={value}" for key, value in values.items())


def _shown_bool(value: bool) -> str:
    return "true" if value else ""


def _shown_address(value: Address) -> str:
    return f"[{value[0]}]:{value[1]}" if ":" in value[0] else f"{value[0]}:{value[1]}"


def _shown_factor(value: int | None) -> str:
    return "" if value is None else str(value)


PORT_OR_ANY = _whole(0, MOST_PORT, f"a port from 0 to {MOST_PORT}")
LABEL_ADVICE = "a name has up to 63 of a to z, 0 to 9 and - inside"
NAME_ADVICE = "a name has up to 253 of a to z, 0 to 9, - and . inside"
DNS_ADVICE = "set it to a name in DNS (a to z, 0 to 9, - and . inside)"

BOOL: FlagKind[bool] = FlagKind("", _bool, _shown_bool, _switch)
TEXT: FlagKind[str] = FlagKind("TEXT", _text, str)
MAYBE: FlagKind[str | None] = FlagKind("TEXT", _text, _maybe)
LABEL: FlagKind[str] = FlagKind("NAME", _checked(is_label, LABEL_ADVICE), str)
NAME: FlagKind[str | None] = FlagKind("NAME", _checked(is_name, NAME_ADVICE), _maybe)
FILE: FlagKind[str] = FlagKind("FILE", _text, str)
FILES: FlagKind[tuple[str, ...]] = FlagKind("FILE", _files, _shown, _words, _commas, repeats=True)
PORT: FlagKind[int] = FlagKind("PORT", _whole(1, MOST_PORT, f"a port from 1 to {MOST_PORT}"), str, _number)
COUNT: FlagKind[int | None] = FlagKind(
    "NUMBER", _whole(0, 2**32 - 1, "a whole number of 0 or more"), _shown_factor, _number
)
TIME: FlagKind[float] = FlagKind("TIME", _time, format_go)
ADDRESS: FlagKind[Address] = FlagKind("ADDRESS", _address, _shown_address)
LIST: FlagKind[tuple[str, ...]] = FlagKind("TEXT", tuple, _shown, _words, _commas, repeats=True)
RANGES: FlagKind[tuple[str, ...]] = FlagKind("CIDR", _ranges, _shown, _words, _commas, repeats=True)
MAP: FlagKind[dict[str, str]] = FlagKind("KEY=VALUE", _map, _shown_map, _pairs, _commas, repeats=True)
