"""The explain document of an environment: its generations, what comes next, and what each wait is for.

A function of the same Snapshot as the decision, so it can be made when somebody looks.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from msgspec import structs

from fairlead.contracts.environments.decide.contradiction import advice_on
from fairlead.contracts.environments.decide.images import tag_of
from fairlead.contracts.environments.decide.objects.names import environmentd_name
from fairlead.contracts.environments.decide.readiness import NotReady, pod_wait
from fairlead.contracts.environments.decide.refusals import advice_on_going
from fairlead.contracts.environments.decide.seen import Snapshot
from fairlead.contracts.environments.decide.standing import (
    APPLIED,
    APPLYING,
    FAILED_DEPLOY,
    IMMEDIATELY,
    MANUALLY,
    PROMOTING,
    READY_TO_PROMOTE,
    ROLLOUT_TIMEOUT,
    Standing,
    condition_of,
    has_environment_id,
    spec_trouble,
    standing_of,
)
from fairlead.contracts.environments.decide.stuck import advice_for, pod_at, told_of, trouble_at
from fairlead.contracts.environments.kinds import NAME, Condition
from fairlead.contracts.environments.words import text_of
from fairlead.core import outcome
from fairlead.core.act import Does
from fairlead.core.decision import Decision, Hold, Move, SideNote, Verdict
from fairlead.core.explain import Block, Cell, End, Explain, Lane, Stands, key_of_wait
from fairlead.core.pod_trouble import advice_on_missing, restarts_of
from fairlead.core.reason import Reason, ReasonKind
from kubeloop.objects.apps import StatefulSet

PART = "environments"
NOUN = "materialize"
"""What is rolled, as documents name it."""
NEW = "New"
"""The phase of an environment that has no condition yet."""
CHANGED = "Changed"
"""The phase of one whose spec was changed since: its condition is about what was wanted before."""
BLOCKED = "Blocked"
"""The phase of a rollout that does not go on before somebody acts, where its condition says only that it goes on."""
SERVING, RETIRING, GONE = "Serving", "Retiring", "Gone"
"""Of the generation that serves, of one that the next has taken over from, and of one that left before that."""
GIVEN_UP = (FAILED_DEPLOY, ROLLOUT_TIMEOUT)
"""Phases of a rollout that is not tried any longer as it is."""
FOR_A_POD = (Reason.PODS_NOT_READY, Reason.POD_STUCK)
ADVICE = {
    Reason.SIGN_IN_FAILED: (
        "its pod has read the password when it started; if the Secret was changed since, start it again:"
        " kubectl -n {namespace} delete pod {pod}"
    ),
    Reason.LEADER_SILENT: "see what it does: kubectl -n {namespace} logs {pod}",
    Reason.NOT_YET_LEADER: "see what it does: kubectl -n {namespace} logs {pod}",
    Reason.PROMOTE_FAILED: "see what it does: kubectl -n {namespace} logs {pod}",
}
"""What helps where environmentd itself is waited for, or shows more."""
DATED = (Reason.GENERATION_REFUSED, Reason.UPGRADE_REFUSED, Reason.ROLLOUT_TIMED_OUT)
"""Waits that began when the condition's status last changed."""


def explain(seen: Snapshot, decision: Decision, now: datetime) -> Explain:
    """Where the environment stands after this decision on this Snapshot, and why."""
    metadata, status = seen.environment.metadata, seen.environment.status
    stand = _standing(seen)
    condition = None if status is None else condition_of(status)
    is_contradicted = decision.verdict.reason is Reason.STATUS_CONTRADICTED
    is_done = stand is not None and stand.is_settled and not stand.is_promoting and not is_contradicted
    waits = _waits(seen, stand, decision, now)
    down = tuple(_down(stand, decision)) if stand is not None else ()
    blocks: tuple[Block, ...] = (*waits, *down, *(_beside(aside, seen) for aside in decision.asides))
    phase = _phase(condition, stand, decision)
    document = Explain(
        part=PART,
        noun=NOUN,
        namespace=metadata.namespace,
        rollout=metadata.name,
        outcome=_outcome(phase, blocks, decision.verdict, is_done=is_done),
        ended=phase == ROLLOUT_TIMEOUT,
        stands=Stands(
            phase=phase,
            done=int(is_done),
            total=1,
            unit="generations",
            lanes=() if stand is None else tuple(_lanes(stand, decision, phase, now)),
        ),
        next=() if stand is None or phase == BLOCKED else tuple(_coming(stand, decision)),
        blocked_by=blocks,
        again=decision.verdict.again,
    )
    return document if stand is None else _ended(document, stand)


