"""Rows of pods and of their templates.

The status of a pod is one word made of much: its phase, the reason that its scheduling or its containers give, how far
its first containers have come, and whether it is being deleted.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from kubesim.store.versions import Tree
from kubesim.tables.printing import (
    NONE,
    Cells,
    Printer,
    age,
    at,
    columns,
    containers,
    has_condition,
    items,
    labels,
    name_of,
    number,
    since,
    text,
)

_LOST = "NodeLost"
_GATED = "SchedulingGated"
_ENDED = ("Failed", "Succeeded")
_COMPLETED = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}


class _Count(Struct):
    """What is added up over the containers of a pod."""

    reason: str
    ready: int = 0
    restarts: int = 0
    restarted: str = ""
    """When a container ended last, as metadata writes times: such texts sort by time."""

    def restart(self, status: Tree) -> None:
        self.restarts += number(status, "restartCount")
        ended = text(status, "lastState", "terminated", "finishedAt")
        self.restarted = max(self.restarted, ended)


def _pod(pod: Tree) -> Cells:
    firsts = {each.get("name"): each for each in items(pod, "spec", "initContainers")}
    count = _Count(_first_reason(pod))
    sidecars = _Count("")
    is_starting = _count_firsts(pod, firsts, count, sidecars)
    if not is_starting or has_condition(pod, "Initialized"):
        count.restarts, count.restarted = sidecars.restarts, sidecars.restarted
        _count_others(pod, count)
    total = len(items(pod, "spec", "containers")) + sum(_is_sidecar(each) for each in firsts.values())
    restarts = str(count.restarts)
    if count.restarts and count.restarted:
        restarts = f"{restarts} ({since(count.restarted)} ago)"
    return [
        name_of(pod),
        f"{count.ready}/{total}",
        _ending(pod) or count.reason,
        restarts,
        age(pod),
        next((text(each, "ip") for each in items(pod, "status", "podIPs")), "") or NONE,
        text(pod, "spec", "nodeName") or NONE,
        text(pod, "status", "nominatedNodeName") or NONE,
        _gates(pod),
    ]


def _first_reason(pod: Tree) -> str:
    for condition in items(pod, "status", "conditions"):
        if condition.get("type") == "PodScheduled" and condition.get("reason") == _GATED:
            return _GATED
    return text(pod, "status", "reason") or text(pod, "status", "phase")


def _ending(pod: Tree) -> str:
    """What is said of a pod that is being deleted; empty for others, and for those that have ended by themselves."""
    if at(pod, "metadata", "deletionTimestamp") is None:
        return ""
    if at(pod, "status", "reason") == _LOST:
        return "Unknown"
    return "" if at(pod, "status", "phase") in _ENDED else "Terminating"


def _is_sidecar(container: Any) -> bool:
    return bool(at(container, "restartPolicy") == "Always")


def _ended(terminated: Tree) -> str:
    """Why a container ended."""
    if terminated.get("reason"):
        return str(terminated["reason"])
    signal = terminated.get("signal")
    return f"Signal:{signal}" if signal else f"ExitCode:{number(terminated, 'exitCode')}"


def _count_firsts(pod: Tree, firsts: dict[Any, Tree], count: _Count, sidecars: _Count) -> bool:
    """Goes through the containers that start before the others; answers with whether one of them is not done."""
    for index, status in enumerate(items(pod, "status", "initContainerStatuses")):
        is_sidecar = _is_sidecar(firsts.get(status.get("name")))
        count.restart(status)
        if is_sidecar:
            sidecars.restart(status)
        terminated, waiting = at(status, "state", "terminated"), text(status, "state", "waiting", "reason")
        if terminated is not None and not number(terminated, "exitCode"):
            continue
        if is_sidecar and status.get("started"):
            count.ready += bool(status.get("ready"))
            continue
        if terminated is not None:
            count.reason = f"Init:{_ended(terminated)}"
        elif waiting and waiting != "PodInitializing":
            count.reason = f"Init:{waiting}"
        else:
            count.reason = f"Init:{index}/{len(firsts)}"
        return True
    return False


def _count_others(pod: Tree, count: _Count) -> None:
    """Goes through the containers from the last to the first: the first has the last word."""
    is_running, failure = False, ""
    for status in reversed(items(pod, "status", "containerStatuses")):
        count.restart(status)
        state = status.get("state") or {}
        terminated, waiting = state.get("terminated"), text(state, "waiting", "reason")
        if waiting:
            count.reason = waiting
        elif terminated is not None:
            count.reason = _ended(terminated)
            failure = count.reason if number(terminated, "exitCode") else failure
        elif status.get("ready") and state.get("running") is not None:
            is_running = True
            count.ready += 1
    if count.reason == "Completed":
        if is_running and has_condition(pod, "Ready"):
            count.reason = "Running"
        else:
            count.reason = failure or ("NotReady" if is_running else count.reason)


def _gates(pod: Tree) -> str:
    gates = items(pod, "spec", "readinessGates")
    if not gates:
        return NONE
    return f"{sum(has_condition(pod, text(gate, 'conditionType')) for gate in gates)}/{len(gates)}"


def _row_conditions(pod: Tree) -> list[Tree]:
    phase = text(pod, "status", "phase")
    if phase not in _COMPLETED:
        return []
    return [{"type": "Completed", "status": "True", "reason": phase, "message": _COMPLETED[phase]}]


def _template(tree: Tree) -> Cells:
    pod = at(tree, "template", "spec")
    return [name_of(tree), *containers(pod), labels(at(tree, "template", "metadata", "labels"))]


PRINTERS = {
    "Pod": Printer(
        columns("Ready,Status,Restarts,Age", "IP,Node,Nominated Node,Readiness Gates"), _pod, _row_conditions
    ),
    "PodTemplate": Printer(columns("Containers,Images,Pod Labels"), _template),
}
