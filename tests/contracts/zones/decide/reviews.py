"""Reviews of downscales, and a small world that answers what is asked about them, one question at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from copy import copy
from datetime import datetime, timedelta
from typing import TypeAlias

import msgspec
from msgspec import Raw, structs

from fairlead.contracts.zones.decide.admission.review_reading import ReviewSnapshot
from fairlead.contracts.zones.kinds import (
    EXCLUDE,
    LAST_DOWNSCALE,
    MIN_TIME,
    NAME_LABEL,
    PREPARE_DOWNSCALE,
    PREPARE_PATH,
    PREPARE_PORT,
    PREPARING,
)
from fairlead.contracts.zones.settings import Settings
from fairlead.core.act import Create, Does, Patch, PatchKind, Replace
from fairlead.core.ask import (
    Answer,
    Ask,
    Bad,
    ClientWaiting,
    Good,
    Http,
    Listing,
    Need,
    Question,
    Read,
    ReadRecord,
    StartOver,
    SwapRecord,
)
from fairlead.core.decision import Admit
from fairlead.core.times import format_rfc3339
from fairlead.engine.driver.round import answer, settle
from kubeloop.objects.apps import STATEFULSETS, Ordinals, StatefulSet
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import LabelSelector
from kubeloop.objects.review import NOTHING, GroupVersionResource, Review
from tests.builders import NAMESPACE, NOW, a_zone, pods_of

Tree: TypeAlias = dict[str, object]
Judge: TypeAlias = Callable[[ReviewSnapshot, datetime], Admit | Need | StartOver]

TRACKER = Settings(use_zone_tracker=True)
HOST = "ingester.test.svc.cluster.local."


def ago(**length: float) -> datetime:
    return NOW - timedelta(**length)


def a_prepared_zone(
    letter: str = "a",
    replicas: int = 3,
    *,
    last: datetime | str | None = None,
    min_time: str | None = "12h",
    min_time_annotation: str | None = None,
    label: str | None = "true",
    port: str | None = "8080",
    path: str | None = "ingester/prepare-downscale",
    service: str = "ingester",
    group: str | None = "ingester",
    start: int = 0,
    updated: int | None = None,
    excluded: bool = False,
) -> StatefulSet:
    """A zone that is all ready and updated, and wants its downscales prepared."""
    zone = a_zone(letter, replicas, current="new", selector=LabelSelector({NAME_LABEL: f"ingester-zone-{letter}"}))
    when = format_rfc3339(last) if isinstance(last, datetime) else last
    labels = {PREPARE_DOWNSCALE: label, MIN_TIME: min_time, "rollout-group": group}
    annotations = {
        PREPARE_PORT: port,
        PREPARE_PATH: path,
        LAST_DOWNSCALE: when,
        MIN_TIME: min_time_annotation,
        EXCLUDE: "true" if excluded else None,
    }
    metadata = structs.replace(zone.metadata, labels=_given(labels), annotations=_given(annotations))
    spec = structs.replace(zone.spec, service_name=service, ordinals=Ordinals(start))
    status = structs.replace(zone.status, updated_replicas=replicas if updated is None else updated)
    return StatefulSet(metadata, spec, status)


def _given(pairs: Mapping[str, str | None]) -> dict[str, str]:
    return {key: value for key, value in pairs.items() if value is not None}


def tree_of(zone: StatefulSet) -> Tree:
    tree: Tree = msgspec.to_builtins(zone)
    return tree | {"apiVersion": "apps/v1", "kind": "StatefulSet"}


def raw(tree: object) -> Raw:
    return Raw(msgspec.json.encode(tree))


def a_workload(kind: str, replicas: object, labels: Mapping[str, str] | None = None) -> Raw:
    """A Deployment, StatefulSet, ReplicaSet or Scale with so many replicas; None leaves them out."""
    group = {"Scale": "autoscaling/v1"}.get(kind, "apps/v1")
    spec = {} if replicas is None else {"replicas": replicas}
    return raw({"apiVersion": group, "kind": kind, "metadata": {"name": "x", "labels": labels or {}}, "spec": spec})


def a_review(
    old: Raw = NOTHING,
    new: Raw = NOTHING,
    *,
    resource: str = "statefulsets",
    name: str = "ingester-zone-a",
    dry_run: bool | None = None,
    uid: str = "review-1",
) -> Review:
    return Review(
        uid=uid,
        resource=GroupVersionResource("apps", "v1", resource),
        name=name,
        namespace=NAMESPACE,
        operation="UPDATE",
        object=new,
        old_object=old,
        dry_run=dry_run,
    )


def a_downscale(zone: StatefulSet, to: int, *, start: int | None = None, uid: str = "review-1") -> Review:
    """An update of the StatefulSet itself."""
    spec = structs.replace(
        zone.spec, replicas=to, ordinals=Ordinals(zone.spec.ordinals.start if start is None else start)
    )
    new = structs.replace(zone, spec=spec)
    return a_review(raw(tree_of(zone)), raw(tree_of(new)), name=zone.metadata.name, uid=uid)


def a_scale(zone: StatefulSet, to: int) -> Review:
    """An update of its scale."""
    return a_review(a_workload("Scale", zone.spec.replicas), a_workload("Scale", to), name=zone.metadata.name)


class World:
    """Zones with their pods, a record and a ConfigMap; `log` tells what was asked, `fails` what goes wrong."""

    def __init__(self, *zones: StatefulSet, pods: tuple[Pod, ...] | None = None) -> None:
        self.zones = {zone.metadata.name: zone for zone in zones}
        made = tuple(pod for zone in zones for pod in pods_of(zone, "new"))
        self.pods = made if pods is None else pods
        self.tracker: Tree | None = None
        self.record = Good()
        self.versions = 100
        self.fails: dict[str, Bad] = {}
        self.fails_once: frozenset[str] = frozenset()
        self.prepared: frozenset[str] = frozenset()
        """Pods that were told to prepare, and not that they stay."""
        self.meanwhile: dict[str, Callable[[World], Awaitable[None]]] = {}
        """What others do just before the question is answered, once."""
        self.log: list[str] = []

    def copied(self) -> World:
        other = copy(self)
        other.zones, other.log = dict(self.zones), list(self.log)
        return other

    def key(self) -> object:
        """Equal for worlds that go on alike."""
        stamps = tuple(map(self.last, self.zones)), tuple(self.noted().items())
        return stamps, self.record, self.versions, self.fails_once, self.prepared, msgspec.json.encode(self.tracker)

    def last(self, zone: str) -> str | None:
        return self.zones[zone].metadata.annotations.get(LAST_DOWNSCALE)

    def noted(self) -> dict[str, str]:
        """By pod: since when it may be prepared."""
        notes = {pod.metadata.name: pod.metadata.annotations.get(PREPARING) for pod in self.pods}
        return {name: note for name, note in notes.items() if note is not None}

    def tracked(self) -> dict[str, str]:
        assert self.tracker is not None
        return {name: str(value) for name, value in msgspec.convert(self.tracker["data"], dict[str, str]).items()}

    def asked(self, verb: str) -> list[str]:
        return [line for line in self.log if line.startswith(verb)]

    def answer(self, question: Question) -> Answer:
        told = told_of(question)
        if told in self.fails:
            self.log.append(told)
            return self.fails[told]
        if told == "awaited":
            return Good()
        if told in self.fails_once:
            self.fails_once -= {told}
            self.log.append(told)
            return Bad("failed", "this time it fails", 500)
        self.log.append(told)
        match question:
            case Ask(to=ReadRecord()):
                return self.record
            case Ask(to=SwapRecord() as swap):
                return self._swapped(swap)
            case Ask(to=Listing() as listing):
                return Good(msgspec.json.encode({"items": self._listed(listing)}))
            case Ask(to=Read() as read):
                return self._read(read)
            case Ask(to=Http(method=method)):
                pods = {told.removeprefix(f"{method} ")}
                self.prepared = self.prepared | pods if method == "POST" else self.prepared - pods
                return Good()
            case Patch():
                return self._patched(question)
            case Create() | Replace():
                return self._stored(question)
        raise AssertionError(f"nobody answers {question}")

    def _next(self) -> str:
        self.versions += 1
        return str(self.versions)

    def _swapped(self, swap: SwapRecord) -> Answer:
        if self.record.version != swap.version:
            return Bad("conflict", "the record has changed")
        self.record = Good(swap.value, self._next())
        return Good(version=self.record.version)

    def _listed(self, listing: Listing) -> list[object]:
        assert listing.namespace == NAMESPACE
        wanted = dict(term.split("=") for term in listing.labels.split(","))
        found = self.zones.values() if listing.resource == STATEFULSETS else self.pods
        return [each for each in found if wanted.items() <= each.metadata.labels.items()]

    def _read(self, read: Read) -> Answer:
        found: object = self.tracker
        if read.ref.resource == STATEFULSETS:
            found = tree_of(self.zones[read.ref.name]) if read.ref.name in self.zones else None
        elif read.ref.resource == PODS:
            found = next((pod for pod in self.pods if pod.metadata.name == read.ref.name), None)
        return Bad("absent", "not found", 404) if found is None else Good(msgspec.json.encode(found))

    def _patched(self, patch: Patch) -> Answer:
        if patch.ref.resource == PODS:
            return self._patched_pod(patch)
        zone = self.zones[patch.ref.name]
        change = msgspec.json.decode(patch.body)
        assert change.keys() == {"metadata"}
        assert change["metadata"].keys() == {"annotations"}
        annotations = {**zone.metadata.annotations, **change["metadata"]["annotations"]}
        metadata = structs.replace(zone.metadata, annotations=annotations, resource_version=self._next())
        self.zones[patch.ref.name] = structs.replace(zone, metadata=metadata)
        return Good(msgspec.json.encode(tree_of(self.zones[patch.ref.name])))

    def _patched_pod(self, patch: Patch) -> Answer:
        pod = next((pod for pod in self.pods if pod.metadata.name == patch.ref.name), None)
        if pod is None:
            return Bad("absent", "not found", 404)
        change = msgspec.json.decode(patch.body)
        if patch.kind is PatchKind.JSON:
            test, step = change
            assert (test["op"], test["path"]) == ("test", step["path"])
            assert (step["op"], "value" in step) in (("remove", False), ("replace", True))
            assert test["path"] == f"/metadata/annotations/{PREPARING.replace('/', '~1')}"
            if pod.metadata.annotations.get(PREPARING) != test["value"]:
                return Bad("failed", "the test of the patch failed", 422)
            change = {"metadata": {"annotations": {PREPARING: step.get("value")}}}
        assert change.keys() == {"metadata"}
        assert change["metadata"].keys() == {"annotations"}
        assert change["metadata"]["annotations"].keys() == {PREPARING}
        new = with_note(pod, change["metadata"]["annotations"][PREPARING])
        self.pods = tuple(new if each is pod else each for each in self.pods)
        return Good(msgspec.json.encode(new))

    def _stored(self, write: Create | Replace) -> Answer:
        tree = msgspec.json.decode(write.body)
        if isinstance(write, Create):
            if self.tracker is not None:
                return Bad("conflict", "it exists", 409)
        elif self.tracker is None or tree["metadata"]["resourceVersion"] != self.version_of_tracker():
            return Bad("conflict", "it has been modified", 409)
        self.set_tracker(tree)
        return Good(msgspec.json.encode(self.tracker))

    def version_of_tracker(self) -> object:
        assert self.tracker is not None
        return msgspec.convert(self.tracker["metadata"], dict[str, object])["resourceVersion"]

    def set_tracker(self, tree: Tree) -> None:
        metadata = msgspec.convert(tree.get("metadata", {}), dict[str, object])
        self.tracker = tree | {"metadata": metadata | {"resourceVersion": self._next()}}


def with_note(pod: Pod, text: str | None) -> Pod:
    others = {key: value for key, value in pod.metadata.annotations.items() if key != PREPARING}
    annotations = others if text is None else {**others, PREPARING: text}
    return structs.replace(pod, metadata=structs.replace(pod.metadata, annotations=annotations))


def told_of(question: Question) -> str:
    """A question in a few words."""
    match question:
        case Ask(to=Http(method=method, url=url)):
            return f"{method} {url.removeprefix('http://').partition('.')[0]}"
        case Ask(to=ClientWaiting()):
            return "awaited"
        case Ask(to=ReadRecord()):
            return "recall"
        case Ask(to=SwapRecord(value=value)):
            return f"take {msgspec.json.decode(value)['zone']}" if value else "end"
        case Ask(to=Listing(resource=resource, labels=labels)):
            return f"list {resource.plural} {labels}"
        case Ask(to=Read(ref=ref, after=after)):
            return f"get {ref}{' again' if after else ''}"
        case Patch(does=Does.NOTE_PREPARATION, ref=ref, change_to=noted):
            return f"{'note' if noted else 'forget'} {ref.name}"
        case Patch(ref=ref):
            return f"patch {ref}"
        case Create(name=name):
            return f"create {name}"
        case Replace(ref=ref):
            return f"replace {ref}"
    raise AssertionError(f"no words for {question}")


def judged(
    judge: Judge, world: World, review: Review, *, now: datetime = NOW, settings: Settings | None = None
) -> Admit:
    """The answer, with what comes after it carried out."""
    return asyncio.run(judging(judge, world, review, now=now, settings=settings))


async def judging(
    judge: Judge, world: World, review: Review, *, now: datetime = NOW, settings: Settings | None = None
) -> Admit:
    given = settings or Settings()

    async def ask(question: Question) -> Answer:
        if (others := world.meanwhile.pop(told_of(question), None)) is not None:
            await others(world)
        return world.answer(question)

    _, admit = await settle(judge, lambda answers: ReviewSnapshot(review, answers, given), now, ask)
    assert isinstance(admit, Admit)
    world.log.append("answer")
    await answer(Need(admit.afterwards), ask)
    return admit


A, B = "ingester-zone-a", "ingester-zone-b"
STAMP = f"patch statefulset/{A}"


def a_world(**of_a: object) -> World:
    """Zone a with 5 replicas, zone b at rest."""
    return World(a_prepared_zone("a", 5, **of_a), a_prepared_zone("b"))  # type: ignore[arg-type]
