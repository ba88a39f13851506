"""Section 3.2 step 8, section 3.13 points 1 and 2: its Balancer and its Console, beside whatever the rollout does."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from fairlead.contracts.environments.decide.applying import ApplyFacts, Refusal, lacking
from fairlead.contracts.environments.decide.moments import BALANCER, soon
from fairlead.contracts.environments.decide.objects.balancer import balancer
from fairlead.contracts.environments.decide.objects.console import console
from fairlead.contracts.environments.decide.objects.wanted import Wanted
from fairlead.contracts.environments.decide.refusals import undoings
from fairlead.contracts.environments.decide.standing import Standing
from fairlead.contracts.environments.kinds import BALANCERS, CONSOLES, GROUP, MATERIALIZES, Balancer, Console
from fairlead.contracts.environments.words import text_of
from fairlead.core.act import AnyWrite, Delete, Does
from fairlead.core.ask import REFUSAL_HOLDS
from fairlead.core.decision import SideNote
from fairlead.core.reason import Reason
from kubeloop.objects.meta import Meta, Ref, Resource

NOT_TOGETHER = "start it with --create-balancers as well, or without --create-console"


class Beside(Struct, frozen=True):
    """What goes with a verdict about the rollout."""

    reports: tuple[AnyWrite, ...] = ()
    asides: tuple[SideNote, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    again: datetime | None = None


def companions(stand: Standing, now: datetime) -> Beside:
    """Once a generation serves: what is switched on as it is wanted, what is switched off gone.

    A Console needs a Balancer to talk to, so it comes and changes only while that is ready.
    """
    if stand.active < 1:
        return Beside()
    front = balancer(stand.environment, stand.settings)
    first = _had(stand, BALANCERS, stand.seen.balancer, front, now)
    page = console(stand.environment, stand.settings)
    if page is not None and not is_ready(stand.seen.balancer):
        return both(first, _waits(stand, now, is_coming=front is not None))
    return both(first, _had(stand, CONSOLES, stand.seen.console, page, now))


def both(one: Beside, other: Beside) -> Beside:
    return Beside(
        (*one.reports, *other.reports),
        (*one.asides, *other.asides),
        (*one.refusals, *other.refusals),
        min(filter(None, (one.again, other.again)), default=None),
    )


def is_ready(found: Balancer | None) -> bool:
    return found is not None and found.status is not None and found.status.is_ready


def _had(
    stand: Standing, resource: Resource, found: Balancer | Console | None, wanted: Wanted | None, now: datetime
) -> Beside:
    if wanted is None:
        return _removed(stand, resource, found)
    meta = None if found is None else found.metadata
    facts = ApplyFacts(stand.uid, stand.seen.applied, stand.seen.answers, lambda _: meta, stand.occasion)
    outdated = lacking((wanted,), Does.APPLY_OBJECT, facts)
    again = now + REFUSAL_HOLDS if outdated.is_left else None
    return Beside(outdated.writes, undoings(outdated), outdated.refusals, again)


def _removed(stand: Standing, resource: Resource, found: Balancer | Console | None) -> Beside:
    """Only what was made for this environment: anybody may have a Balancer of that name."""
    if found is None or found.metadata.deletion_timestamp is not None or not _is_owned(found.metadata, stand.uid):
        return Beside()
    ref = Ref(resource, found.metadata.namespace, found.metadata.name, found.metadata.uid)
    return Beside(
        (Delete(ref=ref, does=Does.REMOVE_COMPANION, scope=stand.uid, repeatable=True, propagation="Background"),)
    )


def _is_owned(metadata: Meta, uid: str) -> bool:
    """By group, kind and UID; the version that an owner was written in does not matter."""
    return any(
        owner.kind == MATERIALIZES.kind and owner.uid == uid and owner.api_version.partition("/")[0] == GROUP
        for owner in metadata.owner_references
    )


def _waits(stand: Standing, now: datetime, *, is_coming: bool) -> Beside:
    """For the Balancer; one that is switched off comes only when somebody else makes it, and that may take long."""
    about = Ref(BALANCERS, stand.environment.namespace, stand.environment.name)
    detail = "it is not ready" if stand.seen.balancer is not None else "there is none"
    if not is_coming and stand.seen.balancer is None:
        detail = f"there is none, and the operator creates none: {NOT_TOGETHER}"
    aside = SideNote(about, Reason.BALANCER_NOT_READY, text_of(Reason.BALANCER_NOT_READY, about.name, detail))
    return Beside(asides=(aside,), again=now + BALANCER if is_coming else soon(stand.uid, now))
