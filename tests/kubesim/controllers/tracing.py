"""Scenarios of a StatefulSet and what a cluster makes of them, as lines that two clusters can be compared by.

A line is a state of the set or of a pod, different from its state before. Times, UIDs and hashes are left out;
revisions are letters in the order of their appearance. All lines are in the order of the cluster's writes.

    set 2(1) 2/2/1 a:1 b:1    generation 2, observed 1; replicas, ready, available; current and update revision, and
                              how many pods are at them
    pod 0 b new               made at revision b; then `ready`, `going` (deleted), `gone`
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import msgspec

from kubeloop.client import Client
from kubeloop.objects.apps import REVISION_LABEL, STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH, Request, create, patch, path_of
from tests.e2e.history import Event, History, Tree

NAME = "ob"


class Stage:
    """Where a scenario plays: one set, whose pods are on no node and become ready when the scenario says so."""

    def __init__(self, client: Client, namespace: str, history: History) -> None:
        self._client = client
        self._namespace = namespace
        self._history = history

    async def make(self, replicas: int = 2, image: str = "i:1", **spec: Any) -> None:
        """The set, parallel and OnDelete unless the spec says otherwise."""
        labels = {"app": NAME}
        tree = {
            "apiVersion": STATEFULSETS.api_version,
            "kind": STATEFULSETS.kind,
            "metadata": {"name": NAME},
            "spec": {
                "replicas": replicas,
                "podManagementPolicy": "Parallel",
                "updateStrategy": {"type": "OnDelete"},
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": a_pod_spec(image)},
            }
            | spec,
        }
        await self._client.call(create(STATEFULSETS, self._namespace, msgspec.json.encode(tree)))

    async def make_orphan(self, ordinal: int) -> None:
        """A pod that the set would own, had it made it."""
        metadata = {"name": f"{NAME}-{ordinal}", "labels": {"app": NAME}}
        tree = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": a_pod_spec("i:1")}
        await self._client.call(create(PODS, self._namespace, msgspec.json.encode(tree)))

    async def change(self, **spec: Any) -> None:
        """Of the set."""
        await self._patch(Ref(STATEFULSETS, self._namespace, NAME), {"spec": spec})

    async def change_image(self, image: str) -> None:
        await self.change(template={"spec": a_pod_spec(image)})

    async def make_ready(self, *ordinals: int) -> None:
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        for ordinal in ordinals:
            await self._write_pod_status(ordinal, {"phase": "Running", "conditions": [ready]})

    async def fail(self, ordinal: int) -> None:
        await self._write_pod_status(ordinal, {"phase": "Failed"})

    async def delete_pod(self, ordinal: int) -> None:
        await self._client.call(Request("DELETE", path_of(PODS, self._namespace, f"{NAME}-{ordinal}")))

    async def delete_set(self) -> None:
        await self._client.call(Request("DELETE", path_of(STATEFULSETS, self._namespace, NAME)))

    async def _write_pod_status(self, ordinal: int, status: Tree) -> None:
        await self._patch(Ref(PODS, self._namespace, f"{NAME}-{ordinal}"), {"status": status}, "status")

    async def _patch(self, ref: Ref, change: Tree, subresource: str = "") -> None:
        await self._client.call(patch(ref, MERGE_PATCH, msgspec.json.encode(change), subresource))

    async def play(self, *steps: Step) -> list[str]:
        """Takes each step as soon as the one before has led to its lines; answers with all lines."""
        for do, expected in (*steps, GOODBYE):
            before = len(self.lines())
            await do(self)
            while True:
                moment = self._history.moment
                if matches(expected, self.lines()[before:]):
                    break
                await self._history.past(moment)
        return self.lines()

    def lines(self) -> list[str]:
        """Up to the end of the set; what the garbage collector does afterwards is no concern of its controller."""
        lines = lines_of(self._history.events)
        return lines[: lines.index(GONE) + 1] if GONE in lines else lines


Step = tuple[Callable[[Stage], Awaitable[None]], str]
"""What is done, and the lines it leads to, of which those after a question mark may be missing."""

GONE = "set gone"
GOODBYE: Step = (Stage.delete_set, GONE)
"""The end of every scenario: what a controller wrote after a step that seemed complete would show before this."""


def matches(expected: str, lines: list[str]) -> bool:
    """Whether the lines are those expected, in their order, none too many, and none missing but after a question mark.

    No line may occur both as sure and as doubtful next to each other, so taking each as it comes is enough.
    """
    at = 0
    for want in map(str.strip, expected.split("\n")):
        if at < len(lines) and lines[at] == want.removeprefix("? "):
            at += 1
        elif not want.startswith("? "):
            return False
    return at == len(lines)


def a_pod_spec(image: str) -> Tree:
    return {"containers": [{"name": "c", "image": image}], "terminationGracePeriodSeconds": 0}


def lines_of(events: Iterable[Event]) -> list[str]:
    """The trace, in the order of the cluster's writes."""
    letters: dict[str, str] = {"": "-"}
    last: dict[tuple[Resource, str], str] = {}
    lines = []
    for event in events:
        if event.resource not in (PODS, STATEFULSETS):
            continue
        line = _pod_line(event, letters) if event.resource == PODS else _set_line(event, letters)
        if last.get((event.resource, event.name)) != line:
            last[event.resource, event.name] = line
            lines.append(line)
    return lines


def _letter(letters: dict[str, str], revision: str) -> str:
    return letters.setdefault(revision, chr(ord("a") + len(letters) - 1))


def _set_line(event: Event, letters: dict[str, str]) -> str:
    if event.type == "DELETED":
        return "set gone"
    status = event.object.get("status", {})
    generations = f"{event.object['metadata']['generation']}({status.get('observedGeneration', 0)})"
    counts = "/".join(str(status.get(key, 0)) for key in ("replicas", "readyReplicas", "availableReplicas"))
    current = _letter(letters, status.get("currentRevision", ""))
    update = _letter(letters, status.get("updateRevision", ""))
    at, to = status.get("currentReplicas", 0), status.get("updatedReplicas", 0)
    return f"set {generations} {counts} {current}:{at} {update}:{to}"


def _pod_line(event: Event, letters: dict[str, str]) -> str:
    metadata, status = event.object["metadata"], event.object.get("status", {})
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in status.get("conditions", []))
    if event.type == "DELETED":
        state = "gone"
    elif "deletionTimestamp" in metadata:
        state = "going"
    elif status.get("phase") == "Failed":
        state = "failed"
    else:
        state = "ready" if ready else "new"
    owned = "" if metadata.get("ownerReferences") else " orphan"
    revision = _letter(letters, metadata.get("labels", {}).get(REVISION_LABEL, ""))
    return f"pod {event.name.removeprefix(f'{NAME}-')} {revision} {state}{owned}"
