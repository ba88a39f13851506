"""Whether a workload must be rolled: by a hash of what its user asked for, which outlives versions of the operator.

What is hashed is the body of the user and never what the operator makes of it, so that another image of a helper,
another default or another label rolls nothing. A hash has the number of the way in which it was made. Where that is not
today's number, the old way is applied to today's body: equal means that the user has changed nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct

from fairlead.core.domain import DOMAIN

ROLLOUT_HASH = f"{DOMAIN}/rollout-hash"
ROLLOUT_HASH_VERSION = f"{DOMAIN}/rollout-hash-version"

Way: TypeAlias = Callable[[Mapping[str, Any]], str]


class HashChange(Enum):
    NONE = "none"
    RESTAMP = "restamp"
    """The user has changed nothing; the note on the workload is renewed, and its template stays."""
    UNKNOWN = "unknown"
    """Nobody can tell any more: treated as if nothing had changed, and told."""
    ROLL = "roll"


class HashWays(Struct, frozen=True):
    """The ways in which a part makes hashes, by number; the highest is today's."""

    ways: Mapping[int, Way]

    @property
    def number(self) -> int:
        return max(self.ways)

    def note(self, body: Mapping[str, Any]) -> dict[str, str]:
        """Annotations of a workload that is as this body asks."""
        return {ROLLOUT_HASH: self.ways[self.number](body), ROLLOUT_HASH_VERSION: f"{self.number}"}

    def change(self, body: Mapping[str, Any], annotations: Mapping[str, str]) -> HashChange:
        """What has changed since the workload got these annotations."""
        noted, number = annotations.get(ROLLOUT_HASH, ""), annotations.get(ROLLOUT_HASH_VERSION, "")
        way = next((each for name, each in self.ways.items() if f"{name}" == number), None)
        if not noted or way is None:
            return HashChange.UNKNOWN
        if way(body) != noted:
            return HashChange.ROLL
        return HashChange.NONE if number == f"{self.number}" else HashChange.RESTAMP


def hash_of(body: Mapping[str, Any]) -> str:
    """Of the body as sorted JSON without spaces, in hexadecimal digits."""
    return hashlib.sha256(msgspec.json.encode(body, order="sorted")).hexdigest()