def _phase(condition: Condition | None, stand: Standing | None, decision: Decision) -> str:
    if condition is None:
        return NEW
    is_current = stand is None or stand.is_promoting or stand.is_settled or stand.requested == stand.hash
    phase = condition.reason if is_current else CHANGED
    is_held = isinstance(decision.verdict, Hold) and decision.verdict.reason.kind is ReasonKind.BLOCKED
    return BLOCKED if is_held and phase in (APPLYING, READY_TO_PROMOTE, PROMOTING) else phase


def _outcome(phase: str, blocks: tuple[Block, ...], verdict: Verdict, *, is_done: bool) -> str:
    """A rollout keeps the word of the last one until the operator takes it up; what fails is tried again by itself."""
    if phase == APPLIED and is_done:
        return outcome.DONE
    if phase in GIVEN_UP:
        return outcome.FAILED
    kinds = {block.kind for block in blocks}
    if phase == BLOCKED or kinds & {ReasonKind.BLOCKED.value, ReasonKind.INVALID.value}:
        return outcome.BLOCKED
    if ReasonKind.HELD.value in kinds:
        is_gated = any(block.reason == Reason.AWAITING_PROMOTION.word for block in blocks)
        return outcome.GATED if is_gated else outcome.HELD
    return outcome.WAITING if isinstance(verdict, Hold) else outcome.MOVING


def _standing(seen: Snapshot) -> Standing | None:
    """None before the environment has all that tells one rollout from another."""
    known = seen.environment.status is not None and has_environment_id(seen) and not spec_trouble(seen)
    return standing_of(seen) if known else None


def _ended(document: Explain, stand: Standing) -> Explain:
    leaves = End(stand.active, stand.environment.running_image, stand.completed or "") if stand.active else None
    target = _target(stand)
    if leaves is not None:
        document = structs.replace(document, leaves=leaves)
    return structs.replace(document, goes_to=target)


def _target(stand: Standing) -> End:
    """Where it goes: to what was recorded, once that cannot be turned back; else to what the spec says."""
    if stand.is_promoting:
        return End(stand.target, stand.spec.environmentd_image_ref, stand.requested or "")
    if stand.is_settled:
        return End(stand.active, stand.environment.running_image, stand.hash)
    return End(stand.target, stand.spec.environmentd_image_ref, stand.hash)


def _lanes(stand: Standing, decision: Decision, phase: str, now: datetime) -> Iterator[Lane]:
    """The generations that exist or are on their way, the serving one first."""
    if decision.verdict.reason is Reason.STATUS_CONTRADICTED and stand.selected is not None:
        yield _lane(stand, stand.selected, SERVING, ())
        return
    if stand.active > 0:
        left = GONE if stand.has_lost_active else SERVING
        yield _lane(stand, stand.active, RETIRING if stand.serves(stand.target) else left, ())
    if not stand.is_settled or stand.is_promoting or stand.left_of(stand.target):
        waits = tuple(_pod_waits(stand, decision, now))
        yield _lane(stand, stand.target, phase, waits)


def _lane(stand: Standing, generation: int, phase: str, waits: tuple[Block, ...]) -> Lane:
    statefulset = stand.statefulset(generation)
    is_stuck = any(wait.reason == Reason.POD_STUCK.word for wait in waits)
    cell = _cell(stand, generation, statefulset, is_stuck=is_stuck)
    is_next = generation != stand.active
    before = _named(stand.environment.running_image, stand.completed)
    after = _named(stand.spec.environmentd_image_ref, stand.requested if stand.is_promoting else stand.hash)
    return Lane(
        name=f"generation {generation}",
        phase=phase,
        done=int(cell.state == "ready"),
        total=1,
        from_revision=before if stand.active else "",
        to_revision=after if is_next else before,
        cells=(cell,),
        waits=waits,
    )


