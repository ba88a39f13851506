"""What stored objects of LeaderWorkerSets say, worked out here and not asked of the operator."""

from __future__ import annotations

import json
from math import ceil
from typing import Any

from msgspec import Struct

from kubesim.store.versions import Tree

PREFIX = "leaderworkerset.sigs.k8s.io/"
NAME, KEY = f"{PREFIX}name", f"{PREFIX}template-revision-hash"
GROUP_INDEX, WORKER_INDEX, SIZE = f"{PREFIX}group-index", f"{PREFIX}worker-index", f"{PREFIX}size"
OURS = "fairlead.dev/"
PAUSED, TEARDOWN = f"{OURS}paused", f"{OURS}teardown"
BACK_OFF, MOST_RESTARTS = f"{OURS}recreate-back-off", f"{OURS}max-group-restarts"
HISTORY = f"{OURS}revision-history-limit"
AFTER_START = f"{PREFIX}experimental-recreate-group-after-start"
GROUP_KEY, EXCLUSIVE = f"{PREFIX}group-key", f"{PREFIX}exclusive-topology"
NODE_EACH = {EXCLUSIVE: "kubernetes.io/hostname", f"{OURS}exclusive-scope": "LeaderWorkerSet"}
"""Of a set whose groups each have a node that no other group of the set is on."""
NO_RESTART = ("None", "Default")


class SetFact(Struct, frozen=True):
    """One version of one LeaderWorkerSet."""

    uid: str
    name: str
    version: int
    generation: int
    replicas: int
    unavailable: int
    surge: int
    partition: int
    content: str
    """Of the two maps that roll, in a spelling that equal ones share."""
    restart_policy: str
    annotations: Tree
    holding: frozenset[str]
    """Conditions that are True."""
    observed: int
    ready: int
    updated: int
    is_leaving: bool

    @property
    def most(self) -> int:
        """Leaders that there may be."""
        return self.replicas + self.surge

    @property
    def history_limit(self) -> int:
        text = self.annotations.get(HISTORY, "")
        return int(text) if text.isdigit() else 0


def set_fact(tree: Tree, version: int) -> SetFact:
    metadata, spec, status = tree["metadata"], tree["spec"], tree.get("status") or {}
    replicas = spec.get("replicas", 1)
    rolling = spec["rolloutStrategy"].get("rollingUpdateConfiguration") or {}
    unavailable = _scaled(rolling.get("maxUnavailable", 1), replicas, up=False)
    surge = min(_scaled(rolling.get("maxSurge", 0), replicas, up=True), replicas)
    return SetFact(
        uid=metadata["uid"],
        name=metadata["name"],
        version=version,
        generation=metadata["generation"],
        replicas=replicas,
        unavailable=unavailable or (1 if surge == 0 and replicas else 0),
        surge=surge,
        partition=rolling.get("partition", 0),
        content=content_of(spec),
        restart_policy=spec["leaderWorkerTemplate"].get("restartPolicy", ""),
        annotations=metadata.get("annotations") or {},
        holding=frozenset(each["type"] for each in status.get("conditions") or () if each["status"] == "True"),
        observed=status.get("observedGeneration", 0),
        ready=status.get("readyReplicas", 0),
        updated=status.get("updatedReplicas", 0),
        is_leaving="deletionTimestamp" in metadata,
    )


def _scaled(value: int | str, of: int, *, up: bool) -> int:
    if isinstance(value, int):
        return value
    exact = int(value.removesuffix("%")) * of
    return ceil(exact / 100) if up else exact // 100


def content_of(spec: Tree) -> str:
    """Of the spec of a set, or of the data of a revision."""
    maps = {name: _plain(spec.get(name) or {}) for name in ("leaderWorkerTemplate", "networkConfig")}
    return json.dumps(maps, sort_keys=True)


def _plain(value: Any) -> Any:
    """Without nulls, empty objects, marks of patches and the one other spelling that programs here use."""
    if isinstance(value, dict):
        kept = {key: _plain(each) for key, each in value.items() if key not in ("$patch", "creationTimestamp")}
        return {key: each for key, each in kept.items() if each not in (None, {}, [])}
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return {"1000m": "1"}.get(value, value) if isinstance(value, str) else value


def key_of(tree: Tree) -> str:
    key: str = (tree["metadata"].get("labels") or {}).get(KEY, "")
    return key


def label(tree: Tree, name: str) -> str:
    value: str = (tree["metadata"].get("labels") or {}).get(name, "")
    return value


def uid_of(tree: Tree) -> str:
    uid: str = tree["metadata"]["uid"]
    return uid


def owner_of(tree: Tree) -> str:
    """The UID of its controller; empty where it has none."""
    owners = tree["metadata"].get("ownerReferences") or ()
    return next((each["uid"] for each in owners if each.get("controller")), "")


def is_going(tree: Tree) -> bool:
    return "deletionTimestamp" in tree["metadata"]


def is_ready(pod: Tree) -> bool:
    status = pod.get("status") or {}
    conditions = {each["type"]: each["status"] for each in status.get("conditions") or ()}
    return status.get("phase") == "Running" and conditions.get("Ready") == "True" and not is_going(pod)


def restarts_of(pod: Tree) -> int:
    status = pod.get("status") or {}
    every = [*(status.get("containerStatuses") or ()), *(status.get("initContainerStatuses") or ())]
    return sum(each.get("restartCount", 0) for each in every)


def partition_of(leaders: Tree) -> int:
    partition: int = (leaders["spec"]["updateStrategy"].get("rollingUpdate") or {}).get("partition", 0)
    return partition


def index_of(pod: Tree) -> int:
    return int(pod["metadata"]["name"].rpartition("-")[2])
