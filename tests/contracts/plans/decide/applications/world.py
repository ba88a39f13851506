"""A namespace in memory, with all controllers of applications and rollouts: objects with versions, and workloads whose
pods are ready at once.

Passes run over every object in turn until nothing is written any more. A process may die before any write; the next
pass starts from what is stored.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from fairlead.contracts.plans.applications.kinds import StoredObject
from fairlead.contracts.plans.decide import trait_round
from fairlead.contracts.plans.decide.applications import (
    app_rollout_pass,
    application_pass,
    component_pass,
    configuration_pass,
    deployment_pass,
    revision_pass,
)
from fairlead.contracts.plans.decide.applications.app_rollouts import AppRolloutSeen, of_app_rollout
from fairlead.contracts.plans.decide.applications.conflicts import selects
from fairlead.contracts.plans.decide.applications.deployments import DeploymentSeen, of_deployment
from fairlead.contracts.plans.decide.applications.foreign_kinds import DEFINITIONS
from fairlead.contracts.plans.decide.applications.revision_rollouts import RolloutSeen, of_rollout
from fairlead.contracts.plans.decide.applications.seen import FamilySeen
from fairlead.contracts.plans.decide.seen import LiveObject, RolloutObject, TraitSeen, of_trait
from fairlead.contracts.plans.kinds import (
    APP_ROLLOUTS,
    APPLICATION_DEPLOYMENTS,
    APPLICATION_REVISIONS,
    APPLICATIONS,
    AUTOSCALERS,
    CLONE_SETS,
    COMPONENTS,
    CONFIGURATIONS,
    DAEMON_SETS,
    ROLLOUT_TRAITS,
    ROLLOUTS,
    TRAIT_DEFINITIONS,
    WORKLOAD_DEFINITIONS,
    Json,
    RolloutTrait,
)
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.core.act import AnyWrite, Create, Delete, EventNote, Patch
from fairlead.core.ask import Answer, Answers, Ask, Bad, Discover, Good, Listing, Need, Question, Read
from fairlead.core.decision import Decision, Move, Outcome
from kubeloop.objects.apps import CONTROLLER_REVISIONS, DEPLOYMENTS, STATEFULSETS
from kubeloop.objects.core import NAMESPACES, SERVICES
from kubeloop.objects.meta import Resource, ServedVersion
from tests.contracts.plans.decide.workloads.objects import merged

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NAMESPACE = "ns"
SERVED = (
    APPLICATION_REVISIONS,
    APPLICATIONS,
    COMPONENTS,
    CONFIGURATIONS,
    APPLICATION_DEPLOYMENTS,
    WORKLOAD_DEFINITIONS,
    TRAIT_DEFINITIONS,
    ROLLOUT_TRAITS,
    ROLLOUTS,
    APP_ROLLOUTS,
    CONTROLLER_REVISIONS,
    DEPLOYMENTS,
    STATEFULSETS,
    DAEMON_SETS,
    CLONE_SETS,
    SERVICES,
    AUTOSCALERS,
)
RUN = (APPLICATIONS, COMPONENTS, CONFIGURATIONS, ROLLOUT_TRAITS, APPLICATION_DEPLOYMENTS, ROLLOUTS, APP_ROLLOUTS)
"""Kinds with a controller, in the order of their passes."""


class Died(Exception):
    """The process ended before it sent its next write."""


class Refused(Exception):
    """The API server says no."""


class World:
    def __init__(self, settings: PlanSettings | None = None) -> None:
        self.now = NOON
        self.objects: dict[tuple[Resource, str], Json] = {}
        self.settings = settings or PlanSettings()
        self.count = 0
        self.writes: list[AnyWrite] = []
        self.told: list[EventNote] = []
        self.versions: dict[str, tuple[str, ...]] = {}
        """By the name of a definition, where they are others than ours."""
        self.writes_left: int | None = None
        """After so many writes the process dies; None: it lives."""
        self.refuses: Callable[[Resource, str], bool] = lambda _resource, _name: False
        """Whether a policy of the cluster refuses what is created."""
        self.watchers: list[Callable[[World], None]] = []
        """Called after every write."""

    def copied(self) -> World:
        """Another namespace like it, in which nobody watches."""
        other = copy.copy(self)
        other.objects = copy.deepcopy(self.objects)
        other.writes, other.told, other.versions = [*self.writes], [*self.told], {**self.versions}
        other.watchers = []
        return other

    # What people do

    def apply(self, resource: Resource, name: str, spec: Any = None, **metadata: Any) -> None:
        """Creates it, or gives it another spec; metadata is merged."""
        before = self.objects.get((resource, name))
        if before is None:
            self._store(
                resource,
                {
                    "apiVersion": resource.api_version,
                    "kind": resource.kind,
                    "metadata": {"name": name, "namespace": NAMESPACE, **metadata},
                    **({} if spec is None else {"spec": spec}),
                },
            )
            return
        changed = {**before, "metadata": {**before["metadata"], **metadata}}
        self._store(resource, {**changed, "spec": spec} if spec is not None else changed)

    def change(self, resource: Resource, name: str, **spec: Any) -> None:
        before = self.objects[resource, name]
        self._store(resource, {**before, "spec": merged(before["spec"], spec)})

    def delete(self, resource: Resource, name: str) -> None:
        tree = self.objects[resource, name]
        if tree["metadata"].get("finalizers"):
            stamped = {**tree["metadata"], "deletionTimestamp": self.now.isoformat()}
            self._store(resource, {**tree, "metadata": stamped})
        else:
            del self.objects[resource, name]

    # What is there

    def get(self, resource: Resource, name: str) -> Json:
        return self.objects[resource, name]

    def has(self, resource: Resource, name: str) -> bool:
        return (resource, name) in self.objects

    def names(self, resource: Resource) -> list[str]:
        return sorted(name for kind, name in self.objects if kind == resource)

    def annotations(self, resource: Resource, name: str) -> dict[str, str]:
        found: dict[str, str] = self.get(resource, name)["metadata"].get("annotations", {})
        return found

    def status(self, resource: Resource, name: str) -> Json:
        found: Json = self.get(resource, name).get("status", {})
        return found

    def condition(self, resource: Resource, name: str, kind: str) -> tuple[str, str]:
        (found,) = (each for each in self.status(resource, name)["conditions"] if each["type"] == kind)
        return found["status"], found["message"]

    def size(self, name: str) -> int:
        found: int = self.get(DEPLOYMENTS, name)["spec"].get("replicas", 1)
        return found

    def controller(self, resource: Resource, name: str) -> str:
        owners = self.get(resource, name)["metadata"].get("ownerReferences", [])
        return next((each["name"] for each in owners if each.get("controller")), "")

    def owners(self, resource: Resource, name: str) -> list[str]:
        return [each["name"] for each in self.get(resource, name)["metadata"].get("ownerReferences", [])]

    # What the operator does

    def play(self, most: int = 400) -> None:
        """Until nothing is written any more, also not a little later."""
        quiet = 0
        for _ in range(most):
            before = len(self.writes)
            self.round()
            self.settle()
            self.now += timedelta(seconds=5)
            quiet = quiet + 1 if len(self.writes) == before else 0
            if quiet == 2:
                return
        raise AssertionError(f"it never comes to rest: {self.writes[-3:]}")

    def round(self) -> None:
        """One pass over every object."""
        for resource in RUN:
            for name in self.names(resource):
                if self.has(resource, name):
                    self.run(resource, name)

    def run(self, resource: Resource, name: str) -> Decision:
        """One pass over one object, with its questions answered and its writes carried out."""
        known: dict[Question, Answer] = {}
        for _ in range(16):
            outcome: Outcome = self._decided(resource, name, Answers(dict(known)))
            if isinstance(outcome, Decision):
                refused = self._carry_out(outcome)
                if refused is None:
                    return outcome
                known[refused[0]] = refused[1]
                continue
            assert isinstance(outcome, Need)
            for stage in outcome.stages:
                for question in stage:
                    known[question] = self._answer(question)
        raise AssertionError("a pass keeps asking")

    def _decided(self, resource: Resource, name: str, answers: Answers) -> Outcome:
        stored = msgspec.convert(self.get(resource, name), StoredObject, strict=False)
        if resource == ROLLOUT_TRAITS:
            trait = of_trait(RolloutTrait(stored.metadata, stored.spec, stored.status))
            return trait_round.decide(self._trait_seen(trait, answers), self.now)
        if resource == APPLICATION_DEPLOYMENTS:
            seen_trait = self._trait_seen(of_deployment(stored), answers)
            return deployment_pass.decide(DeploymentSeen(object=stored, trait=seen_trait), self.now)
        if resource == ROLLOUTS:
            seen_trait = self._trait_seen(of_rollout(stored), answers)
            return revision_pass.decide(RolloutSeen(object=stored, trait=seen_trait), self.now)
        if resource == APP_ROLLOUTS:
            seen_trait = self._trait_seen(of_app_rollout(stored), answers)
            return app_rollout_pass.decide(AppRolloutSeen(object=stored, trait=seen_trait), self.now)
        seen = FamilySeen(resource=resource, object=stored, settings=self.settings, answers=answers)
        passes: dict[Resource, Callable[[FamilySeen, datetime], Outcome]] = {
            APPLICATIONS: application_pass.decide,
            COMPONENTS: component_pass.decide,
            CONFIGURATIONS: configuration_pass.decide,
        }
        return passes[resource](seen, self.now)

    def _trait_seen(self, rollout: RolloutObject, answers: Answers) -> TraitSeen:
        return TraitSeen(
            rollout=rollout,
            workloads=tuple(LiveObject(resource, tree) for (resource, _), tree in self.objects.items()),
            answers=answers,
        )

    def _answer(self, question: Question) -> Answer:
        assert isinstance(question, Ask)
        match question.to:
            case Read(ref) if ref.resource == NAMESPACES:
                return Good(msgspec.json.encode({"metadata": {"name": ref.name, "uid": "uid-ns"}}))
            case Read(ref) if ref.resource == DEFINITIONS:
                versions = [{"name": each} for each in self.versions.get(ref.name, ("v1alpha2",))]
                return Good(msgspec.json.encode({"metadata": {"name": ref.name}, "spec": {"versions": versions}}))
            case Read(ref):
                found = self.objects.get((ref.resource, ref.name)) if ref.namespace == NAMESPACE else None
                return Bad("absent") if found is None else Good(msgspec.json.encode(found))
            case Listing(resource, namespace, labels):
                items = [
                    tree
                    for (kind, _), tree in sorted(self.objects.items(), key=lambda each: each[0][1])
                    if kind == resource and namespace == NAMESPACE
                    if not labels or selects(labels, tree["metadata"].get("labels", {}))
                ]
                return Good(msgspec.json.encode({"metadata": {}, "items": items}))
            case Discover(group, kind):
                served = [ServedVersion(each) for each in SERVED if (each.group, each.kind) == (group, kind)]
                return Good(msgspec.json.encode(served))
        raise AssertionError(question)

    def _carry_out(self, decision: Decision) -> tuple[AnyWrite, Bad] | None:
        writes = decision.verdict.writes if isinstance(decision.verdict, Move) else ()
        for write in (*writes, *decision.reports):
            if self.writes_left == 0:
                raise Died
            if self.writes_left is not None:
                self.writes_left -= 1
            try:
                self._write(write)
            except Refused as problem:
                if not write.refusable:
                    raise
                return write, Bad("refused", str(problem), 422)
            self.writes.append(write)
            for each in self.watchers:
                each(self)
        self.told += decision.tell
        return None

    def _write(self, write: AnyWrite) -> None:
        match write:
            case Create():
                assert (write.resource, write.name) not in self.objects
                tree = msgspec.json.decode(write.body)
                if "refuse-me" in tree["metadata"].get("labels", {}) or self.refuses(write.resource, write.name):
                    raise Refused("it asks for it")
                self._store(write.resource, tree)
            case Patch():
                before = self.objects[write.ref.resource, write.ref.name]
                assert write.resource_version in ("", before["metadata"]["resourceVersion"]), write
                body = msgspec.json.decode(write.body)
                assert (set(body) == {"status"}) == (write.subresource == "status"), body
                self._store(write.ref.resource, merged(before, body))
            case Delete():
                assert self.objects[write.ref.resource, write.ref.name]["metadata"]["uid"] == write.ref.uid
                self.delete(write.ref.resource, write.ref.name)
            case _:
                raise AssertionError(write)

    def _store(self, resource: Resource, tree: Json) -> None:
        self.count += 1
        name = tree["metadata"]["name"]
        before = self.objects.get((resource, name), {})
        old = before.get("metadata", {})
        changed = before.get("spec") != tree.get("spec") or "deletionTimestamp" in tree["metadata"]
        metadata = {
            **tree["metadata"],
            "uid": old.get("uid", f"uid-{resource.plural}-{name}-{self.count}"),
            "generation": old.get("generation", 0) + bool(changed),
            "resourceVersion": str(self.count),
        }
        if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
            del self.objects[resource, name]
            return
        self.objects[resource, name] = {**tree, "metadata": metadata}

    def settle(self) -> None:
        """Workload controllers catch up, and pods are ready."""
        for (resource, _), tree in [*self.objects.items()]:
            if resource in (DEPLOYMENTS, STATEFULSETS, CLONE_SETS):
                status = self._settled(resource, tree)
                if status != tree.get("status"):
                    self._store(resource, {**tree, "status": status})

    def _settled(self, resource: Resource, tree: Json) -> Json:
        spec, status = tree["spec"], tree.get("status", {})
        size = spec.get("replicas", 1)
        if resource == CLONE_SETS:
            return self._cloned(tree, size)
        pods = status.get("replicas", 0) if spec.get("paused") else size
        return {
            "replicas": pods,
            "readyReplicas": pods,
            "updatedReplicas": pods,
            "observedGeneration": tree["metadata"]["generation"],
        }

    def _cloned(self, tree: Json, size: int) -> Json:
        """Pods become new as far as the partition lets them."""
        status, strategy = tree.get("status", {}), tree["spec"].get("updateStrategy", {})
        revision = str(hash(msgspec.json.encode(tree["spec"]["template"], order="sorted")))
        before = status.get("updatedReplicas", 0) if status.get("updateRevision") == revision else 0
        has_old = status.get("replicas", 0) > before
        allowed = before if strategy.get("paused") else size - strategy.get("partition", 0)
        new = max(before, allowed) if has_old else size
        return {
            **dict.fromkeys(("replicas", "readyReplicas"), size),
            **dict.fromkeys(("updatedReplicas", "updatedReadyReplicas"), min(new, size)),
            "updateRevision": revision,
            "observedGeneration": tree["metadata"]["generation"],
        }


def component(image: str = "web:1", *traits: Json, name: str = "web", kind: str = "webservice", **more: Any) -> Json:
    return {"name": name, "type": kind, "settings": {"image": image, **more}, "traits": [*traits]}


def an_application(*components: Json) -> Json:
    return {"components": [*components]}


def outside(world: World) -> Json:
    """Everything but versions, numbers and times."""
    found = {}
    for (resource, name), tree in world.objects.items():
        metadata = {key: tree["metadata"].get(key) for key in ("labels", "annotations")}
        owners = [(each["name"], each.get("controller")) for each in tree["metadata"].get("ownerReferences", [])]
        status = {key: value for key, value in tree.get("status", {}).items() if key != "conditions"}
        status.pop("observedGeneration", None)
        found[f"{resource.kind} {name}"] = (metadata, owners, tree.get("spec"), status)
    return found


def lived(world: World, most: int = 250) -> int:
    """How many processes it takes until nothing is written any more, each of which dies after its first write."""
    for life in range(most):
        before = len(world.writes)
        world.writes_left = 1
        try:
            for _ in range(3):
                world.round()
                world.settle()
                world.now += timedelta(seconds=5)
        except Died:
            pass
        if len(world.writes) == before:
            world.writes_left = None
            return life
        world.settle()
    raise AssertionError(f"it does not end: {world.writes[-4:]}")
