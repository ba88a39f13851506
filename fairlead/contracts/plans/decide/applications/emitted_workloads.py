"""What becomes of the workload of each component: made, changed, left to a rollout, or refused."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from fairlead.contracts.plans.decide.applications.configuration_parts import Part
from fairlead.contracts.plans.decide.applications.emission import (
    Emitter,
    change_of,
    fitting,
    frozen_values,
    labelled,
    managed_paths,
    new_body,
    owners_with,
    starting_values,
    with_pod_labels,
    with_revision_selected,
    workload_labels,
)
from fairlead.contracts.plans.decide.applications.naming import (
    Rollouts,
    claimant,
    has_ended,
    has_given_up,
    references,
    target_of,
)
from fairlead.contracts.plans.decide.applications.revisions import is_paired
from fairlead.contracts.plans.decide.applications.trees import Tree, at
from fairlead.contracts.plans.decide.applications.writes import created, patched
from fairlead.contracts.plans.kinds import (
    APPLICATION,
    COMPONENT,
    COMPONENT_REVISION,
    CONFIGURATIONS,
    WORKLOAD_TYPE,
    Json,
    WorkloadReference,
)
from fairlead.core.act import AnyWrite, Does


class Emitted(Struct, frozen=True):
    """`problem` is what stands in the way; `is_current` says that the live one is of this revision."""

    writes: tuple[AnyWrite, ...] = ()
    problem: str = ""
    is_current: bool = True
    revision: str = ""
    """The component revision that the workload went back to."""


class Scene(Struct, frozen=True):
    """What the emission of one configuration goes by."""

    emitter: Emitter
    namespace: str
    rollouts: Rollouts
    family: frozenset[str]
    """UIDs of the other configurations of the same application, which give way to this one."""
    active: Mapping[str, str]
    """By UID, the names of configurations of other applications that are active."""

    def emits(self, tree: Tree) -> bool:
        """Whether a configuration of the application made it, and controls it."""
        owner = str((tree.controller or {}).get("uid", ""))
        return owner == self.emitter.uid or owner in self.family


def _left(part: Part, live: Tree | None, scene: Scene) -> Emitted:
    """With our reference, so that it goes with us, where it is made for us; it never controls."""
    if live is None or live.is_leaving or claimant(live.owners) is not None:
        return Emitted(is_current=False, revision="" if live is None else live.labels.get(COMPONENT_REVISION, ""))
    is_ours = part.has_rollout or any(each.get("uid") in (scene.emitter.uid, *scene.family) for each in live.owners)
    writes = _owned(live, scene, controls=False) if is_ours else ()
    revision = live.labels.get(COMPONENT_REVISION, "")
    return Emitted(writes, is_current=revision == part.rolled_to or not part.has_rollout, revision=revision)


def workload_of(part: Part, live: Tree | None, scene: Scene) -> Emitted:
    if part.is_left:
        return _left(part, live, scene)
    if live is None:
        return _made(part, scene)
    if live.is_leaving:
        return Emitted(problem=f"waiting for the {live.shown} to be gone: it is being deleted", is_current=False)
    if claimant(live.owners) is not None:
        return Emitted(is_current=is_current(part, live))
    if (problem := _foreign(part, live, scene)) is not None:
        return Emitted(problem=problem, is_current=False)
    if _is_others(part, live, scene):
        is_awaited = part.by_handover or scene.rollouts.naming(part.reference) is not None
        text = f"the {live.shown} is that of the application {live.labels[APPLICATION]}: rename the component"
        return Emitted(problem="" if is_awaited else text, is_current=is_current(part, live))
    if part.by_trait and _is_taken_back(part, live, scene):
        return Emitted(
            _owned(live, scene, controls=True), is_current=False, revision=live.labels.get(COMPONENT_REVISION, "")
        )
    if scene.rollouts.naming(part.reference) is not None:
        return Emitted(_owned(live, scene, controls=False), is_current=is_current(part, live))
    return _changed(part, live, scene)


def is_current(part: Part, live: Tree) -> bool:
    return live.labels.get(COMPONENT_REVISION) == part.revision.name


def _is_others(part: Part, live: Tree, scene: Scene) -> bool:
    """Whether another application applied it last; a kind that is updated in place passes to the one that is rolled."""
    application = live.labels.get(APPLICATION, scene.emitter.application)
    is_taken_over = part.by_handover and not is_paired(part.reference)
    return application != scene.emitter.application and not is_taken_over


def _made(part: Part, scene: Scene) -> Emitted:
    desired = _desired(part, scene)
    values: Json = {}
    if part.is_rolled:
        if is_paired(part.reference):
            desired = with_revision_selected(desired, part.revision.name)
        values = starting_values(part.kind)
    owners = (scene.emitter.reference(controls=not part.is_rolled),)
    body = new_body(desired, values, owners)
    return Emitted((created(part.resource, scene.namespace, body, Does.APPLY_OBJECT, scope=scene.emitter.uid),))


def _changed(part: Part, live: Tree, scene: Scene) -> Emitted:
    desired = fitting(_desired(part, scene), live.tree)
    owners = owners_with(live.owners, scene.emitter, controls=_controls(part, scene), without=scene.family)
    size = at(live.tree, "spec.replicas")
    body = change_of(
        live,
        desired,
        owners,
        untouched=managed_paths(part.kind) if part.is_rolled else (),
        frozen=frozen_values(part.kind, size if isinstance(size, int) else 1) if part.is_rolled else {},
    )
    if not body:
        return Emitted()
    said = (live.labels.get(COMPONENT_REVISION, ""), part.revision.name)
    return Emitted((patched(live, body, Does.APPLY_OBJECT, said, scope=scene.emitter.uid),))


def _desired(part: Part, scene: Scene) -> Json:
    tree = with_pod_labels(part.tree, part.component, part.revision.name)
    labels = workload_labels(part.component, part.revision.name, WORKLOAD_TYPE)
    return labelled(tree, scene.emitter, part.reference.name, scene.namespace, labels)


def _controls(part: Part, scene: Scene) -> bool:
    """T-4: what a rollout brings is ours again once its rollout has ended."""
    if not part.is_rolled:
        return True
    about = [each for each in scene.rollouts.found if _is_about(each, part)]
    return bool(about) and all(has_ended(each) for each in about)


def _is_about(rollout: Tree, part: Part) -> bool:
    names = (part.reference, WorkloadReference("apps/v1", "ControllerRevision", part.revision.name))
    return any(one.names_same(each) for each in references(rollout) for one in names)


def _is_taken_back(part: Part, live: Tree, scene: Scene) -> bool:
    """T-5: a rollout of this revision went back, or does so, and the workload is that of another one."""
    if is_current(part, live):
        return False
    revision = WorkloadReference("apps/v1", "ControllerRevision", part.revision.name)
    return any(revision.names_same(target_of(each)) and has_given_up(each) for each in scene.rollouts.found)


def _foreign(part: Part, live: Tree, scene: Scene) -> str | None:
    """Why the live object cannot be taken for the component's workload."""
    owner = live.controller
    if owner is None:
        if live.labels.get(COMPONENT) == part.component:
            return None
        return f"the {live.shown} is there already and is of no application: delete it, or rename the component"
    uid = str(owner.get("uid"))
    if uid == scene.emitter.uid or uid in scene.family:
        return None
    is_configuration = owner.get("kind") == CONFIGURATIONS.kind
    if is_configuration and part.by_handover:
        return None
    return f"the {live.shown} is controlled by the {owner.get('kind')} {owner.get('name')}: rename the component"


def _owned(live: Tree, scene: Scene, *, controls: bool) -> tuple[AnyWrite, ...]:
    """Our reference alone; nothing that a rollout may set is touched."""
    owners = owners_with(live.owners, scene.emitter, controls=controls, without=scene.family)
    if owners == live.owners:
        return ()
    body = {"metadata": {"ownerReferences": [*owners]}}
    return (patched(live, body, Does.HAND_OVER, ("controlled", "set aside"), scope=scene.emitter.uid),)


def set_aside(live: Tree, scene: Scene) -> tuple[AnyWrite, ...]:
    """T-3: on a source, before the rollout that takes it over is written."""
    return () if claimant(live.owners) is not None else _owned(live, scene, controls=False)
