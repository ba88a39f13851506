"""The kubelet puts pods beside those that they want to be with, and away from those that they do not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kubeloop.client import Client
from kubeloop.request import Request, Response, Transport
from kubesim.auth.rbac import insider
from kubesim.faults import Faulty
from kubesim.kinds.registry import NAMESPACES, NODES, PODS
from kubesim.kubelet.neighbours import Neighbours
from kubesim.kubelet.pods import Pod
from kubesim.pods.affinity import BESIDE_UNWANTED, NOT_BESIDE_WANTED, UNWANTED_THERE, Surroundings
from kubesim.store.versions import Tree
from tests.kubesim.kubelets import NAMESPACE, TESTER, World, condition, play

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def terms(*selectors: Tree, key: str = HOST, **more: Any) -> Tree:
    return {REQUIRED: [{"labelSelector": selector, "topologyKey": key, **more} for selector in selectors]}


def app(name: str) -> Tree:
    return {"matchLabels": {"app": name}}


def apart_from(name: str, **more: Any) -> Tree:
    return {"affinity": {"podAntiAffinity": terms(app(name), **more)}}


def with_(name: str, **more: Any) -> Tree:
    return {"affinity": {"podAffinity": terms(app(name), **more)}}


def make(world: World, name: str, labels: str = "", namespace: str = NAMESPACE, **spec: Any) -> None:
    """Labels as `app=web tier=front`."""
    given = dict(pair.split("=") for pair in labels.split())
    containers = [{"name": "c", "image": "i:1"}]
    tree = {"metadata": {"name": name, "labels": given}, "spec": {"containers": containers, **spec}}
    world.cluster.verbs.create(PODS, namespace, tree, user=TESTER)


def make_namespace(world: World, name: str, **labels: str) -> None:
    world.cluster.verbs.create(NAMESPACES, "", {"metadata": {"name": name, "labels": labels}}, user=TESTER)


def places(world: World, namespace: str = NAMESPACE) -> dict[str, str]:
    """Pods and the numbers of their nodes."""
    pods = world.cluster.verbs.list(PODS, namespace)
    return {pod["metadata"]["name"]: pod["spec"].get("nodeName", "")[-1:] for pod in pods}


def said(world: World, name: str) -> Tree:
    found = condition(world.pod(name), "PodScheduled")
    return {key: found.get(key) for key in ("status", "reason", "message")}


def unschedulable(text: str) -> Tree:
    return {"status": "False", "reason": "Unschedulable", "message": text}


def test_pods_that_keep_apart_wait_when_every_node_has_one_and_take_the_next_that_is_free() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet():
            for number in range(5):
                make(world, f"web-{number}", "app=web", **apart_from("web"))
            await asyncio.sleep(5)

            placed = {name: node for name, node in places(world).items() if node}
            waiting = sorted(places(world).keys() - placed.keys())
            assert sorted(placed.values()) == ["0", "1", "2"]
            for name in waiting:
                assert world.pod(name)["status"]["phase"] == "Pending"
                assert said(world, name) == unschedulable(f"0/3 nodes are available: 3 {BESIDE_UNWANTED}.")

            first = min(placed)
            world.delete(first)
            await asyncio.sleep(5)

            came = [name for name in waiting if places(world)[name]]
            assert [places(world)[name] for name in came] == [placed[first]]
            assert said(world, came[0])["status"] == "True"
            assert (
                len([each for each in world.pod(came[0])["status"]["conditions"] if each["type"] == "PodScheduled"])
                == 1
            )

    play(scenario)


def test_reasons_of_nodes_are_counted_each_by_itself() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet():
            make(world, "shy", "", nodeSelector={HOST: "sim-node-0"}, **apart_from("web"))
            make(world, "web", "app=web", nodeSelector={HOST: "sim-node-1"})
            await asyncio.sleep(5)
            cordon = msgspec.json.encode({"spec": {"unschedulable": True}})
            world.cluster.verbs.patch(NODES, "", "sim-node-2", "application/merge-patch+json", cordon, user=TESTER)
            await asyncio.sleep(1)
            make(world, "late", "app=web", **apart_from("web"))
            await asyncio.sleep(5)

            text = f"1 {BESIDE_UNWANTED}, 1 {UNWANTED_THERE}, 1 node(s) were unschedulable"
            assert said(world, "late") == unschedulable(f"0/3 nodes are available: {text}.")

    play(scenario)


def test_pods_that_were_there_before_anybody_cared_count() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet():
            make(world, "web", "app=web", nodeSelector={ZONE: "zone-b"})
            await asyncio.sleep(60)
            make(world, "beside", "", **with_("web", key=ZONE))
            make(world, "away", "", nodeSelector={ZONE: "zone-b"}, **apart_from("web"))
            await asyncio.sleep(5)

            assert places(world) == {"web": "1", "beside": "1", "away": ""}

    play(scenario)


def test_a_pod_with_affinity_waits_for_the_one_it_wants_to_be_with() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet():
            make(world, "beside", "", **with_("web"))
            await asyncio.sleep(5)
            assert said(world, "beside") == unschedulable(f"0/3 nodes are available: 3 {NOT_BESIDE_WANTED}.")

            make(world, "web", "app=web", nodeSelector={HOST: "sim-node-2"})
            await asyncio.sleep(5)

            assert places(world) == {"beside": "2", "web": "2"}

    play(scenario)


def test_a_series_that_keeps_together_begins_anywhere_and_stays_there() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet():
            for number in range(6):
                make(world, f"web-{number}", "app=web", **with_("web"))
            await asyncio.sleep(5)

            assert len(set(places(world).values())) == 1
            assert "" not in places(world).values()

    play(scenario)


@pytest.mark.parametrize(("keys", "nodes"), [("matchLabelKeys", {"old": 1, "new": 1}), ("mismatchLabelKeys", {})])
def test_keys_of_labels_narrow_a_term_by_the_labels_of_the_pod(keys: str, nodes: dict[str, int]) -> None:
    """With `matchLabelKeys` revisions keep away from themselves alone, with `mismatchLabelKeys` from one another."""

    async def scenario(world: World) -> None:
        async with world.kubelet():
            for name, revision in (("a", "old"), ("b", "old"), ("c", "old"), ("d", "new"), ("e", "new"), ("f", "new")):
                make(world, name, f"app=web revision={revision}", **apart_from("web", **{keys: ["revision"]}))
                await asyncio.sleep(5)

            found = places(world)
            old, new = [found[name] for name in "abc"], [found[name] for name in "def"]
            if nodes:
                assert sorted(old) == sorted(new) == ["0", "1", "2"]
            else:
                assert sorted(old) == ["0", "1", "2"]
                assert new == ["", "", ""]

    play(scenario)


def test_the_anti_affinity_of_pods_that_are_there_keeps_away_until_they_have_ended() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet(nodes=1):
            make(world, "shy", "", **apart_from("web"))
            await asyncio.sleep(5)
            make(world, "web", "app=web")
            make(world, "db", "app=db")
            await asyncio.sleep(5)
            assert places(world) == {"shy": "0", "web": "", "db": "0"}
            assert said(world, "web") == unschedulable(f"0/1 nodes are available: 1 {UNWANTED_THERE}.")

            ended = msgspec.json.encode({"status": {"phase": "Succeeded"}})
            merge = "application/merge-patch+json"
            world.cluster.verbs.patch(PODS, NAMESPACE, "shy", merge, ended, user=TESTER, subresource="status")
            await asyncio.sleep(5)

            assert places(world)["web"] == "0"

    play(scenario)


def test_a_change_of_labels_makes_place() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet(nodes=1):
            make(world, "web", "app=web")
            await asyncio.sleep(5)
            make(world, "shy", "", **apart_from("web"))
            await asyncio.sleep(5)
            assert places(world) == {"web": "0", "shy": ""}

            world.label("web", app="other")
            await asyncio.sleep(5)

            assert places(world)["shy"] == "0"

    play(scenario)


def test_a_pod_that_lingers_keeps_its_place_until_it_is_gone() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet(nodes=1, gone_after=30.0):
            make(world, "web", "app=web", **apart_from("web"))
            await asyncio.sleep(5)
            make(world, "next", "app=web", **apart_from("web"))
            world.delete("web")
            await asyncio.sleep(20)
            assert places(world) == {"web": "0", "next": ""}

            await asyncio.sleep(20)

            assert places(world) == {"next": "0"}

    play(scenario)


def test_a_label_of_a_node_makes_place() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet(nodes=2):
            for name in "abc":
                make(world, name, "app=web", **apart_from("web", key="rack"), nodeSelector={"rack": "r1"})
            await asyncio.sleep(5)
            assert places(world) == {"a": "", "b": "", "c": ""}

            label = msgspec.json.encode({"metadata": {"labels": {"rack": "r1"}}})
            for number in range(2):
                name = f"sim-node-{number}"
                world.cluster.verbs.patch(NODES, "", name, "application/merge-patch+json", label, user=TESTER)
            await asyncio.sleep(5)

            assert len([node for node in places(world).values() if node]) == 1

    play(scenario)


def test_namespaces_are_meant_by_name_and_by_label() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet(nodes=1):
            make_namespace(world, "red", team="red")
            make_namespace(world, "blue", team="blue")
            for namespace in ("red", "blue"):
                make(world, "web", "app=web", namespace)
            await asyncio.sleep(5)
            red = {"matchLabels": {"team": "red"}}
            green = {"matchLabels": {"team": "green"}}
            make(world, "own", "", **apart_from("web"))
            make(world, "named", "", **apart_from("web", namespaces=["blue"]))
            make(world, "labelled", "", **apart_from("web", namespaceSelector=red))
            make(world, "elsewhere", "", **apart_from("web", namespaceSelector=green))
            make(world, "all", "", **with_("web", namespaceSelector={}))
            await asyncio.sleep(5)

            assert places(world) == {"own": "0", "named": "", "labelled": "", "elsewhere": "0", "all": "0"}

            make_namespace(world, "green", team="green")
            make(world, "web", "app=web", "green")
            make(world, "db", "app=db", "green")
            await asyncio.sleep(5)

            assert places(world, "green") == {"web": "", "db": "0"}

    play(scenario)


@pytest.mark.parametrize("seed", range(8))
def test_pods_that_are_placed_at_the_same_time_know_of_one_another(seed: int) -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet(nodes=8, coarse=bool(seed % 2)):
            for number in range(12):
                make(world, f"web-{number}", "app=web", **apart_from("web"))
            await asyncio.sleep(10)

            taken = [node for node in places(world).values() if node]
            assert len(taken) == len(set(taken)) == 8

    play(scenario, seed)


def test_a_place_that_could_not_be_taken_is_free_again() -> None:
    async def scenario(world: World) -> None:
        transport = Faulty(world.cluster.transport(insider("kubelet")), ["create pods/binding #1: 500"])
        async with world.kubelet(transport, nodes=1):
            make(world, "a", "app=web", **apart_from("web"))
            await asyncio.sleep(0.05)
            make(world, "b", "app=web", **apart_from("web"))
            await asyncio.sleep(10)

            assert sorted(places(world).values()) == ["", "0"]

    play(scenario)


class Counting(Transport):
    """Counts what is read."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.reads: list[str] = []

    async def send(self, request: Request) -> Response:
        if request.method == "GET":
            self.reads.append(request.path)
        return await self._inner.send(request)

    def stream(self, request: Request) -> Any:
        return self._inner.stream(request)


