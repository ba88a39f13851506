"""What a call costs at most, beyond its arguments, and how large its result can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from kubesim.cel.sizes import LARGEST, ONE, UNKNOWN, Size, capped, scaled
from kubesim.cel.types import Overload, Type

_READ = 0.1
"""Going through one character."""
_PATTERN = 0.25
"""One character of a pattern, for each that it is matched with."""
_CALL, _NEW_LIST = 1, 10
_ADDRESS = Size(4, 16)
"""Bytes of an address."""
_LONGEST_FORMAT, _LONGEST_NAME_PATTERN = 64, 128
_WIDEST = 4
Known = Callable[[tuple[str, ...]], Size | None]
"""What a schema says of a path."""


class Argument(Struct, frozen=True):
    type: Type
    path: tuple[str, ...]
    size: Size | None
    number: int | None
    """Where it is a whole number that stands in the expression."""

    @property
    def measured(self) -> Size:
        return UNKNOWN if self.size is None else self.size


class Estimate(Struct, frozen=True):
    cost: int = _CALL
    size: Size | None = None

    @staticmethod
    def of_list(size: Size, factor: float = 1.0) -> Estimate:
        """A new list is made."""
        return Estimate(capped(scaled(size.high, factor) + _CALL + _NEW_LIST), size)


def call_estimate(function: str, overload: Overload, args: Sequence[Argument], known: Known) -> Estimate:
    """The estimate of one overload; what a function is called on is the first argument."""
    takes = overload.takes[0].name if overload.takes else ""
    if function in _LISTS and takes == "list":
        return _LISTS[function](args, known)
    if function in _TEXTS and overload.is_member and takes == "string":
        return _TEXTS[function](args)
    match function:
        case "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" if overload.is_member:
            return _compared(args, known)
        case "_==_" | "_!=_":
            return _equality(function, args)
        case "_<_" | "_<=_" | "_>_" | "_>=_" if takes in ("string", "bytes"):
            return _both_read(args)
        case "_+_" if takes in ("string", "bytes", "list"):
            size = args[0].measured + args[1].measured
            return Estimate(_CALL if takes == "list" else scaled(size.high, _READ), size)
        case "@in" if overload.takes[1].name == "list":
            return Estimate(args[1].measured.high)
        case _:
            return _of_values(function, takes, args)


def _of_values(function: str, takes: str, args: Sequence[Argument]) -> Estimate:
    size = args[0].measured if args else UNKNOWN
    read = scaled(size.high, _READ)
    match function, takes:
        case "url", _:
            return Estimate(read, size)
        case "bytes", "string":
            return Estimate(read, Size(size.low, capped(size.high * _WIDEST)))
        case "string", "bytes":
            return Estimate(read, Size(size.low // _WIDEST, size.high))
        case "strings.quote", _:
            return Estimate(read, Size(size.low + 2, capped(size.high * 2 + 2)))
        case (("cidr" | "isIP" | "isCIDR" | "quantity" | "isQuantity" | "semver" | "isSemver"), _) | ("ip", "string"):
            return Estimate(read)
        case "ip.isCanonical", _:
            return Estimate(scaled(size.high, 2 * _READ))
        case _:
            return _of_two(function, args)


def _of_two(function: str, args: Sequence[Argument]) -> Estimate:
    match function:
        case "validate":
            read = scaled(args[1].measured.high, _READ)
            return Estimate(scaled(read, _LONGEST_NAME_PATTERN * _PATTERN))
        case "containsIP" | "containsCIDR":
            return _contained(function, args[1])
        case "sets.contains" | "sets.intersects" | "sets.equivalent":
            each = 2 if function == "sets.equivalent" else 1
            return Estimate(capped(scaled((args[0].measured * args[1].measured).high, each) + _CALL))
        case "lists.range":
            most = LARGEST if args[0].number is None else args[0].number
            return Estimate.of_list(Size(most, most))
        case _:
            return Estimate()


def _contained(function: str, other: Argument) -> Estimate:
    cost = scaled((_ADDRESS + _ADDRESS).high, _READ)
    if function == "containsCIDR":
        cost += scaled(_ADDRESS.high, _READ) + 1
    if other.type.name == "string":
        cost += scaled(other.measured.high, _READ)
    return Estimate(capped(cost))


# Comparing


def _equality(function: str, args: Sequence[Argument]) -> Estimate:
    left, right = args
    if function == "_==_" and left.type == right.type:
        match left.type.name:
            case "net.IP" | "net.CIDR" | "kubernetes.Quantity" | "kubernetes.Semver":
                return Estimate()
            case "kubernetes.NamedFormat":
                return Estimate(scaled(_LONGEST_FORMAT, _READ))
            case "kubernetes.URL":
                return Estimate(scaled((right.size or ONE).high, _READ))
    return _both_read(args)


def _both_read(args: Sequence[Argument]) -> Estimate:
    """Two values are compared as far as the smaller goes."""
    return Estimate(scaled(min(each.measured.high for each in args), _READ))


def _compared(args: Sequence[Argument], known: Known) -> Estimate:
    """All items of a list are looked at, or all characters of a text."""
    target = args[0]
    item = _item(target, known)
    if item is None:
        return Estimate(scaled(target.measured.high, _READ))
    each = 1
    if item.type.name in ("string", "bytes"):
        each = capped(each + scaled(item.measured.high, _READ))
    return Estimate(capped(target.measured.high * each))


def _item(items: Argument, known: Known) -> Argument | None:
    """The items of a list as far as its schema tells of them."""
    if not items.type.params:
        return None
    path = (*items.path, "@items") if items.path else ()
    return Argument(items.type.params[0], path, known(path), None)


# Text


def _traversed(args: Sequence[Argument]) -> Estimate:
    size = args[0].measured
    return Estimate(scaled(size.high, _READ), size)


def _replaced(args: Sequence[Argument]) -> Estimate:
    """The longest result is that of the shortest parts replaced by the longest text, as often as can be."""
    size, part, text = (each.measured for each in args[:3])
    times_high = times_low = kept_high = kept_low = 0
    if part.low == 0:
        times_high, kept_high = capped(size.high + 1), size.high
    elif text.high <= part.low:
        kept_high = size.high
    else:
        times_high = -(-size.high // part.low)
    if part.high == 0:
        times_low, kept_low = capped(size.low + 1), size.low
    elif part.high <= text.low:
        kept_low = size.low
    else:
        times_low = -(-size.low // part.high)
    made = Size(times_low, times_high) * text + Size(kept_low, kept_high)
    return Estimate(scaled(size.high, 2 * _READ), made)


def _split(args: Sequence[Argument]) -> Estimate:
    size = args[0].measured
    most = args[2].number if len(args) > 2 and args[2].number is not None else size.high
    return Estimate(scaled(size.high, 2 * _READ), Size(0, most))


def _matched(args: Sequence[Argument]) -> Estimate:
    size = args[0].measured
    read = scaled(capped(size.high + 1), _READ)
    return Estimate(capped(read * scaled(args[1].measured.high, _PATTERN)), Size(0, size.high))


def _contains(args: Sequence[Argument]) -> Estimate:
    text, part = (scaled(each.measured.high, _READ) for each in args)
    return Estimate(capped(text * part))


def _begins(args: Sequence[Argument]) -> Estimate:
    return Estimate(scaled(args[1].measured.high, _READ))


def _formatted(args: Sequence[Argument]) -> Estimate:
    return Estimate(scaled(args[0].measured.high, _READ))


def _joined(args: Sequence[Argument], known: Known) -> Estimate:
    target = args[0]
    size, item = target.measured, _item(target, known)
    made = size * item.measured if item is not None else Size(0, 0)
    if len(args) > 1:
        made += args[1].measured * Size(max(size.low - 1, 0), max(size.high - 1, 0))
    return Estimate(scaled(made.high, _READ), made)


# Lists


def _sliced(args: Sequence[Argument], _known: Known) -> Estimate:
    start = args[1].number or 0
    end = args[0].measured.high if args[2].number is None else args[2].number
    length = (end - start) % (LARGEST + 1)
    return Estimate.of_list(Size(length, length))


def _reversed(args: Sequence[Argument], _known: Known) -> Estimate:
    return Estimate.of_list(args[0].measured)


def _flattened(args: Sequence[Argument], _known: Known) -> Estimate:
    depth = 1 if len(args) == 1 else LARGEST if args[1].number is None else args[1].number
    return Estimate.of_list(args[0].measured, float(depth))


def _distinct(args: Sequence[Argument], _known: Known) -> Estimate:
    return Estimate.of_list(args[0].measured * args[0].measured, 2)


def _sorted(args: Sequence[Argument], _known: Known) -> Estimate:
    """Everything is compared with everything."""
    item = args[0].type.params[0].name if args[0].type.params else "dyn"
    return Estimate.of_list(args[0].measured * args[0].measured, 2.1 if item in ("string", "bytes", "dyn") else 2.0)


_LISTS: dict[str, Callable[[Sequence[Argument], Known], Estimate]] = {
    "slice": _sliced,
    "reverse": _reversed,
    "flatten": _flattened,
    "distinct": _distinct,
    "sort": _sorted,
    "join": _joined,
}
_TEXTS: dict[str, Callable[[Sequence[Argument]], Estimate]] = {
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _traversed),
    "replace": _replaced,
    "split": _split,
    **dict.fromkeys(("find", "findAll"), _matched),
    "matches": lambda args: Estimate(_matched(args).cost),
    "contains": _contains,
    **dict.fromkeys(("startsWith", "endsWith"), _begins),
    "format": _formatted,
}
