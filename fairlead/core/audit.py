"""The audit line: one record per effect on the world, complete enough to check a forecast against."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

CALL = "call"
"""What an outside call does."""
SWAP_RECORD = "swap-record"


class AuditLine(Struct, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    time: datetime
    round: str
    """The same for all effects of a round; of a review, its UID."""
    key: str
    rule: str
    reason: str
    does: str
    """The meaning of a write, CALL or SWAP_RECORD."""
    verb: str
    subject: str
    outcome: str
    """`ok`, `gone` (nothing was left to do), or the error in one sentence."""
    change_from: str = ""
    change_to: str = ""
    precondition: str = ""
    resource_version: str = ""
    seen_digest: str = ""
