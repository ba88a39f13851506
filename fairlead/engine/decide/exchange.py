"""When a replica shows another certificate: once it is trusted everywhere, and API servers have had time to see that.

Whatever is shown now and cannot serve anybody is exchanged at once.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from fairlead.engine.decide.certificate import CertificateFacts
from fairlead.engine.decide.rotation import SETTLING


class Show(Struct, frozen=True):
    """From now on."""


class ShowLater(Struct, frozen=True):
    """Until then, or until bundles change; None: only that."""

    until: datetime | None = None


def exchange(served: CertificateFacts, trusted_since: datetime | None, now: datetime) -> Show | ShowLater:
    """`trusted_since`: since when all bundles trust what is to be shown; None: they do not."""
    if served.problem or served.not_after is None or served.not_after <= now:
        return Show()
    if trusted_since is None:
        return ShowLater(served.not_after)
    settled = trusted_since + SETTLING
    return Show() if settled <= now else ShowLater(min(settled, served.not_after))
