"""Scenarios of a Deployment and what a cluster makes of them, as lines that two clusters can be compared by.

A line is a state of one object, different from its state before. Names, times and UIDs are left out; ReplicaSets are
letters in the order of their appearance, and a pod is known by the set that it was made for.

    roll 2(1) #1 3/1/2/2 +moving     generation 2, observed 1; revision; pods, updated, ready, available; then whether
                                     enough are available, and what the condition Progressing says
    set b #2 1:1/0/0                 set b at revision 2 wants 1 pod and has 1, none ready, none available
    pod b new                        then `ready`, `going` (deleted), `gone`; all that happens to a pod in one step is
                                     one line, as `pod b going gone`

Two controllers write, each at its own pace. So lines are compared object by object, and only their order is kept.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from itertools import product
from typing import Any, NamedTuple

import msgspec

from kubeloop.client import Client
from kubeloop.objects.apps import DEPLOYMENTS, REPLICASETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import JSON, MERGE_PATCH, Request, create, patch, path_of
from kubesim.controllers.deployment_plan import REVISION
from kubesim.controllers.replicas import TEMPLATE_HASH
from tests.e2e.history import Event, History, Tree

NAME, MARKER = "ro", "marker"
WORDS = {
    "": "",
    "NewReplicaSetCreated": "moving",
    "FoundNewReplicaSet": "moving",
    "ReplicaSetUpdated": "moving",
    "NewReplicaSetAvailable": "complete",
    "DeploymentPaused": "paused",
    "DeploymentResumed": "resumed",
    "ProgressDeadlineExceeded": "late",
}
KINDS = (PODS, REPLICASETS, DEPLOYMENTS)


class Stage:
    """Where a scenario plays: one Deployment, whose pods are on no node and become ready when the scenario says so."""

    def __init__(self, client: Client, namespace: str, history: History) -> None:
        self._client = client
        self._namespace = namespace
        self._history = history

    async def make(self, replicas: int = 2, image: str = "i:1", *, name: str = NAME, **spec: Any) -> None:
        labels = {"app": name}
        tree = {
            "apiVersion": DEPLOYMENTS.api_version,
            "kind": DEPLOYMENTS.kind,
            "metadata": {"name": name},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": a_pod_spec(image)},
            }
            | spec,
        }
        await self._client.call(create(DEPLOYMENTS, self._namespace, msgspec.json.encode(tree)))

    async def change(self, **spec: Any) -> None:
        """Of the Deployment."""
        await self._patch(Ref(DEPLOYMENTS, self._namespace, NAME), {"spec": spec})

    async def annotate(self, **annotations: str) -> None:
        await self._patch(Ref(DEPLOYMENTS, self._namespace, NAME), {"metadata": {"annotations": annotations}})

    async def change_image(self, image: str) -> None:
        await self.change(template={"spec": a_pod_spec(image)})

    async def make_ready(self, count: int = 1) -> None:
        """So many of the pods that are neither ready nor going."""
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        pods = self._history.objects(PODS).items()
        waiting = [name for name, pod in pods if "deletionTimestamp" not in pod["metadata"] and not _is_ready(pod)]
        for name in waiting[:count]:
            status = {"phase": "Running", "conditions": [ready]}
            await self._patch(Ref(PODS, self._namespace, name), {"status": status}, "status")

    async def delete_pod(self) -> None:
        """Any one."""
        name = next(iter(self._history.objects(PODS)))
        await self._client.call(Request("DELETE", path_of(PODS, self._namespace, name)))

    async def delete(self, policy: str = "Background") -> None:
        """The Deployment."""
        path = path_of(DEPLOYMENTS, self._namespace, NAME)
        body = msgspec.json.encode({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": policy})
        await self._client.call(Request("DELETE", path, body=body, content_type=JSON))

    async def _patch(self, ref: Ref, change: Tree, subresource: str = "") -> None:
        await self._client.call(patch(ref, MERGE_PATCH, msgspec.json.encode(change), subresource))

    async def play(self, *steps: Step) -> str:
        """Takes each step as soon as the one before has led to its lines.

        Answers with the lines that came after the last step and should not have, or with counts that are nobody's;
        empty if there were none.
        """
        begun = 0
        for do, expected in steps:
            begun = len(self.lines())
            await do(self)
            await self._led_to(expected, begun)
        await self._be_overtaken()
        late = self.lines()[begun:]
        if not matches(steps[-1][1], late):
            return shown(late)
        return "\n".join(not_summed_up(self.lines()))

    async def _led_to(self, expected: str, begun: int) -> None:
        await self._until(lambda: matches(expected, self.lines()[begun:]))

    async def _be_overtaken(self) -> None:
        """Until the controllers have done all they do for another Deployment: by then they are done with the first."""
        await self.make(1, name=MARKER)
        await self._until(lambda: self._pods_of(MARKER) == 1)

    def _pods_of(self, name: str) -> int:
        """As the status says."""
        found = self._history.objects(DEPLOYMENTS).get(name, {})
        count: int = found.get("status", {}).get("replicas", 0)
        return count

    async def _until(self, holds: Callable[[], bool]) -> None:
        while True:
            moment = self._history.moment
            if holds():
                return
            await self._history.past(moment)

    def lines(self) -> list[Line]:
        return lines_of(self._history.events)


Step = tuple[Callable[[Stage], Awaitable[None]], str]
"""What is done, and the lines it leads to, of which those after a question mark may be missing."""


class Line(NamedTuple):
    about: str
    """Which object; for a pod it is its name, which no expectation knows."""
    text: str


def shown(lines: Iterable[Line]) -> str:
    return "\n".join(line.text for line in lines)


def matches(expected: str, lines: Iterable[Line]) -> bool:
    """Whether each object's lines are those expected, in their order, none too many, none missing that is sure.

    One pod is as good as another: there must be as many pods with these lines as expected. Of a Deployment on its way
    there may be more: which sums of its sets it tells depends on how busy its controller is (see `not_summed_up`).
    """
    wanted: dict[str, list[str]] = {}
    for want in filter(None, map(str.strip, expected.split("\n"))):
        wanted.setdefault(_about(want.removeprefix("? ")), []).append(want)
    found: dict[str, list[str]] = {}
    for each in lines:
        found.setdefault(each.about, []).append(each.text)
    lives = sorted(_life(texts) for texts in found.values() if texts[0].startswith("pod "))
    if lives != sorted(wanted.pop("pod", [])):
        return False
    others = {about: texts for about, texts in found.items() if not texts[0].startswith("pod ")}
    return all(_follows(wanted.get(about, []), others.get(about, [])) for about in {**wanted, **others})


def not_summed_up(lines: Iterable[Line]) -> list[str]:
    """The lines of a Deployment whose counts are no sum of what its sets have said until then."""
    told: dict[str, list[tuple[int, ...]]] = {}
    wrong = []
    for _, text in lines:
        if found := _SET.match(text):
            counts = tuple(map(int, found["counts"].split("/")))
            told.setdefault(found["letter"], [(0, 0, 0)]).append(counts)
        elif found := _ROLL.match(text):
            replicas, _updated, ready, available = map(int, found["counts"].split("/"))
            sums = (tuple(map(sum, zip(*chosen, strict=True))) for chosen in product(*told.values()))
            if (replicas, ready, available) not in {(0, 0, 0), *sums}:
                wrong.append(text)
    return wrong


_SET = re.compile(r"set (?P<letter>.) #\S+ \d+:(?P<counts>[\d/]+)")
_ROLL = re.compile(r"roll \S+ #\S+ (?P<counts>[\d/]+)")


def _follows(wanted: list[str], texts: list[str]) -> bool:
    at = 0
    sure = {want.removeprefix("? ") for want in wanted}
    texts = [text for text in texts if text in sure or not (text.startswith("roll ") and text.endswith("moving"))]
    for want in wanted:
        if at < len(texts) and _tells(texts[at], want.removeprefix("? ")):
            at += 1
        elif not want.startswith("? "):
            return False
    return at == len(texts)


def _tells(text: str, want: str) -> bool:
    """Whether the text is the line, or says it in the word of the rollout before.

    That word stays where the status that would have told of the new set was refused: the set is there by the next
    attempt, which says nothing about it, and as long as all pods are new the controller takes the old word for true.
    """
    return text == want or (want.endswith(" -moving") and text == want.replace("-moving", "-complete"))


def _about(text: str) -> str:
    kind, name, *_ = text.split(" ")
    return f"{kind} {name}" if kind == "set" else kind


def _life(texts: list[str]) -> str:
    """All lines of one pod as one: `pod a going gone`."""
    return " ".join([texts[0], *(text.split(" ", 2)[2] for text in texts[1:])])


def a_pod_spec(image: str) -> Tree:
    return {"containers": [{"name": "c", "image": image}], "terminationGracePeriodSeconds": 0}


def lines_of(events: Iterable[Event]) -> list[Line]:
    """The trace, in the order of the cluster's writes."""
    letters: dict[str, str] = {}
    last: dict[tuple[Resource, str], str] = {}
    lines = []
    for event in events:
        if event.resource not in KINDS or not event.name.startswith(NAME):
            continue
        text = {PODS: _pod_line, REPLICASETS: _set_line, DEPLOYMENTS: _roll_line}[event.resource](event, letters)
        if last.get((event.resource, event.name)) != text:
            last[event.resource, event.name] = text
            lines.append(Line(event.name if event.resource == PODS else _about(text), text))
    return lines


