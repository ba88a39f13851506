"""Everything outside of the cache that scaling asks: live zones, references with their scale, pods that answer."""

from __future__ import annotations

from datetime import datetime, timedelta
from urllib.parse import urlsplit

import msgspec
from msgspec import structs

from fairlead.contracts.zones import kinds as keys
from fairlead.contracts.zones.decide import Snapshot, decide
from fairlead.core.act import Does, Patch
from fairlead.core.ask import Answer, Answers, Ask, Bad, Discover, Good, Http, Need, Question, Read
from fairlead.core.decision import Decision, Move
from kubeloop.objects.apps import STATEFULSETS, StatefulSet
from kubeloop.objects.core import Pod
from kubeloop.objects.meta import Resource, ServedVersion
from tests.builders import NOW, a_zone, body_of

TEMPLATES = Resource("rollout-operator.grafana.com", "v1", "replicatemplates", "ReplicaTemplate")
SERVED = ServedVersion(TEMPLATES, ("status", "scale"))
URL = "http://pod:8080/prepare"


def a_follower(letter: str = "b", replicas: int = 3, *, of: str = "a", **annotations: str) -> StatefulSet:
    """A zone that follows another; annotations are named as in `fairlead.contracts.zones.kinds`, in lower case."""
    return annotated(a_zone(letter, replicas), leader=f"ingester-zone-{of}", **annotations)


def a_mirror(letter: str = "a", replicas: int = 3, *, name: str = "rt", **annotations: str) -> StatefulSet:
    """A zone that mirrors a ReplicaTemplate."""
    version = "rollout-operator.grafana.com/v1"
    given = {"mirror_name": name, "mirror_kind": "ReplicaTemplate", "mirror_api_version": version} | annotations
    return annotated(a_zone(letter, replicas), **given)


def a_delayed(replicas: int = 5, letter: str = "a", **annotations: str) -> StatefulSet:
    """A mirror whose pods are told 1h before they go."""
    return a_mirror(letter, replicas, **{"delay": "1h", "delay_url": URL} | annotations)


def annotated(zone: StatefulSet, **annotations: str) -> StatefulSet:
    given = {getattr(keys, name.upper()): value for name, value in annotations.items()}
    metadata = structs.replace(zone.metadata, annotations=zone.metadata.annotations | given)
    return structs.replace(zone, metadata=metadata, spec=structs.replace(zone.spec, service_name="ingester"))


def labelled(zone: StatefulSet, **labels: str) -> StatefulSet:
    given = {getattr(keys, name.upper()): value for name, value in labels.items()}
    return structs.replace(zone, metadata=structs.replace(zone.metadata, labels=zone.metadata.labels | given))


def prepared(ago: timedelta, now: datetime = NOW) -> Answer:
    """A pod's answer that it was prepared so long ago."""
    return timestamp(int((now - ago).timestamp()))


def timestamp(value: object) -> Answer:
    return Good(msgspec.json.encode({"timestamp": value}))


def a_scale(spec: object, status: object) -> Answer:
    """The body of a Scale."""
    tree = {"kind": "Scale", "apiVersion": "autoscaling/v1", "spec": spec, "status": status}
    return Good(msgspec.json.encode(tree))


class Outsiders:
    """Answers every question; what it is not told about is healthy."""

    def __init__(self, **scales: tuple[int, int]) -> None:
        self.scales = scales
        """By name of the reference: its `spec.replicas` and its `status.replicas`."""
        self.served: Answer = Good(msgspec.json.encode((SERVED,)))
        self.pods: dict[str, Answer] = {}
        """What pods answer to POST; those not named were prepared just now."""
        self.special: dict[Question, Answer] = {}
        self.live: dict[str, StatefulSet] = {}
        """Zones that have changed since they were seen."""
        self.calls: list[str] = []
        """`POST a-4` each, in the order of asking."""
        self.asked: list[Ask] = []

    def answer(self, question: Question, seen: Snapshot, now: datetime) -> Answer:
        if question in self.special:
            return self.special[question]
        assert isinstance(question, Ask)
        self.asked.append(question)
        match question.to:
            case Discover():
                return self.served
            case Read(ref, "scale"):
                return self._scale(ref.name)
            case Read(ref) if ref.resource == STATEFULSETS:
                zones = {zone.metadata.name: zone for zone in seen.statefulsets} | self.live
                return Good(body_of(zones[ref.name]))
            case Http(method, url):
                return self._call(method, url, now)
        raise AssertionError(question)

    def _scale(self, name: str) -> Answer:
        if name not in self.scales:
            return Bad("absent", f'"{name}" not found', 404)
        spec, status = self.scales[name]
        return a_scale({"replicas": spec}, {"replicas": status})

    def _call(self, method: str, url: str, now: datetime) -> Answer:
        pod = (urlsplit(url).hostname or "").partition(".")[0].removeprefix("ingester-zone-")
        self.calls.append(f"{method} {pod}")
        if method == "DELETE":
            return Good()
        return self.pods.get(pod, timestamp(int(now.timestamp())))


def decided(seen: Snapshot, outside: Outsiders, now: datetime = NOW) -> Decision:
    """The decision when everything asked is answered."""
    known = dict(seen.answers.known)
    for _ in range(8):
        outcome = decide(structs.replace(seen, answers=Answers(dict(known))), now)
        if isinstance(outcome, Decision):
            return outcome
        assert isinstance(outcome, Need)
        for stage in outcome.stages:
            known |= {question: outside.answer(question, seen, now) for question in stage}
    raise AssertionError("it asks for ever")


def scaled(decision: Decision) -> dict[str, int]:
    """Replicas that the decision gives to which zones."""
    writes = decision.verdict.writes if isinstance(decision.verdict, Move) else ()
    chosen = [write for write in writes if isinstance(write, Patch) and write.does is Does.SCALE]
    return {write.ref.name.removeprefix("ingester-zone-"): int(write.change_to) for write in chosen}


def reported(decision: Decision) -> dict[str, int]:
    """Replicas that the decision tells which references."""
    own = decision.verdict.writes if isinstance(decision.verdict, Move) else ()
    writes = [write for write in (*own, *decision.reports) if isinstance(write, Patch)]
    return {write.ref.name: int(write.change_to) for write in writes if write.does is Does.REPORT_REPLICAS}


def beside(decision: Decision) -> list[str]:
    """Reasons of what is said beside the verdict."""
    return [aside.reason.word for aside in decision.asides]


def everything(*zones: StatefulSet, pods: tuple[Pod, ...] = ()) -> Snapshot:
    return Snapshot("test", "ingester", zones, pods)
