"""Resource versions: which of two is the later one."""

from __future__ import annotations


def is_later(version: str, than: str) -> bool | None:
    """None, unknown, unless both are numbers; of whatever length, as nobody checks what a proxy makes of one."""
    if len(version) == len(than) and version.isdigit() and than.isdigit() and (version + than).isascii():
        return version > than
    one, other = _rank(version), _rank(than)
    return None if one is None or other is None else one > other


def _rank(version: str) -> tuple[int, str] | None:
    """Numbers compare like their length and then their digits: `9` (1, "9") comes before `10` (2, "10")."""
    if not (version.isascii() and version.isdigit()):
        return None
    digits = version.lstrip("0")
    return len(digits), digits
