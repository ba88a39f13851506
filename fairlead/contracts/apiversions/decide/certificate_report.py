"""How the certificate of webhooks stands (section 3.8), from what the Secret holds and from who trusts it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from fairlead.engine.decide.bundles import BundleTarget, Certificate
from fairlead.engine.decide.rotation_snapshot import RotationPhase, StoredSecret

SOON = timedelta(days=30)


class CertificateValidity(Struct, frozen=True, rename="camel"):
    """A certificate, as people are told of it."""

    not_before: datetime
    not_after: datetime

    @classmethod
    def of(cls, certificate: Certificate | None) -> CertificateValidity | None:
        return None if certificate is None else cls(certificate.not_before, certificate.not_after)


class TrustReport(Struct, frozen=True, rename="camel"):
    """One object by which API servers learn whom to trust."""

    kind: str
    name: str
    trusts: bool
    """Whether it holds the authority of what is served."""
    authorities: int
    first_end: datetime | None
    keeper: str


class CertificateReport(Struct, frozen=True, rename="camel"):
    secret: str
    made_by: str
    """`fairlead`, or `others` whose certificate has no key of its authority beside it."""
    phase: str
    since: datetime | None
    names: tuple[str, ...]
    certificate: CertificateValidity | None
    authority: CertificateValidity | None
    trusted_by: tuple[TrustReport, ...]
    problems: tuple[str, ...]


def report(
    secret: str, stored: StoredSecret, names: tuple[str, ...], targets: Sequence[BundleTarget], now: datetime
) -> CertificateReport:
    """`names` are those of the certificate; `targets` name a Service in the operator's namespace."""
    current = stored.now
    is_ours = current.can_sign
    trusted = tuple(_trust(each, current.authority) for each in targets)
    return CertificateReport(
        secret=secret,
        made_by="fairlead" if is_ours else "others",
        phase=stored.phase.value,
        since=stored.since,
        names=names,
        certificate=CertificateValidity.of(current.leaf),
        authority=CertificateValidity.of(current.authority),
        trusted_by=trusted,
        problems=tuple(_problems(secret, stored, trusted, now)),
    )


def _trust(target: BundleTarget, authority: Certificate | None) -> TrustReport:
    held = {one.pem: one for place in target.places for one in place.held}
    return TrustReport(
        kind=target.ref.resource.kind,
        name=target.ref.name,
        trusts=authority is not None and authority.pem in target.held,
        authorities=len(held),
        first_end=min((each.not_after for each in held.values()), default=None),
        keeper=target.keeper,
    )


def _problems(secret: str, stored: StoredSecret, trusted: Sequence[TrustReport], now: datetime) -> list[str]:
    found = []
    if stored.now.problem:
        found.append(f"Secret {secret} {stored.now.problem}")
    leaf = stored.now.leaf
    if leaf is not None and not stored.now.can_sign and timedelta() < leaf.not_after - now < SOON:
        found.append(f"the certificate ends on {leaf.not_after:%Y-%m-%d}: others made it, and others renew it")
    for each in trusted:
        if each.authorities and not each.trusts and stored.now.authority is not None:
            who = f"{each.keeper} keeps its bundle" if each.keeper else "the leader writes it; see that one runs"
            found.append(f"{each.kind} {each.name} does not trust the authority in the Secret: {who}")
    if stored.phase is RotationPhase.REQUESTED:
        found.append("a rotation was asked for, and no leader has begun it yet")
    return found
