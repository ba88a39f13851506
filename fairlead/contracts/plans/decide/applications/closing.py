"""What becomes of the Applications when an attempt ends (D-8, D-9 and V-5): written before its end is stored."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

from msgspec.structs import replace

from fairlead.contracts.plans.applications.kinds import COMPLETED, INACTIVE_COMPLETED, TEMPLATED
from fairlead.contracts.plans.decide.applications.adjustments import adjustments_of, put_back, recorded
from fairlead.contracts.plans.decide.applications.asking import Flow, read
from fairlead.contracts.plans.decide.applications.autoscalers import made_again
from fairlead.contracts.plans.decide.applications.configuration_family import Configuration, configurations_of
from fairlead.contracts.plans.decide.applications.deployments import DeploymentSeen
from fairlead.contracts.plans.decide.applications.loose_writes import annotate, rolling_status
from fairlead.contracts.plans.decide.applications.trees import Tree, mapping
from fairlead.contracts.plans.decide.applications.writes import patched
from fairlead.contracts.plans.kinds import ADJUSTMENTS, APPLICATIONS, CREATING, INACTIVE, ROLLING_COMPONENTS, Json
from fairlead.core.act import AnyWrite, Does
from kubeloop.objects.core import NAMESPACES
from kubeloop.objects.meta import Ref


class Ending(Enum):
    SUCCESS = "success"
    REVERTED = "reverted"
    LEFT = "left"
    """It failed, was abandoned or is deleted: everything stays, mixed as it is."""


def closing_writes(seen: DeploymentSeen, ending: Ending) -> Flow[tuple[AnyWrite, ...]]:
    """Whatever is gone counts as done."""
    names, namespace = seen.names, seen.namespace
    target = yield from _application(namespace, names.last_target_application_name)
    source = yield from _application(namespace, names.last_source_application_name)
    scope = seen.uid
    writes: list[AnyWrite] = []
    if ending is not Ending.SUCCESS and target is not None:
        writes += yield from made_again(target, scope=scope)
    if ending is Ending.LEFT:
        return (*writes, *_given_up(target, scope))
    leaving, staying = (source, target) if ending is Ending.SUCCESS else (target, source)
    if leaving is not None:
        found = yield from configurations_of(namespace, leaving.name)
        writes += _retired(leaving, found, scope)
    if target is not None and (body := _restored(target, is_inactive=leaving is target)):
        writes.append(patched(target, body, Does.HAND_OVER, ("", "traits put back"), scope=scope))
    elif leaving is target and target is not None and target.annotations.get(INACTIVE) != "true":
        writes.append(annotate(target, {INACTIVE: "true"}, scope=scope))
    if staying is not None:
        found = yield from configurations_of(namespace, staying.name)
        writes += _completed(found, scope)
    if leaving is not None and leaving is not target and leaving.annotations.get(INACTIVE) != "true":
        writes.append(annotate(leaving, {INACTIVE: "true"}, scope=scope))
    return tuple(writes)


def _application(namespace: str, name: str) -> Flow[Tree | None]:
    if not name:
        return None
    return (yield from read(Ref(APPLICATIONS, namespace, name)))


def _retired(application: Tree, found: tuple[Configuration, ...], scope: str) -> Iterator[AnyWrite]:
    """Its configurations are snapshots from now on: the status first, because nobody looks at them afterwards."""
    for each in found:
        if (each.tree.controller or {}).get("uid") != application.uid or each.is_inactive:
            continue
        if each.status.rolling_status != INACTIVE_COMPLETED:
            yield rolling_status(each.tree, INACTIVE_COMPLETED, scope=scope)
        yield annotate(each.tree, {INACTIVE: "true", ROLLING_COMPONENTS: None, CREATING: None}, scope=scope)


def _completed(found: tuple[Configuration, ...], scope: str) -> Iterator[AnyWrite]:
    for each in found:
        if each.is_inactive:
            continue
        if each.status.rolling_status == TEMPLATED:
            yield rolling_status(each.tree, COMPLETED, scope=scope)
        if ROLLING_COMPONENTS in each.tree.annotations:
            yield annotate(each.tree, {ROLLING_COMPONENTS: None}, scope=scope)


def _restored(target: Tree, *, is_inactive: bool) -> Json:
    """One patch; empty where nothing is to be put back."""
    body = put_back(target)
    marks: dict[str, str | None] = {}
    if ROLLING_COMPONENTS in target.annotations:
        marks[ROLLING_COMPONENTS] = None
    if is_inactive and (body or marks):
        marks[INACTIVE] = "true"
    if not body and not marks:
        return {}
    annotations = mapping(mapping(body.get("metadata")).get("annotations"))
    return {**body, "metadata": {"annotations": {**annotations, **marks}}}


def _given_up(target: Tree | None, scope: str) -> Iterator[AnyWrite]:
    """D-9: autoscalers are there again, and a target that was adopted and not handed over is free."""
    if target is None:
        return
    body: Json = {}
    if ADJUSTMENTS in target.annotations and adjustments_of(target).autoscalers:
        kept = replace(adjustments_of(target), autoscalers=())
        body = {"metadata": {"annotations": {ADJUSTMENTS: recorded(kept)}}}
    if any(each.get("uid") == scope for each in target.owners):
        guards = {each.get("uid") for each in target.owners if each.get("kind") == NAMESPACES.kind}
        others = [each for each in target.owners if each.get("uid") not in (scope, *guards)]
        back = put_back(target)
        annotations = mapping(mapping(back.get("metadata")).get("annotations"))
        marks = {**annotations, CREATING: None, ROLLING_COMPONENTS: None}
        body = {**back, "metadata": {"annotations": marks, "ownerReferences": others}}
    if body:
        yield patched(target, body, Does.HAND_OVER, ("", "given up"), scope=scope)
