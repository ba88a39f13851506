"""What would be decided about a rollout by who has no caches and calls nobody: workloads are read by their names.

Hooks, metrics and traffic are the operator's to ask. What it wrote of their answers is told again, and where it wrote
nothing, that nobody here knows.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import msgspec
from msgspec import Struct

from fairlead.contracts.plans.decide import conditions, states, trait_round
from fairlead.contracts.plans.decide.applications.app_rollouts import is_snapshot
from fairlead.contracts.plans.decide.applications.deployments import is_application
from fairlead.contracts.plans.decide.component_revisions import is_revision
from fairlead.contracts.plans.decide.facts import BUILT_IN, discovery, served_resource, workloads_of
from fairlead.contracts.plans.decide.seen import LiveObject, RolloutObject, TraitSeen
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads.live import at
from fairlead.contracts.plans.kinds import AUTOSCALERS, CLONE_SETS, DAEMON_SETS, LOCATING, Json, WorkloadReference
from fairlead.core.ask import Answers, Ask, Bad, Discover, Good, Listing, Need, Read
from fairlead.core.decision import Decision, Hold, Outcome
from fairlead.core.reason import Reason
from kubeloop.objects.apps import CONTROLLER_REVISIONS, REVISION_LABEL, STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref, Resource

NOBODY = "-"
"""In place of the UID of the namespace, which only a claim holds."""
HARMLESS = (Read, Listing, Discover)
"""Questions that anybody may ask."""
ASKED = "the operator asks others (hooks, metrics or traffic), and what they answer is not known here"
PREPARED = "the operator prepares what is rolled, and how far it is is not known here"
COUNTED = {(each.group, each.kind) for each in (STATEFULSETS, DAEMON_SETS)}
"""Kinds whose pods are counted one by one."""


class Looked(Struct, frozen=True):
    """A rollout, and what was answered about it so far."""

    rollout: RolloutObject
    answers: Answers = Answers()


def decide(looked: Looked, now: datetime) -> Outcome:
    if _is_unknown(workloads_of(looked.rollout).target, looked.rollout):
        return retold(looked.rollout, Reason.APPLICATION_PENDING, PREPARED)
    seen = seen_by(looked)
    if not isinstance(seen, TraitSeen):
        return seen
    found = trait_round.decide(seen, now)
    if isinstance(found, Need) and not all(_is_harmless(each) for stage in found.stages for each in stage):
        return retold(looked.rollout, Reason.ANSWER_UNKNOWN, ASKED)
    return found


def _is_unknown(target: WorkloadReference, rollout: RolloutObject) -> bool:
    """Whether something stands for the target that only the operator makes a workload of."""
    if rollout.first_state == LOCATING:
        return is_revision(target) or is_snapshot(target)
    return is_application(target)


def _is_harmless(question: object) -> bool:
    return isinstance(question, Ask) and isinstance(question.to, HARMLESS)


def seen_by(looked: Looked) -> TraitSeen | Need | Decision:
    """The rollout with its workloads; else what is to be read first, or what cannot be read."""
    rollout, answers = looked.rollout, looked.answers
    workloads = workloads_of(rollout)
    every = [each for each in workloads.all if not _is_unknown(each, rollout)]
    custom = [each for each in every if (each.group, each.kind) not in BUILT_IN or _is_clone_set(each)]
    kinds = tuple(dict.fromkeys(discovery(each.group, each.kind) for each in custom))
    if stages := answers.lacking(kinds):
        return Need(stages)
    namespace = rollout.metadata.namespace
    served = {each: _resource(answers, each) for each in every}
    reads = {each: _read(found, namespace, each) for each, found in served.items() if found is not None}
    target = workloads.target
    lists = _lists(namespace) if (target.group, target.kind) in COUNTED else ()
    scalers = Ask(Listing(AUTOSCALERS, namespace))
    if stages := answers.lacking((*reads.values(), *lists, scalers)):
        return Need(stages)
    if (unread := next(_unread(answers, (*reads.values(), *lists)), None)) is not None:
        return unread
    live = [
        LiveObject(resource, tree)
        for each, resource in served.items()
        if resource is not None and (tree := _tree(answers, reads[each]))
    ]
    pods, revisions = (_items(answers, asked) for asked in lists) if lists else ((), ())
    return TraitSeen(
        rollout=rollout,
        namespace_uid=NOBODY,
        workloads=tuple(live),
        pods=pods,
        revisions=revisions,
        autoscalers=dict(_autoscalers(answers, scalers, workloads.all)),
        unserved=frozenset(f"{each.kind}.{each.group}" for each, found in served.items() if found is None),
        answers=answers,
    )


def _is_clone_set(reference: WorkloadReference) -> bool:
    return (reference.group, reference.kind) == (CLONE_SETS.group, CLONE_SETS.kind)


def _resource(answers: Answers, reference: WorkloadReference) -> Resource | None:
    """None where the cluster does not serve it."""
    built_in = BUILT_IN.get((reference.group, reference.kind), ())
    if built_in and not _is_clone_set(reference):
        return built_in[0]
    found = served_resource(answers, reference)
    return found[0] if found else None


def _read(resource: Resource, namespace: str, reference: WorkloadReference) -> Ask:
    return Ask(Read(Ref(resource, namespace, reference.name)))


def _lists(namespace: str) -> tuple[Ask, Ask]:
    return Ask(Listing(PODS, namespace, REVISION_LABEL)), Ask(Listing(CONTROLLER_REVISIONS, namespace))


def _tree(answers: Answers, asked: Ask) -> Json:
    answer = answers[asked]
    found: Json = msgspec.json.decode(answer.value) if isinstance(answer, Good) else {}
    return found


def _items(answers: Answers, asked: Ask) -> tuple[Json, ...]:
    found = _tree(answers, asked).get("items")
    return tuple(each for each in found if isinstance(each, dict)) if isinstance(found, list) else ()


def _autoscalers(answers: Answers, asked: Ask, workloads: tuple[WorkloadReference, ...]) -> Iterator[tuple[str, str]]:
    """Who may not list them sees none."""
    for each in _items(answers, asked):
        aim = at(each, "spec.scaleTargetRef")
        for workload in workloads:
            if (at(aim, "kind"), at(aim, "name")) == (workload.kind, workload.name):
                yield workload.name, str(at(each, "metadata.name"))


def _unread(answers: Answers, asked: tuple[Ask, ...]) -> Iterator[Decision]:
    for each in asked:
        answer = answers[each]
        if isinstance(answer, Bad) and answer.kind != "absent":
            about = str(each.to.ref if isinstance(each.to, Read) else each.to)
            text = f"{about} cannot be read here: {answer.text or answer.kind}"
            yield Decision("ask_facts", Hold(Reason.READ_FAILED, details=((about, text),)))


def retold(rollout: RolloutObject, otherwise: Reason, text: str) -> Decision:
    """As the operator last said it in the condition of the present state; else what is known without its word."""
    status = states.known(rollout.read_status)
    kind = conditions.condition_type(status)
    told = next((each for each in status.conditions if each.type == kind and each.status == conditions.FALSE), None)
    about = str(rollout.ref)
    reason = None if told is None else next((each.reason for each in Why if each.word == told.reason), None)
    if told is None or reason is None:
        return Decision("retell", Hold(otherwise, details=((about, text),)))
    return Decision("retell", Hold(reason, details=((about, told.message),)))
