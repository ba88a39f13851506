"""The explain document of the certificate of webhooks: how far an exchange of its authority is, and what holds it up.

A lane is an object by which API servers learn whom to trust; where replicas are waited for, they are one more.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from hashlib import sha256

from fairlead.contracts.apiversions.kinds import PART, ROTATION_NOUN
from fairlead.core import outcome
from fairlead.core.decision import Decision, Hold
from fairlead.core.explain import Block, Explain, Lane, Stands
from fairlead.core.reason import Reason
from fairlead.engine.decide.bundles import BundleTarget, Certificate, has_surplus, lacks, others_in
from fairlead.engine.decide.given_certificate import GivenSnapshot
from fairlead.engine.decide.rotation_snapshot import RotationPhase, RotationSnapshot, StoredSecret, trusted_in

UNIT = "bundles"
REPLICAS = "replicas"
AWAITS_REPLICAS = (Reason.CERTIFICATE_UNSHOWN, Reason.REPLICA_UNREACHED)
COMES = {
    RotationPhase.REQUESTED: ("a new authority and certificate are made",),
    RotationPhase.PREPARED: ("every bundle gets the new authority beside the one before",),
    RotationPhase.TRUSTED: ("the new certificate is served when every bundle has held its authority for 10 seconds",),
    RotationPhase.SWITCHED: ("the authority before is left when every ready replica shows the new certificate",),
    RotationPhase.RETIRING: ("the authority before goes from every bundle when --ca-overlap is over",),
}
ADVICE = {
    Reason.REPLICA_UNREACHED: (
        "see that the leader reaches the webhook port of this pod, or delete the pod",
        "kubectl get pods -n {namespace} -o wide",
    ),
    Reason.AUTHORITY_UNPUBLISHED: ("fairlead api certs status --operator-namespace {namespace}",),
    Reason.CERTIFICATE_UNUSABLE: ("fairlead api certs status --operator-namespace {namespace}",),
}
GIVEN_PHASES = {
    Reason.TRUSTING: RotationPhase.TRUSTED,
    Reason.AUTHORITY_POSTPONED: RotationPhase.TRUSTED,
    Reason.AUTHORITY_UNPUBLISHED: RotationPhase.TRUSTED,
    Reason.CERTIFICATE_UNSHOWN: RotationPhase.SWITCHED,
    Reason.REPLICA_UNREACHED: RotationPhase.SWITCHED,
    Reason.AUTHORITY_RETIRING: RotationPhase.RETIRING,
}
"""Of a certificate that others make, whose phase nobody stores."""


def made_here(seen: RotationSnapshot, decision: Decision, now: datetime) -> Explain:
    stored = seen.stored
    waits = _waits(decision, seen.secret.namespace, None if stored is None else stored.since)
    if stored is None:
        return _document(seen.secret.namespace, seen.secret.name, RotationPhase.REQUESTED, (), decision, waits)
    leaves, goes_to = _ends(stored)
    wanted = trusted_in(stored, now)
    lanes = tuple(
        _lane(each, leaves, goes_to, waits, is_done=not (lacks(each, wanted) or has_surplus(each, wanted, now)))
        for each in seen.targets
    )
    lanes += tuple(_replicas(len(seen.endpoints), leaves, goes_to, decision, waits))
    return _document(seen.secret.namespace, seen.secret.name, stored.phase, lanes, decision, waits)


def given_by_others(namespace: str, name: str, seen: GivenSnapshot, decision: Decision, now: datetime) -> Explain:
    phase = GIVEN_PHASES.get(decision.verdict.reason, RotationPhase.STEADY)
    waits = _waits(decision, namespace, seen.unshown_since or seen.shown_since)
    leaves = _named(next(iter(others_in(seen.targets, seen.authorities, now)), None))
    goes_to = _named(next(iter(seen.authorities), None))
    lanes = tuple(
        _lane(each, leaves, goes_to, waits, is_done=not lacks(each, seen.authorities)) for each in seen.targets
    )
    lanes += tuple(_replicas(len(seen.endpoints), leaves, goes_to, decision, waits))
    return _document(namespace, name, phase, lanes, decision, waits)


def _ends(stored: StoredSecret) -> tuple[str, str]:
    """The authority that is left, and the one that comes; only the one that serves where none is exchanged."""
    current, following = stored.now.authority, stored.next.authority
    if stored.phase in (RotationPhase.SWITCHED, RotationPhase.RETIRING):
        return _named(stored.old[0] if stored.old else None), _named(current)
    if stored.phase in (RotationPhase.PREPARED, RotationPhase.TRUSTED):
        return _named(current), _named(following)
    return "", _named(current)


def _named(authority: Certificate | None) -> str:
    """By eight digits of its fingerprint and its end: authorities of one operator have one name."""
    if authority is None:
        return ""
    return f"{sha256(''.join(authority.pem.split()).encode()).hexdigest()[:8]} (until {authority.not_after:%Y-%m-%d})"


def _lane(target: BundleTarget, leaves: str, goes_to: str, waits: tuple[Block, ...], *, is_done: bool) -> Lane:
    name = str(target.ref)
    return Lane(
        name=name,
        phase="trusted" if is_done else "pending",
        done=int(is_done),
        total=1,
        from_revision=leaves,
        to_revision=goes_to,
        waits=tuple(each for each in waits if each.object == name),
    )


def _replicas(total: int, leaves: str, goes_to: str, decision: Decision, waits: tuple[Block, ...]) -> Iterator[Lane]:
    if decision.verdict.reason in AWAITS_REPLICAS:
        done = max(total - len(waits), 0)
        yield Lane(REPLICAS, "switched", done, max(total, len(waits)), leaves, goes_to, waits=waits)


def _waits(decision: Decision, namespace: str, since: datetime | None) -> tuple[Block, ...]:
    verdict, reason = decision.verdict, decision.verdict.reason
    if not isinstance(verdict, Hold) or reason is Reason.COMPLETE:
        return ()
    advice = tuple(each.format(namespace=namespace) for each in ADVICE.get(reason, ()))
    details = verdict.details or (("authority", reason.clears),)
    return tuple(
        Block(
            rule=decision.rule,
            reason=reason.word,
            object=about,
            text=text if text == reason.clears else f"{about}: {text}",
            clears=reason.clears,
            since=since,
            since_exact=since is not None,
            kind=reason.kind.value,
            advice=advice,
        )
        for about, text in details
    )


def _document(
    namespace: str,
    name: str,
    phase: RotationPhase,
    lanes: tuple[Lane, ...],
    decision: Decision,
    waits: tuple[Block, ...],
) -> Explain:
    reason = decision.verdict.reason
    # What it waits for is what people count: replicas while they switch, bundles otherwise.
    counted = [each for each in lanes if each.name == REPLICAS] or lanes
    return Explain(
        part=PART,
        noun=ROTATION_NOUN,
        namespace=namespace,
        rollout=name,
        outcome=outcome.outcome_of(reason),
        stands=Stands(
            phase=phase.value,
            done=sum(each.done for each in counted),
            total=sum(each.total for each in counted),
            unit=UNIT if counted is lanes else REPLICAS,
            lanes=lanes,
        ),
        next=COMES.get(phase, ()),
        blocked_by=waits,
    )
