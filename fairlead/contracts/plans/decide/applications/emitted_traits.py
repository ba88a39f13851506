"""What becomes of the traits of a component: objects that aim at its workload, and a RolloutTrait that brings it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fairlead.contracts.plans.decide.applications.configuration_parts import Part, Trait
from fairlead.contracts.plans.decide.applications.emission import (
    change_of,
    labelled,
    new_body,
    owners_with,
    workload_labels,
)
from fairlead.contracts.plans.decide.applications.emitted_workloads import Emitted, Scene
from fairlead.contracts.plans.decide.applications.held_rollouts import HeldRollout, is_hindering, unhindered
from fairlead.contracts.plans.decide.applications.naming import Rollouts
from fairlead.contracts.plans.decide.applications.revisions import is_paired
from fairlead.contracts.plans.decide.applications.trees import Tree, at, mapping, texts, with_value
from fairlead.contracts.plans.decide.applications.writes import created, patched
from fairlead.contracts.plans.kinds import (
    COMPONENT,
    COMPONENT_REVISION,
    CONFIGURATIONS,
    ROLLOUT_TRAITS,
    TRAIT_TYPE,
    Json,
    WorkloadReference,
)
from fairlead.core.act import Does
from kubeloop.objects.apps import CONTROLLER_REVISIONS
from kubeloop.objects.core import SERVICES


def emitted_of(part: Part, rollouts: Rollouts, held: Iterable[HeldRollout]) -> tuple[Trait, ...]:
    """Those that become objects now: while an ApplicationDeployment rolls the component, or a rollout whose trait was
    taken off, none that conflicts (D-3 and T-7)."""
    found = tuple(each for each in part.traits if not each.is_scaler)
    if part.by_handover or rollouts.at_work_on(part.reference):
        found = tuple(each for each in found if not is_hindering(each))
    return unhindered(found, [each for each in held if each.component == part.component])


def trait_of(
    part: Part, trait: Trait, live: Tree | None, scene: Scene, sources: Sequence[WorkloadReference]
) -> Emitted:
    """`sources` are the workloads of earlier revisions that still have pods."""
    if trait.resource is None:
        return Emitted()
    tree = _aimed(part, trait, live, sources)
    desired = labelled(
        tree,
        scene.emitter,
        trait.reference.name,
        scene.namespace,
        workload_labels(part.component, part.revision.name, TRAIT_TYPE),
    )
    scope = scene.emitter.uid
    if live is None:
        body = new_body(desired, {}, (scene.emitter.reference(controls=True),))
        return Emitted((created(trait.resource, scene.namespace, body, Does.APPLY_OBJECT, scope=scope),))
    if live.is_leaving:
        return Emitted(problem=f"waiting for the {live.shown} to be gone: it is being deleted")
    without, problem, is_held = _ownership(part, live, scene)
    if problem or is_held:
        return Emitted(problem=problem)
    owners = owners_with(live.owners, scene.emitter, controls=True, without=without)
    body = change_of(live, desired, owners)
    if not body:
        return Emitted()
    return Emitted((patched(live, body, Does.APPLY_OBJECT, ("", part.revision.name), scope=scope),))


def _ownership(part: Part, live: Tree, scene: Scene) -> tuple[frozenset[str], str, bool]:
    """Whose references go, why it cannot be ours, and whether it is left to the application that has it (D-3)."""
    owner = live.controller
    if owner is None:
        if live.labels.get(COMPONENT) == part.component:
            return scene.family, "", False
        text = f"the {live.shown} is there already and is of no application: delete it, or rename the component"
        return scene.family, text, False
    uid = str(owner.get("uid"))
    if uid == scene.emitter.uid or uid in scene.family:
        return scene.family, "", False
    if owner.get("kind") != CONFIGURATIONS.kind:
        return scene.family, f"the {live.shown} is controlled by the {owner.get('kind')} {owner.get('name')}", False
    if uid not in scene.active:
        return scene.family | {uid}, "", False
    if part.by_handover:
        return scene.family, "", True
    other = scene.active[uid]
    return scene.family, f"the {live.shown} is that of the ApplicationConfiguration {other}: rename one of them", False


def _aimed(part: Part, trait: Trait, live: Tree | None, sources: Sequence[WorkloadReference]) -> Json:
    tree, path = trait.tree, ""
    if trait.present is not None:
        path = trait.present.definition.spec.workload_ref_path
    if trait.resource == ROLLOUT_TRAITS:
        return _rollout(part, tree, live, sources)
    if trait.is_rollout:
        return _revision_rollout(part, tree, live, sources)
    if path:
        tree = with_value(tree, tuple(path.split(".")), _tree_of(part.reference))
    if trait.resource == SERVICES and part.by_handover:
        selector = {**texts(at(tree, "spec.selector")), COMPONENT_REVISION: part.revision.name}
        tree = with_value(tree, ("spec", "selector"), selector)
    return tree


def _rollout(part: Part, tree: Json, live: Tree | None, sources: Sequence[WorkloadReference]) -> Json:
    """T-3: as long as the target stays, so do the sources, or a rollout at work would begin again.

    Kinds that are updated in place are named by their revisions, because the workload is the same each time.
    """
    target = part.reference
    if not is_paired(target):
        target = WorkloadReference(CONTROLLER_REVISIONS.api_version, CONTROLLER_REVISIONS.kind, part.revision.name)
    listed = [_tree_of(each) for each in sources if not each.names_same(target)]
    if live is not None and mapping(at(live.tree, "spec.targetRef")).get("name") == target.name:
        kept = at(live.tree, "spec.sourceRef")
        listed = kept if isinstance(kept, list) else []
    spec = {**mapping(tree.get("spec")), "targetRef": _tree_of(target)}
    return {**tree, "spec": {**spec, "sourceRef": listed} if listed else spec}


def _revision_rollout(part: Part, tree: Json, live: Tree | None, sources: Sequence[WorkloadReference]) -> Json:
    """C-7: to the revision of the component; as long as it is the same, so is the one to come from."""
    target = part.rolled_to
    source = next((each.name for each in sources if each.name != target), None)
    if live is not None and at(live.tree, "spec.targetRevisionName") == target:
        kept = at(live.tree, "spec.sourceRevisionName")
        source = kept if isinstance(kept, str) else None
    given = mapping(tree.get("spec"))
    spec = {**given, "targetRevisionName": target, "componentName": part.component}
    spec.pop("sourceRevisionName", None)
    return {**tree, "spec": {**spec, "sourceRevisionName": source} if source else spec}


def _tree_of(reference: WorkloadReference) -> Json:
    return {"apiVersion": reference.api_version, "kind": reference.kind, "name": reference.name}
