"""The authority and the certificate of webhooks that the operator makes itself, and how both are exchanged.

What stands in the Secret is all that a leader knows, so that the next one goes on where the last one stopped. A new
authority is stored (`prepared`), published beside the one before (`trusted`), served under (`switched`), and stays
beside the one before until that has been left for the overlap (`retiring`). A certificate alone is renewed in one write
that nobody else need know about. Private keys pass through here sealed.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec
from msgspec import structs

from fairlead.core.act import EventNote
from fairlead.core.ask import Answers, Ask, Bad, Good, Mint, Need
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from fairlead.engine.decide.bundles import (
    IMMINENT,
    MIGRATIONS,
    BundleTarget,
    Certificate,
    authorities,
    being_migrated,
    has_surplus,
    lacks,
    others_in,
    writing,
)
from fairlead.engine.decide.registration import DEFINITIONS
from fairlead.engine.decide.rotation_snapshot import (
    AUTHORITY,
    AUTHORITY_KEY,
    BACKDATED,
    KEY,
    LEAF,
    NEXT,
    OLD,
    PHASE,
    SINCE,
    CertificateTimes,
    Endpoint,
    Keys,
    RotationPhase,
    RotationSnapshot,
    StoredSecret,
    trusted_in,
)
from fairlead.engine.decide.rotation_writes import (
    as_current,
    creating,
    next_names,
    old_entry,
    phase_entries,
    rotated,
    storing,
)
from kubeloop.objects.meta import Ref

SETTLING = timedelta(seconds=10)
"""From the moment a new authority is in all bundles to its first use: API servers learn of it by a watch."""
LOOK_AGAIN = timedelta(seconds=1)
"""Until replicas are asked again what they show."""
BLOCKED_AGAIN = timedelta(seconds=30)
PATIENCE = timedelta(minutes=2)
"""For which a replica may go on showing the certificate before, or not be reached, until people are told."""
MINT_SECONDS = 30.0
SPACING = timedelta(minutes=1)
"""Between a certificate that somebody has made and another in its place: two operators with one Secret and different
names would take turns without a pause."""
REMINDED = timedelta(hours=1)
TAKEN_OVER = "take_over"
"""Of the write after which the Secret says whom to trust beside what it holds; until then nothing of it counts."""


def rotate(seen: RotationSnapshot, now: datetime) -> Decision | Need:
    """The next step; what has ended or is about to is told beside it."""
    stored = _read(seen, now)
    if not isinstance(stored, StoredSecret):
        return stored
    for rule in RULES:
        if (verdict := rule(seen, stored, now)) is not None:
            return verdict if isinstance(verdict, Need) else _with_notes(verdict, seen, stored, now)
    raise TypeError("a certificate is in no phase")


def prepare(seen: RotationSnapshot, now: datetime) -> Decision | Need:
    """What must be done before leading: that there is a Secret."""
    stored = _read(seen, now)
    if not isinstance(stored, StoredSecret):
        return stored
    return take_over(seen, stored, now) or Decision("prepared", Hold(Reason.COMPLETE))


def _read(seen: RotationSnapshot, now: datetime) -> StoredSecret | Decision | Need:
    """What the Secret holds, or what is done about that there is none."""
    if todo := seen.answers.lacking((seen.read,)):
        return Need(todo)
    answer = seen.answers[seen.read]
    if isinstance(answer, Bad) and answer.kind != "absent":
        return Decision("read_again", Hold(Reason.READ_FAILED, details=((str(seen.secret), answer.text),)))
    return seen.stored or _begin(seen, now)


def _begin(seen: RotationSnapshot, now: datetime) -> Decision | Need:
    """There is no Secret: what is served goes on being trusted, and what comes is trusted before it is served."""
    if seen.remembered:
        return creating(seen, {}, seen.remembered, "restore")
    minted = _minted(seen, _both(seen), *seen.former_read)
    if not isinstance(minted, Good):
        return minted
    old = authorities(others_in(seen.targets, (), now), seen.former_authorities, now=now)
    entries, keys = as_current(minted, old, now)
    return creating(seen, entries, keys, "begin")


def mend(seen: RotationSnapshot, stored: StoredSecret, now: datetime) -> Decision | Need | None:
    """What cannot be served is made anew: the certificate alone where its authority can sign, else both."""
    keys = stored.now
    if keys.is_usable(now):
        return None
    if fresh := _just_made(seen, keys, now):
        return fresh
    if keys.can_sign and keys.authority is not None and keys.authority.is_valid(now):
        return renew(seen, stored, now)
    minted = _minted(seen, _both(seen))
    if not isinstance(minted, Good):
        return minted
    old = authorities(others_in(seen.targets, (), now), stored.old, now=now)
    entries, sealed = as_current(minted, old, now)
    return storing("mend", seen, stored, {**dict.fromkeys(next_names()), **entries}, sealed)


def _just_made(seen: RotationSnapshot, keys: Keys, now: datetime) -> Decision | None:
    """Whoever made it a moment ago did not mean us to make another."""
    if keys.leaf is None or not timedelta() <= now - (keys.leaf.not_before + BACKDATED) < SPACING:
        return None
    text = f"{keys.problem}; it was made a moment ago: see whether two operators keep their certificate in this Secret"
    again = keys.leaf.not_before + BACKDATED + SPACING
    return Decision("space_out", Hold(Reason.CERTIFICATE_UNUSABLE, again, ((str(seen.secret), text),)))


def renew(seen: RotationSnapshot, stored: StoredSecret, now: datetime) -> Decision | Need:
    """Another certificate of the same authority: one write, and no bundle changes."""
    authority = stored.now.authority
    if authority is None:
        raise TypeError("an authority that is not there signs nothing")
    key = stored.entries[AUTHORITY_KEY]
    wanted = Mint(seen.names, seen.times.validity, authority=authority.pem, authority_key=key)
    minted = _minted(seen, Ask(wanted, timeout=MINT_SECONDS))
    if not isinstance(minted, Good):
        return minted
    shown = msgspec.json.decode(minted.value, type=dict[str, str])
    tell = rotated(seen, "the certificate of webhooks was renewed under the same authority")
    sealed = ((KEY, dict(minted.sealed)["key"]),)
    return storing("renew", seen, stored, {LEAF: shown["certificate"]}, sealed, tell)


def take_over(seen: RotationSnapshot, stored: StoredSecret, now: datetime) -> Decision | Need | None:
    """Somebody has put another pair into the Secret, such as that of a backup: the authorities of what replicas show
    stay trusted until all of them show this one. None where nobody has."""
    leaf, displaced = stored.now.leaf, _displaced(seen, stored, now)
    if leaf is None or not displaced:
        return None
    if seen.blind:  # an exchange would never end, so only what is known to be shown begins one
        behind = shown_elsewhere((), (), seen.own, leaf, seen.answers)
    else:
        behind = shown_elsewhere(seen.endpoints, seen.shakes, seen.own, leaf, seen.answers)
    if isinstance(behind, Need):
        return behind
    if not behind:
        return None
    old = authorities(displaced, stored.old, now=now)
    entries = {**dict.fromkeys(next_names()), **old_entry(old), **phase_entries(RotationPhase.SWITCHED, now)}
    tell = rotated(seen, "somebody has put another certificate into the Secret; the authority before stays trusted")
    return storing(TAKEN_OVER, seen, stored, entries, tell=tell)


def _displaced(seen: RotationSnapshot, stored: StoredSecret, now: datetime) -> tuple[Certificate, ...]:
    """Authorities that are trusted where the one of the Secret is nowhere, and that nothing here accounts for."""
    ours = [each for each in seen.targets if not each.keeper]
    current = stored.now.authority
    if current is None or any(not lacks(each, (current,)) for each in ours):
        return ()
    return others_in(ours, trusted_in(stored, now), now)


def publish(seen: RotationSnapshot, stored: StoredSecret, now: datetime) -> Decision | Need | None:
    """Every bundle that is ours to write holds what is to be trusted in this phase, and nothing that was left."""
    wanted = trusted_in(stored, now)
    lacking = [each for each in seen.targets if lacks(each, wanted) or has_surplus(each, wanted, now)]
    ours = [each for each in lacking if not each.keeper]
    if not ours:
        return None
    if any(each.ref.resource == DEFINITIONS for each in ours) and (todo := seen.answers.lacking(MIGRATIONS)):
        return Need(todo)
    writes = tuple(writing(each, wanted, seen.manager) for each in ours if not _is_postponed(each, seen, stored, now))
    if not writes:
        why = (("definitions", "the API server migrates their objects; bundles are written after that"),)
        return Decision("postpone", Hold(Reason.AUTHORITY_POSTPONED, now + BLOCKED_AGAIN, why))
    return Decision("publish", Move(Reason.TRUSTING, writes))


def keep(seen: RotationSnapshot, stored: StoredSecret, now: datetime) -> Decision | Need | None:
    """An exchange that is held up must not outlast the certificate that is served meanwhile."""
    keys, before = stored.now, seen.times.rotate_before
    is_steady = stored.phase in (RotationPhase.STEADY, RotationPhase.REQUESTED)
    if is_steady or not keys.can_sign or _left(keys.leaf, now) > before or _left(keys.authority, now) <= before:
        return None
    return renew(seen, stored, now)


def start(seen: RotationSnapshot, stored: StoredSecret, now: datetime) -> Decision | Need | None:
    """Steady: a certificate or an authority that comes close to its end is followed by another."""
    if stored.phase not in (RotationPhase.STEADY, RotationPhase.REQUESTED):
        return None
    if not _is_authority_due(seen, stored, now):
        if _left(stored.now.leaf, now) <= seen.times.rotate_before:
            return renew(seen, stored, now)
        return None
    minted = _minted(seen, _both(seen))
    if not isinstance(minted, Good):
        return minted
    shown, keys = msgspec.json.decode(minted.value, type=dict[str, str]), dict(minted.sealed)
    entries = {
        NEXT + LEAF: shown["certificate"],
        NEXT + AUTHORITY: shown["authority"],
        **phase_entries(RotationPhase.PREPARED, now),
    }
    sealed = ((NEXT + KEY, keys["key"]), (NEXT + AUTHORITY_KEY, keys["authority-key"]))
    return storing("prepare", seen, stored, entries, sealed)


def redo(seen: RotationSnapshot, stored: StoredSecret, now: datetime) -> Decision | None:
    """What was prepared and cannot be used is prepared again."""
    if stored.phase not in (RotationPhase.PREPARED, RotationPhase.TRUSTED) or stored.next.is_usable(now):
        return None
    if fresh := _just_made(seen, stored.next, now):
        return fresh
    return storing("redo", seen, stored, {**dict.fromkeys(next_names()), **phase_entries(RotationPhase.REQUESTED, now)})


def trust(seen: RotationSnapshot, stored: StoredSecret, now: datetime) -> Decision | None:
    if stored.phase is not RotationPhase.PREPARED:
        return None
    return storing("trust", seen, stored, phase_entries(RotationPhase.TRUSTED, now))


def switch(seen: RotationSnapshot, stored: StoredSecret, now: datetime) -> Decision | None:
    """Every bundle holds both authorities, and API servers have had the time to see it.

    As long is waited where there is no bundle yet: one may have been written a moment ago, in the phase before.
    """
    following = stored.next.authority
    if stored.phase is not RotationPhase.TRUSTED or following is None:
        return None
    if unpublished := [each for each in seen.targets if lacks(each, (following,))]:
        return kept_by_others(unpublished, seen.about, now)
    since = seen.trusted_since if seen.targets else stored.since
    if not seen.targets and since is not None and since > now:  # a clock that was ahead
        return storing("trust", seen, stored, phase_entries(RotationPhase.TRUSTED, now))
    if since is None or now < since + SETTLING:
        again = now + SETTLING if since is None else since + SETTLING
        return Decision("settle", Hold(Reason.AUTHORITY_SETTLING, again))
    current = stored.now.authority
    old = authorities(() if current is None else (current,), stored.old, now=now)
    names = {LEAF, KEY, AUTHORITY, AUTHORITY_KEY}
    sealed = tuple((name, stored.entries[NEXT + name]) for name in sorted(names))
    return storing("switch", seen, stored, {**old_entry(old), **phase_entries(RotationPhase.SWITCHED, now)}, sealed)


def retire(seen: RotationSnapshot, stored: StoredSecret, now: datetime) -> Decision | Need | None:
    """The authority before is left once every ready replica shows the certificate of the one that follows."""
    leaf = stored.now.leaf
    if stored.phase is not RotationPhase.SWITCHED or leaf is None:
        return None
    behind = shown_elsewhere(seen.endpoints, seen.shakes, seen.own, leaf, seen.answers, seen.blind)
    if isinstance(behind, Need):
        return behind
    if behind:
        return unshown(behind, seen.about, stored.since, now)
    return storing("retire", seen, stored, phase_entries(RotationPhase.RETIRING, now))


def finish(seen: RotationSnapshot, stored: StoredSecret, now: datetime) -> Decision | None:
    if stored.phase is not RotationPhase.RETIRING:
        return None
    since = stored.since
    if since is None or since > now:  # a clock that was ahead
        return storing("retire", seen, stored, phase_entries(RotationPhase.RETIRING, now))
    until = since + seen.times.overlap
    if now < until:
        due = now + _left(stored.now.leaf, now) - seen.times.rotate_before  # of what `keep` does
        return Decision("overlap", Hold(Reason.AUTHORITY_RETIRING, min(until, due) if due > now else until))
    gone = dict.fromkeys((*next_names(), OLD, SINCE))
    tell = rotated(seen, "webhooks are served under a new authority, and the one before is no longer trusted")
    return storing("finish", seen, stored, {**gone, PHASE: RotationPhase.STEADY.value}, tell=tell)


def rest(seen: RotationSnapshot, stored: StoredSecret, now: datetime) -> Decision:
    """Nothing to do until something is due, unless somebody else keeps a bundle that lacks what is served under."""
    current = stored.now.authority
    if current is not None and (unpublished := [each for each in seen.targets if lacks(each, (current,))]):
        return kept_by_others(unpublished, seen.about, now)
    due = [
        each.not_after - before
        for each, before in (
            (stored.now.leaf, seen.times.rotate_before),
            (stored.now.authority, _authority_rotate_before(seen.times)),
        )
        if each is not None
    ]
    return Decision("steady", Hold(Reason.COMPLETE, min(due, default=None)))


RULES: tuple[Callable[[RotationSnapshot, StoredSecret, datetime], Decision | Need | None], ...] = (
    mend,
    redo,
    take_over,
    publish,
    keep,
    start,
    trust,
    switch,
    retire,
    finish,
    rest,
)


def unshown(behind: tuple[tuple[str, str], ...], about: Ref, since: datetime | None, now: datetime) -> Decision:
    """A replica that is only slow is waited for; one that has not shown it for long holds up the exchange."""
    if since is None or now - since < PATIENCE:
        return Decision("await_replicas", Hold(Reason.CERTIFICATE_UNSHOWN, now + LOOK_AGAIN, behind))
    named = "; ".join(f"{name}: {said}" for name, said in behind)
    text = f"the authority before stays trusted until every ready replica shows the new certificate: {named}"
    note = EventNote(about, warning=True, reason="CertificateUnshown", text=text)
    return Decision("await_replicas", Hold(Reason.REPLICA_UNREACHED, now + BLOCKED_AGAIN, behind), (note,))


def shown_elsewhere(
    endpoints: tuple[Endpoint, ...],
    shakes: tuple[Ask, ...],
    own: str,
    leaf: Certificate,
    answers: Answers,
    blind: str = "",
) -> Need | tuple[tuple[str, str], ...]:
    """Where another certificate is shown, or none can be seen; with no address there is this replica alone."""
    if blind:
        return (("endpointslices", blind),)
    if todo := answers.lacking(shakes):
        return Need(todo)
    behind = [] if not own or _same(own, leaf.pem) else [("this replica", "it shows the certificate before")]
    for each, ask in zip(endpoints, shakes, strict=True):
        match answers[ask]:
            case Good(value):
                if not _same(value.decode(), leaf.pem):
                    behind.append((each.title, "it shows the certificate before"))
            case Bad(kind, text):
                behind.append((each.title, text or kind))
    return tuple(behind)


def _same(shown: str, pem: str) -> bool:
    return "".join(shown.split()) == "".join(pem.split())


def _is_authority_due(seen: RotationSnapshot, stored: StoredSecret, now: datetime) -> bool:
    keys, before = stored.now, _authority_rotate_before(seen.times)
    if stored.phase is RotationPhase.REQUESTED or _left(keys.authority, now) <= before:
        return True
    return not keys.can_sign and _left(keys.leaf, now) <= seen.times.rotate_before


def _authority_rotate_before(times: CertificateTimes) -> timedelta:
    """No later than its certificates: what it signs ends with it."""
    return max(times.authority_rotate_before, times.rotate_before)


def _left(certificate: Certificate | None, now: datetime) -> timedelta:
    return timedelta() if certificate is None else certificate.not_after - now


def _is_postponed(target: BundleTarget, seen: RotationSnapshot, stored: StoredSecret, now: datetime) -> bool:
    served = (stored.now.leaf, stored.now.authority)
    if any(_left(each, now) <= IMMINENT for each in served):
        return False
    return target.ref.resource == DEFINITIONS and target.ref.name in being_migrated(seen.answers)


def _both(seen: RotationSnapshot) -> Ask:
    times, name = seen.times, f"{seen.names[-1]}-ca"
    return Ask(Mint(seen.names, times.validity, name, times.authority_validity), timeout=MINT_SECONDS)


def _minted(seen: RotationSnapshot, *asks: Ask) -> Good | Need | Decision:
    """The answer to the first question once all are answered."""
    if todo := seen.answers.lacking(asks):
        return Need(todo)
    answer = seen.answers[asks[0]]
    if isinstance(answer, Bad):
        return Decision("mint_again", Hold(Reason.READ_FAILED, details=(("certificate", answer.text or answer.kind),)))
    return answer


def kept_by_others(targets: list[BundleTarget], about: Ref, now: datetime) -> Decision:
    """Others keep these bundles, and nothing is served that they do not trust."""
    details = tuple(
        (
            str(each.ref),
            f"lacks the authority of the certificate, and {each.keeper or 'somebody else'} keeps its bundle",
        )
        for each in targets
    )
    text = "; ".join(f"{name} {said}" for name, said in details)
    note = EventNote(about, warning=True, reason="CertificateIssuerNotPublished", text=text)
    return Decision("await_keeper", Hold(Reason.AUTHORITY_UNPUBLISHED, now + BLOCKED_AGAIN, details), (note,))


def _with_notes(decision: Decision, seen: RotationSnapshot, stored: StoredSecret, now: datetime) -> Decision:
    notes = expiring(seen.about, stored.now.leaf, seen.times.rotate_before, now)
    return structs.replace(decision, tell=(*decision.tell, *notes)) if notes else decision


def expiring(about: Ref, leaf: Certificate | None, rotate_before: timedelta, now: datetime) -> tuple[EventNote, ...]:
    """Told every hour once half of the time is over in which its successor should have come."""
    if leaf is None or leaf.not_after - now > rotate_before / 2:
        return ()
    text = (
        f"the certificate of webhooks ends on {leaf.not_after:%Y-%m-%d %H:%M} UTC and has no successor that is served"
    )
    hour = int(now.timestamp() // REMINDED.total_seconds())
    return (EventNote(about, warning=True, reason="CertificateExpiring", text=text, occurrence=str(hour)),)
