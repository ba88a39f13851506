"""Decisions that ask on their way: a generator that yields what it must know, and returns what it decides.

It starts from its first line in every round; what was answered already is answered at once, so that it comes one step
further each time, and the same facts lead to the same answer.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import TypeAlias, TypeVar

import msgspec

from fairlead.contracts.plans.decide.applications.trees import Tree, decoded
from fairlead.contracts.plans.decide.reach import out_of_reach
from fairlead.contracts.plans.kinds import AUTOSCALERS, DAEMON_SETS, ROLLOUT_TRAITS, WorkloadReference
from fairlead.core.ask import Answer, Answers, Ask, Bad, Discover, Good, Listing, Need, Question, Read
from fairlead.core.decision import Decision, Hold, Outcome
from fairlead.core.reason import Reason
from kubeloop.objects.apps import DEPLOYMENTS, STATEFULSETS
from kubeloop.objects.core import SERVICES
from kubeloop.objects.meta import Ref, Resource, ServedVersion

T = TypeVar("T")
Flow: TypeAlias = Generator[tuple[Question, ...], tuple[Answer, ...], T]

KIND_AGE = 30.0
"""Seconds for which it may be believed under which path a kind is served."""
_BUILT_IN = {
    (each.api_version, each.kind): each
    for each in (DEPLOYMENTS, STATEFULSETS, DAEMON_SETS, SERVICES, AUTOSCALERS, ROLLOUT_TRAITS)
}
"""Kinds that every cluster serves, and ours."""


class Unanswered(Exception):
    """The API server did not say what must be known."""


def outcome(flow: Flow[Decision], answers: Answers) -> Outcome:
    """What the flow decides, or what must be asked for it to go on."""
    return known(flow, answers)


def known(flow: Flow[T], answers: Answers) -> T | Need | Decision:
    """What the flow returns, what must be asked for it to go on, or that nobody can say."""
    try:
        return settled(flow, answers)
    except Unanswered as problem:
        return Decision("read", Hold(Reason.READ_FAILED, details=(("api server", str(problem)),)))


def settled(flow: Flow[T], answers: Answers) -> T | Need:
    """What the flow returns, or what must be asked for it to go on; raises Unanswered."""
    try:
        stage = next(flow)
        while True:
            if lacking := answers.lacking(stage):
                return Need(lacking)
            stage = flow.send(tuple(answers[each] for each in stage))
    except StopIteration as done:
        returned: T = done.value
        return returned


def read(ref: Ref) -> Flow[Tree | None]:
    """None where it is not there."""
    (found,) = yield from read_all((ref,))
    return found


def read_all(refs: Iterable[Ref]) -> Flow[tuple[Tree | None, ...]]:
    wanted = tuple(refs)
    if not wanted:
        return ()
    answers = yield tuple(Ask(Read(each)) for each in wanted)
    return tuple(_tree(ref, answer) for ref, answer in zip(wanted, answers, strict=True))


def read_kept(refs: Iterable[Ref]) -> Flow[tuple[Tree | None, ...]]:
    """Of what seldom changes: an answer serves for a while."""
    wanted = tuple(refs)
    answers = yield tuple(Ask(Read(each), max_age=KIND_AGE) for each in wanted)
    return tuple(_tree(ref, answer) for ref, answer in zip(wanted, answers, strict=True))


def list_all(resource: Resource, namespace: str, labels: str = "") -> Flow[tuple[Tree, ...]]:
    """None of a kind that is not served."""
    (found,) = yield from list_each(resource, namespace, (labels,))
    return found


def list_each(resource: Resource, namespace: str, selectors: Iterable[str]) -> Flow[tuple[tuple[Tree, ...], ...]]:
    """One list for each of these selectors of labels."""
    return (yield from list_many(Listing(resource, namespace, each) for each in selectors))


def list_many(wanted: Iterable[Listing]) -> Flow[tuple[tuple[Tree, ...], ...]]:
    listings = tuple(wanted)
    if not listings:
        return ()
    answers = yield tuple(map(Ask, listings))
    return tuple(_listed(each.resource, answer) for each, answer in zip(listings, answers, strict=True))


def _listed(resource: Resource, answer: Answer) -> tuple[Tree, ...]:
    if isinstance(answer, Bad):
        if answer.kind == "absent":
            return ()
        raise Unanswered(f"{resource.plural} cannot be listed: {answer.text or answer.kind}")
    found = decoded(answer.value)
    items = found.get("items") if isinstance(found, dict) else None
    return tuple(Tree(resource, each) for each in items or () if isinstance(each, dict))


def resources(references: Iterable[WorkloadReference]) -> Flow[dict[tuple[str, str], Resource]]:
    """The same as `served_kinds` without those that are out of reach."""
    found = yield from served_kinds(references)
    return {named: each for named, each in found.items() if not out_of_reach(each)}


def served_kinds(references: Iterable[WorkloadReference]) -> Flow[dict[tuple[str, str], Resource]]:
    """By `apiVersion` and kind, under which path each kind is served; those that are not served are left out."""
    named = tuple(dict.fromkeys((each.api_version, each.kind) for each in references))
    found = {each: _BUILT_IN[each] for each in named if each in _BUILT_IN}
    wanted = tuple(each for each in named if each not in found)
    questions = tuple(Ask(Discover(api.rpartition("/")[0], kind), max_age=KIND_AGE) for api, kind in wanted)
    if not questions:
        return found
    answers = yield questions
    for (api, kind), answer in zip(wanted, answers, strict=True):
        if isinstance(answer, Bad):
            if answer.kind == "absent":
                continue
            raise Unanswered(f"it is not known how {kind} is served: {answer.text or answer.kind}")
        served = msgspec.json.decode(answer.value, type=tuple[ServedVersion, ...])
        fitting = [each.resource for each in served if each.resource.api_version == api]
        if fitting:
            found[api, kind] = fitting[0]
    return found


def _tree(ref: Ref, answer: Answer) -> Tree | None:
    match answer:
        case Good(value):
            found = decoded(value)
            return Tree(ref.resource, found) if isinstance(found, dict) else None
        case Bad(kind="absent"):
            return None
        case Bad():
            raise Unanswered(f"{ref} cannot be read: {answer.text or answer.kind}")