def test_pods_are_read_once_more_when_somebody_cares_and_not_before() -> None:
    async def scenario(world: World) -> None:
        transport = Counting(world.cluster.transport(insider("kubelet")))
        async with world.kubelet(transport):
            for number in range(10):
                make(world, f"web-{number}", "app=web")
            await asyncio.sleep(5)
            assert transport.reads.count("/api/v1/pods") == 1

            for number in range(3):
                make(world, f"shy-{number}", "", **apart_from("db"))
            await asyncio.sleep(5)

            assert transport.reads.count("/api/v1/pods") == 2
            assert "/api/v1/namespaces" not in transport.reads

    play(scenario)


NODE_LABELS = {"0": {"zone": "a"}, "1": {"zone": "b"}}
_APART = {"podAntiAffinity": terms(app("x"), key="zone")}
_WITH = {"podAffinity": terms(app("x"), key="zone")}


def a_pod(uid: str, version: int, label: str, node: str, affinity: Tree, phase: str = "Running") -> Pod:
    meta = {"name": uid, "uid": uid, "namespace": "n", "resourceVersion": str(version), "labels": {"app": label}}
    return msgspec.convert(
        {"metadata": meta, "spec": {"nodeName": node, "affinity": affinity}, "status": {"phase": phase}}, Pod
    )


