"""What the entries of a Secret or of files say of certificates, without what is secret in them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from fairlead.core.ask import Good
from fairlead.engine.certificates import pairs
from fairlead.engine.certificates.issuing import trouble_of
from fairlead.engine.certificates.pairs import Pair, Signer
from fairlead.engine.decide.bundles import Certificate
from fairlead.engine.decide.rotation_snapshot import (
    AUTHORITY,
    AUTHORITY_KEY,
    KEY,
    LEAF,
    NEXT,
    OLD,
    PHASE,
    SINCE,
    Keys,
    RotationPhase,
    StoredSecret,
)
from fairlead.engine.decide.trust import covers


@lru_cache(maxsize=64)
def certificates_in(pem: bytes) -> tuple[Certificate, ...]:
    """Each once, in order; none when they cannot be read."""
    try:
        read = pairs.read(pem) if pem.strip() else []
    except ValueError:
        return ()
    found = {each.public_bytes(Encoding.PEM).decode(): each for each in read}
    return tuple(Certificate(text, each.not_valid_before_utc, each.not_valid_after_utc) for text, each in found.items())


def leaf_of(certificate: bytes) -> Certificate | None:
    """The certificate itself, with the time in which its whole chain is valid."""
    chain = certificates_in(certificate)
    if not chain:
        return None
    return Certificate(chain[0].pem, max(one.not_before for one in chain), min(one.not_after for one in chain))


def pair_of(entries: Mapping[str, bytes]) -> Pair:
    """What is served, with the authority that clients are to trust: without `ca.crt` it is the end of the chain, if
    that is an authority at all."""
    certificate = entries.get(LEAF, b"")
    return Pair(certificate, entries.get(KEY, b""), entries.get(AUTHORITY, b"") or _end_of(certificate))


def trouble_with(pair: Pair, name: str, now: datetime) -> str:
    """Why a pair cannot be served under the name; empty when it can. The words follow what holds it."""
    if missing := [each for each, value in ((LEAF, pair.certificate), (KEY, pair.key)) if not value.strip()]:
        return f"has no {' and no '.join(missing)}"
    facts = pairs.inspected(pair)
    if facts.problem:
        return facts.problem
    if not covers(facts.names, name):
        return f"holds a certificate that is for {', '.join(facts.names) or 'no name'} and not for {name}"
    if facts.not_before is not None and facts.not_before > now:
        return f"holds a certificate that is not valid before {facts.not_before:%Y-%m-%d %H:%M} UTC"
    if facts.not_after is None or facts.not_after <= now:
        return f"holds a certificate that ended on {facts.not_after:%Y-%m-%d %H:%M} UTC"
    return ""


def stored_of(answer: Good, name: str, now: datetime) -> StoredSecret:
    """What was read of a Secret that the operator keeps itself."""
    sealed = dict(answer.sealed)
    entries = {key: each.open() for key, each in sealed.items()}
    return StoredSecret(
        version=answer.version,
        phase=_phase(entries.get(PHASE, b"")),
        since=_time(entries.get(SINCE, b"")),
        now=_keys(entries, "", name, now),
        next=_keys(entries, NEXT, name, now),
        old=certificates_in(entries.get(OLD, b"")),
        entries=sealed,
    )


def _keys(entries: Mapping[str, bytes], prefix: str, name: str, now: datetime) -> Keys:
    own = {each: entries.get(prefix + each, b"") for each in (AUTHORITY, AUTHORITY_KEY, LEAF, KEY)}
    pair = Pair(own[LEAF], own[KEY], own[AUTHORITY])
    return Keys(
        authority=next(iter(certificates_in(own[AUTHORITY])), None),
        leaf=leaf_of(own[LEAF]),
        problem=trouble_with(pair, name, now),
        can_sign=not trouble_of(Signer(own[AUTHORITY], own[AUTHORITY_KEY])),
    )


def _phase(text: bytes) -> RotationPhase:
    """What nobody knows is steady: nothing of a rotation is under way that we began."""
    known = {each.value.encode(): each for each in RotationPhase}
    return known.get(text.strip(), RotationPhase.STEADY)


def _time(text: bytes) -> datetime | None:
    try:
        found = datetime.fromisoformat(text.decode().strip())
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def _end_of(chain: bytes) -> bytes:
    try:
        last = pairs.read(chain)[-1]
        is_authority = last.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (ValueError, IndexError, x509.ExtensionNotFound):
        return b""
    return last.public_bytes(Encoding.PEM) if is_authority else b""
