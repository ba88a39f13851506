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
    doubtful = yield from _doubtful(parts, scene)
    listed = yield from list_many(
        Listing(each.resource, scene.namespace, f"{COMPONENT}={each.component}") for each in doubtful
    )
    found = {each.component: _with_pods(trees, scene) for each, trees in zip(doubtful, listed, strict=True)}
    return tuple(_kept(each, scene.rollouts, found.get(each.component, ())) for each in parts)


def _doubtful(parts: Iterable[Part], scene: Scene) -> Flow[list[Part]]:
    """Those whose pods may be elsewhere: others than those of the last rollout, or those of one that is gone."""
    paired = [each for each in parts if not each.is_rolled and is_paired(each.reference)]
    bringing = [scene.rollouts.bringing(each.component, each.reference) for each in paired]
    found = yield from read_all(Ref(each.resource, scene.namespace, each.reference.name) for each in paired)
    doubtful = []
    for part, rollout, live in zip(paired, bringing, found, strict=True):
        is_believed = part.is_recorded and live is not None and not _is_left_empty(live)
        if not is_believed if rollout is None else has_succeeded(rollout):
            doubtful.append(part)
    return doubtful


def _is_left_empty(live: Tree) -> bool:
    """Whether it has no pods, and nobody is about to give it some: a rollout that is deleted may still go back."""
    return at(live.tree, "spec.replicas") == 0 and claimant(live.owners) is None


def _with_pods(trees: Iterable[Tree], scene: Scene) -> tuple[str, ...]:
    """Names of workloads of the application, or of none, that have pods, the newest first."""
    application = scene.emitter.application
    ours = [each for each in trees if not each.is_leaving and each.labels.get(APPLICATION, application) == application]
    ours.sort(key=lambda each: (str(each.metadata.get("creationTimestamp", "")), each.name), reverse=True)
    return tuple(each.name for each in ours if at(each.tree, "spec.replicas") != 0)


def _kept(part: Part, rollouts: Rollouts, with_pods: tuple[str, ...]) -> Part:
    if part.is_rolled and not part.has_rollout:
        return part  # what another rollout brings is its own (T-4)
    rollout = _believed(rollouts, with_pods).bringing(part.component, part.reference)
    if rollout is not None:
        return _left(part, rollout)
    name = part.reference.name if not with_pods or part.reference.name in with_pods else with_pods[0]
    return replace(part, is_left=part.has_rollout, reference=replace(part.reference, name=name))


def _believed(rollouts: Rollouts, with_pods: tuple[str, ...]) -> Rollouts:
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
