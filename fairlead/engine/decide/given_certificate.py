"""The authority of a certificate that others make (cert-manager, a Secret of the user, files), and who trusts it.

It is published beside those that are trusted already, before any replica shows a certificate of it. Those before go
when every ready replica has shown the new one for as long as the overlap; which they are the bundles themselves tell,
so nothing is stored.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct, structs

from fairlead.core.act import EventNote
from fairlead.core.ask import Answers, Ask, Need, Shake
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
from fairlead.engine.decide.rotation import BLOCKED_AGAIN, expiring, kept_by_others, shown_elsewhere, unshown
from fairlead.engine.decide.rotation_snapshot import Endpoint
from kubeloop.objects.meta import Ref

MISSING_AGAIN = timedelta(seconds=30)


class GivenSnapshot(Struct, frozen=True, kw_only=True):
    where: str
    """The Secret or the directory, as people are told."""
    names: tuple[str, ...]
    rotate_before: timedelta
    overlap: timedelta
    manager: str
    about: Ref
    leaf: Certificate | None = None
    authorities: tuple[Certificate, ...] = ()
    """That clients are to trust; none: those that their machines trust."""
    problem: str = ""
    """Why what is given cannot be served; empty when it can."""
    targets: tuple[BundleTarget, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
    blind: str = ""
    """Why they are not known; empty when they are."""
    own: str = ""
    """PEM of the certificate that this replica shows."""
    shown_since: datetime | None = None
    """Since when every ready replica is known to show it."""
    unshown_since: datetime | None = None
    """Since when a ready replica is known not to."""
    answers: Answers = Answers()

    @property
    def shakes(self) -> tuple[Ask, ...]:
        return tuple(Ask(Shake(each.host, each.port, self.names[0])) for each in self.endpoints)


def keep_published(seen: GivenSnapshot, now: datetime) -> Decision | Need:
    if seen.leaf is None or seen.problem:
        text = f"{seen.where} {seen.problem or 'is not there'}; what was served before goes on being served"
        note = EventNote(seen.about, warning=True, reason="CertificateInvalid", text=text)
        verdict = Hold(Reason.CERTIFICATE_UNUSABLE, now + MISSING_AGAIN, ((seen.where, text),))
        return Decision("await_certificate", verdict, (note,))
    made = _publish(seen, seen.leaf, now) or _retire(seen, seen.leaf, now) or _rest(seen, now)
    if isinstance(made, Need):
        return made
    notes = (*expiring(seen.about, seen.leaf, seen.rotate_before, now), *made.tell)
    return structs.replace(made, tell=notes)


def _publish(seen: GivenSnapshot, leaf: Certificate, now: datetime) -> Decision | Need | None:
    """What is trusted already stays."""
    lacking = [each for each in seen.targets if not each.keeper and lacks(each, seen.authorities)]
    return _writing(seen, leaf, [(each, _beside(seen, each, now)) for each in lacking], now)


def _beside(seen: GivenSnapshot, target: BundleTarget, now: datetime) -> tuple[Certificate, ...]:
    return authorities(seen.authorities, others_in((target,), seen.authorities, now), now=now)


def _retire(seen: GivenSnapshot, leaf: Certificate, now: datetime) -> Decision | Need | None:
    surplus = [each for each in seen.targets if not each.keeper and has_surplus(each, seen.authorities, now)]
    if not surplus:
        return None
    behind = shown_elsewhere(seen.endpoints, seen.shakes, seen.own, leaf, seen.answers, seen.blind)
    if isinstance(behind, Need):
        return behind
    if behind:
        return unshown(behind, seen.about, seen.unshown_since, now)
    until = (seen.shown_since or now) + seen.overlap
    if now < until:
        return Decision("overlap", Hold(Reason.AUTHORITY_RETIRING, until))
    return _writing(seen, leaf, [(each, authorities(seen.authorities, now=now)) for each in surplus], now)


def _writing(
    seen: GivenSnapshot, leaf: Certificate, wanted: list[tuple[BundleTarget, tuple[Certificate, ...]]], now: datetime
) -> Decision | Need | None:
    if not wanted:
        return None
    definitions = [each for each, _ in wanted if each.ref.resource == DEFINITIONS]
    if definitions and (todo := seen.answers.lacking(MIGRATIONS)):
        return Need(todo)
    waits = frozenset() if leaf.not_after - now <= IMMINENT else being_migrated(seen.answers)
    postponed = [each for each in definitions if each.ref.name in waits]
    writes = tuple(writing(each, bundle, seen.manager) for each, bundle in wanted if each not in postponed)
    if not writes:
        why = (("definitions", "the API server migrates their objects; bundles are written after that"),)
        return Decision("postpone", Hold(Reason.AUTHORITY_POSTPONED, now + BLOCKED_AGAIN, why))
    return Decision("publish", Move(Reason.TRUSTING, writes))


def _rest(seen: GivenSnapshot, now: datetime) -> Decision:
    unpublished = [each for each in seen.targets if lacks(each, seen.authorities)]
    if not unpublished:
        return Decision("published", Hold(Reason.COMPLETE))
    return kept_by_others(unpublished, seen.about, now)
