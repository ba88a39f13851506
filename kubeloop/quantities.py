"""Quantities as the server reads and writes them: `1000m` becomes `1`, `0.5` becomes `500m`, `1024Mi` becomes `1Gi`.

What the server takes for canonical it keeps as it was written, so `+5` and `1.500` stay. The steps follow the server's
parser, because which texts it keeps depends on them.
"""

from __future__ import annotations

from decimal import ROUND_UP, Decimal, localcontext
from functools import lru_cache

from msgspec import Struct

FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_SUFFIX = "unable to parse quantity's suffix"
_REMEMBERED = 4096
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIX = {power: suffix for suffix, power in _DECIMAL.items()}
_BINARY_SUFFIX = {0: "", **{power: suffix for suffix, power in _BINARY.items()}}
_LETTERS = "eEinumkKMGTP"
_DIGITS = "0123456789"
_MOST_DIGITS = 18
_MOST = 2**63 - 1
_NANO, _MILLI, _KILO = -9, -3, 1024
_SI, _EXPONENT, _BINARY_SI = "decimal", "exponent", "binary"
_PRECISION = 200


class _Number(Struct, frozen=True):
    """What a text stands for: `unscaled` times a power of ten."""

    unscaled: int
    scale: int
    format: str
    text: str = ""
    """As it was written, where that is canonical."""
    is_big: bool = False
    """It does not fit into the server's fast form."""


@lru_cache(_REMEMBERED)
def canonical(text: str) -> str:
    """The text as the server writes it; ValueError with the server's words for one that is no quantity."""
    number = _parsed(text)
    return number.text or _written(number)


@lru_cache(_REMEMBERED)
def in_millis(text: str) -> str:
    """The same, rounded up to thousandths: as the resources of pods, nodes and claims are."""
    number = _parsed(text)
    if number.is_big or number.scale < _MILLI:
        number = _rounded(number)
    return number.text or _written(number)


@lru_cache(_REMEMBERED)
def number(text: str) -> Decimal:
    """What the text stands for, so that `1000m` and `1` are equal; ValueError as of `canonical`."""
    parsed = _parsed(text)
    with localcontext() as context:
        context.prec = _PRECISION
        return Decimal(parsed.unscaled).scaleb(parsed.scale)


def total(*terms: tuple[str, int]) -> str:
    """The sum of amounts, each so many times, as the server writes it: in the way of the first that is not zero."""
    parsed = [(_parsed(text), times) for text, times in terms]
    with localcontext() as context:
        context.prec = _PRECISION
        amount = sum((Decimal(each.unscaled).scaleb(each.scale) * times for each, times in parsed), Decimal(0))
    formats = (each.format for each, times in parsed if each.unscaled and times)
    return _written(_number(amount, next(formats, _SI)))


def quantity(value: object) -> Decimal:
    """What a value of a field stands for, also when it is a plain number; 0 for anything that is no quantity."""
    try:
        return number(str(value))
    except ValueError:
        return Decimal(0)


def _parsed(text: str) -> _Number:
    if not text:
        raise ValueError(FORMAT)
    if text == "0":
        return _Number(0, 0, _SI, text)
    whole, fraction, suffix = _split(text)
    kind, power = _interpreted(suffix)
    shifted = whole + fraction
    if kind == _BINARY_SI:
        is_small = not fraction and 15 - len(whole) - int(power * 3 / 10) - 1 >= 0
        scale, factor = 0, 1 << power
    else:
        is_small = len(shifted) <= _MOST_DIGITS
        scale, factor = power - len(fraction), 1
    value = int(shifted)
    unscaled = -value * factor if text[0] == "-" else value * factor
    if is_small and scale >= _NANO and abs(unscaled) <= _MOST:
        if kind == _BINARY_SI:
            as_is = bool(value & 0x07)
        else:
            as_is = scale % 3 == 0 and not shifted.endswith("000") and shifted[0] != "0"
        return _Number(unscaled, scale, kind, text if as_is else "")
    if kind == _BINARY_SI:
        scale -= len(fraction)
    return _capped(unscaled, scale, kind)


def _split(text: str) -> tuple[str, str, str]:
    """Digits before the point without leading zeros, digits behind it, and the suffix."""
    end = len(text)
    start = 1 if text[0] in "+-" else 0
    while start < end and text[start] == "0":
        start += 1
    if start == end:
        return "0", "", ""
    at = _past(text, start, _DIGITS)
    whole = text[start:at] or "0"
    fraction = ""
    if at < end and text[at] == ".":
        start = at + 1
        at = _past(text, start, _DIGITS)
        fraction = text[start:at]
    start = at
    at = _past(text, at, _LETTERS)
    if at < end and text[at] in "+-":
        at += 1
    if _past(text, at, _DIGITS) < end:
        raise ValueError(FORMAT)
    return whole, fraction, text[start:]


def _past(text: str, at: int, signs: str) -> int:
    while at < len(text) and text[at] in signs:
        at += 1
    return at


def _interpreted(suffix: str) -> tuple[str, int]:
    if suffix in _DECIMAL:
        return _SI, _DECIMAL[suffix]
    if suffix in _BINARY:
        return _BINARY_SI, _BINARY[suffix]
    if len(suffix) > 1 and suffix[0] in "eE":
        try:
            return _EXPONENT, int(suffix[1:])
        except ValueError:
            pass
    raise ValueError(_SUFFIX)


def _capped(unscaled: int, scale: int, kind: str) -> _Number:
    """A number of any size: rounded up to billionths, and no larger than a binary one may be."""
    with localcontext() as context:
        context.prec = _PRECISION
        amount = Decimal(unscaled).scaleb(scale)
        if amount and scale < _NANO:
            amount = amount.quantize(Decimal(1).scaleb(_NANO), rounding=ROUND_UP)
        if kind == _BINARY_SI and abs(amount) > _MOST:
            amount = Decimal(_MOST).copy_sign(amount)
        if kind == _BINARY_SI and 0 < abs(amount) < 1:
            kind = _SI
    return _number(amount, kind)


def _number(amount: Decimal, kind: str) -> _Number:
    sign, digits, exponent = amount.as_tuple()
    unscaled = int("".join(map(str, digits)) or "0")
    return _Number(-unscaled if sign else unscaled, int(exponent), kind, is_big=True)


def _rounded(number: _Number) -> _Number:
    with localcontext() as context:
        context.prec = _PRECISION
        amount = Decimal(number.unscaled).scaleb(number.scale)
        if number.scale < _MILLI:
            amount = amount.quantize(Decimal(1).scaleb(_MILLI), rounding=ROUND_UP)
    return _number(amount, number.format)


def _written(number: _Number) -> str:
    value, power = number.unscaled, number.scale
    if not value:
        return "0"
    while not value % 10:
        value, power = value // 10, power + 1
    if number.format == _BINARY_SI and power >= 0 and abs(value * 10**power) >= _KILO:
        value, power = value * 10**power, 0
        while not value % _KILO:
            value, power = value // _KILO, power + 10
        return f"{value}{_BINARY_SUFFIX.get(power, '')}"
    while power % 3:
        value, power = value * 10, power - 1
    if number.format == _EXPONENT:
        return f"{value}e{power}" if power else str(value)
    return f"{value}{_DECIMAL_SUFFIX.get(power, '')}"
