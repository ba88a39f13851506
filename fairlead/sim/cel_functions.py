"""Functions that the API server adds to CEL: lists, patterns, quantities, addresses, versions.

Quantities, addresses and the like are maps that say what they are, because the library knows no types but its own. Not
there: `indexOf` of lists, whose name the functions of text have taken, and `format`, which answers with an optional.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

from fairlead.sim.schema import regular_expression

Thing = dict[str, Any]
"""A quantity, version, address or network."""

_LIST, _THING, _TEXTS = "LIST<DYN>", "MAP<DYN>", "LIST<STRING>"
_SUFFIXES = {
    "": Decimal(1),
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    **{sign: Decimal(1000) ** power for power, sign in enumerate("kMGTPE", 1)},
    **{f"{sign}i": Decimal(1024) ** power for power, sign in enumerate("KMGTPE", 1)},
}
_QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i)?)")
_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-.]+))?"
)
_LARGEST = 2**63


class Function(Struct, frozen=True):
    """One overload; of a member, the first parameter is what it is called on."""

    name: str
    is_member: bool
    returns: str
    takes: tuple[str, ...]
    does: Callable[..., Any]


def _succeeds(make: Callable[[str], object]) -> Callable[[str], bool]:
    def test(text: str) -> bool:
        try:
            make(text)
        except ValueError:
            return False
        return True

    return test


# Lists, patterns


def _sum(items: list[Any]) -> Any:
    return sum(items[1:], items[0]) if items else 0


def _least(items: list[Any]) -> Any:
    if not items:
        raise ValueError("min called on empty list")
    return min(items)


def _most(items: list[Any]) -> Any:
    if not items:
        raise ValueError("max called on empty list")
    return max(items)


def _is_sorted(items: list[Any]) -> bool:
    return all(before <= after for before, after in pairwise(items))


def _find(text: str, pattern: str) -> str:
    found = regular_expression(pattern).search(text)
    return found[0] if found else ""


def _find_all(text: str, pattern: str, most: int = -1) -> list[str]:
    found = [each[0] for each in regular_expression(pattern).finditer(text)]
    return found if most < 0 else found[:most]


def _contains_all(items: list[Any], others: list[Any]) -> bool:
    return all(each in items for each in others)


# Quantities


def _number(text: str) -> Decimal:
    found = _QUANTITY.fullmatch(text)
    if found is None:
        raise ValueError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")
    return Decimal(found[1] + (found[2] or "")) * _SUFFIXES[found[3] or ""]


def _quantity(text: str) -> Thing:
    return _amount(_number(text))


def _amount(number: Decimal) -> Thing:
    return {"quantity": str(number)}


def _value(thing: Thing) -> Decimal:
    return Decimal(thing["quantity"])


def _is_integer(thing: Thing) -> bool:
    number = _value(thing)
    return number == number.to_integral_value() and -_LARGEST <= number < _LARGEST


def _as_integer(thing: Thing) -> int:
    if not _is_integer(thing):
        raise ValueError("cannot convert value to integer")
    return int(_value(thing))


def _sign(thing: Thing) -> int:
    number = _value(thing)
    return (number > 0) - (number < 0)


# Versions


def _semver(text: str, normalize: bool = False) -> Thing:
    if normalize:
        numbers, _, rest = text.removeprefix("v").partition("-")
        parts = [part.lstrip("0") or "0" for part in numbers.split(".")]
        text = ".".join(parts + ["0"] * (3 - len(parts))) + (f"-{rest}" if rest else "")
    found = _SEMVER.fullmatch(text)
    if found is None:
        raise ValueError("No Major.Minor.Patch elements found")
    return {"semver": [int(found[1]), int(found[2]), int(found[3])], "pre": found[4] or ""}


def _rank(thing: Thing) -> tuple[Any, ...]:
    """By which quantities are compared with each other, and versions: one before its release comes before it."""
    if "quantity" in thing:
        return (_value(thing),)
    parts = thing["pre"].split(".") if thing["pre"] else []
    words = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]
    return (*thing["semver"], not parts, words)


def _compared(left: Thing, right: Thing) -> int:
    return (_rank(left) > _rank(right)) - (_rank(left) < _rank(right))


# Addresses


def _url(text: str) -> Thing:
    parts = urlsplit(text)
    if not parts.scheme and not text.startswith("/"):
        raise ValueError(f'URL parse error during conversion from string: parse "{text}": invalid URI for request')
    return {"url": text}


def _host(thing: Thing) -> str:
    return urlsplit(thing["url"]).netloc.rpartition("@")[2]


def _port(thing: Thing) -> str:
    port = urlsplit(thing["url"]).port
    return "" if port is None else str(port)


def _ip(text: str) -> Thing:
    address = ipaddress.ip_address(text)
    if isinstance(address, ipaddress.IPv6Address) and (address.ipv4_mapped is not None or address.scope_id):
        raise ValueError(f'IP Address "{text}" parse error during conversion from string')
    return {"ip": str(address)}


def _address(thing: Thing) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    return ipaddress.ip_address(thing["ip"])


def _is_global(thing: Thing) -> bool:
    address = _address(thing)
    return not (address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local)


def _cidr(text: str) -> Thing:
    if "/" not in text:
        raise ValueError(f'network address parse error during conversion from string: "{text}"')
    ipaddress.ip_interface(text)
    return {"cidr": text}


def _interface(thing: Thing) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface:
    return ipaddress.ip_interface(thing["cidr"])


def _contains_ip(network: Thing, address: Thing | str) -> bool:
    wanted = _address(_ip(address) if isinstance(address, str) else address)
    return wanted in _interface(network).network


def _contains_cidr(network: Thing, other: Thing | str) -> bool:
    inner, outer = _interface(_cidr(other) if isinstance(other, str) else other).network, _interface(network).network
    return inner.version == outer.version and inner.network_address in outer and inner.prefixlen >= outer.prefixlen


def _functions(*rows: tuple[str, str, tuple[str, ...], Callable[..., Any]], member: bool) -> list[Function]:
    return [Function(name, member, returns, takes, does) for name, returns, takes, does in rows]


FUNCTIONS = (
    *_functions(
        ("sum", "DYN", (_LIST,), _sum),
        ("min", "DYN", (_LIST,), _least),
        ("max", "DYN", (_LIST,), _most),
        ("isSorted", "BOOL", (_LIST,), _is_sorted),
        ("find", "STRING", ("STRING", "STRING"), _find),
        ("findAll", _TEXTS, ("STRING", "STRING"), _find_all),
        ("findAll", _TEXTS, ("STRING", "STRING", "INT"), _find_all),
        ("isGreaterThan", "BOOL", (_THING, _THING), lambda left, right: _compared(left, right) > 0),
        ("isLessThan", "BOOL", (_THING, _THING), lambda left, right: _compared(left, right) < 0),
        ("compareTo", "INT", (_THING, _THING), _compared),
        ("isInteger", "BOOL", (_THING,), _is_integer),
        ("asInteger", "INT", (_THING,), _as_integer),
        ("asApproximateFloat", "DOUBLE", (_THING,), lambda thing: float(_value(thing))),
        ("add", _THING, (_THING, _THING), lambda left, right: _amount(_value(left) + _value(right))),
        ("add", _THING, (_THING, "INT"), lambda left, right: _amount(_value(left) + right)),
        ("sub", _THING, (_THING, _THING), lambda left, right: _amount(_value(left) - _value(right))),
        ("sub", _THING, (_THING, "INT"), lambda left, right: _amount(_value(left) - right)),
        ("major", "INT", (_THING,), lambda thing: thing["semver"][0]),
        ("minor", "INT", (_THING,), lambda thing: thing["semver"][1]),
        ("patch", "INT", (_THING,), lambda thing: thing["semver"][2]),
        ("getScheme", "STRING", (_THING,), lambda thing: urlsplit(thing["url"]).scheme),
        ("getHost", "STRING", (_THING,), _host),
        ("getHostname", "STRING", (_THING,), lambda thing: urlsplit(thing["url"]).hostname or ""),
        ("getPort", "STRING", (_THING,), _port),
        ("getEscapedPath", "STRING", (_THING,), lambda thing: urlsplit(thing["url"]).path),
        ("getQuery", "MAP<LIST<STRING>>", (_THING,), lambda thing: parse_qs(urlsplit(thing["url"]).query)),
        ("family", "INT", (_THING,), lambda thing: _address(thing).version),
        ("isUnspecified", "BOOL", (_THING,), lambda thing: _address(thing).is_unspecified),
        ("isLoopback", "BOOL", (_THING,), lambda thing: _address(thing).is_loopback),
        ("isGlobalUnicast", "BOOL", (_THING,), _is_global),
        ("isLinkLocalUnicast", "BOOL", (_THING,), lambda thing: _address(thing).is_link_local),
        ("containsIP", "BOOL", (_THING, "STRING"), _contains_ip),
        ("containsIP", "BOOL", (_THING, _THING), _contains_ip),
        ("containsCIDR", "BOOL", (_THING, "STRING"), _contains_cidr),
        ("containsCIDR", "BOOL", (_THING, _THING), _contains_cidr),
        ("prefixLength", "INT", (_THING,), lambda thing: _interface(thing).network.prefixlen),
        ("masked", _THING, (_THING,), lambda thing: {"cidr": str(_interface(thing).network)}),
        ("ip", _THING, (_THING,), lambda thing: {"ip": str(_interface(thing).ip)}),
        member=True,
    ),
    *_functions(
        ("quantity", _THING, ("STRING",), _quantity),
        ("isQuantity", "BOOL", ("STRING",), _succeeds(_quantity)),
        ("sign", "INT", (_THING,), _sign),
        ("semver", _THING, ("STRING",), _semver),
        ("semver", _THING, ("STRING", "BOOL"), _semver),
        ("isSemver", "BOOL", ("STRING",), _succeeds(_semver)),
        ("url", _THING, ("STRING",), _url),
        ("isURL", "BOOL", ("STRING",), _succeeds(_url)),
        ("ip", _THING, ("STRING",), _ip),
        ("isIP", "BOOL", ("STRING",), _succeeds(_ip)),
        ("ip.isCanonical", "BOOL", ("STRING",), lambda text: _ip(text)["ip"] == text),
        ("cidr", _THING, ("STRING",), _cidr),
        ("isCIDR", "BOOL", ("STRING",), _succeeds(_cidr)),
        ("sets.contains", "BOOL", (_LIST, _LIST), _contains_all),
        ("sets.equivalent", "BOOL", (_LIST, _LIST), lambda a, b: _contains_all(a, b) and _contains_all(b, a)),
        ("sets.intersects", "BOOL", (_LIST, _LIST), lambda a, b: any(each in a for each in b)),
        member=False,
    ),
)
