"""Section 3.2: one pass over one environment.

Identity first; then the objects that every generation shares; then the step of the rollout, which is the answer of the
first rule that has one; then the companions, whatever the step came to. A promotion that has begun ends whatever else
is wrong: the generation before it serves nobody any more.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TypeVar

from msgspec import structs

from fairlead.contracts.environments.decide import identity, rollout
from fairlead.contracts.environments.decide.applying import Lacking, lacking
from fairlead.contracts.environments.decide.companion_pods import told_of_companions
from fairlead.contracts.environments.decide.companions import Beside, companions
from fairlead.contracts.environments.decide.contradiction import hold_contradicted
from fairlead.contracts.environments.decide.objects.environment import environment_objects, environment_trouble
from fairlead.contracts.environments.decide.objects.wanted import Wanted
from fairlead.contracts.environments.decide.promotion import promote
from fairlead.contracts.environments.decide.refusals import refusal_of, undoings
from fairlead.contracts.environments.decide.seen import CompanionSnapshot, Snapshot
from fairlead.contracts.environments.decide.settling import settle
from fairlead.contracts.environments.decide.standing import Standing, is_promoting, standing_of
from fairlead.contracts.environments.decide.statuses import shortened
from fairlead.contracts.environments.kinds import CERTIFICATES, MATERIALIZES, Balancer, Console
from fairlead.contracts.environments.words import BLOCKED, text_of
from fairlead.core.act import Does, EventNote
from fairlead.core.ask import REFUSAL_HOLDS, Need, StartOver
from fairlead.core.decision import Decision, Hold, Move, Rule, SideNote, Verdict
from fairlead.core.reason import Reason
from kubeloop.objects.meta import Ref

S = TypeVar("S")

ENVIRONMENT = "environment"
"""The rule under which the objects that all generations share are shown to be in the way."""

ALONE = Beside()
"""Nothing goes with the verdict."""

PROMOTION: tuple[Rule[Standing], ...] = (Rule("hold_contradicted", hold_contradicted), Rule("promote", promote))
"""What goes on whatever else is wrong."""
RULES: tuple[Rule[Standing], ...] = (*PROMOTION, Rule("settle", settle), *rollout.RULES)
"""Section 3.2 step 7: section 3.4 case 1, section 3.4 case 3, and what section 3.4 case 2 consists of."""


def decide(seen: Snapshot, now: datetime) -> Decision | Need | StartOver:
    """What is to be done now for the environment that is seen."""
    known = first_answer(identity.RULES, seen, now)
    if isinstance(known, Need | StartOver):
        return known
    if known is not None:
        rule, verdict = known
        return promoted_all_the_same(seen, verdict, now) if goes_on(seen, rule) else decided(rule, verdict, seen)
    stand = standing_of(seen)
    shared = shared_objects(stand)
    if isinstance(shared, Hold) and not stand.is_promoting:
        return decided(ENVIRONMENT, shared, seen)
    step = first_answer(RULES, stand, now)
    if isinstance(step, Need | StartOver):
        return step
    if step is None:
        raise RuntimeError("no rule answered, although the last one always does")
    rule, verdict = step
    beside = companions(stand, now)
    if isinstance(verdict, Hold):
        # What is to be done does not wait for a list that only words depend on.
        unready = told_of_companions(stand, now)
        if isinstance(unready, Need):
            return unready
        beside = structs.replace(beside, asides=(*unready, *beside.asides))
    if isinstance(shared, Lacking):
        verdict, beside = together(shared, verdict, beside, now)
    else:
        beside = structs.replace(beside, asides=(*beside.asides, *told(stand, shared)))
    return decided(rule, with_refusals(verdict, beside), seen, beside)


def goes_on(seen: Snapshot, rule: str) -> bool:
    """Whether a promotion has begun, which ends whatever this rule has found to be wrong."""
    status = seen.environment.status
    return rule in identity.PROVING and status is not None and is_promoting(status)


def promoted_all_the_same(seen: Snapshot, trouble: Verdict, now: datetime) -> Decision | Need | StartOver:
    """The step of the promotion, and nothing else; what is wrong with the environment's identity is told beside it."""
    stand = standing_of(seen)
    step = first_answer(PROMOTION, stand, now)
    if isinstance(step, Need | StartOver):
        return step
    if step is None:
        raise RuntimeError("a promotion that has begun has no next step")
    return decided(*step, seen, Beside(asides=told(stand, trouble)))


