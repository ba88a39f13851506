"""The Services between which a rollout shares traffic (section 3.11), where its plan leaves their names to us.

Each is named after a component revision and selects the pods of that revision. It is made where there is none, and goes
with the configuration that is the newest of its application when the revision is rolled last. What somebody else made
under the name stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from fairlead.contracts.plans.applications.kinds import HistoryWorkload
from fairlead.contracts.plans.decide.applications.configuration_parts import Part
from fairlead.contracts.plans.decide.applications.emission import labelled, new_body, owners_with, workload_labels
from fairlead.contracts.plans.decide.applications.emitted_workloads import Emitted, Scene
from fairlead.contracts.plans.decide.applications.naming import Rollouts, has_ended, sources_of, targets_of
from fairlead.contracts.plans.decide.applications.trees import Tree, at, mapping
from fairlead.contracts.plans.decide.applications.writes import created, patched
from fairlead.contracts.plans.decide.traffic.dialects import DIALECTS
from fairlead.contracts.plans.kinds import COMPONENT, COMPONENT_REVISION, TRAIT_TYPE, Json, WorkloadReference
from fairlead.core.act import Does
from kubeloop.objects.apps import CONTROLLER_REVISIONS
from kubeloop.objects.core import SERVICES


class Side(Struct, frozen=True):
    """A component revision that a rollout takes traffic from or sends it to."""

    component: str
    revision: str
    reference: WorkloadReference
    port: int | None
    """That of the plan."""

    @property
    def names(self) -> tuple[WorkloadReference, ...]:
        """By which a rollout may mean it."""
        revision = WorkloadReference(CONTROLLER_REVISIONS.api_version, CONTROLLER_REVISIONS.kind, self.revision)
        return (self.reference, revision)


def sides(parts: Iterable[Part], earlier: Iterable[HistoryWorkload], rollouts: Rollouts) -> tuple[Side, ...]:
    """Those whose Service a rollout at work leaves to us, each once."""
    known = (
        *(Side(each.component, each.revision.name, each.reference, None) for each in parts),
        *(Side(each.component_name, each.component_revision_name, each.workload_ref, None) for each in earlier),
    )
    routed = [each for each in rollouts.found if not has_ended(each) and _routing(each)]
    found = (side for each in routed for one in known for side in _side(each, one))
    return tuple({each.revision: each for each in found}.values())


def _routing(rollout: Tree) -> Json:
    """Empty where it shares nothing."""
    found = mapping(at(rollout.tree, "spec.rolloutPlan.trafficRouting"))
    return found if found.get("provider") in DIALECTS else {}


def _side(rollout: Tree, side: Side) -> Iterator[Side]:
    routing = _routing(rollout)
    port = routing.get("port")
    for field, references in (("targetService", targets_of(rollout)), ("sourceService", sources_of(rollout))):
        if not routing.get(field) and any(one.names_same(each) for each in references for one in side.names):
            yield Side(side.component, side.revision, side.reference, port if isinstance(port, int) else None)


def service_of(side: Side, live: Tree | None, workload: Json, scene: Scene) -> Emitted:
    """`workload` is the one whose pods it selects, as far as it is known."""
    if live is not None:
        return _kept(live, scene)
    ports = _ports(side, workload)
    if not ports:
        return Emitted(
            problem=f"the Service {side.revision} lacks a port: name it in trafficRouting.port or in the pods"
        )
    selector = {COMPONENT: side.component, COMPONENT_REVISION: side.revision}
    tree = {
        "apiVersion": SERVICES.api_version,
        "kind": SERVICES.kind,
        "spec": {"selector": selector, "ports": ports},
    }
    labels = workload_labels(side.component, side.revision, TRAIT_TYPE)
    desired = labelled(tree, scene.emitter, side.revision, scene.namespace, labels)
    body = new_body(desired, {}, (scene.emitter.reference(controls=True),))
    return Emitted((created(SERVICES, scene.namespace, body, Does.APPLY_OBJECT, scope=scene.emitter.uid),))


def _kept(live: Tree, scene: Scene) -> Emitted:
    """One of a configuration before this one is ours from now on, so that it does not go with that one."""
    if live.is_leaving:
        return Emitted(problem=f"waiting for the {live.shown} to be gone: it is being deleted")
    if str((live.controller or {}).get("uid", "")) not in scene.family:
        return Emitted()
    owners = owners_with(live.owners, scene.emitter, controls=True, without=scene.family)
    body = {"metadata": {"ownerReferences": [*owners]}}
    return Emitted((patched(live, body, Does.HAND_OVER, ("", live.name), scope=scene.emitter.uid),))


def _ports(side: Side, workload: Json) -> list[Json]:
    """Those of the containers; that of the plan leads to the only one of them, or to the same number."""
    found = [*dict.fromkeys(_container_ports(workload))]
    if side.port is not None and side.port not in found:
        return [_port(side.port, found[0] if len(found) == 1 else side.port)]
    return [_port(each, each) for each in found]


def _port(port: int, target: int) -> Json:
    return {"name": f"port-{port}", "port": port, "targetPort": target}


def _container_ports(workload: Json) -> Iterator[int]:
    for container in _listed(at(workload, "spec.template.spec.containers")):
        for each in _listed(mapping(container).get("ports")):
            port, protocol = mapping(each).get("containerPort"), mapping(each).get("protocol", "TCP")
            if isinstance(port, int) and protocol == "TCP":
                yield port


def _listed(found: object) -> Sequence[object]:
    return found if isinstance(found, list) else ()


def workload_trees(
    parts: Iterable[Part], earlier: Mapping[HistoryWorkload, Tree | None]
) -> dict[tuple[str, str], Json]:
    """By component and revision: as described, or as it is live where the description is another by now."""
    found = {
        (each.component_name, each.component_revision_name): {} if tree is None else tree.tree
        for each, tree in earlier.items()
    }
    return found | {(each.component, each.revision.name): each.tree for each in parts}