def _named(image: str, hashed: str | None) -> str:
    return f"{tag_of(image) or image} {(hashed or '')[:12]}".strip()


def _cell(stand: Standing, generation: int, statefulset: StatefulSet | None, *, is_stuck: bool) -> Cell:
    name = f"{environmentd_name(stand.environment.resource_id, generation)}-0"
    wanted = stand.active if stand.is_settled and not stand.is_promoting else stand.target
    pod = pod_at(stand, f"pod/{name}")
    state = "stuck" if is_stuck else _state(statefulset)
    return Cell(name, 0, state, "new" if generation == wanted else "old", 0 if pod is None else restarts_of(pod))


def _state(statefulset: StatefulSet | None) -> str:
    if statefulset is None or not statefulset.status.replicas:
        return "missing"
    if statefulset.metadata.deletion_timestamp is not None:
        return "terminating"
    return "ready" if statefulset.status.ready_replicas else "notReady"


def _pod_waits(stand: Standing, decision: Decision, now: datetime) -> Iterator[Block]:
    """What the pod of N waits for, also where the decision was made by something else."""
    statefulset = stand.statefulset(stand.target)
    pending = None if statefulset is None else pod_wait(statefulset)
    told = None if pending is None else told_of(stand, pending, now)
    wait = told if isinstance(told, NotReady) else pending
    if wait is not None:
        yield _precise(_block(decision.rule, wait.reason, wait.about, wait.detail, stand.seen), wait.reason, stand, now)


def _waits(seen: Snapshot, stand: Standing | None, decision: Decision, now: datetime) -> Iterator[Block]:
    verdict = decision.verdict
    if isinstance(verdict, Hold):
        for about, detail in verdict.details:
            block = _block(decision.rule, verdict.reason, about, detail, seen)
            yield block if stand is None else _precise(block, verdict.reason, stand, now)


def _down(stand: Standing, decision: Decision) -> Iterator[Block]:
    """That nothing serves, although nobody wants that."""
    if stand.is_promoting or (not stand.is_settled and stand.spec.rollout_strategy == IMMEDIATELY):
        return
    yield from _misled(stand, decision)
    statefulset = stand.statefulset(stand.active)
    if stand.has_lost_active and not stand.is_settled:
        about = f"pod/{environmentd_name(stand.environment.resource_id, stand.active)}-0"
        comes = f"generation {stand.target} takes over"
        detail = f"generation {stand.active} is gone, and nothing serves before {comes}"
        yield structs.replace(_block(decision.rule, Reason.POD_MISSING, about, detail, stand.seen), clears=comes)
    pending = None if statefulset is None else pod_wait(statefulset)
    if pending is None or pending.reason not in (Reason.PODS_NOT_READY, Reason.POD_MISSING):
        return
    namespace, pod = stand.environment.namespace, pending.about.partition("/")[2]
    detail = f"{pending.detail}, and generation {stand.active} does not serve without it"
    block = _block(decision.rule, pending.reason, pending.about, detail, stand.seen)
    shows_why = (f"see why: kubectl -n {namespace} describe pod {pod}",)
    is_missing = pending.reason is Reason.POD_MISSING
    yield structs.replace(block, advice=_advice_on_missing(stand, pod) if is_missing else shows_why)


def _misled(stand: Standing, decision: Decision) -> Iterator[Block]:
    """That users do not get to what serves: nothing of it is ever changed at rest, so that a person must."""
    service, is_told = stand.public_service, decision.verdict.reason is Reason.STATUS_CONTRADICTED
    if service is None or stand.serves(stand.active) or is_told:
        return
    name = service.metadata.name
    detail = f"it does not lead to generation {stand.active}, so that nobody reaches it"
    block = _block(decision.rule, Reason.OBJECT_UNDONE, f"service/{name}", detail, stand.seen)
    label = f"{NAME}={environmentd_name(stand.environment.resource_id, stand.active)}"
    command = f"kubectl -n {stand.environment.namespace} set selector service {name} {label}"
    yield structs.replace(block, clears="the Service selects it again", advice=(f"let it select its pod: {command}",))