class Cared:
    """Neighbours who are told of what happens, beside a plain record of it."""

    def __init__(self) -> None:
        self.truth: dict[str, Pod] = {}
        self.taken: dict[str, str] = {}
        self.woken: set[str] = set()
        self.version = 0
        self.neighbours = Neighbours(Client(Nowhere()), self, self.truth, self.woken.add)  # type: ignore[arg-type]

    async def everyone(self) -> Iterable[Pod]:
        return list(self.truth.values())

    def happen(self, what: str, uid: str, label: str, node: str, affinity: Tree) -> None:
        self.version += 1
        known = self.truth.get(uid)
        match what:
            case "seen" | "ended":
                node = known.spec.node_name or node if known is not None else node
                phase = "Succeeded" if what == "ended" else "Running"
                self.truth[uid] = a_pod(uid, self.version, label, node, affinity, phase)
                self.neighbours.seen(self.truth[uid])
                self.taken.pop(uid, None)
            case "take" if known is not None and not known.spec.node_name and known.status.phase == "Running":
                self.neighbours.take(known, node or "0")
                self.taken[uid] = node or "0"
            case "release" if known is not None:
                self.neighbours.release(uid)
                self.taken.pop(uid, None)
            case "gone":
                self.truth.pop(uid, None)
                self.taken.pop(uid, None)
                self.neighbours.gone(uid)

    def placed(self) -> list[tuple[Pod, str]]:
        found = [(pod, pod.spec.node_name or self.taken.get(uid, "")) for uid, pod in self.truth.items()]
        return [(pod, node) for pod, node in found if node and pod.status.phase == "Running"]

    async def around(self, pod: Pod) -> Surroundings | None:
        return self.neighbours.around(pod, NODE_LABELS.get, await self.neighbours.read(pod))


