"""Verbs that are asked of the rollout of a cluster, and what comes of the answer."""

from __future__ import annotations

from typing import Any

import msgspec

from fairlead.contracts.plans.kinds import Json
from fairlead.core.ask import Answer, Answers, Ask, Bad, Good, Listing, Need, Question, Read
from fairlead.core.verb import (
    Nothing,
    Refused,
    VerbAnswer,
    VerbDecide,
    VerbPlan,
    VerbRequest,
)
from kubeloop.objects.meta import Ref
from tests.contracts.plans.decide.cluster import Cluster, a_pair
from tests.contracts.plans.decide.workloads.objects import merged


class Asked:
    """Who reads the rollout of a cluster, its workloads and its Events."""

    def __init__(
        self,
        cluster: Cluster | None,
        *,
        application: Json | None = None,
        kind: str = "ApplicationDeployment",
        events: tuple[Json, ...] = (),
    ):
        self.cluster = cluster
        self.application = application
        self.kind = kind
        self.events = events

    def __call__(self, decide: VerbDecide, name: str = "r", noun: str = "", **options: str) -> VerbAnswer:
        flags = {f"--{flag.replace('_', '-')}": (value,) for flag, value in options.items()}
        request = VerbRequest("ns", name, flags, noun)
        known: dict[Question, Answer] = {}
        for _ in range(5):
            now = a_pair().now if self.cluster is None else self.cluster.now
            found = decide(request, Answers(dict(known)), now)
            if not isinstance(found, Need):
                return found
            known |= {each: self.answer(each) for stage in found.stages for each in stage}
        raise AssertionError("it asks for ever")

    def answer(self, question: Question) -> Answer:
        assert isinstance(question, Ask)
        match question.to:
            case Read(ref=ref):
                found = self._read(ref)
                return Bad("absent") if found is None else Good(msgspec.json.encode(found))
            case Listing():
                return Good(msgspec.json.encode({"items": self.events}))
        raise AssertionError(question)

    def _read(self, ref: Ref) -> Json | None:
        kind, cluster = ref.resource.kind, self.cluster
        if kind in ("ApplicationDeployment", "AppRollout"):
            return self.application if kind == self.kind else None
        if cluster is None or (kind == "RolloutTrait" and ref.name != "r"):
            return None
        if kind == "RolloutTrait":
            metadata = msgspec.to_builtins(cluster.meta)
            return {"metadata": metadata, "spec": cluster.spec, "status": cluster.status}
        found = cluster.objects.get(ref.name)
        return None if found is None else found[1]


def planned(found: VerbAnswer) -> VerbPlan:
    assert isinstance(found, VerbPlan), found
    return found


def refused(found: VerbAnswer) -> str:
    assert isinstance(found, Refused), found
    return found.sentence


def nothing(found: VerbAnswer) -> str:
    assert isinstance(found, Nothing), found
    return found.sentence


def written(cluster: Cluster, plan: VerbPlan) -> None:
    """What the command writes, onto the version that it was decided on."""
    (write,) = plan.writes
    metadata = write.patch["metadata"]
    assert (metadata["uid"], metadata["resourceVersion"]) == (cluster.meta.uid, cluster.meta.resource_version)
    if action := metadata.get("annotations", {}).get("fairlead.dev/rollout-action"):
        cluster.ask(action)
    else:
        cluster.change(**merged(cluster.spec, write.patch["spec"]))


def gated(**plan: Any) -> Cluster:
    cluster = a_pair({"lastBatchToRollout": 0, **plan})
    cluster.play(most=40)
    return cluster
