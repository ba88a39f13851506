"""Pods and templates of the objects that are read, in states that show in their rows."""

from __future__ import annotations

from typing import Any

Tree = dict[str, Any]

EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-01T00:05:03Z"


def pod_spec(*names: str, **more: Any) -> Tree:
    return {"containers": [{"name": name, "image": f"{name}:1"} for name in names or ("main",)], **more}


def template(*names: str, **more: Any) -> Tree:
    return {"metadata": {"labels": {"app": "a", "tier": "b"}}, "spec": pod_spec(*names, **more)}


def _state(name: str, *, ready: bool = False, restarts: int = 0, last: Tree | None = None, **state: Tree) -> Tree:
    status: Tree = {
        "name": name,
        "ready": ready,
        "restartCount": restarts,
        "image": "x",
        "imageID": "x",
        "state": state,
        "lastState": {"terminated": last} if last else {},
    }
    return status


def _ended(code: int, reason: str = "", **more: Any) -> Tree:
    return {"exitCode": code, "startedAt": EARLY, "finishedAt": LATE, **({"reason": reason} if reason else {}), **more}


def condition(kind: str, status: str = "True", reason: str = "") -> Tree:
    return {"type": kind, "status": status, **({"reason": reason} if reason else {})}


RUNNING: Tree = {"running": {"startedAt": EARLY}}
SELECTOR = {"matchLabels": {"tier": "b", "app": "a"}}

POD_STATUSES: dict[str, Tree] = {
    "fresh": {},
    "running": {
        "phase": "Running",
        "podIP": "10.0.0.1",
        "podIPs": [{"ip": "10.0.0.1"}],
        "conditions": [condition("Ready")],
        "containerStatuses": [_state("main", ready=True, **RUNNING)],
    },
    "restarted": {
        "phase": "Running",
        "containerStatuses": [_state("main", ready=True, restarts=3, last=_ended(1), **RUNNING)],
    },
    "crashing": {
        "phase": "Running",
        "containerStatuses": [_state("main", restarts=2, waiting={"reason": "CrashLoopBackOff"})],
    },
    "completed": {"phase": "Succeeded", "containerStatuses": [_state("main", terminated=_ended(0, "Completed"))]},
    "failed": {"phase": "Failed", "containerStatuses": [_state("main", terminated=_ended(3))]},
    "killed": {"phase": "Failed", "containerStatuses": [_state("main", terminated=_ended(137, signal=9))]},
    "evicted": {"phase": "Failed", "reason": "Evicted"},
    "gated": {"phase": "Pending", "conditions": [condition("PodScheduled", "False", "SchedulingGated")]},
    "starting": {
        "phase": "Pending",
        "initContainerStatuses": [
            _state("first", terminated=_ended(0, "Completed")),
            _state("second", waiting={"reason": "PodInitializing"}),
        ],
    },
    "stuck": {"phase": "Pending", "initContainerStatuses": [_state("first", restarts=4, terminated=_ended(2))]},
    "half": {
        "phase": "Running",
        "conditions": [condition("Ready", "False")],
        "containerStatuses": [
            _state("main", ready=True, **RUNNING),
            _state("other", terminated=_ended(0, "Completed")),
        ],
    },
}
_TWO = {"initContainers": [{"name": "first", "image": "f"}, {"name": "second", "image": "s"}]}
POD_SPECS: dict[str, Tree] = {
    "starting": pod_spec(**_TWO),
    "stuck": pod_spec(**_TWO),
    "half": pod_spec("main", "other"),
    "running": pod_spec(
        nodeName="node-1", readinessGates=[{"conditionType": "Ready"}, {"conditionType": "example.org/x"}]
    ),
    "restarted": pod_spec(
        "main", initContainers=[{"name": "side", "image": "s", "restartPolicy": "Always"}], hostNetwork=True
    ),
}
