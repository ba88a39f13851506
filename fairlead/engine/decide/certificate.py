"""What becomes of the stored certificate: used as it is, made anew, or a sentence for its owner.

A Secret that somebody may have filled by hand is not overwritten while it can be used: only what is empty, expired or
made for another name is replaced, and only what an operator of the contract made is renewed before it expires. What a
pair of certificate and key is worth comes in as facts; reading them is not decided here.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TypeAlias

from msgspec import Struct

KEYS = ("ca", "cert", "key")
RENEW_AFTER = 2 / 3
"""The part of its lifetime after which a certificate is renewed, so that a third is left for whatever goes wrong."""
SURE_TO_END = timedelta(minutes=10)
SETTLING = timedelta(seconds=10)
"""From the moment a new authority is in the configurations to the first use of its certificate: the API server learns
of changed configurations by a watch of its own."""
RETRY = timedelta(seconds=60)
"""Until a renewed certificate that nobody trusts yet is tried again."""
REMINDED = timedelta(days=1)
"""Between two warnings of an end that others are to prevent."""


class CertificateFacts(Struct, frozen=True):
    """What is known of a stored certificate."""

    keys: tuple[str, ...] = KEYS
    """Entries of the Secret that are there and not empty."""
    empty: bool = False
    """Whether the Secret has no entry at all."""
    problem: str = ""
    """Why certificate and key cannot be used together; empty when they can."""
    not_before: datetime | None = None
    not_after: datetime | None = None
    """The earliest end among the certificates served."""
    names: tuple[str, ...] = ()
    """DNS names of the server certificate."""
    by_contract: bool = False
    """Whether authority and certificate have the serial numbers that mark what an operator has made."""


class Use(Struct, frozen=True):
    """Serve it as it is."""


class Make(Struct, frozen=True):
    """Make another one; `why` is for the log."""

    why: str


class Broken(Struct, frozen=True):
    """Not ours to repair; the sentence says what to do."""

    text: str


CertificateFate: TypeAlias = Use | Make | Broken


def fate_of(stored: CertificateFacts | None, secret: str, name: str, now: datetime) -> CertificateFate:
    """What to do with what the Secret holds (None: there is no Secret), wanting a certificate for `name`."""
    if stored is None:
        return Make("there is no Secret")
    if stored.empty:
        return Make("the Secret is empty")
    if missing := [key for key in KEYS if key not in stored.keys]:
        return Broken(_repair(secret, f"has no {' and no '.join(missing)}"))
    if stored.problem:
        return Broken(_repair(secret, stored.problem))
    if has_ended(stored, now):
        return Make("the certificate has expired")
    if is_premature(stored, now):
        return Make(f"the certificate is not valid before {stored.not_before}: the clock that it was made by was ahead")
    if name not in stored.names:
        return Make(f"the certificate is for {', '.join(stored.names) or 'no name'} and not for {name}")
    return Use()


def successor_of(fate: CertificateFate, stored: CertificateFacts | None, *, is_served: bool) -> CertificateFate:
    """What to do with the stored one when the certificate that is served is due: `is_served`, it is the same.

    Only what an operator of the contract made is made anew; another one is used for as long as it can be.
    """
    if isinstance(fate, Use) and stored is not None and stored.by_contract and is_served:
        return Make("it is due to be renewed")
    return fate


def is_ours_to_renew(served: CertificateFacts) -> bool:
    """Else somebody else put it into the Secret, and its successor is looked for again and again."""
    return served.by_contract


def is_reminder_due(served: CertificateFacts, reminded: datetime | None, now: datetime) -> bool:
    """Whether to warn of the end of a certificate that others are to renew."""
    due = renewal_of(served)
    if is_ours_to_renew(served) or due is None or now < due:
        return False
    return reminded is None or now - reminded >= REMINDED


class Serve(Struct, frozen=True):
    """The successor is served from then on."""

    at: datetime
    is_trusted: bool


class KeepServing(Struct, frozen=True):
    """The one before goes on being served; whether its successor is trusted is looked at again then."""

    until: datetime
    last_call: datetime


def handover(served: CertificateFacts, *, is_trusted: bool, now: datetime) -> Serve | KeepServing:
    """When a successor is served instead: when clients trust it, or when what is served is about to end."""
    if is_trusted:
        return Serve(now + SETTLING, is_trusted=True)
    last = last_call(served)
    if last is None or now >= last:
        return Serve(now, is_trusted=False)
    return KeepServing(min(now + RETRY, last), last)


def has_ended(served: CertificateFacts, now: datetime) -> bool:
    """Whether it is of no use to anybody, so that anything else is better."""
    return served.not_after is None or served.not_after <= now


def is_premature(served: CertificateFacts, now: datetime) -> bool:
    """Whether it is one of ours that is not valid yet: made by a clock that was ahead, so that others do not accept it.

    What others made is theirs, and may be meant for later.
    """
    return served.by_contract and served.not_before is not None and now < served.not_before


def until_end(served: CertificateFacts, now: datetime) -> timedelta:
    """For how long a certificate can be served to which no successor is made in this process."""
    if served.not_after is None or is_premature(served, now):
        return timedelta()
    return max(served.not_after - now, timedelta())


def renewal_of(stored: CertificateFacts) -> datetime | None:
    """When a certificate is due to be renewed: after two thirds of its life. Of 365 days that is day 243."""
    if stored.not_before is None or stored.not_after is None:
        return None
    lifetime = stored.not_after - stored.not_before
    return stored.not_before + timedelta(seconds=lifetime.total_seconds() * RENEW_AFTER)


def until_renewal(served: CertificateFacts, now: datetime) -> timedelta | None:
    """How long a certificate is served until it is due to be renewed; None: its life is not known."""
    due = renewal_of(served)
    if due is None:
        return None
    return timedelta() if is_premature(served, now) else max(due - now, timedelta())


def last_call(stored: CertificateFacts) -> datetime | None:
    """When a renewed certificate is served whether or not it is trusted, because the one before it is about to end.

    Ten minutes before that, or a tenth of what is left at the time of renewal: of 365 days ten minutes, of an hour
    two minutes.
    """
    due = renewal_of(stored)
    if due is None or stored.not_after is None:
        return None
    return stored.not_after - min(SURE_TO_END, (stored.not_after - due) / 10)


def _repair(secret: str, problem: str) -> str:
    return f"Secret {secret} {problem}: repair it, or delete it to have a new certificate made"