def told(stand: Standing, trouble: Verdict) -> tuple[SideNote, ...]:
    """What would have been the verdict, were nothing being promoted."""
    details = trouble.details if isinstance(trouble, Hold) else ()
    return tuple(SideNote(stand.ref, trouble.reason, text_of(trouble.reason, *each)) for each in details)


def first_answer(rules: tuple[Rule[S], ...], seen: S, now: datetime) -> tuple[str, Verdict] | Need | StartOver | None:
    """Of the first rule that has one, with its name."""
    for rule in rules:
        match rule.answer(seen, now):
            case None:
                continue
            case Need() | StartOver() as unsettled:
                return unsettled
            case verdict:
                return rule.name, verdict
    return None


def shared_objects(stand: Standing) -> Lacking | Hold:
    """Section 3.2 step 6: what of them must be applied, or why the pass cannot go on."""
    trouble = environment_trouble(stand.environment, stand.settings)
    if trouble:
        return Hold(Reason.SPEC_INVALID, details=((str(stand.ref), trouble),))
    wanted = environment_objects(stand.environment, stand.settings)
    if (missing := certificates_missing(wanted, stand.seen)) is not None:
        return missing
    outdated = lacking(wanted, Does.APPLY_OBJECT, stand.facts)
    return refusal_of(outdated) if outdated.refusals else outdated


def certificates_missing(
    wanted: Iterable[Wanted], seen: Snapshot | CompanionSnapshot[Balancer] | CompanionSnapshot[Console]
) -> Hold | None:
    """Why none can be made, where one is wanted and none can be seen."""
    ref = next((each.ref for each in wanted if each.resource == CERTIFICATES), None)
    if ref is None or seen.has_certificates:
        return None
    resource = ref.resource
    if not seen.may_list_certificates:
        right = f"allow it get, list, watch, create, patch and delete of {resource.plural} in {resource.group}"
        return Hold(Reason.READ_FAILED, details=((str(ref), f"the operator lacks the right: {right}"),))
    kind = f"{resource.kind} of {resource.group}"
    sentence = f"the cluster does not serve {kind}: install cert-manager, or take the issuer out of the spec"
    return Hold(Reason.KIND_MISSING, details=((str(ref), sentence),))


def together(shared: Lacking, verdict: Verdict, beside: Beside, now: datetime) -> tuple[Verdict, Beside]:
    """The objects that all generations share come first in whatever the step does."""
    if shared.writes:
        writes = verdict.writes if isinstance(verdict, Move) else ()
        verdict = Move(verdict.reason, (*shared.writes, *writes), verdict.again)
    if shared.is_left:
        again = min(filter(None, (beside.again, now + REFUSAL_HOLDS)))
        beside = structs.replace(beside, asides=(*beside.asides, *undoings(shared)), again=again)
    return verdict, beside


def with_refusals(verdict: Verdict, beside: Beside) -> Verdict:
    """A companion that is refused fails the pass, once nothing else is to be done."""
    if not beside.refusals or isinstance(verdict, Move) or verdict.reason.fails:
        return verdict
    return refusal_of(Lacking(refusals=beside.refusals))


def decided(rule: str, verdict: Verdict, seen: Snapshot, beside: Beside = ALONE) -> Decision:
    """The verdict together with all that goes with it, looked at again when the first of them wants it.

    A pass that failed keeps its pace: a Balancer that is looked at every second would have what was refused sent again
    every second.
    """
    fails = isinstance(verdict, Hold) and verdict.reason.fails
    looks = [moment for moment in (verdict.again, None if fails else beside.again) if moment is not None]
    if looks:
        verdict = structs.replace(verdict, again=min(looks))
    metadata = seen.environment.metadata
    about = Ref(MATERIALIZES, metadata.namespace, metadata.name, metadata.uid)
    return Decision(rule, verdict, failures_of(about, verdict), beside.asides, beside.reports)


def failures_of(about: Ref, verdict: Verdict) -> tuple[EventNote, ...]:
    """A failed pass is told, in the words of its reason, as often as it fails; that a pod is stuck is told once."""
    if isinstance(verdict, Hold) and verdict.reason is Reason.POD_STUCK:
        stuck = (text_of(verdict.reason, object_, detail) for object_, detail in verdict.details)
        return tuple(EventNote(about, True, BLOCKED, shortened(text)) for text in stuck)
    if not isinstance(verdict, Hold) or not verdict.reason.fails:
        return ()
    texts = (text_of(verdict.reason, object_, detail) for object_, detail in verdict.details)
    return tuple(EventNote(about, True, verdict.reason.word, shortened(text), repeated=True) for text in texts)
