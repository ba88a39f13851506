"""The PodDisruptionBudget of a set (section 6.8), where nobody reviews evictions: it bounds pods, and not groups.

It carries the name of the set and belongs to it. One that belongs to somebody else is told and left alone. Nothing of a
rollout depends on it: what cannot be kept is a Warning, and the round goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from fairlead.contracts.leaderworker.decide import notes
from fairlead.contracts.leaderworker.decide.disruption_budget import Allowance, allowance_of, least_pods
from fairlead.contracts.leaderworker.decide.made_parts import owned_by_set
from fairlead.contracts.leaderworker.decide.seen import SetSeen
from fairlead.contracts.leaderworker.kinds import DISRUPTION_BUDGETS, NAME, Json, PodBudget, PodBudgetSpec
from fairlead.core.act import AnyWrite, Create, Delete, Does, EventNote, Patch, PatchKind
from fairlead.core.ask import Ask, Bad, Good, Need, Read
from kubeloop.objects.meta import LabelSelector, Ref
from kubeloop.unreadable import UNREADABLE

AGAIN = timedelta(minutes=1)
"""After so long it is looked whether a budget can be kept that could not."""


class KeptBudget(Struct, frozen=True):
    """What a round does about the budget of its set."""

    writes: tuple[AnyWrite, ...] = ()
    told: tuple[EventNote, ...] = ()
    again: datetime | None = None


def kept_budget(seen: SetSeen, sizes: Sequence[int], now: datetime) -> KeptBudget | Need:
    """`sizes` are those of the groups that are wanted."""
    allowed = allowance_of(seen.set)
    told = tuple(_notes(seen, allowed))
    if not seen.settings.keeps_budgets:
        return KeptBudget(told=told)
    own = own_budget(seen)
    if allowed.groups is None or not allowed.bounds(seen.set.spec.replicas) or seen.settings.reviews_evictions:
        return KeptBudget(told=told) if own is None else _tried(seen, _removed(seen, own), told, now)
    least = least_pods(allowed.groups, sizes)
    if own is not None:
        return KeptBudget(told=told) if _says(own, seen, least) else _tried(seen, _changed(seen, own, least), told, now)
    return _made(seen, least, told, now)


def own_budget(seen: SetSeen) -> PodBudget | None:
    """The one of the set's name that it controls and that stays."""
    given = seen.set.metadata
    return next(
        (
            each
            for each in seen.budgets
            if each.metadata.name == given.name
            and each.metadata.controller_uid == given.uid
            and each.metadata.deletion_timestamp is None
        ),
        None,
    )


def _notes(seen: SetSeen, allowed: Allowance) -> list[EventNote]:
    if allowed.is_idle(seen.set.spec.replicas):
        return [notes.budget_too_large(seen.set, allowed.groups or 0)]
    is_kept = seen.settings.keeps_budgets or seen.settings.reviews_evictions
    return [notes.budget_not_kept(seen.set, NOT_ASKED)] if allowed.groups is not None and not is_kept else []


NOT_ASKED = (
    "this operator neither keeps PodDisruptionBudgets (-lws-disruption-budgets) nor reviews evictions"
    " (-lws-eviction-webhook)"
)


def _ref(seen: SetSeen, uid: str = "") -> Ref:
    return Ref(DISRUPTION_BUDGETS, seen.set.metadata.namespace, seen.set.metadata.name, uid)


def _wanted(seen: SetSeen, least: int) -> PodBudgetSpec:
    return PodBudgetSpec(min_available=least, selector=LabelSelector({NAME: seen.set.metadata.name}))


def _says(own: PodBudget, seen: SetSeen, least: int) -> bool:
    return own.spec == _wanted(seen, least)


def _tried(seen: SetSeen, write: AnyWrite, told: tuple[EventNote, ...], now: datetime) -> KeptBudget:
    """The write; once it was refused, what is told of that."""
    if isinstance(answer := seen.answers.known.get(write), Bad):
        return KeptBudget(told=(*told, notes.budget_not_kept(seen.set, answer.text)), again=now + AGAIN)
    return KeptBudget((write,), told)


def _made(seen: SetSeen, least: int, told: tuple[EventNote, ...], now: datetime) -> KeptBudget | Need:
    """The API server is asked first: the cache has no object without our label."""
    question = Ask(Read(_ref(seen)), is_expected_to_fail=True)
    if stages := seen.answers.lacking((question,)):
        return Need(stages)
    answer = seen.answers[question]
    if isinstance(answer, Good):
        problem = _in_the_way(answer, seen)
        return KeptBudget(told=(*told, *problem), again=now + AGAIN)
    if answer.kind != "absent":
        return KeptBudget(told=(*told, notes.budget_not_kept(seen.set, answer.text)), again=now + AGAIN)
    body = {**_body(seen, least), "apiVersion": DISRUPTION_BUDGETS.api_version, "kind": DISRUPTION_BUDGETS.kind}
    created = Create(
        resource=DISRUPTION_BUDGETS,
        namespace=seen.set.metadata.namespace,
        name=seen.set.metadata.name,
        body=msgspec.json.encode(body, order="sorted"),
        does=Does.KEEP_DISRUPTION_BUDGET,
        scope=seen.set.metadata.uid,
        change_to=str(least),
        refusable=True,
        contested=True,
    )
    return _tried(seen, created, told, now)


def _in_the_way(answer: Good, seen: SetSeen) -> tuple[EventNote, ...]:
    """Told of one that is another's; our own is on its way into the cache, or is going."""
    try:
        owner = msgspec.json.decode(answer.value, type=PodBudget).metadata.controller_uid
    except UNREADABLE:
        owner = ""
    if owner == seen.set.metadata.uid:
        return ()
    name = seen.set.metadata.name
    problem = f"a PodDisruptionBudget {name} exists that this LeaderWorkerSet does not control"
    return (notes.budget_not_kept(seen.set, problem),)


def _body(seen: SetSeen, least: int) -> Json:
    given = seen.set.metadata
    return {
        "metadata": {
            "name": given.name,
            "namespace": given.namespace,
            "labels": {NAME: given.name},
            "ownerReferences": [owned_by_set(seen.set)],
        },
        "spec": {"minAvailable": least, "selector": {"matchLabels": {NAME: given.name}}},
    }


def _changed(seen: SetSeen, own: PodBudget, least: int) -> Patch:
    """Whatever somebody else selects or allows goes."""
    others = {} if own.spec.selector is None else dict.fromkeys(own.spec.selector.match_labels)
    selector = {"matchLabels": {**others, NAME: seen.set.metadata.name}, "matchExpressions": None}
    spec = {"minAvailable": least, "maxUnavailable": None, "selector": selector}
    return Patch(
        ref=_ref(seen, own.metadata.uid),
        kind=PatchKind.MERGE,
        body=msgspec.json.encode({"spec": spec}, order="sorted"),
        resource_version=own.metadata.resource_version,
        does=Does.KEEP_DISRUPTION_BUDGET,
        scope=seen.set.metadata.uid,
        change_from=str(own.spec.min_available),
        change_to=str(least),
        refusable=True,
        contested=True,
    )


def _removed(seen: SetSeen, own: PodBudget) -> Delete:
    return Delete(
        ref=_ref(seen, own.metadata.uid),
        does=Does.REMOVE_DISRUPTION_BUDGET,
        scope=seen.set.metadata.uid,
        refusable=True,
    )
