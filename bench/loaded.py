"""A copy of a cluster with many pods: how long it takes to load it, and to fork it."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from pathlib import Path
from typing import Any

from msgspec import Struct

from kubesim.cluster import Cluster
from kubesim.kinds.registry import PODS
from kubesim.loading import read
from kubesim.virtual import VirtualCluster

STATE = Path(__file__).parent.parent / "tests" / "kubesim" / "copies" / "at_rest.json"
"""Recorded from a real cluster; its pods are told again under other names."""
OF_A_SET = 200
FORKS = 20
OF_A_NAMESPACE = ("ConfigMap", "ServiceAccount")
"""What every namespace has."""

COUNTS = ("replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "currentReplicas")

Tree = dict[str, Any]


class Figures(Struct, frozen=True):
    pods: int
    megabytes: float
    """Of the lists."""
    loaded: float
    """Seconds, the reading of the file included."""
    forked: float
    """Seconds for one more cluster that holds all of it."""
    bare: float
    """Seconds for a cluster that holds nothing."""
    writes: int
    """Of ninety minutes in which nothing is changed."""


def run(pods: int) -> Figures:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "lists.json")
        path.write_text(json.dumps(lists(pods)))
        size = path.stat().st_size / 1e6
        began = time.process_time()
        copy = read([path])
        loaded = time.process_time() - began
    began = time.process_time()
    for seed in range(FORKS):
        Cluster(seed=seed).hold(copy)
    forked = (time.process_time() - began) / FORKS
    began = time.process_time()
    for seed in range(FORKS):
        Cluster(seed=seed)
    bare = (time.process_time() - began) / FORKS
    assert len(copy.tables[PODS]) == pods
    return Figures(pods, size, loaded, forked, bare, VirtualCluster(copy=copy).play(_rest, steps=100 * pods))


async def _rest(world: VirtualCluster) -> int:
    await asyncio.sleep(90 * 60)
    return len(world.cluster.history)


def lists(pods: int) -> Tree:
    """The recorded state with StatefulSets of its kind until there are so many pods."""
    items = json.loads(STATE.read_text())["items"]
    own = [each for each in items if each["metadata"].get("name", "").startswith("ingester-zone-a")]
    [pattern] = [each for each in own if each["kind"] == "Pod" and each["metadata"]["name"].endswith("-0")]
    [set_] = [each for each in own if each["kind"] == "StatefulSet"]
    [revision] = [each for each in own if each["kind"] == "ControllerRevision"]
    made = [each for each in items if each["metadata"].get("namespace") != "shop" or each["kind"] in OF_A_NAMESPACE]
    for start in range(0, pods, OF_A_SET):
        made += _family(set_, revision, pattern, start, min(OF_A_SET, pods - start))
    return {"kind": "List", "apiVersion": "v1", "metadata": {}, "items": made}


def _family(set_: Tree, revision: Tree, pattern: Tree, start: int, pods: int) -> list[Tree]:
    """A set, its revision and its pods, under a name of their own."""
    counts = dict.fromkeys(
        ("replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "currentReplicas"), pods
    )
    whole = set_ | {"spec": set_["spec"] | {"replicas": pods}, "status": set_["status"] | counts}
    texts = json.dumps([whole, revision]), json.dumps(pattern)
    uids = {each["metadata"]["uid"]: number for number, each in enumerate((set_, revision))}
    name = f"ingester-{start // OF_A_SET}"
    made: list[Tree] = _renamed(texts[0], name, start, uids)
    for ordinal in range(pods):
        text = texts[1].replace(pattern["metadata"]["uid"], f"{start + ordinal:08x}-0000-4000-8000-0000000000aa")
        pod: Tree = _renamed(text, name, start, uids)
        pod["metadata"]["name"] = pod["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] = f"{name}-{ordinal}"
        pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] = str(ordinal)
        pod["metadata"]["resourceVersion"] = str(1000 + start + ordinal)
        made.append(pod)
    return made


def _renamed(text: str, name: str, start: int, uids: dict[str, int]) -> Any:
    for uid, number in uids.items():
        text = text.replace(uid, f"{start + number:08x}-0000-4000-8000-0000000000bb")
    return json.loads(text.replace("ingester-zone-a", name))
