"""One round of a LeaderWorkerSet (section 3.2): its revision, its leaders, its Service, its status, and its history.

What is recorded comes before what carries its key, and the status comes last: whatever fails ends the round, and the
next one starts from what is there.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide import notes
from fairlead.contracts.leaderworker.decide.budgets import budget
from fairlead.contracts.leaderworker.decide.groups import (
    GroupState,
    are_all_of,
    groups_of,
    leaders_key,
    numbers_of,
    orphans_end,
    partition_of,
    replicas_of,
    rolling_update,
    template_key,
)
from fairlead.contracts.leaderworker.decide.leader_reads import (
    leaders_ref,
    live_leaders,
    live_pods,
    named,
    unseen_leaders,
)
from fairlead.contracts.leaderworker.decide.leader_set import leader_set
from fairlead.contracts.leaderworker.decide.normal_form import UnreadableData
from fairlead.contracts.leaderworker.decide.opt_ins import problems_of
from fairlead.contracts.leaderworker.decide.planner import Plan, Row, Stage, plan
from fairlead.contracts.leaderworker.decide.pod_budgets import kept_budget
from fairlead.contracts.leaderworker.decide.revision_writes import freely_named, recorded
from fairlead.contracts.leaderworker.decide.revisions import (
    Drafted,
    Kept,
    Occasion,
    Reused,
    Unusable,
    key_of,
    readable,
    selection,
    stored,
    usable,
)
from fairlead.contracts.leaderworker.decide.seen import SetSeen
from fairlead.contracts.leaderworker.decide.services import needs_shared_service, shared_service
from fairlead.contracts.leaderworker.decide.set_reports import reported
from fairlead.contracts.leaderworker.decide.set_view import SetView, of_revision, of_spec
from fairlead.contracts.leaderworker.decide.stalled_leaders import stalled
from fairlead.contracts.leaderworker.decide.stuck import StuckPod, judged, waits_of
from fairlead.contracts.leaderworker.decide.unchanged import has_containers, is_unchanged
from fairlead.contracts.leaderworker.kinds import LARGEST_REPLICAS, MANAGER, StatefulSet
from fairlead.core.act import AnyWrite, Apply, Create, Does, EventNote
from fairlead.core.ask import Ask, Bad, Good, Need, Read
from fairlead.core.decision import Decision, Hold, Move, Outcome, Verdict
from fairlead.core.digests import digest_of
from fairlead.core.reason import Reason
from kubeloop.objects.core import SERVICES
from kubeloop.objects.meta import Ref

AGAIN = timedelta(seconds=5)
"""After so long it is looked again whether what is in the way is gone."""

MOST_TOLD = 10
"""Groups of which it is told that a pod of them is stuck."""


class Rolled(Struct, frozen=True):
    """What a round makes of its set: the revision that was selected, the groups as they are, and what comes next."""

    key: str
    view: SetView
    views: dict[str, SetView]
    """By key, of all revisions that can be read."""
    groups: tuple[GroupState, ...]
    plan: Plan
    chosen: Kept | Reused | Drafted
    apply: Apply | None
    """None where the leaders are as they should be."""
    is_first_step: bool = False
    """Whether it moves the first groups of a rollout that began in another."""


def decide(seen: SetSeen, now: datetime) -> Outcome:
    given = seen.set.metadata
    if given.deletion_timestamp is not None:
        return Decision("leave", Hold(Reason.SET_LEAVING))
    if seen.set.spec.replicas > LARGEST_REPLICAS:
        problem = (
            f"spec.replicas is {seen.set.spec.replicas}: sets of more than {LARGEST_REPLICAS} groups are left alone"
        )
        return Decision("leave", Hold(Reason.SPEC_INVALID, details=((named(seen), problem),)))
    leaders = seen.leaders
    if leaders is None:
        question = live_leaders(seen)
        if stages := seen.answers.lacking((question,)):
            return Need(stages)
        match unseen_leaders(seen, seen.answers[question]):
            case Decision() as decision:
                return decision
            case StatefulSet() as leaders:
                seen = replace(seen, leaders=leaders)
    if leaders is None:
        return _selected(seen, now)
    if leaders.metadata.deletion_timestamp is not None:
        return Decision("await_leaders", Hold(Reason.LEADERS_LEAVING, now + AGAIN))
    if leaders.metadata.controller_uid != given.uid:
        return _taken(seen, now)
    return _selected(seen, now)


def _selected(seen: SetSeen, now: datetime) -> Outcome:
    chosen = selection(seen.set, seen.leaders, seen.revisions)
    if isinstance(chosen, Unusable):
        details = ((named(seen), chosen.problem),)
        return Decision("read_revision", Hold(Reason.REVISION_UNREADABLE, details=details))
    if isinstance(chosen, Drafted):
        match freely_named(seen, chosen):
            case Need() as need:
                return need
            case Drafted() as chosen:
                pass
    found = rolled(seen, chosen)
    if found.is_first_step:
        match live_pods(seen):
            case Need() | Decision() as outcome:
                return outcome
            case pods:
                seen = replace(seen, pods=pods)
                found = rolled(seen, chosen)
    return _decided(seen, found, now)


def _taken(seen: SetSeen, now: datetime) -> Decision:
    problem = f"a StatefulSet {seen.set.metadata.name} exists that this LeaderWorkerSet does not control"
    verdict = Hold(Reason.NAME_TAKEN, now + AGAIN, ((named(seen), problem),))
    return Decision("await_leaders", verdict, tell=(notes.leaders_not_created(seen.set, problem),))


def rolled(seen: SetSeen, chosen: Kept | Reused | Drafted) -> Rolled:
    """What the selected revision and the groups come to; pure arithmetic up to the body that is applied."""
    if isinstance(chosen, Drafted):
        key, data = chosen.key, chosen.data
    else:
        key, data = key_of(chosen.revision), stored(chosen.revision)
    view = of_revision(data)
    views = _views(seen) | {key: view}
    leaders = seen.leaders

    def size_of(other: str) -> int:
        return views.get(other, view).size

    groups = groups_of(leaders, seen.pods, seen.workers, seen.members, seen.revisions, key, size_of)
    allowed = budget(rolling_update(seen.set), seen.set.spec.replicas)
    drawn = plan(
        numbers_of(
            seen.set,
            allowed,
            leaders,
            groups,
            _is_new(leaders, groups, key),
            has_outdated_orphans=leaders is None and not are_all_of(seen.pods, key),
            orphans_end=orphans_end(seen.pods, seen.set.metadata.name) if leaders is None else 0,
        )
    )
    body = leader_set(seen.set, view, key, drawn, allowed, leaders)
    apply = None
    if leaders is None or not is_unchanged(body, leaders):
        encoded = msgspec.json.encode(body, order="sorted")
        if leaders is None or not _is_as_applied(seen, encoded):
            apply = _applied(seen, encoded, drawn, chosen)
    return Rolled(key, view, views, groups, drawn, chosen, apply, _is_first_step(seen, groups, drawn))


def _is_new(leaders: StatefulSet | None, groups: tuple[GroupState, ...], key: str) -> bool:
    """Whether groups roll to this key from here on.

    Leaders whose template has it already go on. They do, too, where somebody gave the leaders another label than their
    template and their groups have: without a partition above them, the StatefulSet controller would replace all at
    once. Groups that nobody sees may be such.
    """
    if leaders is None or template_key(leaders) == key:
        return False
    is_carried = bool(groups) and all(each.key == key for each in groups)
    return leaders_key(leaders) != key or not is_carried


def _is_first_step(seen: SetSeen, groups: tuple[GroupState, ...], drawn: Plan) -> bool:
    leaders = seen.leaders
    if leaders is None or drawn.row is Row.SELECT:
        return False
    top = min(seen.set.spec.replicas, replicas_of(leaders))
    moves = drawn.partition < partition_of(leaders) or drawn.replicas < replicas_of(leaders)
    if not moves or partition_of(leaders) < top:
        return False
    return len({each.key for each in groups}) > 1 or len(groups) < len(seen.pods)  # some may be about to be adopted


def _views(seen: SetSeen) -> dict[str, SetView]:
    """Of the newest revision of each key; what cannot be read is left out."""
    views: dict[str, SetView] = {}
    for each in readable(seen.set, seen.revisions):
        try:
            views[key_of(each)] = of_revision(usable(each))
        except UnreadableData:
            continue
    return views


def _is_as_applied(seen: SetSeen, body: bytes) -> bool:
    """Whether the leaders are what the server made of this body: admission of others may have it say something else."""
    return seen.applied.get(leaders_ref(seen)) == digest_of(body)


def _applied(seen: SetSeen, body: bytes, drawn: Plan, chosen: Kept | Reused | Drafted) -> Apply:
    """Bound to the version that its numbers were computed from (section 3.2 step 5)."""
    leaders = seen.leaders
    return Apply(
        ref=leaders_ref(seen, "" if leaders is None else leaders.metadata.uid),
        body=body,
        manager=MANAGER,
        force=True,
        resource_version="" if leaders is None else leaders.metadata.resource_version,
        does=Does.APPLY_LEADERS,
        scope=seen.set.metadata.uid,
        change_from="" if leaders is None else f"partition {partition_of(leaders)} replicas {replicas_of(leaders)}",
        change_to=f"partition {drawn.partition} replicas {drawn.replicas}",
        tell=_applied_note(seen, drawn, chosen),
        refusable=True,
        contested=True,
    )


def _applied_note(seen: SetSeen, drawn: Plan, chosen: Kept | Reused | Drafted) -> EventNote | None:
    if isinstance(chosen, Drafted):
        revision = notes.revision_ref(seen.set, chosen.name)
    else:
        revision = notes.revision_ref(seen.set, chosen.revision.metadata.name, chosen.revision.metadata.uid)
    if seen.leaders is None:
        return notes.created_leaders(seen.set, revision)
    if drawn.row is Row.SELECT:
        return None
    return notes.updating(seen.set, partition_of(seen.leaders), drawn, revision)


def _decided(seen: SetSeen, found: Rolled, now: datetime) -> Outcome:
    service = _shared_service(seen, found)
    if isinstance(service, Need):
        return service
    writes = recorded(seen.set, found.chosen)
    for write in (found.apply, service):
        if isinstance(write, Bad):
            return _unknown_service(seen, write, writes)
        if write is None:
            continue
        if isinstance(answer := seen.answers.known.get(write), Bad):
            return _refused(seen, write, answer, writes)
        writes = (*writes, write)
    budget_kept = kept_budget(seen, _sizes(seen, found), now)
    if isinstance(budget_kept, Need):
        return budget_kept
    told = reported(seen, found.groups, found.key, now)
    again = min(filter(None, (told.again, budget_kept.again)), default=None)
    verdict = _replaced(seen, again) if not writes else None
    verdict = verdict or _verdict(found.plan, told.is_done, writes, again)
    if verdict.reason in (Reason.COMPLETE, Reason.PARTITION_REACHED) and not _are_all_ready(seen, found):
        verdict = Hold(Reason.GROUPS_NOT_READY, again)
    stuck: tuple[StuckPod, ...] = ()
    if isinstance(verdict, Hold) and verdict.reason is Reason.GROUPS_NOT_READY:
        waits = waits_of(seen, found.groups, found.plan.replicas, now)
        verdict, stuck = judged(verdict, waits), waits.stuck[:MOST_TOLD]
    return Decision(
        found.plan.stage.value,
        verdict,
        tell=(*_notes(seen, found), *budget_kept.told, *(notes.stuck(seen.set, each) for each in stuck)),
        reports=(*budget_kept.writes, *told.writes),
    )


def _sizes(seen: SetSeen, found: Rolled) -> list[int]:
    """Of the groups that are wanted; one that is not there yet is made of the selected revision."""
    sizes = {each.index: each.size for each in found.groups}
    return [sizes.get(index, found.view.size) for index in range(seen.set.spec.replicas)]


def _are_all_ready(seen: SetSeen, found: Rolled) -> bool:
    """Of the groups that are wanted; one whose leader goes is about to be away."""
    there = {each.index for each in found.groups if each.is_ready and not each.is_leaving}
    return all(index in there for index in range(seen.set.spec.replicas))


def _refused(seen: SetSeen, write: Apply | Create, answer: Bad, before: tuple[AnyWrite, ...]) -> Decision:
    """Of leaders that are refused nothing is recorded again; those that are not go before a Service that is."""
    if isinstance(write, Create):
        note = notes.service_not_created(seen.set, answer.text)
    elif seen.leaders is None:
        note = notes.leaders_not_created(seen.set, answer.text)
    else:
        note = notes.leaders_not_updated(seen.set, answer.text)
    if isinstance(write, Create) and before:
        return Decision("apply", Move(Reason.ROLLING, before), tell=(note,))
    return Decision("apply", Hold(Reason.OBJECT_REFUSED, details=((named(seen), answer.text),)), tell=(note,))


def _replaced(seen: SetSeen, again: datetime | None) -> Verdict | None:
    """What becomes of leaders that nobody else replaces; the status goes on where they may not be deleted."""
    deletions = stalled(seen)
    answers = ((each, seen.answers.known.get(each)) for each in deletions)
    refused = tuple((str(each.ref), answer.text) for each, answer in answers if isinstance(answer, Bad))
    if refused:
        return Hold(Reason.WRITE_REFUSED, again, refused)
    return Move(Reason.ROLLING, deletions, again) if deletions else None


def _unknown_service(seen: SetSeen, answer: Bad, before: tuple[AnyWrite, ...]) -> Decision:
    """Nobody can tell whether there is one: what comes before it is done all the same."""
    if before:
        return Decision("apply", Move(Reason.ROLLING, before))
    details = ((f"service/{seen.set.metadata.name}", answer.text),)
    return Decision("read_service", Hold(Reason.READ_FAILED, details=details))


def _shared_service(seen: SetSeen, found: Rolled) -> Create | Need | Bad | None:
    """The Service of the set's name where somebody needs it and there is none (section 3.8).

    One without our label is not in the cache: early releases wrote none.
    """
    given = seen.set.metadata
    carried = [found.views[each.key] for each in found.groups if each.key in found.views]
    if not needs_shared_service(of_spec(seen.set), (found.view, *carried)):
        return None
    if any(each.metadata.name == given.name for each in seen.services):
        return None
    question = Ask(Read(Ref(SERVICES, given.namespace, given.name)), is_expected_to_fail=True)
    if stages := seen.answers.lacking((question,)):
        return Need(stages)
    answer = seen.answers[question]
    if isinstance(answer, Good) or answer.kind != "absent":
        return answer if isinstance(answer, Bad) else None
    return Create(
        resource=SERVICES,
        namespace=given.namespace,
        name=given.name,
        body=msgspec.json.encode(shared_service(seen.set), order="sorted"),
        does=Does.CREATE_SERVICE,
        scope=given.uid,
        refusable=True,
        contested=True,
    )


def _notes(seen: SetSeen, found: Rolled) -> tuple[EventNote, ...]:
    leaders, drawn = seen.leaders, found.plan
    reclaimed = None if leaders is None else notes.reclaiming(seen.set, replicas_of(leaders), drawn)
    told = (each for each in (reclaimed, notes.blocked(seen.set, drawn), _assumed(seen, found)) if each is not None)
    unusable = (notes.invalid_annotation(seen.set, each) for each in problems_of(seen.set, seen.settings))
    return (*told, *unusable)


def _assumed(seen: SetSeen, found: Rolled) -> EventNote | None:
    """Where the key of the leaders is given to a spec that they were not made from (section 5.8)."""
    is_lost = isinstance(found.chosen, Drafted) and found.chosen.occasion is Occasion.MISSING
    if not is_lost or seen.leaders is None or found.apply is None:
        return None
    is_same = has_containers(seen.leaders, msgspec.json.decode(found.apply.body))
    return None if is_same else notes.revision_assumed(seen.set, found.key)


_WAITS = {
    Stage.HELD: Reason.PARTITION_REACHED,
    Stage.PAUSED: Reason.PAUSED,
    Stage.BLOCKED: Reason.OLD_GROUPS_NOT_READY,
}


def _verdict(drawn: Plan, is_done: bool, writes: tuple[AnyWrite, ...], again: datetime | None) -> Verdict:
    if writes:
        is_scaling = drawn.stage in (Stage.CREATING, Stage.SCALING_FIRST, Stage.STEADY)
        return Move(Reason.SCALING if is_scaling else Reason.ROLLING, writes, again)
    if drawn.stage in _WAITS:
        return Hold(_WAITS[drawn.stage], again)
    return Hold(Reason.COMPLETE if is_done else Reason.GROUPS_NOT_READY, again)
