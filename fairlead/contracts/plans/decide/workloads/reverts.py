"""Going back after a failure, or when a rollout is deleted (section 3.17): old pods serve before the new ones go.

Every workload goes back to the size that it had before the first attempt; a target that no attempt before this one had
goes to zero. Those that grow are ready before the others shrink, unless the plan says that sources shrink first.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from msgspec import Struct

from fairlead.contracts.plans.decide import conditions
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads import restoring
from fairlead.contracts.plans.decide.workloads.answers import Done, Fail, Purpose, Retry, Step, WorkloadChange, Writes
from fairlead.contracts.plans.decide.workloads.attempt import Attempt, Before, stale
from fairlead.contracts.plans.decide.workloads.claims import claim, controlled, is_claimed, original_of, release
from fairlead.contracts.plans.decide.workloads.live import Style, Workload, number_at
from fairlead.contracts.plans.kinds import FINALISING, ON_FAILURE_REVERT, RolloutPlan, RolloutStatus
from kubeloop.objects.apps import CONTROLLER_REVISIONS

PATIENCE = timedelta(minutes=10)
"""After so long the target stays, and the deletion goes on (V-2)."""
NO_TEMPLATE = "incomplete: the pod template of before is not known, so new pods stay new"


class Incomplete(Struct, frozen=True):
    """It cannot go back further: what is claimed is released, and people are told."""

    text: str
    is_left: bool = False
    """Whether what was done about it stays: nothing but the claims is taken off."""


class Terms(Struct, frozen=True):
    """How an attempt goes back."""

    since: datetime
    """When it began to."""
    is_scale: bool = False
    decreases: bool = False
    """Whether new pods go before the old ones are there."""


def is_due_on_deletion(attempt: Attempt) -> bool:
    """V-1: of an attempt that came past its verification and did not succeed."""
    return attempt.plan.revert_on_delete and attempt.status.target_generation != ""


def is_due_on_failure(attempt: Attempt) -> bool:
    return goes_back(attempt.plan, attempt.status)


def goes_back(plan: RolloutPlan, status: RolloutStatus) -> bool:
    """X-1: after any failure but drift, where somebody else is at work, and a stop that was asked for."""
    if not status.target_generation:
        return False
    word = conditions.cause_reason(status)
    if word == Why.REVERT_ASKED.word:
        return True
    is_kept = word in (Why.DRIFT.word, Why.ABORTED.word)
    return plan.on_failure == ON_FAILURE_REVERT and not is_kept


def revert(attempt: Attempt, style: Style, now: datetime, terms: Terms) -> Step | Incomplete:
    """Done when everything that this rollout holds is as it was.

    What it does not hold stays as it is, so that nothing goes back twice once it is released.
    """
    if terms.is_scale or style is Style.PAIR:
        return _resized(attempt, now, terms)
    if attempt.target is not None and attempt.before is not None:
        return _restored(attempt, attempt.target, attempt.before, now, terms)
    if style is Style.PARTITION and attempt.target is not None:
        return _held_back(attempt, attempt.target, now, terms)
    return Incomplete(NO_TEMPLATE)


def _restored(attempt: Attempt, target: Workload, before: Before, now: datetime, terms: Terms) -> Step | Incomplete:
    """V-3 and V-4: the template of before, and nothing that holds pods back."""
    if not _is_held(attempt, target):
        return Done()
    if (barred := _barred(attempt, target)) is not None:
        return barred
    if not restoring.is_written(target, before):
        values = restoring.values_of(target, before, original_of(target) or {})
        change = claim(target, attempt.owner, attempt.gone, values, {})
        said = ("", f"the pod template of {before.revision}")
        return Writes((restoring.unapplied(change or target.changed(values, Purpose.ADVANCE, said)),), takes=True)
    step = restoring.removed(attempt, target, before)
    if isinstance(step, Retry) and now >= terms.since + PATIENCE:
        return Incomplete(f"incomplete: {step.text}")
    return step


def _held_back(attempt: Attempt, target: Workload, now: datetime, terms: Terms) -> Step | Incomplete:
    """V-3: a partition of all pods, which takes new ones back where the kind's controller does so."""
    if not _is_held(attempt, target):
        return Done()
    if target.partition == target.size and not target.is_paused:
        if not target.is_observed and now < terms.since + PATIENCE:
            return stale(target)
        return Incomplete(_left_new(attempt, target), is_left=True) if target.updated else Done()
    if (barred := _barred(attempt, target)) is not None:
        return barred
    paths = target.kind.paths
    values = {paths.partition: target.size, **({paths.paused: False} if paths.paused else {})}
    said = (f"partition {target.partition}", f"partition {target.size}")
    change = claim(target, attempt.owner, attempt.gone, values, {})
    return Writes((change or target.changed(values, Purpose.ADVANCE, said),), takes=True)


def _left_new(attempt: Attempt, target: Workload) -> str:
    named = [each for each in attempt.status.last_source_ref if each.kind == CONTROLLER_REVISIONS.kind]
    why = "the pod template of before is not known"
    if named:
        why = f"the {named[0].kind} {named[0].name} is gone or takes parameters, so that {why}"
    pods, it = ("1 pod", "it") if target.updated == 1 else (f"{target.updated} pods", "them")
    stay = "stays" if target.updated == 1 else "stay"
    return f"incomplete: {why}: {pods} of the {target.shown} {stay} new, put the template back to have {it} replaced"


