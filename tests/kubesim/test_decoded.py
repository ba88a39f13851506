"""One decoded object per version and type, shared by all who read it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from msgspec import Struct, field

from kubeloop.client import Client
from kubeloop.informer import Informer
from kubeloop.objects import apps, core
from kubeloop.objects.meta import Meta
from kubeloop.request import Transport
from kubesim.api.pod_splicing import Body
from kubesim.controllers.pods import Pod as ControllersPod
from kubesim.faults import Faulty
from kubesim.kinds.registry import PODS, STATEFUL_SETS
from kubesim.kubelet.pods import Pod as KubeletPod
from kubesim.store.decoded import REMEMBERED, Reader, is_shareable, reader_of
from kubesim.store.versions import Version
from kubesim.virtual import VirtualCluster
from tests.kubesim.trees import a_pod


class Named(Struct, frozen=True):
    """What is its own of a pod: its hostname is its name."""

    hostname: str = ""


class NamedPod(Struct, frozen=True):
    metadata: Meta
    spec: Named = Named()


def pods_of_a_set() -> list[Version]:
    """Three pods of one StatefulSet, ready on their nodes, their bodies in parts."""

    async def scenario(world: VirtualCluster) -> list[Version]:
        labels = {"app": "web"}
        spec = {
            "replicas": 3,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": a_pod()["spec"]},
        }
        tree = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"}, "spec": spec}
        await world.create(STATEFUL_SETS, "default", tree)
        table = world.cluster.store.table(PODS)

        async def are_ready() -> bool:
            ready = [version for version in table.live.values() if b'"Ready","status":"True"' in version.body]
            return len(ready) == 3

        await world.until(are_ready)
        return list(table.live.values())

    return VirtualCluster().play(scenario)


@pytest.mark.parametrize("into", [KubeletPod, ControllersPod, core.Pod, NamedPod])
def test_part_by_part_it_is_what_it_is_as_a_whole(into: type[Struct]) -> None:
    versions = pods_of_a_set()

    read = [Reader(into)(version) for version in versions]

    assert all(isinstance(version.kept, Body) for version in versions[1:])
    assert read == [msgspec.json.decode(version.body, type=into) for version in versions]


def test_readers_of_one_type_share_one_object() -> None:
    version = pods_of_a_set()[1]

    assert reader_of(KubeletPod)(version) is reader_of(KubeletPod)(version)
    assert reader_of(KubeletPod) is reader_of(KubeletPod)


def test_pods_that_are_alike_share_what_is_alike_in_them() -> None:
    read = Reader(core.Pod)

    one, other = (read(version) for version in pods_of_a_set()[1:])

    assert one.spec is other.spec
    assert one.metadata.owner_references is other.metadata.owner_references


def test_what_was_read_long_ago_is_not_kept() -> None:
    version = pods_of_a_set()[1]
    read: Reader[KubeletPod] = Reader(KubeletPod)
    first = read(version)

    for revision in range(2 * REMEMBERED):
        read(Version(version.key, revision, version.head, version.kept))

    assert read(version) is not first
    assert read(version) == first


def test_an_object_that_cannot_be_read_is_told_as_a_decoder_tells_it() -> None:
    class Wrong(Struct, frozen=True):
        metadata: Meta
        spec: KubeletPod

    with pytest.raises(msgspec.ValidationError):
        Reader(Wrong)(pods_of_a_set()[1])


class Loose(Struct):
    name: str = ""


class Holding(Struct, frozen=True):
    held: Loose | None = None


class Listing(Struct, frozen=True):
    names: list[str] = []


class Anything(Struct, frozen=True):
    value: Any = None


class Nested(Struct, frozen=True):
    inner: tuple[Nested, ...] = ()
    held: Holding | None = None


@pytest.mark.parametrize("into", [ControllersPod, core.Pod, apps.StatefulSet])
def test_objects_of_frozen_structs_may_be_shared(into: type[Struct]) -> None:
    assert is_shareable(into)


@pytest.mark.parametrize("into", [Loose, Holding, Listing, Anything, Nested, dict])
def test_objects_that_somebody_could_change_are_not_shared(into: type[Struct]) -> None:
    assert not is_shareable(into)


@pytest.mark.parametrize("into", [KubeletPod, ControllersPod])
def test_nobody_can_change_what_the_cluster_itself_shares(into: type[Struct]) -> None:
    pod: Any = reader_of(into)(pods_of_a_set()[1])

    for changed in (pod, pod.metadata, pod.spec, pod.status):
        field = changed.__struct_fields__[0]
        with pytest.raises(AttributeError):
            setattr(changed, field, None)


def informed(wrap: Callable[[Transport], Transport], into: type[Any]) -> list[Any]:
    """What two informers hold of a pod after it has changed, one of them as usual and one over another transport."""

    async def scenario(world: VirtualCluster) -> list[Any]:
        ways = (world.cluster.transport(), wrap(world.cluster.transport()))
        informers: list[Informer[Any]] = [Informer(Client(way), PODS, into) for way in ways]
        async with asyncio.TaskGroup() as tasks:
            running = [tasks.create_task(each.run()) for each in informers]
            await asyncio.gather(*(each.synced.wait() for each in informers))
            await world.create(PODS, "default", a_pod())
            await asyncio.sleep(10)
            for task in running:
                task.cancel()
        return [each.store.get("default", "web-0") for each in informers]

    return VirtualCluster().play(scenario)


class HeldPod(Struct, frozen=True):
    metadata: Meta
    status: dict[str, Any] = {}


def test_informers_in_the_process_hold_one_object() -> None:
    one, other = informed(lambda transport: transport, core.Pod)

    assert one is other
    assert one.status.phase == "Running"


@pytest.mark.parametrize(
    ("wrap", "into"),
    [(Faulty, core.Pod), (lambda transport: transport, HeldPod)],
    ids=["that comes as bytes", "that somebody could change"],
)
def test_informers_hold_an_object_each(wrap: Callable[[Transport], Transport], into: type[Any]) -> None:
    one, other = informed(wrap, into)

    assert one == other
    assert one is not other


class StrictStatus(Struct, frozen=True):
    """Of which a running pod has none."""

    pod_ip: int = field(name="podIP", default=0)


class StrictPod(Struct, frozen=True):
    metadata: Meta
    status: StrictStatus = StrictStatus()


def test_an_informer_sets_aside_what_it_cannot_read() -> None:
    """As it does with lines: the pod is held as it was last read, and what is wrong with it is known."""

    async def scenario(world: VirtualCluster) -> tuple[bool, list[str]]:
        informer = Informer(world.client, PODS, StrictPod)
        running = asyncio.create_task(informer.run())
        await informer.synced.wait()
        await world.create(PODS, "default", a_pod())
        await asyncio.sleep(10)
        running.cancel()
        problems = [str(each) for each in informer.unreadable.values()]
        return informer.store.get("default", "web-0") is not None, problems

    held, problems = VirtualCluster().play(scenario)

    assert held
    assert len(problems) == 1
    assert "podIP" in problems[0]