def _letter(letters: dict[str, str], tree: Tree) -> str:
    hashed = tree["metadata"]["labels"].get(TEMPLATE_HASH, "")
    return letters.setdefault(hashed, chr(ord("a") + len(letters)))


def _roll_line(event: Event, letters: dict[str, str]) -> str:
    if event.type == "DELETED":
        return "roll gone"
    metadata, status = event.object["metadata"], event.object.get("status", {})
    generations = f"{metadata['generation']}({status.get('observedGeneration', 0)})"
    revision = metadata.get("annotations", {}).get(REVISION, "-")
    keys = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    counts = "/".join(str(status.get(key, 0)) for key in keys)
    conditions = {each["type"]: each for each in status.get("conditions", [])}
    available = {"True": "+", "False": "-"}.get(conditions.get("Available", {}).get("status", ""), "")
    going = " going" if "deletionTimestamp" in metadata else ""
    return f"roll {generations} #{revision} {counts} {available}{_progress(status, conditions)}{going}".rstrip()


def _progress(status: Tree, conditions: dict[str, Tree]) -> str:
    """How it goes; which words say so in the middle depends on how many statuses a busy controller has skipped."""
    word = WORDS[conditions.get("Progressing", {}).get("reason", "")]
    is_whole = status.get("replicas", 0) == status.get("updatedReplicas", 0)
    return "moving" if word == "complete" and not is_whole else word


def _set_line(event: Event, letters: dict[str, str]) -> str:
    letter = _letter(letters, event.object)
    if event.type == "DELETED":
        return f"set {letter} gone"
    metadata, status = event.object["metadata"], event.object.get("status", {})
    revision = metadata.get("annotations", {}).get(REVISION, "-")
    counts = "/".join(str(status.get(key, 0)) for key in ("replicas", "readyReplicas", "availableReplicas"))
    going = " going" if "deletionTimestamp" in metadata else ""
    owned = "" if metadata.get("ownerReferences") else " orphan"
    return f"set {letter} #{revision} {event.object['spec']['replicas']}:{counts}{going}{owned}"


def _pod_line(event: Event, letters: dict[str, str]) -> str:
    letter = _letter(letters, event.object)
    metadata = event.object["metadata"]
    if event.type == "DELETED":
        return f"pod {letter} gone"
    if "deletionTimestamp" in metadata:
        return f"pod {letter} going"
    owned = "" if metadata.get("ownerReferences") else " orphan"
    return f"pod {letter} {'ready' if _is_ready(event.object) else 'new'}{owned}"


def _is_ready(pod: Tree) -> bool:
    conditions = pod.get("status", {}).get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
