"""What is known of the certificate that the operator makes itself, and of who trusts and shows it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import Enum

from msgspec import Struct

from fairlead.core.ask import Answers, Ask, ReadSecret, Shake
from fairlead.engine.decide.bundles import BundleTarget, Certificate, authorities
from kubeloop.objects.meta import Ref
from kubeloop.sealed import Sealed

AUTHORITY, AUTHORITY_KEY, LEAF, KEY = "ca.crt", "ca.key", "tls.crt", "tls.key"
NEXT = "next-"
OLD, PHASE, SINCE = "old-ca.crt", "phase", "phase-since"


BACKDATED = timedelta(minutes=10)
"""A certificate is valid from a little before it was made, for clocks that are behind."""


class RotationPhase(Enum):
    STEADY = "steady"
    REQUESTED = "requested"
    """Somebody asked for another authority."""
    PREPARED = "prepared"
    TRUSTED = "trusted"
    SWITCHED = "switched"
    RETIRING = "retiring"


class CertificateTimes(Struct, frozen=True, kw_only=True):
    validity: timedelta = timedelta(hours=8760)
    rotate_before: timedelta = timedelta(hours=24)
    authority_validity: timedelta = timedelta(hours=87600)
    authority_rotate_before: timedelta = timedelta(hours=8760)
    overlap: timedelta = timedelta(hours=1)
    """For which an authority stays trusted after the last replica left it."""


class Keys(Struct, frozen=True):
    """A certificate with its authority, as far as they are there and can be read."""

    authority: Certificate | None = None
    leaf: Certificate | None = None
    problem: str = ""
    """Why the certificate cannot be served with its key; empty when it can."""
    can_sign: bool = False
    """Whether the key of the authority is there."""

    def is_usable(self, now: datetime) -> bool:
        held = self.leaf, self.authority
        return not self.problem and all(each is not None and each.is_valid(now) for each in held)


class StoredSecret(Struct, frozen=True):
    """What the Secret holds."""

    version: str
    phase: RotationPhase
    since: datetime | None
    now: Keys
    next: Keys
    old: tuple[Certificate, ...]
    """Authorities that nothing new is served under."""
    entries: Mapping[str, Sealed]


class Endpoint(Struct, frozen=True):
    host: str
    port: int
    replica: str = ""
    """The name of the pod, where the Service tells it."""

    @property
    def title(self) -> str:
        where = f"{self.host}:{self.port}"
        return f"pod/{self.replica} ({where})" if self.replica else where


class RotationSnapshot(Struct, frozen=True, kw_only=True):
    secret: Ref
    labels: Mapping[str, str]
    """Of a Secret that is made here."""
    names: tuple[str, ...]
    """Of the server; the first is the one that API servers ask for."""
    times: CertificateTimes
    manager: str
    """Who the API server is told owns the bundles."""
    about: Ref
    """What Events are about."""
    stored: StoredSecret | None = None
    remembered: tuple[tuple[str, Sealed], ...] = ()
    """The entries of the Secret as they were last read, should somebody delete it."""
    former: Ref | None = None
    """A Secret of earlier releases, whose authority may be in use."""
    former_authorities: tuple[Certificate, ...] = ()
    targets: tuple[BundleTarget, ...] = ()
    trusted_since: datetime | None = None
    """Since when all bundles hold the authority that comes next."""
    endpoints: tuple[Endpoint, ...] = ()
    """Ready addresses of the Service."""
    blind: str = ""
    """Why they are not known; empty when they are."""
    own: str = ""
    """PEM of the certificate that this replica shows."""
    answers: Answers = Answers()

    @property
    def read(self) -> Ask:
        return Ask(ReadSecret(self.secret))

    @property
    def former_read(self) -> tuple[Ask, ...]:
        return () if self.former is None else (Ask(ReadSecret(self.former), is_expected_to_fail=True),)

    @property
    def shakes(self) -> tuple[Ask, ...]:
        return tuple(Ask(Shake(each.host, each.port, self.names[0])) for each in self.endpoints)


def trusted_in(stored: StoredSecret, now: datetime) -> tuple[Certificate, ...]:
    """The authorities of a bundle in this phase, the one that is served under first."""
    current = () if stored.now.authority is None else (stored.now.authority,)
    following = () if stored.next.authority is None else (stored.next.authority,)
    match stored.phase:
        case RotationPhase.TRUSTED:
            return authorities(current, following, stored.old, now=now)
        case RotationPhase.SWITCHED | RotationPhase.RETIRING:
            return authorities(current, stored.old, now=now)
        case _:
            return authorities(current, now=now)
