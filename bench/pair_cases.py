"""What plans roll: pairs of Deployments, the rollouts that name them, and how long a pair takes at least."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from msgspec import Struct

from bench.cases import READY_AFTER
from kubeloop.objects.apps import DEPLOYMENTS

PRE_BATCH = "pre-batch-rollout"
APP = "app"
"""Label of pods: the name of their Deployment."""

Tree: TypeAlias = dict[str, Any]


class Case(Struct, frozen=True):
    """So many pairs; each moves `size` pods from its source to its target, in batches that are equal."""

    key: str
    pairs: int
    size: int
    batches: int

    @property
    def step(self) -> int:
        """Pods of a batch."""
        return self.size // self.batches

    @property
    def bound(self) -> float:
        """Seconds below which no correct operator can stay: pods of a batch are ready before the next one begins.

        How long pods take to go is not in it: a Deployment no longer counts those that are about to.
        """
        return self.batches * READY_AFTER

    @property
    def title(self) -> str:
        many = f"{self.pairs} pairs" if self.pairs > 1 else "a pair"
        return f"{many} of {self.size} pods in {self.batches} batches"

    def names(self, word: str = "pair") -> tuple[str, ...]:
        return tuple(f"{word}-{number:03}" for number in range(self.pairs))


def source_of(name: str) -> str:
    return f"{name}-old"


def target_of(name: str) -> str:
    return f"{name}-new"


def name_of(deployment: str) -> str:
    return deployment.rpartition("-")[0]


def deployments(name: str, case: Case) -> tuple[Tree, Tree]:
    """The source at its size, and the target as the contract wants it prepared."""
    source = _deployment(source_of(name), case.size, "example.test/main:1")
    target = _deployment(target_of(name), 0, "example.test/main:2")
    target["spec"]["paused"] = True
    return source, target


def _deployment(name: str, replicas: int, image: str) -> Tree:
    labels = {APP: name}
    pod = {"containers": [{"name": "main", "image": image}]}
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def rollout(name: str, case: Case, hook: str = "", gate: int | None = None) -> Tree:
    """`hook` is an address that every batch asks first; at `gate` it waits after that batch."""
    plan: Tree = {"rolloutBatches": [{"replicas": case.step} for _ in range(case.batches)]}
    if hook:
        plan["rolloutWebhooks"] = [{"type": PRE_BATCH, "name": "ask", "url": hook, "timeout": "10s"}]
    if gate is not None:
        plan["batchPartition"] = gate
    references = {"targetRef": _reference(target_of(name)), "sourceRef": [_reference(source_of(name))]}
    return {"metadata": {"name": name}, "spec": {**references, "rolloutPlan": plan}}


def _reference(name: str) -> Mapping[str, str]:
    return {"apiVersion": DEPLOYMENTS.api_version, "kind": DEPLOYMENTS.kind, "name": name}
