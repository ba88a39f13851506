"""Formats that a schema may demand of strings and numbers; what is not known here demands nothing."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable
from datetime import date, datetime

from fairlead.sim.schema import Node


def _is_date_time(text: str) -> bool:
    # RFC 3339 as clients write it; the server also takes a time without seconds or zone.
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d[Tt]\d\d:\d\d(?::\d\d)?)(\.\d+)?([Zz]|[+-]\d\d:?\d\d)?", text)
    return found is not None and _parses(lambda: datetime.fromisoformat(found[1].upper()))


def _is_base64(text: str) -> bool:
    return _parses(lambda: base64.b64decode(text, validate=True))


def _parses(reader: Callable[[], object]) -> bool:
    try:
        reader()
    except (ValueError, binascii.Error):
        return False
    return True


_DURATION = re.compile(
    r"[-+]?(0|(\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))*)"
)
_UUID = re.compile(r"[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}")
_FORMATS: dict[str, Callable[[str], bool]] = {
    "datetime": _is_date_time,
    "date": lambda text: (
        re.fullmatch(r"\d{4}-\d\d-\d\d", text) is not None and _parses(lambda: date.fromisoformat(text))
    ),
    "duration": lambda text: _DURATION.fullmatch(text) is not None,
    "byte": _is_base64,
    "ipv4": lambda text: _parses(lambda: ipaddress.IPv4Address(text)),
    "ipv6": lambda text: _parses(lambda: ipaddress.IPv6Address(text)),
    "cidr": lambda text: "/" in text and _parses(lambda: ipaddress.ip_interface(text)),
    "uuid": lambda text: _UUID.fullmatch(text) is not None,
}


def fits_format(text: str, name: str) -> bool:
    """Whether a text has the format; one that is not known fits everything."""
    test = _FORMATS.get(name.replace("-", ""))
    return test is None or test(text)


_NUMBER_FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}


def known_format(node: Node) -> str:
    """The format, where the server knows it for the type."""
    if not node.format:
        return ""
    if node.types in ((), ("string",)):
        return node.format if node.format.replace("-", "") in _FORMATS else ""
    return node.format if node.format in _NUMBER_FORMATS.get(node.types[0], ()) else ""