def _advice_on_missing(stand: Standing, pod: str) -> tuple[str, ...]:
    """A StatefulSet that somebody has scaled makes no pod, and is scaled by nobody else."""
    namespace, maker = stand.environment.namespace, pod.removesuffix("-0")
    found = next((each for each in stand.seen.statefulsets if each.metadata.name == maker), None)
    if found is not None and found.spec.replicas < 1:
        return (f"scale it: kubectl -n {namespace} scale statefulset {maker} --replicas=1",)
    return (advice_on_missing(namespace, maker),)


def _precise(block: Block, reason: Reason, stand: Standing, now: datetime) -> Block:
    """A wait for a pod with what differs from look to look, since when it is so, and what helps."""
    trouble = trouble_at(stand, block.object, now) if reason in FOR_A_POD else None
    if reason is Reason.POD_MISSING:
        return structs.replace(block, advice=_advice_on_missing(stand, block.object.partition("/")[2]))
    if (advice := ADVICE.get(reason)) is not None:
        pod = f"{block.object.partition('/')[2]}-0"
        return structs.replace(block, advice=(advice.format(namespace=stand.environment.namespace, pod=pod),))
    if reason is Reason.STATUS_CONTRADICTED:
        return structs.replace(block, advice=(advice_on(stand),))
    if reason is Reason.OBJECTS_GOING:
        return structs.replace(block, advice=(advice_on_going(stand.environment.namespace, block.object),))
    if trouble is None:
        return block
    block = structs.replace(block, text=text_of(reason, block.object.partition("/")[2], trouble.text))
    if trouble.since is not None:
        block = structs.replace(block, since=trouble.since, since_exact=True)
    return structs.replace(block, advice=advice_for(stand, trouble)) if trouble.is_past else block


def _block(rule: str, reason: Reason, about: str, detail: str, seen: Snapshot) -> Block:
    status = seen.environment.status
    condition = condition_of(status) if status is not None and reason in DATED else None
    return Block(
        rule=rule,
        reason=reason.word,
        object=about,
        text=text_of(reason, about.partition("/")[2], detail),
        clears=reason.clears,
        since=_first_seen(reason, about, seen) if condition is None else condition.last_transition_time,
        since_exact=condition is not None,
        kind=reason.kind.value,
    )


def _beside(aside: SideNote, seen: Snapshot) -> Block:
    reason, about = aside.reason, str(aside.about)
    since = _first_seen(reason, about, seen)
    kind, advice = reason.kind.value, aside.advice
    return Block("companions", reason.word, about, aside.text, reason.clears, since, kind=kind, advice=advice)


def _first_seen(reason: Reason, about: str, seen: Snapshot) -> datetime | None:
    return seen.since.get(key_of_wait(reason.word, about))


DOING = {
    Does.APPLY_GENERATION: "apply the objects of generation {target}",
    Does.MOVE_SERVICE: "point the public Service at generation {target}",
    Does.REMOVE_GENERATION: "remove the objects of a generation",
    Does.APPLY_OBJECT: "apply objects that all generations share",
}


def _coming(stand: Standing, decision: Decision) -> Iterator[str]:
    """What this pass does, then what the rollout comes to when nothing gets in its way."""
    verdict = decision.verdict
    if isinstance(verdict, Move):
        for does in dict.fromkeys(write.does for write in verdict.writes):
            if does in DOING:
                yield DOING[does].format(target=stand.target)
    if stand.is_promoting:
        after = f", and generation {stand.active} is removed" if stand.active else ""
        yield f"generation {stand.target} takes over{after}"
    elif not stand.is_settled and stand.reason in (APPLYING, READY_TO_PROMOTE, PROMOTING, ""):
        waits = stand.spec.rollout_strategy == MANUALLY and not stand.is_forced
        name = stand.environment.name
        yield f"promote generation {stand.target} when it is ready" + (
            f", after `fairlead promote {name} -n {stand.environment.namespace}`" if waits else ""
        )
