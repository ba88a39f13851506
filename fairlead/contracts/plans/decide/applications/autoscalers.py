"""HorizontalPodAutoscalers of the workload that a rollout starts from: kept in a record while it runs (D-3)."""

from __future__ import annotations

from fairlead.contracts.plans.decide.applications.adjustments import adjustments_of, noted
from fairlead.contracts.plans.decide.applications.asking import Flow, list_all, read, read_all
from fairlead.contracts.plans.decide.applications.deployments import DeploymentSeen
from fairlead.contracts.plans.decide.applications.trees import Tree, at, mapping
from fairlead.contracts.plans.decide.applications.writes import created, deleted, patched
from fairlead.contracts.plans.kinds import (
    APPLICATIONS,
    AUTOSCALERS,
    CONFIGURATIONS,
    RolloutStatus,
    WorkloadReference,
)
from fairlead.core.act import AnyWrite, Does
from kubeloop.objects.meta import Ref


def set_aside(seen: DeploymentSeen, status: RolloutStatus) -> Flow[tuple[AnyWrite, ...]]:
    """Those that the source emits for its workload: recorded on the target first, then deleted."""
    namespace, scope = seen.namespace, seen.uid
    if not seen.names.source_app_config:
        return ()
    found = yield from list_all(AUTOSCALERS, namespace)
    emitted = [each for each in found if _is_emitted(each, seen.names.source_app_config, status)]
    if not emitted:
        return ()
    target = yield from read(Ref(APPLICATIONS, namespace, seen.names.last_target_application_name))
    writes: list[AnyWrite] = []
    if target is not None:
        known = {mapping(each.get("metadata")).get("name") for each in adjustments_of(target).autoscalers}
        if any(each.name not in known for each in emitted):
            said = ("", ", ".join(each.name for each in emitted))
            writes.append(patched(target, noted(target, emitted), Does.HAND_OVER, said, scope=scope))
    return (*writes, *(deleted(each, scope=scope) for each in emitted))


def _is_emitted(autoscaler: Tree, configuration: str, status: RolloutStatus) -> bool:
    owner = autoscaler.controller
    if owner is None or (owner.get("kind"), owner.get("name")) != (CONFIGURATIONS.kind, configuration):
        return False
    aim = mapping(at(autoscaler.tree, "spec.scaleTargetRef"))
    reference = WorkloadReference(*(str(aim.get(key, "")) for key in ("apiVersion", "kind", "name")))
    named = (*filter(None, (status.last_target_ref,)), *status.last_source_ref)
    return not autoscaler.is_leaving and any(map(reference.names_same, named))


def made_again(target: Tree, *, scope: str) -> Flow[tuple[AnyWrite, ...]]:
    """Those of the record that are not there."""
    bodies = adjustments_of(target).autoscalers
    names = [str(mapping(each.get("metadata")).get("name", "")) for each in bodies]
    live = yield from read_all(Ref(AUTOSCALERS, target.namespace, each) for each in names)
    return tuple(
        created(AUTOSCALERS, target.namespace, body, Does.APPLY_OBJECT, scope=scope)
        for body, tree in zip(bodies, live, strict=True)
        if tree is None
    )