class Nowhere(Transport):
    async def send(self, request: Request) -> Response:
        raise AssertionError(request)

    def stream(self, request: Request) -> Any:
        raise AssertionError(request)


_events = st.tuples(
    st.sampled_from(["seen", "seen", "ended", "take", "release", "gone"]),
    st.sampled_from("abcd"),
    st.sampled_from(["x", "y"]),
    st.sampled_from(["", "0", "1"]),
    st.sampled_from([{}, _APART, _WITH]),
)


@given(st.lists(_events, max_size=20), st.sampled_from([{}, _APART, _WITH]), st.sampled_from(["x", "y"]))
def test_whatever_happens_the_others_are_those_that_are_there(
    events: list[tuple[str, str, str, str, Tree]], affinity: Tree, label: str
) -> None:
    world = Cared()
    for event in events:
        world.happen(*event)
    asking = a_pod("asking", 0, label, "", affinity)
    if affinity:
        world.truth["asking"] = asking
        world.neighbours.seen(asking)

    found = asyncio.run(world.around(asking))

    zones = {name: labels["zone"] for name, labels in NODE_LABELS.items()}
    cares = affinity == _APART
    wants = affinity == _WITH
    beside = {zones[node] for pod, node in world.placed() if pod.metadata.labels["app"] == "x"}
    wary = {zones[node] for pod, node in world.placed() if pod.spec.affinity.pod_anti_affinity.required}
    for labels in NODE_LABELS.values():
        zone = labels["zone"]
        expected = ""
        if wants and zone not in beside and (beside or label != "x"):
            expected = NOT_BESIDE_WANTED
        elif cares and zone in beside:
            expected = BESIDE_UNWANTED
        elif label == "x" and zone in wary:
            expected = UNWANTED_THERE
        assert ("" if found is None else found.against(labels)) == expected


@given(st.lists(_events, max_size=12), _events, st.sampled_from([_APART, _WITH]), st.sampled_from(["x", "y"]))
def test_whoever_waits_is_woken_by_what_gives_it_a_place(
    events: list[tuple[str, str, str, str, Tree]], last: tuple[str, str, str, str, Tree], affinity: Tree, label: str
) -> None:
    world = Cared()
    asking = world.truth["asking"] = a_pod("asking", 0, label, "", affinity)
    world.neighbours.seen(asking)
    for event in events:
        world.happen(*event)
    before = asyncio.run(world.around(asking))
    world.neighbours.wait(asking)
    world.woken.clear()

    world.happen(*last)
    after = asyncio.run(world.around(asking))

    assert before is not None
    assert after is not None
    if any(before.against(labels) and not after.against(labels) for labels in NODE_LABELS.values()):
        assert world.woken == {"asking"}
