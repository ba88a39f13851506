"""Who has the workload of each component (C-7): its configuration, or a rollout that made one.

A rollout that has succeeded, and what was recorded of one that is gone, are believed only as far as the workload has
pods: another rollout may have taken them since, and may be deleted by now.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from fairlead.contracts.plans.decide.applications.asking import Flow, list_many, read_all
from fairlead.contracts.plans.decide.applications.configuration_parts import Part
from fairlead.contracts.plans.decide.applications.emitted_workloads import Scene
from fairlead.contracts.plans.decide.applications.naming import Rollouts, claimant, has_succeeded, made_by
from fairlead.contracts.plans.decide.applications.revisions import is_paired
from fairlead.contracts.plans.decide.applications.trees import Tree, at
from fairlead.contracts.plans.kinds import APPLICATION, COMPONENT, SUCCEEDED
from fairlead.core.ask import Listing
from kubeloop.objects.meta import Ref


def kept(parts: Sequence[Part], scene: Scene) -> Flow[tuple[Part, ...]]:
    """Each with the workload that it goes on with; what a rollout has is left to it."""
    unrolled = [each for each in parts if not each.is_rolled]
    trees = yield from read_all(Ref(each.resource, scene.namespace, each.reference.name) for each in unrolled)
    live = {each.component: tree for each, tree in zip(unrolled, trees, strict=True)}
    doubtful = [each for each in unrolled if _is_doubtful(each, live[each.component], scene.rollouts)]
    listed = yield from list_many(
        Listing(each.resource, scene.namespace, f"{COMPONENT}={each.component}") for each in doubtful
    )
    found = {each.component: _with_pods(trees, scene) for each, trees in zip(doubtful, listed, strict=True)}
    return tuple(_kept(each, scene, live.get(each.component), found.get(each.component, ())) for each in parts)


def _is_doubtful(part: Part, live: Tree | None, rollouts: Rollouts) -> bool:
    """Whether the pods may be elsewhere: others than those of the last rollout, or those of one that is gone."""
    if not is_paired(part.reference):
        return False
    rollout = rollouts.bringing(part.component, part.reference)
    if rollout is not None:
        return has_succeeded(rollout)
    return not part.is_recorded or live is None or _is_left_empty(live)


def _is_left_empty(live: Tree) -> bool:
    """Whether it has no pods, and nobody is about to give it some: a rollout that is deleted may still go back."""
    return at(live.tree, "spec.replicas") == 0 and claimant(live.owners) is None


def _with_pods(trees: Iterable[Tree], scene: Scene) -> tuple[Tree, ...]:
    """Workloads of the application, or of none, that have pods, the newest first."""
    application = scene.emitter.application
    ours = [each for each in trees if not each.is_leaving and each.labels.get(APPLICATION, application) == application]
    ours.sort(key=lambda each: (str(each.metadata.get("creationTimestamp", "")), each.name), reverse=True)
    return tuple(each for each in ours if at(each.tree, "spec.replicas") != 0)


def _kept(part: Part, scene: Scene, live: Tree | None, with_pods: tuple[Tree, ...]) -> Part:
    if part.is_rolled and not part.has_rollout:
        return part  # what another rollout brings is its own (T-4)
    names = [each.name for each in with_pods]
    rollout = _believed(scene.rollouts, names).bringing(part.component, part.reference)
    if rollout is not None:
        return _left(part, rollout)
    if names and part.reference.name not in names:
        live = with_pods[0]
        part = replace(part, reference=replace(part.reference, name=live.name))
    return replace(part, is_left=part.has_rollout or _is_anothers(part, live, scene))


def _is_anothers(part: Part, live: Tree | None, scene: Scene) -> bool:
    """Whether a rollout that goes on to another target has brought it: no configuration controls it then."""
    if live is None or live.controller is not None:
        return False
    return scene.rollouts.moving_on(part.component, scene.emitter.application) is not None


def _believed(rollouts: Rollouts, with_pods: Sequence[str]) -> Rollouts:
    """Without those that succeeded and whose pods are in another of these workloads."""
    if not with_pods:
        return rollouts
    return Rollouts(
        tuple(each for each in rollouts.found if made_by(each).name in with_pods or not has_succeeded(each))
    )


def _left(part: Part, rollout: Tree) -> Part:
    """It is the component's once it has all of its pods: until then a rollout that a person writes may still go
    back."""
    has_pods = part.has_rollout or at(rollout.tree, "status.rollingState") == SUCCEEDED
    name = made_by(rollout).name if has_pods else part.reference.name
    return replace(part, is_left=True, reference=replace(part.reference, name=name))
