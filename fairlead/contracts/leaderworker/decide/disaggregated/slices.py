"""What a pass does for one slice (section 6.7): what is drained goes, then roles are made, scaled or rolled."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairlead.contracts.leaderworker.decide.disaggregated import notes
from fairlead.contracts.leaderworker.decide.disaggregated.children import (
    Child,
    Generation,
    child_name,
    created,
    generations,
    labels_of,
)
from fairlead.contracts.leaderworker.decide.disaggregated.planner import is_complete
from fairlead.contracts.leaderworker.decide.disaggregated.rolling import (
    SliceState,
    counts_of,
    noted,
    notes_due,
    scaled,
    step_of,
    unstable,
)
from fairlead.contracts.leaderworker.decide.disaggregated.seen import DisaggregatedSeen
from fairlead.contracts.leaderworker.decide.disaggregated.steps import Steps
from fairlead.contracts.leaderworker.decide.edited_labels import edited
from fairlead.contracts.leaderworker.disaggregated.kinds import APP, DisaggregatedSet, Role
from fairlead.contracts.leaderworker.kinds import LEADER_WORKER_SETS, LeaderWorkerSet
from fairlead.core.act import AnyWrite, Create, Delete, Does, EventNote
from fairlead.core.reason import Reason


def state_of(index: int, children: Iterable[Child], revision: str, wanted: dict[str, int | None]) -> SliceState:
    found = generations(each for each in children if each.slice == index)
    target = next((each for each in found if each.revision == revision), Generation(revision, {}))
    olds = tuple(each for each in found if each.revision != revision)
    return SliceState(index, revision, target, olds, wanted)


def slice_steps(seen: DisaggregatedSeen, state: SliceState) -> Steps:
    """Of one pass; a name that is somebody else's stops this slice alone."""
    given = seen.set
    drained = [old for old in state.olds if old.is_drained]
    gone = tuple(deleted(given, each, notes.deleted_drained(given, each.name)) for each in _children(drained))
    serving = tuple(old for old in state.olds if not old.is_drained)
    state = SliceState(state.index, state.revision, state.target, serving, state.wanted)
    if taken := _in_the_way(seen, state):
        told = tuple(notes.not_created(given, name, text) for name, text in taken)
        details = tuple((f"{LEADER_WORKER_SETS.kind.lower()}/{name}", text) for name, text in taken)
        return Steps(Reason.NAME_TAKEN, gone, told, details)
    if unplaced := _unplaced(seen, state):
        changed = tuple((_about(each), text) for each, wanted in unplaced for text in _edited(each, wanted))
        if changed:
            return Steps(Reason.LABEL_CHANGED, gone, details=changed)
        going = tuple((_about(each), "it is being deleted") for each, _ in unplaced)
        return Steps(Reason.OBJECTS_GOING, gone, details=going)
    found = _rolled(given, state) if serving else _settled(given, state)
    tell = (notes.completed(given, state.revision),) if drained and not serving and _is_reached(given, state) else ()
    reason = found.reason if found.writes or not gone else Reason.RETIRING
    return Steps(reason, (*gone, *found.writes), (*found.tell, *tell), found.details)


def _children(several: Iterable[Generation]) -> Iterable[Child]:
    return (each for generation in several for each in generation.roles.values())


def deleted(given: DisaggregatedSet, child: Child, tell: EventNote) -> Delete:
    return Delete(
        ref=child.ref,
        does=Does.REMOVE_ROLE,
        scope=given.metadata.uid,
        refusable=True,
        tell=tell,
    )


def _missing(given: DisaggregatedSet, state: SliceState) -> list[Role]:
    return [each for each in given.spec.roles if each.name not in state.target.roles]


def _in_the_way(seen: DisaggregatedSeen, state: SliceState) -> list[tuple[str, str]]:
    """LeaderWorkerSets of others under the names of those that are to be made."""
    given = seen.set
    foreign = {each.metadata.name for each in seen.children if each.metadata.controller_uid != given.metadata.uid}
    names = [child_name(given, state.index, state.revision, each.name) for each in _missing(given, state)]
    return [
        (name, f"a LeaderWorkerSet {name} exists that this DisaggregatedSet does not control")
        for name in names
        if name in foreign
    ]


def _unplaced(seen: DisaggregatedSeen, state: SliceState) -> list[tuple[LeaderWorkerSet, dict[str, str]]]:
    """Own ones under such names that are no child in this place, with the labels that would make them one.

    They are still being deleted, or somebody has edited their labels.
    """
    given = seen.set
    there = {each.metadata.name: each for each in seen.children}
    named = {child_name(given, state.index, state.revision, role.name): role.name for role in _missing(given, state)}
    return [
        (there[name], labels_of(given, state.index, state.revision, role))
        for name, role in named.items()
        if name in there
    ]


def _edited(found: LeaderWorkerSet, wanted: dict[str, str]) -> Iterable[str]:
    """What somebody has made of the labels of one that stays."""
    if found.metadata.deletion_timestamp is not None:
        return ()
    return edited(found.metadata.labels, {label: value for label, value in wanted.items() if label != APP}).values()


def _about(found: LeaderWorkerSet) -> str:
    return f"{LEADER_WORKER_SETS.kind.lower()}/{found.metadata.name}"


def _settled(given: DisaggregatedSet, state: SliceState) -> Steps:
    """Without old replicas every role is made, or scaled to where it is to come to."""
    writes: list[AnyWrite] = []
    for role in given.spec.roles:
        child, wanted = state.target.roles.get(role.name), state.wanted[role.name]
        if child is None:
            writes.append(created(given, role, state.index, state.revision, wanted or 0))
        elif wanted is not None and child.replicas != wanted:
            writes.append(scaled(given, child, wanted))
    if writes:
        return Steps(Reason.SCALING, tuple(writes))
    return _awaited(unstable(given, state))


def _rolled(given: DisaggregatedSet, state: SliceState) -> Steps:
    """What the old ones have is noted and the new ones are made; then there is one step after the other."""
    notes_first = (noted(given, each, replicas) for each, replicas in notes_due(given, state))
    begun: tuple[AnyWrite, ...] = (*notes_first, *_begun(given, state))
    if begun:
        return Steps(Reason.ROLLING, begun)
    if waiting := unstable(given, state):
        return _awaited(waiting)
    return Steps(Reason.ROLLING, step_of(given, state))


def _begun(given: DisaggregatedSet, state: SliceState) -> Sequence[Create]:
    """The children of the target that are missing, empty; the first of all tells that a rollout begins."""
    is_new = not state.target.roles
    return [
        created(
            given,
            role,
            state.index,
            state.revision,
            0,
            notes.started(given, state.revision) if is_new and not number else None,
        )
        for number, role in enumerate(_missing(given, state))
    ]


def _is_reached(given: DisaggregatedSet, state: SliceState) -> bool:
    return not _missing(given, state) and is_complete(tuple(counts_of(given, state).values()))


def _awaited(children: Iterable[Child]) -> Steps:
    details = tuple((f"{LEADER_WORKER_SETS.kind.lower()}/{each.name}", _lack(each)) for each in children)
    return Steps(Reason.GROUPS_NOT_READY if details else Reason.COMPLETE, details=details)


def _lack(child: Child) -> str:
    return f"{child.ready} of {child.replicas} groups of {child.name} are ready"
