"""A pass over an ApplicationConfiguration (sections 3.13 and 3.15): its workloads first, then what is around them.

It never changes size, pause or partition of what a rollout holds (I-11): such a workload is left alone until it is
released.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.plans.applications.kinds import (
    COMPLETED,
    INACTIVE_COMPLETED,
    SYNCED,
    TEMPLATED,
    TEMPLATING,
    ConfigurationSpec,
    ConfigurationStatus,
    HistoryWorkload,
    TraitStatus,
    WorkloadStatus,
)
from fairlead.contracts.plans.decide.applications.asking import Flow, list_many, outcome, resources
from fairlead.contracts.plans.decide.applications.component_keepers import kept
from fairlead.contracts.plans.decide.applications.configuration_family import (
    Configuration,
    annotated,
    configurations_of,
    inactivated,
    number_of,
)
from fairlead.contracts.plans.decide.applications.configuration_history import (
    absent_traits,
    history,
    is_source,
    sources,
)
from fairlead.contracts.plans.decide.applications.configuration_parts import Part, Stuck, live_of, parts_of
from fairlead.contracts.plans.decide.applications.emission import Emitter
from fairlead.contracts.plans.decide.applications.emitted_traits import emitted_of, trait_of
from fairlead.contracts.plans.decide.applications.emitted_workloads import (
    Emitted,
    Scene,
    set_aside,
    workload_of,
)
from fairlead.contracts.plans.decide.applications.foreign_kinds import foreign_kind, left_alone
from fairlead.contracts.plans.decide.applications.held_rollouts import HeldRollout, held_rollouts
from fairlead.contracts.plans.decide.applications.naming import ROLLOUT_KINDS, Rollouts
from fairlead.contracts.plans.decide.applications.seen import FamilySeen
from fairlead.contracts.plans.decide.applications.state_conditions import with_condition
from fairlead.contracts.plans.decide.applications.traffic_services import service_of, sides, workload_trees
from fairlead.contracts.plans.decide.applications.trees import Tree
from fairlead.contracts.plans.decide.applications.writes import deleted, reported
from fairlead.contracts.plans.decide.reading import read
from fairlead.contracts.plans.kinds import (
    APPLICATION,
    CONFIGURATION_ROLLOUT,
    CONFIGURATIONS,
    CREATING,
    INACTIVE,
    WorkloadReference,
)
from fairlead.core.act import AnyWrite
from fairlead.core.ask import Answers, Bad, Listing
from fairlead.core.decision import Decision, Hold, Move, Outcome
from fairlead.core.reason import Reason
from kubeloop.objects.core import SERVICES
from kubeloop.objects.meta import Resource

AGAIN = timedelta(seconds=5)
"""After so long it is looked again at what is in the way, should nothing have woken it."""
THERE = "everything that it describes is there"
THERE_BUT_HELD = f"{THERE}, except for workloads that a rollout has"


class _Given(Struct, frozen=True):
    seen: FamilySeen
    now: datetime
    status: ConfigurationStatus
    before: tuple[Configuration, ...]
    """The configurations of the same application that came before, the newest first."""

    @property
    def statuses(self) -> tuple[ConfigurationStatus, ...]:
        return (self.status, *(each.status for each in self.before))

    @property
    def is_creating(self) -> bool:
        return self.seen.annotations.get(CREATING) == "true"


def decide(seen: FamilySeen, now: datetime) -> Outcome:
    return outcome(_passed(seen, now), seen.answers)


def _passed(seen: FamilySeen, now: datetime) -> Flow[Decision]:
    if seen.is_leaving:
        return Decision("leave", Hold(Reason.SET_LEAVING))
    if seen.annotations.get(INACTIVE) == "true":
        return Decision("ignore", Hold(Reason.COMPLETE))
    if said := (yield from foreign_kind()):
        return left_alone(seen, said, now)
    status = seen.reported.read(ConfigurationStatus)
    family = yield from _family(seen)
    if any(each.number > number_of(seen.name) for each in family):
        return Decision("superseded", Hold(Reason.COMPLETE))
    given = _Given(seen, now, status, tuple(each for each in family if each.name != seen.name))
    spec, wrong = read(ConfigurationSpec, seen.object.spec, "spec")
    if wrong:
        return _stuck(given, Stuck(wrong[0], Reason.SPEC_INVALID))
    parts = yield from parts_of(seen, spec, status, tuple(each.status for each in given.before))
    if isinstance(parts, Stuck):
        return _stuck(given, parts)
    return (yield from _emitted(given, parts))


def _family(seen: FamilySeen) -> Flow[tuple[Configuration, ...]]:
    """Of one that an Application made; none of one that a person wrote."""
    application = seen.object.metadata.labels.get(APPLICATION, "")
    owner = seen.object.metadata.controller_uid
    if not application or not owner:
        return ()
    found = yield from configurations_of(seen.namespace, application)
    return tuple(each for each in found if (each.tree.controller or {}).get("uid") == owner)


def _emitted(given: _Given, parts: tuple[Part, ...]) -> Flow[Decision]:
    seen = given.seen
    earlier_ones = history(given.statuses, parts)
    kinds = yield from resources(each.workload_ref for each in earlier_ones)
    scene = yield from _scene(given)
    if scene is None:
        details = ((str(seen.ref), "waiting for the cache to show the newest version"),)
        return Decision("await_cache", Hold(Reason.CACHE_BEHIND, given.now + AGAIN, details))
    parts = yield from kept(parts, scene)
    held = held_rollouts(parts, scene)
    traits = [(part, emitted_of(part, scene.rollouts, held)) for part in parts]
    routed = sides(parts, earlier_ones, scene.rollouts)
    absent = absent_traits(given.statuses, parts)
    trait_kinds = yield from resources(absent)
    keys = [
        *((part.resource, part.reference.name) for part in parts),
        *(_key(kinds, each.workload_ref) for each in earlier_ones if _key(kinds, each.workload_ref) is not None),
        *((each.resource, each.reference.name) for _, found in traits for each in found if each.resource is not None),
        *(_key(trait_kinds, each) for each in absent if _key(trait_kinds, each) is not None),
        *((SERVICES, each.revision) for each in routed),
    ]
    live = yield from live_of(seen.namespace, [each for each in keys if each is not None])
    workloads = tuple(workload_of(part, live[part.resource, part.reference.name], scene) for part in parts)
    earlier = {each: _live(live, kinds, each.workload_ref) for each in earlier_ones}
    sided = {tree.uid: tree for each, tree in earlier.items() if tree is not None and is_source(each, parts)}
    asides = tuple(write for tree in sided.values() for write in set_aside(tree, scene))
    trees = workload_trees(parts, earlier)
    services = tuple(
        service_of(each, live[SERVICES, each.revision], trees[each.component, each.revision], scene) for each in routed
    )
    around = tuple(
        trait_of(
            part,
            trait,
            live[trait.resource, trait.reference.name] if trait.resource is not None else None,
            scene,
            origins,
        )
        for part, found in traits
        for origins in (sources(part, earlier),)
        for trait in found
    )
    kept_on = {each.tree.uid for each in held}
    gone = tuple(
        deleted(tree, scope=seen.uid)
        for each in absent
        if (tree := _live(live, trait_kinds, each)) is not None and not tree.is_leaving and scene.emits(tree)
        if tree.uid not in kept_on
    )
    waiting = (Emitted(problem=each.text, is_current=False) for each in held)
    everything = (*workloads, Emitted(asides), *services, *around, Emitted(gone), *waiting)
    return _settled(given, _recorded(given, parts, workloads, earlier, scene.rollouts, held), everything)


def _scene(given: _Given) -> Flow[Scene | None]:
    """None where the configuration is no longer what was seen of it: what is read live would not go with it."""
    seen = given.seen
    kinds = (CONFIGURATIONS, *ROLLOUT_KINDS)
    others, *found = yield from list_many(Listing(each, seen.namespace) for each in kinds)
    rollouts = Rollouts(tuple(each for listed in found for each in listed))
    if not any(each.uid == seen.uid and each.version == seen.reported.version for each in others):
        return None
    family = frozenset(each.tree.uid for each in given.before)
    active = {
        each.uid: each.name
        for each in others
        if each.uid not in (*family, seen.uid) and each.annotations.get(INACTIVE) != "true"
    }
    owner = {
        "apiVersion": CONFIGURATIONS.api_version,
        "kind": CONFIGURATIONS.kind,
        "name": seen.name,
        "uid": seen.uid,
    }
    application = seen.object.metadata.labels.get(APPLICATION) or seen.name
    emitter = Emitter(application, seen.object.metadata.generation, owner)
    return Scene(emitter, seen.namespace, rollouts, family, active)


def _recorded(
    given: _Given,
    parts: Sequence[Part],
    emitted: Sequence[Emitted],
    earlier: dict[HistoryWorkload, Tree | None],
    rollouts: Rollouts,
    held: Sequence[HeldRollout],
) -> ConfigurationStatus:
    """What was left to a rollout stays recorded as it was, and so does a rollout that goes later; earlier workloads are
    remembered for a trait that is put on again."""
    before = {each.component_name: each for each in given.status.workloads}
    workloads = []
    for part, one in zip(parts, emitted, strict=True):
        described = (each.reference for each in emitted_of(part, rollouts, held) if each.resource is not None)
        kept_on = (each.tree.reference for each in held if each.component == part.component)
        traits = tuple(map(TraitStatus, (*described, *kept_on)))
        new = WorkloadStatus(part.component, one.revision or part.revision.name, part.reference, traits)
        old = before.get(part.component)
        is_left = not one.is_current and not one.revision
        is_kept = old is not None and is_left and old.workload_ref.names_same(part.reference)
        workloads.append(replace(old, traits=traits) if old is not None and is_kept else new)
    unrolled = {each.component for each in parts if not each.by_trait}
    remembered = (each for each in given.status.history_workloads if each.component_name in unrolled)
    found = (*(each for each, tree in earlier.items() if tree is not None), *remembered)
    history = tuple(each for each in found if _is_kept(each, workloads))
    return replace(given.status, workloads=tuple(workloads), history_workloads=history)


def _is_kept(each: HistoryWorkload, workloads: Iterable[WorkloadStatus]) -> bool:
    return not any(each.component_revision_name == one.component_revision_name for one in workloads)


def _settled(given: _Given, status: ConfigurationStatus, emitted: Sequence[Emitted]) -> Decision:
    seen = given.seen
    writes, refused = _allowed([write for each in emitted for write in each.writes], seen.answers)
    problem = refused or next((each.problem for each in emitted if each.problem), "")
    waits = any(not each.is_current for each in emitted)
    rolling = _rolling_status(given, is_done=not problem)
    text = problem or (THERE_BUT_HELD if waits else THERE)
    status = replace(
        status,
        rolling_status=rolling,
        observed_generation=given.status.observed_generation if problem else seen.object.metadata.generation,
        conditions=with_condition(
            status.conditions, SYNCED, not problem, "Applied" if not problem else "Stuck", text, given.now
        ),
    )
    report = reported(seen.reported, status, rolling, scope=seen.uid)
    if report is not None:
        writes.append(report)
    if writes:
        return Decision("emit", Move(Reason.APPLYING, tuple(writes), given.now + AGAIN if problem else None))
    if problem:
        details = ((str(seen.ref), problem),)
        return Decision("wait", Hold(Reason.APPLICATION_PENDING, given.now + AGAIN, details))
    if given.is_creating:
        return Decision("created", Move(Reason.APPLYING, (annotated(seen.tree, CREATING, None, scope=seen.uid),)))
    if not waits and (writes := [*_retired(given)]):
        return Decision("retire", Move(Reason.RETIRING, tuple(writes)))
    return Decision("rest", Hold(Reason.COMPLETE))


def _rolling_status(given: _Given, *, is_done: bool) -> str:
    """What is being made a snapshot says so before its annotation does."""
    before = given.status.rolling_status
    if given.is_creating:
        return TEMPLATED if is_done else TEMPLATING
    if before in (TEMPLATING, TEMPLATED, INACTIVE_COMPLETED):
        return before
    return COMPLETED if is_done else before


def _retired(given: _Given) -> Iterable[AnyWrite]:
    """U-4: the configuration before this one is a snapshot from now on, and the oldest above the limit go."""
    seen = given.seen
    if seen.annotations.get(CONFIGURATION_ROLLOUT) != "true":
        return
    for each in given.before:
        if not each.is_inactive:
            yield from inactivated(each, scope=seen.uid)
    kept = max(0, seen.settings.application_revision_limit)
    yield from (deleted(each.tree, scope=seen.uid) for each in given.before[kept:] if each.is_inactive)


def _allowed(writes: Sequence[AnyWrite], answers: Answers) -> tuple[list[AnyWrite], str]:
    """Up to the first that the API server refused, and what it said."""
    for place, each in enumerate(writes):
        answer = answers.known.get(each)
        if isinstance(answer, Bad):
            named = each.change_to or each.change_from or each.does.value
            return [*writes[:place]], f"{named} was refused: {answer.text or answer.kind}"
    return [*writes], ""


def _stuck(given: _Given, stuck: Stuck) -> Decision:
    seen, status = given.seen, given.status
    conditions = with_condition(status.conditions, SYNCED, False, stuck.reason.word, stuck.text, given.now)
    rolling = TEMPLATING if given.is_creating else status.rolling_status
    report = reported(seen.reported, replace(status, conditions=conditions, rolling_status=rolling), scope=seen.uid)
    hold = Hold(Reason.APPLICATION_PENDING, given.now + AGAIN, ((str(seen.ref), stuck.text),))
    return Decision("wait", hold, reports=() if report is None else (report,))


def _key(kinds: dict[tuple[str, str], Resource], each: WorkloadReference) -> tuple[Resource, str] | None:
    found = kinds.get((each.api_version, each.kind))
    return None if found is None else (found, each.name)


def _live(
    live: dict[tuple[Resource, str], Tree | None], kinds: dict[tuple[str, str], Resource], each: WorkloadReference
) -> Tree | None:
    key = _key(kinds, each)
    return None if key is None else live.get(key)
