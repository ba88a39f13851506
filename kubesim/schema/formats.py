"""Formats that a schema may demand of strings and numbers; what is not known here demands nothing."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from collections.abc import Callable
from datetime import date
from unicodedata import category

from kubeloop.schemas.structural import Node


def _is_date(text: str) -> bool:
    return re.fullmatch(r"\d{4}-\d\d-\d\d", text) is not None and _parses(lambda: date.fromisoformat(text))


def _is_date_time(text: str) -> bool:
    # RFC 3339, but for any sign before the fraction, as the server's pattern has it.
    day, _, rest = text.lower().partition("t")
    found = re.fullmatch(r"(\d\d):(\d\d):(\d\d)(?:.\d+)?(?:z|[+-]\d\d:\d\d)", rest)
    return found is not None and _is_date(day) and found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


def _is_duration(text: str) -> bool:
    """Go's form, or any number before a unit that people write."""
    return _DURATION.fullmatch(text) is not None or any(
        _UNIT.fullmatch(unit.lower()) for unit in re.findall(r"\d+\s*([A-Za-zµ]+)", text)
    )


def _is_host_name(text: str) -> bool:
    """Signs such as `=` are taken like digits, as the server's pattern has it."""
    plain = "".join("0" if category(sign)[0] == "S" else sign for sign in text)
    return (
        _HOST_NAME.fullmatch(plain) is not None
        and len(text.encode()) <= _LONGEST_HOST_NAME
        and all(len(part.encode()) <= _LONGEST_LABEL for part in text.split("."))
    )


def _is_uri(text: str) -> bool:
    return text.startswith("/") or re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", text) is not None


def _is_base64(text: str) -> bool:
    return text != "" and _parses(lambda: base64.b64decode(text, validate=True))


def _is_isbn10(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    values = (
        [10 if digit == "X" else int(digit) for digit in digits] if re.fullmatch(r"[0-9]{9}[0-9X]", digits) else [1]
    )
    return sum(place * value for place, value in enumerate(values, 1)) % 11 == 0


def _is_isbn13(text: str) -> bool:
    digits = re.sub(r"[\s-]+", "", text)
    odd, even = (sum(map(int, digits[start::2])) if digits.isdecimal() else 1 for start in (0, 1))
    return re.fullmatch(r"[0-9]{13}", digits) is not None and (odd + 3 * even) % 10 == 0


def _is_credit_card(text: str) -> bool:
    """Of an issuer whose numbers are known, with the right last digit; signs between the digits do not count."""
    digits = re.sub(r"[^0-9]+", "", text)
    own, doubled = digits[::-2], (str(2 * int(digit)) for digit in digits[-2::-2])
    return _CARD.fullmatch(digits) is not None and sum(map(int, own + "".join(doubled))) % 10 == 0


def _is_mac(text: str) -> bool:
    """Hexadecimal digits of 6, 8 or 20 bytes: in pairs, in fours, or all together."""
    form = r"(?i)[0-9a-f]{2}(?:([:-])[0-9a-f]{2}(?:\1[0-9a-f]{2})*)|[0-9a-f]{4}(?:\.[0-9a-f]{4})+|[0-9a-f]+"
    return re.fullmatch(form, text) is not None and len(re.sub(r"[:.-]", "", text)) in (12, 16, 40)


def _parses(reader: Callable[[], object]) -> bool:
    try:
        reader()
    except (ValueError, binascii.Error):
        return False
    return True


_DURATION = re.compile(
    r"[-+]?(0|(\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))*)"
)
_EMAIL = re.compile(r"(?:[^<>@]*<)?[^\s<>@]+@[^\s<>@]+>?")
_UNIT = re.compile(r"ns|nano.*|us|µs|micro.*|ms|milli.*|s|sec.*|m|min.*|h|hr|hour.*|d|day.*|w|wk|week.*")
_LETTER = r"[^\W_]"
_HOST_NAME = re.compile(
    rf"{_LETTER}(?:-?{_LETTER}{{0,62}})?|(?:{_LETTER}(?:(?:{_LETTER}|-){{0,61}}{_LETTER})?\.)+[^\W\d_]{{2,63}}"
)
_LONGEST_HOST_NAME, _LONGEST_LABEL = 255, 63
_CARD = re.compile(
    r"4[0-9]{12}([0-9]{3})?|5[1-5][0-9]{14}|6(011|5[0-9]{2})[0-9]{12}|3[47][0-9]{13}|3(0[0-5]|[68][0-9])[0-9]{11}|"
    r"(2131|1800|35[0-9]{3})[0-9]{11}"
)
_NAME = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_COLOUR = r"\s*(0|[1-9]\d?|1\d\d?|2[0-4]\d|25[0-5])\s*"


def _like(pattern: str, longest: int | None = None) -> Callable[[str], bool]:
    expression = re.compile(pattern, re.ASCII)
    return lambda text: expression.fullmatch(text) is not None and (longest is None or len(text) <= longest)


def _uuid(version: str, variant: str = "[0-9a-f]") -> Callable[[str], bool]:
    """Upper case and missing hyphens are all right."""
    return _like(rf"(?i)[0-9a-f]{{8}}-?[0-9a-f]{{4}}-?{version}[0-9a-f]{{3}}-?{variant}[0-9a-f]{{3}}-?[0-9a-f]{{12}}")


_FORMATS: dict[str, Callable[[str], bool]] = {
    "datetime": _is_date_time,
    "date": _is_date,
    "duration": _is_duration,
    "byte": _is_base64,
    "ipv4": lambda text: _parses(lambda: ipaddress.IPv4Address(text)),
    "ipv6": lambda text: _parses(lambda: ipaddress.IPv6Address(text)),
    "cidr": lambda text: "/" in text and _parses(lambda: ipaddress.ip_interface(text)),
    "uuid": _uuid("[0-9a-f]"),
    "uuid3": _uuid("3"),
    "uuid4": _uuid("4", "[89ab]"),
    "uuid5": _uuid("5", "[89ab]"),
    "email": lambda text: _EMAIL.fullmatch(text) is not None,
    "hostname": _is_host_name,
    "uri": _is_uri,
    "mac": _is_mac,
    "isbn": lambda text: _is_isbn10(text) or _is_isbn13(text),
    "isbn10": _is_isbn10,
    "isbn13": _is_isbn13,
    "creditcard": _is_credit_card,
    "bsonobjectid": _like(r"[0-9a-fA-F]{24}"),
    "ssn": _like(r"\d{3}[- ]?\d{2}[- ]?\d{4}"),
    "hexcolor": _like(r"#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})"),
    "rgbcolor": _like(rf"rgb\({_COLOUR},{_COLOUR},{_COLOUR}\)"),
    "k8sshortname": _like(_NAME, 63),
    "k8slongname": _like(rf"{_NAME}(\.{_NAME})*", 253),
}


def fits_format(text: str, name: str) -> bool:
    """Whether a text has the format; one that is not known fits everything."""
    test = _FORMATS.get(name.replace("-", ""))
    return test is None or test(text)


_NUMBER_FORMATS = {"integer": ("int32", "int64"), "number": ("float", "double")}


def is_known(kind: str, name: str) -> bool:
    """Whether the server knows the format for values of a type."""
    if kind in ("", "string"):
        return name.replace("-", "") in _FORMATS
    return name in _NUMBER_FORMATS.get(kind, ())


def known_format(node: Node) -> str:
    """The format, where the server knows it for the type."""
    kind = node.types[0] if node.types else ""
    return node.format if node.format and is_known(kind, node.format) else ""
