"""Things that the server teaches CEL: quantities, versions, URLs, addresses and networks."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

from kubeloop.quantities import number
from kubesim.cel.types import Library
from kubesim.cel.values import Failed, Opaque
from kubesim.errors import quoted

_SEMVER = re.compile(
    r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?(?:\+([0-9A-Za-z-.]+))?"
)
_SEMVER_PARTS = 3
_LARGEST = 2**63


def _succeeds(make: Callable[..., object]) -> Callable[..., bool]:
    def test(*args: Any) -> bool:
        try:
            make(*args)
        except Failed:
            return False
        return True

    return test


class Quantity(Opaque, Struct, frozen=True):
    number: Decimal
    type_name = "kubernetes.Quantity"

    def __add__(self, other: Quantity | int) -> Quantity:
        return Quantity(self.number + (other.number if isinstance(other, Quantity) else other))

    def __sub__(self, other: Quantity | int) -> Quantity:
        return Quantity(self.number - (other.number if isinstance(other, Quantity) else other))

    @property
    def is_integer(self) -> bool:
        return self.number == self.number.to_integral_value() and -_LARGEST <= self.number < _LARGEST


def _quantity(text: str) -> Quantity:
    try:
        return Quantity(number(text))
    except ValueError as error:
        raise Failed(str(error)) from None


def _as_integer(value: Quantity) -> int:
    if not value.is_integer:
        raise Failed("cannot convert value to integer")
    return int(value.number)


class Semver(Opaque, Struct, frozen=True):
    numbers: tuple[int, int, int]
    early: str = ""
    """What comes before the release."""
    build: str = ""
    type_name = "kubernetes.Semver"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self.rank == other.rank

    def __hash__(self) -> int:
        return hash(self.numbers)

    @property
    def rank(self) -> tuple[Any, ...]:
        parts = self.early.split(".") if self.early else []
        words = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in parts]
        return (*self.numbers, not parts, words)


def _semver(text: str, normalize: bool = False) -> Semver:
    if normalize:
        parts = text.removeprefix("v").split(".", 2)
        parts = [re.sub(r"^0+(?=\d)", "", part) for part in parts]
        if len(parts) < _SEMVER_PARTS:
            if re.search(r"[+-]", parts[-1]):
                raise Failed("Short version cannot contain PreRelease/Build meta data")
            parts += ["0"] * (_SEMVER_PARTS - len(parts))
        text = ".".join(parts)
    found = _SEMVER.fullmatch(text)
    if found is None:
        raise Failed(_semver_trouble(text))
    return Semver((int(found[1]), int(found[2]), int(found[3])), found[4] or "", found[5] or "")


def _semver_trouble(text: str) -> str:
    if not text:
        return "Version string empty"
    parts = text.split(".", 2)
    if len(parts) != _SEMVER_PARTS:
        return "No Major.Minor.Patch elements found"
    for name, part in zip(("major", "minor", "patch"), (*parts[:2], re.split(r"[+-]", parts[2])[0]), strict=True):
        if not part.isdigit():
            return f"Invalid character(s) found in {name} number {quoted(part)}"
        if len(part) > 1 and part.startswith("0"):
            return f"{name.capitalize()} number must not contain leading zeroes {quoted(part)}"
    return "Prerelease is empty" if text.endswith("-") else f"Invalid character(s) found in prerelease {quoted(text)}"


def _rank(value: Quantity | Semver) -> Any:
    return value.number if isinstance(value, Quantity) else value.rank


def _compared(left: Any, right: Any) -> int:
    return int(_rank(left) > _rank(right)) - int(_rank(left) < _rank(right))


class Url(Opaque, Struct, frozen=True):
    text: str
    type_name = "kubernetes.URL"

    @property
    def parts(self) -> Any:
        return urlsplit(self.text)


def _url(text: str) -> Url:
    trouble = ""
    if not text:
        trouble = "empty url"
    elif not text.startswith("/"):
        scheme, sign, rest = text.partition(":")
        if not sign:
            trouble = "invalid URI for request"
        elif not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme):
            trouble = "invalid URI for request" if scheme else "missing protocol scheme"
        elif not rest.startswith("/"):
            trouble = "invalid URI for request"
    if not trouble:
        try:
            urlsplit(text).port  # noqa: B018 - asking is what tells a wrong one
        except ValueError:
            trouble = f"invalid port {quoted(':' + urlsplit(text).netloc.rpartition(':')[2])} after host"
    if trouble:
        raise Failed(f"URL parse error during conversion from string: parse {quoted(text)}: {trouble}")
    return Url(text)


class Ip(Opaque, Struct, frozen=True):
    address: ipaddress.IPv4Address | ipaddress.IPv6Address
    type_name = "net.IP"

    def __str__(self) -> str:
        return str(self.address)


def _ip(text: str) -> Ip:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        short = re.fullmatch(r"\d+(\.\d+){1,2}", text)
        why = f"ParseAddr({quoted(text)}): {'IPv4 address too short' if short else 'unable to parse IP'}"
        raise Failed(f"IP Address {quoted(text)} parse error during conversion from string: {why}") from None
    if isinstance(address, ipaddress.IPv6Address):
        if address.scope_id:
            raise Failed(f"IP address {quoted(text)} with zone value is not allowed")
        if address.ipv4_mapped is not None:
            raise Failed(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return Ip(address)


def _is_global(value: Ip) -> bool:
    address = value.address
    broadcast = str(address) == "255.255.255.255"
    return not (
        broadcast or address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    )


def _is_near_multicast(value: Ip) -> bool:
    network = "224.0.0.0/24" if value.address.version == 4 else "ff02::/16"
    return value.address in ipaddress.ip_network(network)


class Cidr(Opaque, Struct, frozen=True):
    interface: ipaddress.IPv4Interface | ipaddress.IPv6Interface
    type_name = "net.CIDR"

    def __str__(self) -> str:
        return str(self.interface)


def _cidr(text: str) -> Cidr:
    wrong = "network address parse error during conversion from string: "
    prefix = f"netip.ParsePrefix({quoted(text)})"
    if "/" not in text:
        raise Failed(f"{wrong}{wrong}{prefix}: no '/'")
    try:
        found = ipaddress.ip_interface(text)
    except ValueError:
        address = quoted(text.partition("/")[0])
        raise Failed(f"{wrong}{wrong}{prefix}: ParseAddr({address}): unable to parse IP") from None
    if isinstance(found, ipaddress.IPv6Interface) and found.ip.ipv4_mapped is not None:
        raise Failed(f"{wrong}IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return Cidr(found)


def _contains_ip(network: Cidr, address: Ip | str) -> bool:
    wanted = _ip(address) if isinstance(address, str) else address
    return wanted.address in network.interface.network


def _contains_cidr(network: Cidr, other: Cidr | str) -> bool:
    inner = (_cidr(other) if isinstance(other, str) else other).interface.network
    outer = network.interface.network
    return inner.version == outer.version and inner.overlaps(outer) and inner.prefixlen >= outer.prefixlen


_DECLARED = """
quantity(string) -> kubernetes.Quantity
isQuantity(string) -> bool
sign(kubernetes.Quantity) -> int
kubernetes.Quantity:isGreaterThan(kubernetes.Quantity) -> bool
kubernetes.Quantity:isLessThan(kubernetes.Quantity) -> bool
kubernetes.Quantity:compareTo(kubernetes.Quantity) -> int
kubernetes.Quantity:asApproximateFloat() -> double
kubernetes.Quantity:asInteger() -> int
kubernetes.Quantity:isInteger() -> bool
kubernetes.Quantity:add(kubernetes.Quantity) -> kubernetes.Quantity
kubernetes.Quantity:add(int) -> kubernetes.Quantity
kubernetes.Quantity:sub(kubernetes.Quantity) -> kubernetes.Quantity
kubernetes.Quantity:sub(int) -> kubernetes.Quantity
semver(string) -> kubernetes.Semver
semver(string, bool) -> kubernetes.Semver
isSemver(string) -> bool
isSemver(string, bool) -> bool
kubernetes.Semver:isGreaterThan(kubernetes.Semver) -> bool
kubernetes.Semver:isLessThan(kubernetes.Semver) -> bool
kubernetes.Semver:compareTo(kubernetes.Semver) -> int
kubernetes.Semver:major() -> int
kubernetes.Semver:minor() -> int
kubernetes.Semver:patch() -> int
url(string) -> kubernetes.URL
isURL(string) -> bool
kubernetes.URL:getScheme() -> string
kubernetes.URL:getHost() -> string
kubernetes.URL:getHostname() -> string
kubernetes.URL:getPort() -> string
kubernetes.URL:getEscapedPath() -> string
kubernetes.URL:getQuery() -> map(string, list(string))
ip(string) -> net.IP
isIP(string) -> bool
ip.isCanonical(string) -> bool
net.IP:family() -> int
net.IP:isUnspecified() -> bool
net.IP:isLoopback() -> bool
net.IP:isLinkLocalMulticast() -> bool
net.IP:isLinkLocalUnicast() -> bool
net.IP:isGlobalUnicast() -> bool
cidr(string) -> net.CIDR
isCIDR(string) -> bool
net.CIDR:containsIP(string) -> bool
net.CIDR:containsIP(net.IP) -> bool
net.CIDR:containsCIDR(string) -> bool
net.CIDR:containsCIDR(net.CIDR) -> bool
net.CIDR:ip() -> net.IP
net.CIDR:prefixLength() -> int
net.CIDR:masked() -> net.CIDR
"""

THINGS = Library(
    tuple(_DECLARED.splitlines()),
    {
        "quantity": _quantity,
        "isQuantity": _succeeds(_quantity),
        "sign": lambda value: (value.number > 0) - (value.number < 0),
        "isGreaterThan": lambda left, right: _compared(left, right) > 0,
        "isLessThan": lambda left, right: _compared(left, right) < 0,
        "compareTo": _compared,
        "asApproximateFloat": lambda value: float(value.number),
        "asInteger": _as_integer,
        "isInteger": lambda value: value.is_integer,
        "add": lambda left, right: left + right,
        "sub": lambda left, right: left - right,
        "semver": _semver,
        "isSemver": _succeeds(_semver),
        "major": lambda value: value.numbers[0],
        "minor": lambda value: value.numbers[1],
        "patch": lambda value: value.numbers[2],
        "url": _url,
        "isURL": _succeeds(_url),
        "getScheme": lambda value: value.parts.scheme,
        "getHost": lambda value: value.parts.netloc.rpartition("@")[2],
        "getHostname": lambda value: value.parts.hostname or "",
        "getPort": lambda value: "" if value.parts.port is None else str(value.parts.port),
        "getEscapedPath": lambda value: value.parts.path,
        "getQuery": lambda value: parse_qs(value.parts.query, keep_blank_values=True),
        "ip": lambda value: Ip(value.interface.ip) if isinstance(value, Cidr) else _ip(value),
        "isIP": _succeeds(_ip),
        "ip.isCanonical": lambda text: str(_ip(text)) == text,
        "family": lambda value: value.address.version,
        "isUnspecified": lambda value: value.address.is_unspecified,
        "isLoopback": lambda value: value.address.is_loopback,
        "isLinkLocalMulticast": _is_near_multicast,
        "isLinkLocalUnicast": lambda value: value.address.is_link_local,
        "isGlobalUnicast": _is_global,
        "cidr": _cidr,
        "isCIDR": _succeeds(_cidr),
        "containsIP": _contains_ip,
        "containsCIDR": _contains_cidr,
        "prefixLength": lambda value: value.interface.network.prefixlen,
        "masked": lambda value: Cidr(ipaddress.ip_interface(str(value.interface.network))),
    },
)
