"""Writes of the Secret that holds the certificate of webhooks; keys stay sealed, and each write is bound to what was
read."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from fairlead.core.act import Create, Does, EventNote, Patch, PatchKind
from fairlead.core.ask import Good
from fairlead.core.decision import Decision, Move
from fairlead.core.reason import Reason
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
    RotationPhase,
    RotationSnapshot,
    StoredSecret,
)
from kubeloop.objects.core import SECRETS
from kubeloop.sealed import Sealed


def as_current(
    minted: Good, old: tuple[Certificate, ...], now: datetime
) -> tuple[dict[str, str | None], tuple[tuple[str, Sealed], ...]]:
    """Entries with what was made as what is served; with authorities that may be in use it is a rotation half-way."""
    shown, keys = msgspec.json.decode(minted.value, type=dict[str, str]), dict(minted.sealed)
    entries: dict[str, str | None] = {LEAF: shown["certificate"], AUTHORITY: shown["authority"]}
    entries |= (
        {**old_entry(old), **phase_entries(RotationPhase.SWITCHED, now)} if old else {PHASE: RotationPhase.STEADY.value}
    )
    return entries, ((KEY, keys["key"]), (AUTHORITY_KEY, keys["authority-key"]))


def old_entry(old: tuple[Certificate, ...]) -> dict[str, str | None]:
    return {OLD: "".join(each.pem for each in old)}


def phase_entries(phase: RotationPhase, now: datetime) -> dict[str, str | None]:
    return {PHASE: phase.value, SINCE: now.isoformat()}


def next_names() -> tuple[str, ...]:
    return tuple(NEXT + name for name in (AUTHORITY, AUTHORITY_KEY, LEAF, KEY))


def _data(entries: Mapping[str, str | None]) -> dict[str, bytes | None]:
    return {name: None if value is None else value.encode() for name, value in entries.items()}


def creating(
    seen: RotationSnapshot, entries: Mapping[str, str | None], sealed: tuple[tuple[str, Sealed], ...], rule: str
) -> Decision:
    secret = seen.secret
    body = {
        "apiVersion": SECRETS.api_version,
        "kind": SECRETS.kind,
        "metadata": {"name": secret.name, "namespace": secret.namespace, "labels": dict(seen.labels)},
        "type": "Opaque",
        "data": _data(entries),
    }
    write = Create(
        resource=SECRETS,
        namespace=secret.namespace,
        name=secret.name,
        body=msgspec.json.encode(body),
        sealed=sealed,
        does=Does.STORE_CERTIFICATE,
        contested=True,
        change_to=rule,
    )
    return Decision(rule, Move(Reason.ROTATING, (write,)))


def storing(
    rule: str,
    seen: RotationSnapshot,
    stored: StoredSecret,
    entries: Mapping[str, str | None],
    sealed: tuple[tuple[str, Sealed], ...] = (),
    tell: EventNote | None = None,
) -> Decision:
    write = Patch(
        ref=seen.secret,
        kind=PatchKind.MERGE,
        body=msgspec.json.encode({"data": _data(entries)}),
        sealed=sealed,
        resource_version=stored.version,
        does=Does.STORE_CERTIFICATE,
        contested=True,
        change_from=stored.phase.value,
        change_to=entries.get(PHASE) or stored.phase.value,
        tell=tell,
    )
    return Decision(rule, Move(Reason.ROTATING, (write,)))


def rotated(seen: RotationSnapshot, text: str) -> EventNote:
    return EventNote(seen.about, warning=False, reason="CertificateRotated", text=text)
