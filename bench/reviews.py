"""What the webhooks are asked under load, and what is right to answer.

Half of the requests are about downscales, half about evictions; some of both can be answered only after live reads. The
answer to a downscale is known beforehand. Whether a pod may be evicted depends on the moment: what is checked here is
that the answer is one that can be right, and `replay` checks that all of them together did no harm.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import cycle

import msgspec
from msgspec import Raw, Struct, structs

from bench.replay import Event

NO_DOWNSCALE = "/admission/no-downscale"
EVICTION = "/admission/pod-eviction"
UID = "00000000-0000-4000-8000-000000000000"
"""Stands in prepared bodies; every request has another one of the same length."""
SLACK = 2.0
"""Seconds by which an observer may hear of a change late on a busy machine."""
_USER = {"username": "system:admin", "uid": "1", "groups": ["system:masters", "system:authenticated"]}


class Kind(StrEnum):
    """What a request is about."""

    GROW = "more replicas, whole object"
    SHRINK = "fewer replicas, whole object"
    SHRINK_KEPT = "fewer replicas, whole object with the label"
    SCALE = "fewer replicas, /scale"
    SCALE_KEPT = "fewer replicas, /scale of an object with the label"
    OUTSIDE = "eviction outside every budget"
    GUARDED = "eviction within a budget"


MIX: tuple[Kind, ...] = (
    *(Kind.OUTSIDE, Kind.GROW, Kind.OUTSIDE, Kind.SCALE, Kind.OUTSIDE, Kind.SHRINK_KEPT, Kind.OUTSIDE, Kind.SCALE_KEPT),
    *(Kind.OUTSIDE, Kind.SHRINK, Kind.GUARDED, Kind.SCALE, Kind.OUTSIDE, Kind.GROW, Kind.OUTSIDE, Kind.SCALE_KEPT),
    *(Kind.OUTSIDE, Kind.SHRINK_KEPT, Kind.OUTSIDE, Kind.SCALE),
)
"""In this order, again and again: of twenty, five whole objects, five scales with a read each, nine evictions of pods
that no budget is for, and one that costs half a dozen reads and a record."""
KEPT = frozenset({Kind.SHRINK_KEPT, Kind.SCALE_KEPT})
"""Of objects that must not become smaller, and are to."""


class Workload(Struct, frozen=True):
    """A StatefulSet as the API server gave it."""

    name: str
    body: Raw
    replicas: int
    kept: bool
    """Whether it has the label against downscales."""


class World(Struct, frozen=True):
    """What there is to ask about."""

    namespace: str
    workloads: tuple[Workload, ...]
    outside: tuple[str, ...]
    """Pods that no budget is for."""
    guarded: tuple[str, ...]
    """Pods that a budget is for."""


class Asked(Struct, frozen=True):
    """One prepared request, whose uid is still UID."""

    kind: Kind
    about: str
    path: str
    body: bytes
    words: str = ""
    """Contained in a right denial."""


class Sample(Struct, frozen=True, array_like=True):
    """One request and its answer. Times are those of the monotonic clock."""

    kind: Kind
    about: str
    due: float
    received: float = 0.0
    """0 when there was no answer."""
    status: int = 0
    """Of HTTP."""
    allowed: bool = False
    code: int = 0
    warned: bool = False
    text: str = ""
    words: str = ""

    @property
    def lost(self) -> bool:
        return self.received == 0.0

    @property
    def seconds(self) -> float:
        """From the moment at which it was due, so that no delay is left out."""
        return self.received - self.due


class _Status(Struct, frozen=True):
    message: str = ""
    code: int = 0


class _Response(Struct, frozen=True):
    uid: str
    allowed: bool
    status: _Status | None = None
    warnings: tuple[str, ...] | None = None


class _Review(Struct, frozen=True):
    response: _Response


def stream(world: World) -> Iterator[Asked]:
    """Requests without end, each kind taking its objects in turn."""
    prepared = {kind: cycle(tuple(_prepared(kind, world))) for kind in Kind}
    return (next(prepared[kind]) for kind in cycle(MIX))


def read(asked: Asked, uid: str, due: float, received: float, status: int, body: bytes) -> Sample:
    """The sample of an answer; one that is no answer to this request has the code of a broken server."""
    sample = Sample(asked.kind, asked.about, due, received, status, words=asked.words)
    if status != 200:
        return structs.replace(sample, text=body.decode(errors="replace")[:200])
    try:
        response = msgspec.json.decode(body, type=_Review).response
    except msgspec.DecodeError as error:
        return structs.replace(sample, code=500, text=f"no review: {error}")
    if response.uid != uid:
        return structs.replace(sample, code=500, text="the answer to another request")
    said = response.status or _Status()
    return structs.replace(
        sample, allowed=response.allowed, code=said.code, warned=bool(response.warnings), text=said.message
    )


Absences = Mapping[str, Sequence[tuple[float, float]]]
"""By pod: from when to when there was none of that name."""


def absences(events: Iterable[Event], end: float) -> dict[str, list[tuple[float, float]]]:
    """When pods were gone, as an observer heard of it; who is gone at last is gone until the end."""
    found: dict[str, list[tuple[float, float]]] = {}
    since: dict[str, float] = {}
    for event in sorted(events, key=lambda event: event.version):
        if event.gone:
            since[event.pod] = event.at
        elif event.pod in since:
            found.setdefault(event.pod, []).append((since.pop(event.pod), event.at))
    for pod, at in since.items():
        found.setdefault(pod, []).append((at, end))
    return found


def fault(sample: Sample, absent: Absences) -> str:
    """What is wrong with an answer; empty when it is right."""
    if sample.status != 200 or sample.code >= 500:
        return f"no verdict: {sample.status} {sample.text}"
    match sample.kind:
        case Kind.OUTSIDE:
            return "" if sample.allowed or _missed(sample, absent) else f"denied: {sample.text}"
        case Kind.GUARDED:
            known = sample.allowed or sample.code == 429 or _missed(sample, absent)
            return "" if known else f"denied with {sample.code}: {sample.text}"
    if sample.kind not in KEPT:
        return "" if sample.allowed and not sample.warned else f"not simply allowed: {sample.text}"
    if sample.allowed:
        return "allowed"
    return "" if sample.words in sample.text else f"denied in other words: {sample.text}"


def _missed(sample: Sample, absent: Absences) -> bool:
    """Whether it was said that there is no such pod while there was none."""
    windows = absent.get(sample.about, ())
    return sample.code == 400 and any(
        begin - SLACK <= sample.received and sample.due <= end + SLACK for begin, end in windows
    )


def _prepared(kind: Kind, world: World) -> Iterator[Asked]:
    match kind:
        case Kind.OUTSIDE | Kind.GUARDED:
            for pod in world.outside if kind is Kind.OUTSIDE else world.guarded:
                yield Asked(kind, pod, EVICTION, _encoded(_eviction(world.namespace, pod)))
        case _:
            for each in world.workloads:
                if kind is Kind.GROW or each.kept == (kind in KEPT):
                    after = each.replicas + (1 if kind is Kind.GROW else -1)
                    words = f"from {each.replicas} to {after} replicas"
                    scale = kind in (Kind.SCALE, Kind.SCALE_KEPT)
                    request = _update(world.namespace, each, after, scale=scale)
                    yield Asked(kind, each.name, NO_DOWNSCALE, _encoded(request), words)


class _What(Struct, frozen=True):
    """The parts of a request that the API server tells twice."""

    kind: tuple[str, str, str]
    resource: tuple[str, str, str]
    subresource: str = ""

    def fields(self) -> dict[str, object]:
        kind = dict(zip(("group", "version", "kind"), self.kind, strict=True))
        about = dict(zip(("group", "version", "resource"), self.resource, strict=True))
        sub = {"subResource": self.subresource, "requestSubResource": self.subresource} if self.subresource else {}
        twice: dict[str, object] = {"kind": kind, "resource": about, "requestKind": kind, "requestResource": about}
        return {"uid": UID, **twice, **sub}


_SETS = ("apps", "v1", "statefulsets")
_WHOLE = _What(("apps", "v1", "StatefulSet"), _SETS)
_SCALE = _What(("autoscaling", "v1", "Scale"), _SETS, "scale")
_EVICTION = _What(("policy", "v1", "Eviction"), ("", "v1", "pods"), "eviction")


def _update(namespace: str, workload: Workload, after: int, *, scale: bool) -> dict[str, object]:
    """As the API server tells of an update of replicas, by the object itself or by its scale."""
    if scale:
        old, new = (_scale(namespace, workload.name, count) for count in (workload.replicas, after))
    else:
        old = msgspec.json.decode(workload.body, type=dict[str, object])
        new = {**old, "spec": msgspec.convert(old["spec"], dict[str, object]) | {"replicas": after}}
    return (_SCALE if scale else _WHOLE).fields() | {
        "name": workload.name,
        "namespace": namespace,
        "operation": "UPDATE",
        "userInfo": _USER,
        "object": new,
        "oldObject": old,
        "dryRun": False,
        "options": {"kind": "UpdateOptions", "apiVersion": "meta.k8s.io/v1"},
    }


def _scale(namespace: str, name: str, replicas: int) -> dict[str, object]:
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": name, "namespace": namespace, "uid": UID, "resourceVersion": "1"},
        "spec": {"replicas": replicas},
        "status": {"replicas": replicas, "selector": f"name={name}"},
    }


def _eviction(namespace: str, pod: str) -> dict[str, object]:
    return _EVICTION.fields() | {
        "name": pod,
        "namespace": namespace,
        "operation": "CREATE",
        "userInfo": _USER,
        "object": {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": pod, "namespace": namespace}},
        "oldObject": None,
        "dryRun": False,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
    }


def _encoded(request: dict[str, object]) -> bytes:
    return msgspec.json.encode({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request})
