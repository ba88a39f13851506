"""A world of one DisaggregatedSet without a cluster: its rounds are decided, and what they write is carried out.

Groups become ready when the test says so; those that are taken away are gone at once.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from fairlead.contracts.leaderworker.decide.disaggregated.round import decide
from fairlead.contracts.leaderworker.decide.disaggregated.seen import DisaggregatedSeen
from fairlead.contracts.leaderworker.decide.seen import Service
from fairlead.contracts.leaderworker.disaggregated.kinds import (
    DISAGGREGATED_SETS,
    REVISION,
    ROLE,
    ROLE_SCALERS,
    SLICE,
    DisaggregatedSet,
    RoleScaler,
)
from fairlead.contracts.leaderworker.kinds import LEADER_WORKER_SETS, LeaderWorkerSet
from fairlead.core.act import AnyWrite, Create, Delete, Patch
from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Need, Question, Read
from fairlead.core.decision import Decision, Move
from kubeloop.objects.core import SERVICES
from kubeloop.objects.meta import Resource

Tree = dict[str, Any]
START = datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC)
UID = "set-uid"


def a_role(name: str, replicas: int = 2, image: str = "a", **changes: Any) -> Tree:
    update = changes.pop("update", {"maxSurge": 1, "maxUnavailable": 0})
    template = {"metadata": {"labels": {"team": "x"}}, "spec": {"containers": [{"name": "main", "image": image}]}}
    made: Tree = {
        "name": name,
        "spec": {
            "replicas": replicas,
            "rolloutStrategy": {"type": "RollingUpdate", "rollingUpdateConfiguration": update},
            "leaderWorkerTemplate": {"size": 1, "workerTemplate": template},
        },
        **changes,
    }
    return made


class World:
    def __init__(self, *roles: Tree, **spec: Any) -> None:
        several = roles or (a_role("prefill", 4), a_role("decode", 2))
        self.spec: Tree = {"roles": [deepcopy(each) for each in several], **spec}
        self.status: Tree = {}
        self.generation = 1
        self.objects: dict[Resource, dict[str, Tree]] = {LEADER_WORKER_SETS: {}, ROLE_SCALERS: {}, SERVICES: {}}
        self.unseen: set[str] = set()
        """Services that no cache shows."""
        self.unreadable: Bad | None = None
        """What is answered to whoever reads a Service."""
        self.refused: dict[str, str] = {}
        """By name of an object: what the server says to whoever writes it."""
        self.dropped: set[str] = set()
        """Fields of the status that the definition does not have."""
        self.leaving = False
        self.told: list[str] = []
        self.count = self.writes = 0
        self.watch: Callable[[], None] = lambda: None
        """Called after every write."""

    # What is there.

    @property
    def children(self) -> dict[str, Tree]:
        return self.objects[LEADER_WORKER_SETS]

    @property
    def services(self) -> set[str]:
        return set(self.objects[SERVICES])

    @property
    def now(self) -> datetime:
        return START + timedelta(seconds=self.count)

    def replicas(self) -> dict[str, int]:
        return {name: each["spec"]["replicas"] for name, each in sorted(self.children.items())}

    def counts(self, part: str = "spec") -> dict[str, int]:
        """By slice and role, over all revisions: what is wanted of them, or what is ready."""
        found: dict[str, int] = {}
        for each in self.children.values():
            labels = each["metadata"]["labels"]
            place = f"{labels.get(SLICE, '0')}/{labels[ROLE]}"
            count = each["spec"]["replicas"] if part == "spec" else each["status"]["readyReplicas"]
            found[place] = found.get(place, 0) + count
        return found

    @property
    def is_ready(self) -> bool:
        return all(each["spec"]["replicas"] == each["status"]["readyReplicas"] for each in self.children.values())

    def revisions(self) -> set[str]:
        return {each["metadata"]["labels"][REVISION] for each in self.children.values()}

    def seen(self, answers: dict[Question, Answer] | None = None) -> DisaggregatedSeen:
        metadata: Tree = {
            "name": "ds",
            "namespace": "default",
            "uid": UID,
            "resourceVersion": str(self.count),
            "generation": self.generation,
        }
        if self.leaving:
            metadata["deletionTimestamp"] = self.now
        tree = {"metadata": metadata, "spec": self.spec, "status": self.status}
        services = [each for name, each in sorted(self.objects[SERVICES].items()) if name not in self.unseen]
        return DisaggregatedSeen(
            set=msgspec.convert(deepcopy(tree), DisaggregatedSet),
            children=_read(self.objects[LEADER_WORKER_SETS].values(), LeaderWorkerSet),
            scalers=_read(self.objects[ROLE_SCALERS].values(), RoleScaler),
            services=_read(services, Service),
            answers=Answers(answers or {}),
        )

    # What happens.

    def edit(self, change: Callable[[Tree], None]) -> None:
        change(self.spec)
        self.generation += 1

    def give_image(self, image: str) -> None:
        def change(spec: Tree) -> None:
            for role in spec["roles"]:
                role["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"][0]["image"] = image

        self.edit(change)

    def add(self, resource: Resource, name: str, tree: Tree, *, owner: str = UID) -> Tree:
        self.count += 1
        tree = deepcopy(tree)
        tree["metadata"] |= {
            "name": name,
            "namespace": "default",
            "uid": f"uid-{self.count}",
            "resourceVersion": str(self.count),
            "creationTimestamp": self.now.isoformat(),
            "generation": 1,
        }
        if owner != UID:
            tree["metadata"]["ownerReferences"] = [
                {"kind": DISAGGREGATED_SETS.kind, "name": "other", "uid": owner, "controller": True}
            ]
        if resource is LEADER_WORKER_SETS:
            tree.setdefault("status", {"replicas": 0, "readyReplicas": 0, "updatedReplicas": 0})
        self.objects[resource][name] = tree
        return tree

    def decided(self, answers: dict[Question, Answer] | None = None) -> tuple[Decision, dict[Question, Answer]]:
        known = dict(answers or {})
        for _ in range(20):
            outcome = decide(self.seen(known), self.now)
            if isinstance(outcome, Decision):
                return outcome, known
            assert isinstance(outcome, Need)
            for question in outcome.stages[0]:
                assert isinstance(question, Ask)
                assert isinstance(question.to, Read)
                name = question.to.ref.name
                known[question] = self.unreadable or (Good(b"{}") if name in self.objects[SERVICES] else Bad("absent"))
        raise AssertionError("it asks without end")

    def round(self, most: int | None = None) -> Decision:
        """One round of which at most so many writes are sent; what is refused is decided again in the same round."""
        known: dict[Question, Answer] = {}
        while True:
            decision, known = self.decided(known)
            moves = decision.verdict.writes if isinstance(decision.verdict, Move) else ()
            writes = (*moves, *decision.reports)
            refused = next((each for each in writes if each.refusable and _name(each) in self.refused), None)
            if refused is None:
                break
            known[refused] = Bad("refused", self.refused[_name(refused)])
        self.told += [note.text for note in decision.tell]
        for write in writes if most is None else writes[:most]:
            self.carry_out(write)
        return decision

    def carry_out(self, write: AnyWrite) -> None:
        self.count += 1
        self.writes += 1
        match write:
            case Create():
                assert write.name not in self.objects[write.resource], f"{write.name} is there"
                self.add(write.resource, write.name, msgspec.json.decode(write.body))
            case Delete():
                tree = self.objects[write.ref.resource].pop(write.ref.name)
                assert tree["metadata"]["uid"] == write.ref.uid
            case Patch() if write.ref.resource is DISAGGREGATED_SETS:
                status = msgspec.json.decode(write.body)["status"]
                self.status = {key: value for key, value in status.items() if key not in self.dropped}
            case Patch():
                self._patch(write)
        if write.tell is not None:
            self.told.append(write.tell.text)
        self.watch()

    def _patch(self, write: Patch) -> None:
        tree = self.objects[write.ref.resource][write.ref.name]
        assert tree["metadata"]["resourceVersion"] == write.resource_version, f"{write.ref}: it has changed"
        body = msgspec.json.decode(write.body)
        for key, value in body.get("metadata", {}).get("annotations", {}).items():
            noted = tree["metadata"].setdefault("annotations", {})
            noted.pop(key, None) if value is None else noted.__setitem__(key, value)
        tree["spec"] |= body.get("spec", {})
        tree["status"] = tree.get("status", {}) | body.get("status", {})
        if write.ref.resource is LEADER_WORKER_SETS:
            tree["status"] = {key: min(count, tree["spec"]["replicas"]) for key, count in tree["status"].items()}
        tree["metadata"]["resourceVersion"] = str(self.count)

    def become_ready(self, *names: str) -> None:
        """All groups of these children, or of all."""
        for name, each in self.children.items():
            if not names or name in names:
                self.count += 1
                count = each["spec"]["replicas"]
                each["status"] = {"replicas": count, "readyReplicas": count, "updatedReplicas": count}
                each["metadata"]["resourceVersion"] = str(self.count)
        self.watch()

    def settle(self, most: int = 200) -> None:
        """Rounds, and everything becomes ready, until nothing changes."""
        for _ in range(most):
            before = self.count
            self.round()
            idle = self.count == before
            if idle and all(
                each["spec"]["replicas"] == each["status"]["readyReplicas"] for each in self.children.values()
            ):
                return
            self.become_ready()
        raise AssertionError(f"it does not end: {self.replicas()}")


def _read(trees: Any, into: type[Any]) -> tuple[Any, ...]:
    return tuple(msgspec.json.decode(msgspec.json.encode(each), type=into) for each in trees)


def _name(write: AnyWrite) -> str:
    return write.name if isinstance(write, Create) else write.ref.name
