"""What becomes of an authority that is kept with its key, and of the certificate that it has signed.

Whatever cannot be used, or has less than ninety days left, is made again: the certificate alone as long as its
authority serves, so that nobody needs to trust anything new; else both.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TypeAlias

from msgspec import Struct

LEAST_LEFT = timedelta(days=90)
"""That an authority or a certificate is used with."""
LOOKED_AT = timedelta(hours=12)
"""Between two looks at what nobody has changed."""


SETTLED = 2 * LOOKED_AT
"""After so long every replica has looked at what is stored, and serves it."""


class Worth(Struct, frozen=True):
    """What is known of a certificate with its key."""

    problem: str = ""
    """Why it cannot be used, whatever the time; empty when it can."""
    not_before: datetime | None = None
    not_after: datetime | None = None

    def lacks(self, now: datetime) -> str:
        """Why it is to be made again; empty when it is not."""
        if self.problem:
            return self.problem
        if self.not_before is not None and self.not_before > now:
            return f"is not valid before {self.not_before}"
        if self.not_after is None or self.not_after - now < LEAST_LEFT:
            return f"is valid until {self.not_after}"
        return ""


class Keep(Struct, frozen=True):
    """Serve it as it is."""


class Sign(Struct, frozen=True):
    """The authority signs another certificate."""

    why: str


class Renew(Struct, frozen=True):
    """Another authority, and a certificate that it signs."""

    why: str


AuthorityFate: TypeAlias = Keep | Sign | Renew


def fate_of(authority: Worth, certificate: Worth, now: datetime) -> AuthorityFate:
    if why := authority.lacks(now):
        return Renew(f"the authority {why}")
    if why := certificate.lacks(now):
        return Sign(f"the certificate {why}")
    return Keep()


def is_settled(certificate: Worth, now: datetime) -> bool:
    """Whether nobody serves what was stored before it, so that its authority alone need be trusted."""
    return certificate.not_before is not None and now - certificate.not_before >= SETTLED
