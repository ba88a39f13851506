"""Section 3.8: image references, their tags, the versions these spell, images that go together, allowed upgrades.

A tag that spells no version (`latest`, a branch, a digest alone) is trusted: it counts as newer than everything, and
whoever uses it may upgrade from and to it.
"""

from __future__ import annotations

import re

from msgspec import Struct

_SEMVER = re.compile(
    r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)"
    r"(?:-((?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*))*))?"
    r"(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?",
    re.ASCII,
)


class SemVer(Struct, frozen=True):
    """A SemVer 2.0 version without its build metadata, ordered by precedence."""

    major: int
    minor: int
    patch: int
    pre: tuple[str, ...] = ()

    def __lt__(self, other: SemVer) -> bool:
        return self._precedence < other._precedence

    def __le__(self, other: SemVer) -> bool:
        return self._precedence <= other._precedence

    def __gt__(self, other: SemVer) -> bool:
        return self._precedence > other._precedence

    def __ge__(self, other: SemVer) -> bool:
        return self._precedence >= other._precedence

    def __str__(self) -> str:
        core = f"{self.major}.{self.minor}.{self.patch}"
        return f"{core}-{'.'.join(self.pre)}" if self.pre else core

    @property
    def _precedence(self) -> tuple[int, int, int, bool, tuple[tuple[bool, int, str], ...]]:
        """A release comes after its pre-releases; numbers compare as numbers and before words, more parts after fewer.

        1.0.0-alpha < 1.0.0-alpha.1 < 1.0.0-alpha.beta < 1.0.0-beta.2 < 1.0.0-beta.11 < 1.0.0
        """
        parts = tuple((False, int(part), "") if part.isdecimal() else (True, 0, part) for part in self.pre)
        return self.major, self.minor, self.patch, not self.pre, parts


def tag_of(ref: str) -> str | None:
    """The tag of an image reference; a port of the registry is none, nor is a digest."""
    name = ref.partition("@")[0].rpartition("/")[2]
    _, colon, tag = name.rpartition(":")
    return tag if colon else None


def version_of(ref: str) -> SemVer | None:
    """The version that the tag spells: `v`, then SemVer with `--` in place of `+`, which a tag cannot hold."""
    tag = tag_of(ref)
    return parsed(tag[1:].replace("--", "+")) if tag is not None and tag.startswith("v") else None


def parsed(text: str) -> SemVer | None:
    """None where the text is no SemVer 2.0 version."""
    found = _SEMVER.fullmatch(text)
    if found is None:
        return None
    major, minor, patch, pre = found.groups()
    return SemVer(int(major), int(minor), int(patch), tuple(pre.split(".")) if pre else ())


def at_least(ref: str, version: str) -> bool:
    """Whether the image has what came with that version; one of unknown version has."""
    least = parsed(version)
    if least is None:
        raise ValueError(f"{version!r} is not a version")
    found = version_of(ref)
    return found is None or found >= least


def companion(ref: str, name: str, tag: str = "") -> str:
    """The image of that name beside this one, with the tag given, else with its tag."""
    folder = ref.rpartition("/")[0] or "materialize"
    return f"{folder}/{name}:{tag or tag_of(ref) or 'latest'}"


def refused_upgrade(running: str, wanted: str) -> str:
    """Why the environment may not go from one image to the other, and where it may go; empty when it may."""
    before, after = version_of(running), version_of(wanted)
    if before is None or after is None:
        return ""
    allowed = _way(before, after)
    return f"Refusing to upgrade from {running} to {wanted}. {allowed}" if allowed else ""


def _way(before: SemVer, after: SemVer) -> str:
    """What is allowed instead; empty when this step is."""
    if after < before:
        return f"Downgrades are not possible: use an image of version v{before} or later."
    if before.major == 0:
        return _way_from_zero(before, after)
    if before.major >= 26 and after.major > before.major + 1:
        return f"Major versions cannot be skipped: upgrade to a version v{before.major + 1} first."
    return ""


def _way_from_zero(before: SemVer, after: SemVer) -> str:
    if after.major == 0:
        if after.minor <= before.minor + 1 or (before.minor, after.minor) == (130, 147):
            return ""
        reachable = "v0.131 or v0.147" if before.minor == 130 else f"v0.{before.minor + 1}"
        return f"Minor versions cannot be skipped: upgrade to a version {reachable} first."
    if after.major != 26:
        return "From v0 only versions v26 can be reached: upgrade to one of those first."
    if before.minor >= 164 or (before.minor == 147 and before.patch >= 20):
        return ""
    return "Upgrade to v0.147.20 or a later patch of v0.147, or to v0.164 or later, first."
