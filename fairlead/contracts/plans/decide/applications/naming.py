"""Which rollouts are about a workload: as long as one of them has not ended, the workload is not ours (T-4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from fairlead.contracts.plans.decide.applications.trees import Tree, at, mapping
from fairlead.contracts.plans.kinds import (
    APP_ROLLOUTS,
    APPLICATION_DEPLOYMENTS,
    APPLICATION_REVISIONS,
    DELETING,
    FAILED,
    FAILING,
    ROLLOUT_TRAITS,
    ROLLOUTS,
    STATE_CONDITIONS,
    SUCCEEDED,
    TERMINAL,
    VERIFYING,
    Json,
    WorkloadReference,
)
from kubeloop.objects.apps import CONTROLLER_REVISIONS

ROLLOUT_KINDS = (ROLLOUT_TRAITS, APPLICATION_DEPLOYMENTS, ROLLOUTS, APP_ROLLOUTS)
"""Whatever holds a plan and claims workloads."""
_MAKING = (ROLLOUTS, APP_ROLLOUTS)
"""Those that make their target themselves."""
_CLAIMING = {(each.group, each.kind) for each in ROLLOUT_KINDS}
_ONE = ("spec.targetRef", "status.lastTargetRef")
_MANY = ("spec.sourceRef", "status.lastSourceRef", "status.carried.refs")


class Rollouts(Struct, frozen=True):
    """All rollouts of a namespace."""

    found: tuple[Tree, ...] = ()

    def naming(self, reference: WorkloadReference) -> Tree | None:
        """One that has not ended and names the workload."""
        for each in self.found:
            if not has_ended(each) and any(reference.names_same(one) for one in references(each)):
                return each
        return None

    def bringing(self, component: str, reference: WorkloadReference) -> Tree | None:
        """C-7: the Rollout or AppRollout that has made a workload of the component, of the kind of this reference.

        One that failed its verification has given none of it pods. Of several the one at work, else the last that
        succeeded: it has taken the pods of those before.
        """
        making = (each for each in self.found if each.resource in _MAKING and not each.is_leaving)
        found = [each for each in making if not has_rolled_nothing(each) and _makes(each, component, reference)]
        return max(found, key=lambda each: (not has_ended(each), _succeeded_at(each)), default=None)

    def moving_on(self, component: str, application: str) -> Tree | None:
        """C-7: one that has brought a workload of the component before, and looks for its next target, or was refused
        it: what it has brought is not known then, and is its own all the same."""
        making = (each for each in self.found if each.resource in _MAKING and not each.is_leaving)
        between = (each for each in making if not _is_located(each) or has_rolled_nothing(each))
        found = (each for each in between if _succeeded_once(each) and _may_be_of(each, component, application))
        return next(found, None)

    def at_work_on(self, reference: WorkloadReference) -> bool:
        """Whether an ApplicationDeployment that is past its verification rolls the workload."""
        return any(
            each.resource == APPLICATION_DEPLOYMENTS
            and not has_ended(each)
            and at(each.tree, "status.rollingState") not in ("", None, VERIFYING)
            and any(reference.names_same(one) for one in references(each))
            for each in self.found
        )


def has_ended(rollout: Tree) -> bool:
    """Whether its state is terminal, and about the spec that it has now."""
    observed = at(rollout.tree, "status.observedGeneration")
    is_newest = isinstance(observed, int) and observed >= rollout.generation
    return at(rollout.tree, "status.rollingState") in TERMINAL and is_newest


def has_succeeded(rollout: Tree) -> bool:
    return at(rollout.tree, "status.rollingState") == SUCCEEDED and has_ended(rollout)


def has_rolled_nothing(rollout: Tree) -> bool:
    has_failed = has_ended(rollout) and at(rollout.tree, "status.rollingState") == FAILED
    return has_failed and not at(rollout.tree, "status.targetGeneration")


def has_moved(rollout: Tree) -> bool:
    """Whether an attempt of it came past its verification, and did not succeed or has not yet."""
    return bool(at(rollout.tree, "status.targetGeneration") or at(rollout.tree, "status.carried"))


def _makes(rollout: Tree, component: str, reference: WorkloadReference) -> bool:
    target = made_by(rollout)
    return (target.group, target.kind) == (reference.group, reference.kind) and _is_of(target, component)


def _succeeded_at(rollout: Tree) -> str:
    """Times as they are stored follow one another as texts; empty where it has not."""
    if at(rollout.tree, "status.rollingState") != SUCCEEDED:
        return ""
    return next((str(each.get("lastTransitionTime") or "") for each in _successes(rollout)), "")


def _succeeded_once(rollout: Tree) -> bool:
    """In any of its attempts: conditions are kept when it begins again."""
    return any(each.get("status") == "True" for each in _successes(rollout))


def _successes(rollout: Tree) -> Iterator[Json]:
    for each in map(mapping, _entries(at(rollout.tree, "status.conditions"))):
        if each.get("type") == STATE_CONDITIONS[SUCCEEDED]:
            yield each


def _is_located(rollout: Tree) -> bool:
    """Whether it has a workload for its target, and not only a revision."""
    return made_by(rollout).kind not in ("", CONTROLLER_REVISIONS.kind, APPLICATION_REVISIONS.kind)


def _may_be_of(rollout: Tree, component: str, application: str) -> bool:
    """By the revisions that it names, now or in the attempt before."""
    if rollout.resource == ROLLOUTS:
        names = (at(rollout.tree, path) for path in ("spec.targetRevisionName", "status.lastTargetRevision"))
        return component in (at(rollout.tree, "spec.componentName"), *map(_maker, names))
    chosen = _entries(at(rollout.tree, "spec.componentList"))
    names = (at(rollout.tree, path) for path in ("spec.targetAppRevisionName", "status.lastTargetAppRevision"))
    return application in map(_maker, names) and (not chosen or component in chosen)


def _maker(revision: object) -> str:
    """What a revision of this name is made of."""
    return revision.rpartition("-v")[0] if isinstance(revision, str) else ""


def made_by(rollout: Tree) -> WorkloadReference:
    """The target that it has located; of another kind than any workload until then."""
    return _reference(mapping(at(rollout.tree, "status.lastTargetRef")))


def _is_of(target: WorkloadReference, component: str) -> bool:
    """T-2: under the name of the component, or of one of its revisions."""
    start, _, number = target.name.rpartition("-v")
    return target.name == component or (start == component and number.isdecimal())


def has_given_up(rollout: Tree) -> bool:
    """Whether it failed, or is about to end without success."""
    state = at(rollout.tree, "status.rollingState")
    return state in (FAILING, DELETING) or (state == FAILED and has_ended(rollout))


def references(rollout: Tree) -> Iterator[WorkloadReference]:
    """Of its spec and of its status."""
    yield from targets_of(rollout)
    yield from sources_of(rollout)


def targets_of(rollout: Tree) -> tuple[WorkloadReference, ...]:
    """Of its spec, and of the attempt that runs."""
    trees = (mapping(at(rollout.tree, path)) for path in _ONE)
    return tuple(_reference(each) for each in trees if each)


def sources_of(rollout: Tree) -> tuple[WorkloadReference, ...]:
    """Likewise, with what earlier attempts left."""
    trees = [each for path in _MANY for each in _entries(at(rollout.tree, path))]
    trees.extend(mapping(each).get("ref") for each in _entries(at(rollout.tree, "status.sources")))
    return tuple(_reference(each) for each in map(mapping, trees) if each)


def target_of(rollout: Tree) -> WorkloadReference:
    return _reference(mapping(at(rollout.tree, "spec.targetRef")))


def _reference(tree: Json) -> WorkloadReference:
    return WorkloadReference(*(str(tree.get(key, "")) for key in ("apiVersion", "kind", "name")))


def claimant(owners: Iterable[Json]) -> Json | None:
    """The rollout that controls a workload with these owners."""
    for each in owners:
        group = str(each.get("apiVersion", "")).rpartition("/")[0]
        if each.get("controller") is True and (group, each.get("kind")) in _CLAIMING:
            return each
    return None


def _entries(found: object) -> list[object]:
    return found if isinstance(found, list) else []
