"""Facts that no cache shows, asked for when a pass needs them: the namespace that guards, owners, custom kinds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from fairlead.contracts.plans.decide.component_revisions import is_revision, questions, resolved
from fairlead.contracts.plans.decide.notes import failed_to_get
from fairlead.contracts.plans.decide.reach import is_secret, out_of_reach
from fairlead.contracts.plans.decide.seen import Extension, RolloutObject, TraitSeen
from fairlead.contracts.plans.decide.workloads.live import at
from fairlead.contracts.plans.decide.workloads.plugged import plugged
from fairlead.contracts.plans.decide.writes import event
from fairlead.contracts.plans.kinds import (
    CLONE_SETS,
    DAEMON_SETS,
    DELETING,
    FAILING,
    INITIALIZING,
    NEWER_CLONE_SETS,
    TERMINAL,
    VERIFYING,
    WORKLOAD_DEFINITIONS,
    Json,
    RolloutStatus,
    WorkloadReference,
    each_once,
)
from fairlead.core.ask import Answer, Answers, Ask, Bad, Discover, Good, Listing, Need, Read, To
from fairlead.core.decision import Decision, Hold
from fairlead.core.reason import Reason
from kubeloop.objects.apps import DEPLOYMENTS, STATEFULSETS
from kubeloop.objects.core import NAMESPACES
from kubeloop.objects.meta import Ref, Resource, ServedVersion

SERVES = 30.0
"""Seconds for which an answer about kinds serves: they come and go seldom."""
BUILT_IN = {
    (DEPLOYMENTS.group, DEPLOYMENTS.kind): (DEPLOYMENTS,),
    (STATEFULSETS.group, STATEFULSETS.kind): (STATEFULSETS,),
    (DAEMON_SETS.group, DAEMON_SETS.kind): (DAEMON_SETS,),
    (CLONE_SETS.group, CLONE_SETS.kind): (CLONE_SETS, NEWER_CLONE_SETS),
}
"""By group and kind: the resources of it, the first that is served is used."""
_WORKLOADS = "workloads"
_CLAIMING = frozenset({VERIFYING, INITIALIZING, FAILING, DELETING})
"""States in which it matters whether somebody else controls a workload."""


class Workloads(Struct, frozen=True):
    """What a rollout is about."""

    target: WorkloadReference
    all: tuple[WorkloadReference, ...]
    """Every workload that its spec or its status names, each once."""


def workloads_of(rollout: RolloutObject, answers: Answers | None = None) -> Workloads:
    """What the attempt in the status works on comes before what the spec says by now.

    A component revision stands for its workload where that is answered. Without one it is the same for as long as the
    object is kept: indexes, wake-ups and rounds ask for it.
    """
    kept = vars(rollout)
    if _WORKLOADS in kept:
        found: Workloads = kept[_WORKLOADS]
        return found
    named = _named(rollout)
    workloads = _resolved(rollout, named, answers)
    if not any(map(is_revision, named)):
        kept[_WORKLOADS] = workloads
    return workloads


def _resolved(rollout: RolloutObject, named: tuple[WorkloadReference, ...], answers: Answers | None) -> Workloads:
    known = tuple(resolved(each, rollout.metadata.namespace, answers or Answers()) for each in named)
    return Workloads(known[0], each_once(each for each in known if each.name))


def _named(rollout: RolloutObject) -> tuple[WorkloadReference, ...]:
    """The target first."""
    spec, status = rollout.read_spec[0], rollout.read_status
    target = status.last_target_ref or spec.target_ref
    left = () if status.carried is None else status.carried.refs
    recorded = (*status.last_source_ref, *(each.ref for each in status.sources), *left)
    return (target, spec.target_ref, *spec.source_ref, *recorded)


def discovery(group: str, kind: str) -> Ask:
    return Ask(Discover(group, kind), max_age=SERVES)


def served_resource(answers: Answers, reference: WorkloadReference) -> tuple[Resource, ...]:
    """The resource of its kind in the version that it names, else in the preferred one; empty where nobody knows, and
    for kinds that no rollout may be about."""
    found = _served(answers, reference.group, reference.kind)
    return _preferred(reference, tuple(each for each in found if not out_of_reach(each)))


def _preferred(reference: WorkloadReference, versions: tuple[Resource, ...]) -> tuple[Resource, ...]:
    named = [each for each in versions if each.api_version == reference.api_version]
    return (*named, *versions)[:1]


def _served(answers: Answers, group: str, kind: str) -> tuple[Resource, ...]:
    answer = answers.known.get(discovery(group, kind))
    if not isinstance(answer, Good):
        return ()
    return tuple(each.resource for each in msgspec.json.decode(answer.value, type=tuple[ServedVersion, ...]))


def completed(seen: TraitSeen) -> TraitSeen | Need | Decision:
    """With all that a pass over the rollout reads; else what is to be asked, or why it cannot be known."""
    status = seen.rollout.read_status
    if status.rolling_state in TERMINAL:
        return seen
    for complete in (_with_revisions, _with_kind, _with_guard, _with_owners):
        found = complete(seen, status)
        if not isinstance(found, TraitSeen):
            return found
        seen = found
    return seen


Completed: TypeAlias = TraitSeen | Need | Decision


def _with_revisions(seen: TraitSeen, _status: RolloutStatus) -> Completed:
    """T-6: which workloads component revisions stand for; one that is gone stands for nothing."""
    asked = questions(_named(seen.rollout), seen.rollout.metadata.namespace)
    if stages := seen.answers.lacking(asked):
        return Need(stages)
    return next(_unread(seen, asked), seen)


def _with_kind(seen: TraitSeen, _status: RolloutStatus) -> Completed:
    """How a custom kind is rolled, as the first of its WorkloadDefinitions says: of the namespace, then of the system.

    A kind that is known, but not listed yet, is waited for.
    """
    target = workloads_of(seen.rollout, seen.answers).target
    if (target.group, target.kind) not in BUILT_IN and target.name:
        asked = discovery(target.group, target.kind)
        places = dict.fromkeys((seen.rollout.metadata.namespace, seen.settings.system_namespace))
        lists = tuple(Ask(Listing(WORKLOAD_DEFINITIONS, each), max_age=SERVES) for each in places)
        if plugged(target) is not None:
            lists = ()
        if stages := seen.answers.lacking((asked, *lists)):
            return Need(stages)
        if bad := next(_unread(seen, (asked, *lists)), None):
            return bad
        if not (resources := served_resource(seen.answers, target)):
            return replace(seen, unserved=seen.unserved | {f"{target.kind}.{target.group}"})
        name = f"{resources[0].plural}.{resources[0].group}"
        found = next(_extensions(seen.answers, lists, name), None)
        if found is not None:
            seen = replace(seen, extensions=(*seen.extensions, Extension(target.group, target.kind, found)))
    if seen.unlisted:
        shown = ", ".join(sorted(seen.unlisted))
        details = ((str(seen.rollout.ref), f"waiting for the first list of {shown}"),)
        return Decision("await_caches", Hold(Reason.CACHE_BEHIND, details=details))
    return seen


def _extensions(answers: Answers, lists: Iterable[Ask], name: str) -> Iterator[Json]:
    for asked in lists:
        answer = answers[asked]
        items = at(msgspec.json.decode(answer.value), "items") if isinstance(answer, Good) else ()
        for each in items if isinstance(items, list) else ():
            found = at(each, "spec.extension.rollout")
            if at(each, "spec.definitionRef.name") == name and isinstance(found, dict):
                yield found


def _with_guard(seen: TraitSeen, status: RolloutStatus) -> Completed:
    """The UID of the namespace, where a workload may be claimed in this pass."""
    if seen.namespace_uid or status.rolling_state not in _CLAIMING - {VERIFYING}:
        return seen
    asked = Ask(Read(Ref(NAMESPACES, "", seen.rollout.metadata.namespace)))
    if stages := seen.answers.lacking((asked,)):
        return Need(stages)
    answer = seen.answers[asked]
    if isinstance(answer, Good):
        return replace(seen, namespace_uid=str(at(msgspec.json.decode(answer.value), "metadata.uid") or ""))
    return next(_unread(seen, (asked,)))


def _with_owners(seen: TraitSeen, status: RolloutStatus) -> Completed:
    """Which controllers of these workloads exist no more: their claims count for nothing."""
    if status.rolling_state not in _CLAIMING:
        return seen
    owners = [*_foreign_controllers(seen)]
    kinds = dict.fromkeys(discovery(_group(each), str(each.get("kind"))) for each in owners)
    if stages := seen.answers.lacking(tuple(kinds)):
        return Need(stages)
    reads = {asked: each for each in owners if (asked := _read_of(seen, each)) is not None}
    if stages := seen.answers.lacking(tuple(reads)):
        return Need(stages)
    gone = (str(each.get("uid")) for asked, each in reads.items() if _is_gone(seen.answers[asked], each))
    return replace(seen, gone=seen.gone.union(gone))


def _foreign_controllers(seen: TraitSeen) -> Iterator[Json]:
    known = (seen.rollout.metadata.uid, *seen.gone)
    for live in seen.workloads:
        owners = at(live.tree, "metadata.ownerReferences")
        for each in owners if isinstance(owners, list) else ():
            if isinstance(each, dict) and each.get("controller") is True and each.get("uid") not in known:
                yield each


def _group(owner: Json) -> str:
    return str(owner.get("apiVersion", "")).rpartition("/")[0]


def _read_of(seen: TraitSeen, owner: Json) -> Ask | None:
    """None where its kind is not known to be served: nobody can say that it is gone."""
    reference = WorkloadReference(str(owner.get("apiVersion", "")), str(owner.get("kind", "")))
    for resource in _preferred(reference, _served(seen.answers, reference.group, reference.kind)):
        namespace = seen.rollout.metadata.namespace if resource.namespaced else ""
        ref = Ref(resource, namespace, str(owner.get("name", "")))
        return Ask(Read(ref, metadata_only=is_secret(resource)))
    return None


def _is_gone(answer: Answer, owner: Json) -> bool:
    """It is not there, or another one of its name is."""
    if isinstance(answer, Bad):
        return answer.kind == "absent"
    return at(msgspec.json.decode(answer.value), "metadata.uid") != owner.get("uid")


def _unread(seen: TraitSeen, asked: Iterable[Ask]) -> Iterator[Decision]:
    """What could not be answered; a kind that is not served has no objects."""
    for each in asked:
        answer = seen.answers[each]
        if isinstance(answer, Bad) and answer.kind != "absent":
            kind, named = _asked_of(each.to)
            text = answer.text or answer.kind
            told = event(failed_to_get(kind, text), seen.rollout, seen.rollout.read_status)
            yield Decision("ask_facts", Hold(Reason.READ_FAILED, details=((named, text),)), tell=(told,))


def _asked_of(to: To) -> tuple[str, str]:
    """The kind that was asked for, and its name for people."""
    match to:
        case Read(ref):
            return ref.resource.kind, str(ref)
        case Listing(resource):
            return resource.kind, str(resource)
        case Discover(_, kind):
            return kind, kind
    raise AssertionError(f"nothing here asks {to}")