def _resized(attempt: Attempt, now: datetime, terms: Terms) -> Step | Incomplete:
    wanted = [*_sizes(attempt, is_scale=terms.is_scale)]
    growing = [(each, size) for each, size in wanted if each.size <= size]
    shrinking = [(each, size) for each, size in wanted if each.size > size]
    for each, size in wanted:
        if each.size != size and (barred := _barred(attempt, each)) is not None:
            return barred
    lost = None if terms.is_scale or not shrinking else _lost(attempt, wanted)
    decreases = terms.decreases and lost is None
    first, then = (shrinking, growing) if decreases else (growing, shrinking)
    if changes := tuple(_written(attempt, first)):
        return Writes(changes, takes=decreases)
    waits = None if decreases or not shrinking else _not_ready(growing)
    if waits is not None and now >= terms.since + PATIENCE:
        return Incomplete(f"incomplete: {waits.text}")
    if waits is not None:
        return waits
    if lost is not None:
        return lost
    changes = tuple(_written(attempt, then))
    return Writes(changes, takes=not decreases) if changes else Done()


def _lost(attempt: Attempt, wanted: list[tuple[Workload, int]]) -> Incomplete | None:
    """A source that had pods and is not there, or nothing that had any: none would take the place of the new ones."""
    before = {each.ref.name: each.original_replicas for each in attempt.status.sources}
    for each in attempt.sources:
        if each.live is None and before.get(each.reference.name, 0) > 0:
            gone, stays = (f"the {one.kind} {one.name}" for one in (each.reference, attempt.target_ref))
            return Incomplete(f"incomplete: {gone} is not there, so the pods of {stays} stay")
    if not any(size for _, size in wanted):
        return Incomplete("incomplete: nothing that is there had pods before, so all pods stay where they are")
    return None


def target_share(attempt: Attempt, style: Style) -> int | None:
    """Of a hundred requests those that the target had before the first attempt, by its pods of then: as a rule none.

    None where nothing is held any more, so that nothing goes back.
    """
    if style is not Style.PAIR:
        return 0 if attempt.target is not None and _is_held(attempt, attempt.target) else None
    wanted = {each.name: size for each, size in _sizes(attempt, is_scale=False)}
    total = sum(wanted.values())
    return 100 * wanted.get(attempt.target_ref.name, 0) // total if total else None


def released(attempt: Attempt) -> Step:
    """The claims are taken off, and nothing else is changed."""
    workloads = (*attempt.live_sources, *(() if attempt.target is None else (attempt.target,)))
    changes = (release(each, attempt.owner, {}) for each in workloads)
    found = tuple(each for each in changes if each is not None)
    return Writes(found, completes=True) if found else Done()


def _sizes(attempt: Attempt, *, is_scale: bool) -> Iterator[tuple[Workload, int]]:
    """V-2 and V-6, of what is there and held; a note counts only where an attempt of this rollout wrote it."""
    before = {each.ref.name: each.original_replicas for each in attempt.status.sources}
    for each in attempt.live_sources:
        if _is_held(attempt, each):
            own = before.get(each.name, each.size)
            yield each, _noted(each, own) if attempt.is_carried(each) else own
    target = attempt.target
    if target is None or not _is_held(attempt, target):
        return
    if is_scale:
        yield target, attempt.status.rollout_original_size
    else:
        yield target, _noted(target, target.size) if attempt.is_carried(target) else 0


def _is_held(attempt: Attempt, workload: Workload) -> bool:
    """Claimed, or released: by a failed attempt, which leaves its note, or before the last hooks of a success."""
    is_ours = is_claimed(workload, attempt.owner) or original_of(workload) is not None
    return is_ours or _is_as_released(attempt, workload)


def _is_as_released(attempt: Attempt, workload: Workload) -> bool:
    """V-1: while hooks held the end up, somebody wanted all of it back; nobody has changed the workload since.

    What an earlier attempt of this rollout had is in the note alone, and that has gone.
    """
    if not conditions.ended_in(attempt.status, FINALISING) or attempt.is_carried(workload):
        return False
    if attempt.target is None or workload.uid != attempt.target.uid:
        return workload.size == 0
    status = attempt.status
    return (workload.identifier, workload.size) == (status.target_generation, status.rollout_target_size)


def _noted(workload: Workload, otherwise: int) -> int:
    found = number_at(original_of(workload), "replicas")
    return otherwise if found is None or found < 0 else found


def _barred(attempt: Attempt, workload: Workload) -> Incomplete | None:
    """Another rollout's claim is respected."""
    problem = controlled(workload, attempt.owner, attempt.gone)
    return Incomplete(f"incomplete: {problem.text}") if isinstance(problem, Fail) else None


def _written(attempt: Attempt, wanted: list[tuple[Workload, int]]) -> Iterator[WorkloadChange]:
    """What was released already is claimed again in the same patch."""
    for each, size in wanted:
        if each.size == size:
            continue
        values = {each.kind.paths.replicas: size}
        said = (f"replicas {each.size}", f"replicas {size}")
        if is_claimed(each, attempt.owner):
            yield each.changed(values, Purpose.RESIZE, said)
        elif (change := claim(each, attempt.owner, attempt.gone, values, {"replicas": each.size})) is not None:
            yield change


def _not_ready(growing: list[tuple[Workload, int]]) -> Retry | None:
    for each, size in growing:
        if not each.is_observed:
            return stale(each)
        if each.ready < size:
            text = f"{each.ready} of {size} pods of the {each.shown} are ready, and new pods stay until then"
            return Retry(Why.PODS_NOT_READY, text)
    return None
