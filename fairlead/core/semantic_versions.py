"""Semantic versions and their precedence: 1.2.0-rc1 comes before 1.2.0, and what follows a plus sign does not count."""

from __future__ import annotations

import re
from typing import TypeAlias

from msgspec import Struct

_NUMBER = r"0|[1-9]\d*"
_IDENTIFIER = rf"(?:{_NUMBER}|\d*[A-Za-z-][0-9A-Za-z-]*)"
_VERSION = re.compile(
    rf"({_NUMBER})\.({_NUMBER})\.({_NUMBER})(?:-({_IDENTIFIER}(?:\.{_IDENTIFIER})*))?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)
Precedence: TypeAlias = tuple[int, int, int, bool, tuple[tuple[bool, int, str], ...]]


class SemanticVersion(Struct, frozen=True):
    major: int
    minor: int
    patch: int
    pre_release: tuple[str, ...] = ()

    @property
    def precedence(self) -> Precedence:
        """Compares as versions do: numbers as numbers and before words, and a release after all that led to it."""
        words = tuple((not each.isdecimal(), int(each) if each.isdecimal() else 0, each) for each in self.pre_release)
        return (self.major, self.minor, self.patch, not self.pre_release, words)

    @property
    def line(self) -> tuple[int, int]:
        """Major and minor: versions of one line work with the same objects."""
        return (self.major, self.minor)


def parse(text: str) -> SemanticVersion | None:
    """None for what is no semantic version."""
    found = _VERSION.fullmatch(text)
    if found is None:
        return None
    words = tuple(found[4].split(".")) if found[4] else ()
    return SemanticVersion(int(found[1]), int(found[2]), int(found[3]), words)
