"""A cluster in memory for passes over a RolloutTrait: objects with versions, their controllers, and hooks that answer.

Controllers act when `settle` is called; until then a spec is ahead of its status. Everything that was written is kept
in `history`, so that what must always hold is judged from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
from msgspec import Struct

from fairlead.contracts.plans.decide.reading import rollout_status
from fairlead.contracts.plans.decide.seen import Extension, LiveObject, TraitSeen, of_trait
from fairlead.contracts.plans.decide.trait_pass import decide
from fairlead.contracts.plans.kinds import Json, RolloutStatus, RolloutTrait, TraitMeta
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.core.act import AnyWrite, Delete, EventNote, Patch
from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Http, Need, Question, To
from fairlead.core.decision import Decision, Hold, Move, Outcome
from kubeloop.objects.apps import DEPLOYMENTS, STATEFULSETS
from kubeloop.objects.meta import Resource
from tests.contracts.plans.decide.workloads.objects import clone_set, deployment, merged

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Seen(Struct, frozen=True):
    """What stood in the API server after a write."""

    sizes: dict[str, int]
    state: str
    batch_state: str
    batch: int


class Died(Exception):
    """The process ended before it sent its next write."""


class Cluster:
    def __init__(self, plan: Json, *, target: str = "d2", sources: tuple[str, ...] = ("d1",)) -> None:
        self.now = NOON
        self.objects: dict[str, tuple[Resource, Json]] = {}
        self.pods: list[Json] = []
        self.revisions: list[Json] = []
        self.extensions: tuple[Extension, ...] = ()
        self.unserved: frozenset[str] = frozenset()
        self.autoscalers: dict[str, str] = {}
        self.gone: frozenset[str] = frozenset()
        self.spec: Json = {
            "targetRef": self.reference(target),
            "sourceRef": [self.reference(each) for each in sources],
            "rolloutPlan": plan,
        }
        self.meta = TraitMeta("r", "uid-r", "1", namespace="ns", generation=1)
        self.status: Json = {}
        self.is_there = True
        self.version = 1
        self.history: list[Seen] = []
        self.told: list[EventNote] = []
        self.calls: list[Json] = []
        self.hook: Callable[[Json, Http], Answer] = lambda _body, _call: Good(code=200)
        self.settings = PlanSettings()
        self.outside: Callable[[Ask], Answer | None] = lambda _question: None
        """Answers whatever is asked besides hooks; None: it is a hook."""
        self.writes_left: int | None = None
        """After so many writes the process dies; None: it lives."""

    @staticmethod
    def reference(name: str, kind: str = "Deployment", version: str = "apps/v1") -> Json:
        return {"apiVersion": version, "kind": kind, "name": name}

    @property
    def plan(self) -> Json:
        found: Json = self.spec["rolloutPlan"]
        return found

    def edit(self, **plan: Any) -> None:
        """A new generation of the spec; None takes a field out of the plan."""
        changed = {key: value for key, value in {**self.plan, **plan}.items() if value is not None}
        self.change(rolloutPlan=changed)

    def change(self, **spec: Any) -> None:
        self.spec = {**self.spec, **spec}
        self._bump(generation=self.meta.generation + 1)

    def ask(self, action: str) -> None:
        """By the annotation that the command writes."""
        self._bump(annotations={"fairlead.dev/rollout-action": action})

    def delete(self) -> None:
        self._bump(deletion_timestamp=self.now)
        self.is_there = bool(self.meta.finalizers)

    def _bump(self, **fields: Any) -> None:
        self.version += 1
        self.meta = msgspec.structs.replace(self.meta, resource_version=str(self.version), **fields)

    def put(self, resource: Resource, tree: Json) -> None:
        self.objects[tree["metadata"]["name"]] = (resource, tree)

    def add_deployment(self, name: str, replicas: int, *, paused: bool = False, pods: int | None = None) -> None:
        self.put(DEPLOYMENTS, deployment(name, replicas, paused=paused, pods=pods).tree)

    def tree(self, name: str) -> Json:
        return self.objects[name][1]

    def size(self, name: str) -> int:
        found: int = self.tree(name)["spec"].get("replicas", 0)
        return found

    def owners(self, name: str) -> list[str]:
        return [each["kind"] for each in self.tree(name)["metadata"].get("ownerReferences", [])]

    @property
    def rollout(self) -> RolloutStatus:
        return rollout_status(self.status)

    @property
    def state(self) -> str:
        return self.rollout.rolling_state

    def condition(self, kind: str) -> tuple[str, str]:
        (found,) = (each for each in self.rollout.conditions if each.type == kind)
        return found.status, found.message

    def reasons(self) -> list[str]:
        return [each.reason for each in self.told]

    def seen(self, answers: Answers) -> TraitSeen:
        return TraitSeen(
            rollout=of_trait(RolloutTrait(self.meta, self.spec, self.status or None)),
            namespace_uid="uid-ns",
            workloads=tuple(LiveObject(resource, tree) for resource, tree in self.objects.values()),
            pods=tuple(self.pods),
            revisions=tuple(self.revisions),
            gone=self.gone,
            autoscalers=self.autoscalers,
            extensions=self.extensions,
            unserved=self.unserved,
            settings=self.settings,
            answers=answers,
        )

    def run(self) -> Decision:
        """One pass, with its questions answered and its writes carried out."""
        known: dict[Question, Answer] = {}
        for _ in range(8):
            outcome: Outcome = decide(self.seen(Answers(known)), self.now)
            if isinstance(outcome, Decision):
                self._carry_out(outcome)
                return outcome
            assert isinstance(outcome, Need)
            known.update(self._answered(outcome))
        raise AssertionError("a pass keeps asking")

    def _answered(self, need: Need) -> Iterator[tuple[Question, Answer]]:
        failed = False
        for question in (each for stage in need.stages for each in stage):
            assert isinstance(question, Ask)
            answer = self.outside(question) or (Bad("not-sent") if failed else self._called(question.to))
            failed = failed or (need.stop_at_failure and isinstance(answer, Bad))
            yield question, answer

    def _called(self, call: To) -> Answer:
        assert isinstance(call, Http)
        body = msgspec.json.decode(call.body)
        self.calls.append(body)
        return self.hook(body, call)

    def _carry_out(self, decision: Decision) -> None:
        self.told += decision.tell
        writes = decision.verdict.writes if isinstance(decision.verdict, Move) else ()
        for write in (*writes, *decision.reports):
            if self.writes_left == 0:
                raise Died
            if self.writes_left is not None:
                self.writes_left -= 1
            self._write(write)

    def _write(self, write: AnyWrite) -> None:
        match write:
            case Patch() if write.ref.name == "r":
                self._write_trait(write)
            case Patch():
                resource, tree = self.objects[write.ref.name]
                assert write.resource_version == tree["metadata"]["resourceVersion"]
                self.put(resource, self._changed(tree, msgspec.json.decode(write.body)))
            case Delete():
                (gone,) = (each for each in self.pods if each["metadata"]["uid"] == write.ref.uid)
                self.pods.remove(gone)
            case _:
                raise AssertionError(write)
        self.history.append(Seen({name: self.size(name) for name in self.objects}, self.state, *self._batch()))

    def _batch(self) -> tuple[str, int]:
        return self.rollout.batch_rolling_state, self.rollout.current_batch

    def _write_trait(self, write: Patch) -> None:
        assert write.resource_version == self.meta.resource_version
        body = msgspec.json.decode(write.body)
        if write.subresource == "status":
            self.status = merged(self.status, body["status"])
            self._bump()
        else:
            self._bump(finalizers=tuple(body["metadata"]["finalizers"]))
            self.is_there = bool(self.meta.finalizers) or self.meta.deletion_timestamp is None

    def _changed(self, tree: Json, body: Json) -> Json:
        after: Json = merged(tree, body)
        self.version += 1
        generation = after["metadata"]["generation"] + (after["spec"] != tree["spec"])
        after["metadata"] = {**after["metadata"], "resourceVersion": str(self.version), "generation": generation}
        return after

    def scale(self, name: str, replicas: int) -> None:
        """By somebody else."""
        resource, tree = self.objects[name]
        self.put(resource, self._changed(tree, {"spec": {"replicas": replicas}}))

    def settle(self, *, ready: bool = True) -> None:
        """Every controller catches up with its spec; new pods become ready, or not."""
        for name, (resource, tree) in self.objects.items():
            if resource == DEPLOYMENTS:
                self._settle_deployment(name, resource, tree, ready)
            elif resource.kind == "CloneSet":
                self._settle_clone_set(name, resource, tree)
            elif resource == STATEFULSETS:
                self._observe(name, resource, tree, {})

    def _settle_deployment(self, name: str, resource: Resource, tree: Json, ready: bool) -> None:
        pods = tree["status"]["replicas"] if tree["spec"]["paused"] else tree["spec"]["replicas"]
        before = tree["status"]["readyReplicas"]
        there = pods if ready else min(before, pods)
        self._observe(name, resource, tree, {"replicas": pods, "updatedReplicas": pods, "readyReplicas": there})

    def _settle_clone_set(self, name: str, resource: Resource, tree: Json) -> None:
        strategy, size = tree["spec"]["updateStrategy"], tree["spec"]["replicas"]
        partition = strategy.get("partition", 0)
        new = max(tree["status"]["updatedReplicas"], 0 if strategy.get("paused") else size - int(partition))
        self._observe(name, resource, tree, {"updatedReplicas": new, "updatedReadyReplicas": new})

    def _observe(self, name: str, resource: Resource, tree: Json, status: Json) -> None:
        found = {**tree["status"], **status, "observedGeneration": tree["metadata"]["generation"]}
        if found != tree["status"]:
            self.put(resource, self._changed(tree, {"status": found}))

    def play(self, until: str | None = None, most: int = 120, *, ready: bool = True) -> list[Decision]:
        """Passes five seconds apart, until this state is reached, or nothing is left to do."""
        found = []
        for _ in range(most):
            if self.state == until or not self.is_there:
                break
            found.append(self.run())
            self.settle(ready=ready)
            self.now += timedelta(seconds=5)
            verdict = found[-1].verdict
            if isinstance(verdict, Hold) and verdict.again is None:
                break
        return found

    def play_to(self, batch_state: str, batch: int) -> None:
        for _ in range(120):
            if (self.rollout.batch_rolling_state, self.rollout.current_batch, self.state) == (
                batch_state,
                batch,
                "rollingInBatches",
            ):
                return
            self.run()
            self.settle()
            self.now += timedelta(seconds=1)
        raise AssertionError(f"never came to {batch_state} of {batch}: {self.status}")

    def sizes(self, name: str) -> list[int]:
        """Each size that it had, once."""
        found = [each.sizes[name] for each in self.history]
        return [size for place, size in enumerate(found) if place == 0 or found[place - 1] != size]


def a_pair(plan: Json | None = None, old: int = 5, **fields: Any) -> Cluster:
    """d1 with its pods, and d2 prepared as people are asked to: paused, and without pods."""
    batches = [{"replicas": "10%"}, {"replicas": "40%"}, {"replicas": "50%"}]
    cluster = Cluster({"rolloutBatches": batches, **(plan or {})}, **fields)
    cluster.add_deployment("d1", old)
    cluster.add_deployment("d2", 0, paused=True)
    return cluster


def a_clone_set(plan: Json | None = None, **strategy: Any) -> Cluster:
    batches = [{"replicas": 1}, {"replicas": 2}, {}]
    cluster = Cluster({"rolloutBatches": batches, **(plan or {})}, sources=())
    found = clone_set(5, **(strategy or {"paused": True}))
    cluster.put(found.resource, found.tree)
    cluster.spec["targetRef"] = cluster.reference("c", "CloneSet", "apps.kruise.io/v1alpha1")
    return cluster
