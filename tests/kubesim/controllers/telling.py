"""Lines that tell what became of workloads of any kind, by which two clusters can be compared.

A line is a state of one object, different from its state before. Times, UIDs and generated names are left out;
templates are letters in the order of their revisions' appearance.

    daemons 2(1) 2:2 ready 1 new 1 up 1     generation 2, observed 1; nodes that want a pod and that have one; pods
                                            that are ready, updated, available; then nodes with a pod too many
    replicas rs 1(1) 2:2/1/1 full 2         size, then pods, ready, available; pods that have all labels
    ordered st 1(1) 2/1/1 a:2 a:2           pods, ready, available; current and update revision and pods at them
    rollout de 2(2) #2 2/2/2/2 +NewReplicaSetAvailable
                                            revision; pods, updated, ready, available; only as each step left it
    clones cs 2(1) 3/2/2 new 1/1/0 of 3 a>b pods, ready, available; of those that are updated the same, and how many
                                            should be; current and update revision; then pods named for deletion
    budget pb 1(1) 1 of 2 healthy 2/1 SufficientPods
                                            disruptions allowed, pods expected, healthy pods and those needed; why;
                                            then how many are on their way out
    revision a #1                           then `gone`
    claim data-st-0 of st                   whose it is, or `free`
    thing x                                 anything else that has owners
    pod rs a new                            of which set, or its name where that is its own; at which revision; then
                                            `ready`, `failed`, `doomed` (evicted), `going`, `gone`, and `orphan`
    pod cs a new:PreparingNormal            of a CloneSet also where in its lifecycle, and `marked` for deletion; then
                                            the revision that it is changed to in place
    told rs FailedCreate: ...               the Event of a failure, in scenes with webhooks
    answer 429 ...                          what the cluster said to an eviction, and when to ask again

Lines of one object are compared in their order. Pods are anonymous: all that happens to one in a step is one line, and
there must be as many of those lines as expected.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kubeloop.objects.apps import CONTROLLER_REVISIONS, DEPLOYMENTS, REPLICASETS, REVISION_LABEL, STATEFULSETS
from kubeloop.objects.core import CONFIGMAPS, PODS
from kubeloop.objects.meta import Resource
from kubesim.controllers.deployment_plan import REVISION
from kubesim.controllers.replicas import TEMPLATE_HASH
from kubesim.controllers.revisions import HASH_LABEL
from kubesim.kinds.registry import CLAIMS, CORE_EVENTS, DAEMON_SETS, DISRUPTION_BUDGETS
from kubesim.standins.cloneset_plan import CLONESETS, LIFECYCLE, SPECIFIED_DELETE
from tests.e2e.history import Event, Tree

BUILT_IN = {"da": DAEMON_SETS, "rs": REPLICASETS, "st": STATEFULSETS, "de": DEPLOYMENTS}
SETS = {**BUILT_IN, "cs": CLONESETS}
"""The workloads of a scene by their names: there is one of each kind at most."""
REVIEWED = "reviewed"
"""A label of pods, whose value a line shows as `pod rs=7`."""
KINDS = (PODS, CONTROLLER_REVISIONS, DISRUPTION_BUDGETS, CONFIGMAPS, CLAIMS, *BUILT_IN.values())
ROOT_CERTIFICATE = "kube-root-ca.crt"
"""What every namespace is given."""

GOES_ON = ("NewReplicaSetAvailable", "ReplicaSetUpdated", "NewReplicaSetCreated", "FoundNewReplicaSet")


class Line(NamedTuple):
    about: str
    """Which object; for a pod it is its name, which no expectation knows."""
    text: str
    step: int

    @property
    def is_of_pod(self) -> bool:
        return self.text.startswith("pod ")

    @property
    def is_passing(self) -> bool:
        """Whether only the last of its object in a step counts."""
        return self.text.startswith("rollout ")


def lines_of(events: Iterable[Event], begins: Sequence[int], prefix: str) -> list[Line]:
    """The trace, in the order of the cluster's writes; `begins` are the versions at which steps began."""
    letters: dict[str, str] = {}
    last: dict[tuple[Resource, str], str] = {}
    lines = []
    for event in events:
        is_told = event.resource == CORE_EVENTS and event.object["type"] == "Warning"
        if not is_told and (event.resource not in (*KINDS, CLONESETS) or event.name == ROOT_CERTIFICATE):
            continue
        text = _text(event, letters).replace(prefix, "")
        if last.get((event.resource, event.name)) != text:
            last[event.resource, event.name] = text
            step = sum(event.version > begin for begin in begins)
            subject = event.name if event.resource == PODS else about(text)
            lines.append(Line(subject, text, step))
    return lines


def matches(expected: Sequence[str], lines: Iterable[Line]) -> bool:
    """Whether the lines until now are those that the first steps should lead to, these and no others."""
    wanted: dict[str, list[str]] = {}
    pods: Counter[tuple[int, str]] = Counter()
    for step, text in enumerate(expected, 1):
        for want in filter(None, map(str.strip, text.split("\n"))):
            line = want.removeprefix("? ")
            if line.startswith("pod "):
                pods[step, line] += 1
            else:
                wanted.setdefault(about(line), []).append(want)
    lines = list(lines)
    if Counter(lives(lines)) != pods:
        return False
    found = others(lines)
    return all(follows(wanted.get(each, []), found.get(each, [])) for each in {**wanted, **found})


def relaxed(step: str) -> str:
    """The same step, its statuses in between all doubtful: a controller may be busier than when it was recorded."""
    lines = list(filter(None, map(str.strip, step.split("\n"))))
    last = {about(line.removeprefix("? ")): number for number, line in enumerate(lines)}
    return "\n".join(
        f"? {line}"
        if line.startswith(_STATUSES) and not line.endswith(" going") and last[about(line)] > number
        else line
        for number, line in enumerate(lines)
    )


_STATUSES = ("daemons ", "replicas ", "ordered ", "budget ", "clones ")


def about(text: str) -> str:
    """The object that a line is about."""
    kind, name, *_ = text.split(" ")
    return kind if kind == "answer" else f"{kind} {name}"


def lives(lines: Iterable[Line]) -> list[tuple[int, str]]:
    """Per step and pod all that happened to it, as one line."""
    texts: dict[tuple[int, str], str] = {}
    letters: dict[str, str] = {}
    for line in lines:
        if line.is_of_pod:
            key = (line.step, line.about)
            _, owner, letter, more = line.text.split(" ", 3)
            # A pod of the same name may be another one, but for those of CloneSets.
            if owner == "cs" and key in texts and letters.get(line.about) != letter:
                more = f"{letter} {more}"
            letters[line.about] = letter
            texts[key] = f"{texts[key]} {more}" if key in texts else line.text
    return [(step, text) for (step, _), text in texts.items()]


def others(lines: Iterable[Line]) -> dict[str, list[str]]:
    """The lines of each object that is no pod; where only the last of a step counts, that."""
    found: dict[str, list[Line]] = {}
    for line in lines:
        if line.is_of_pod:
            continue
        known = found.setdefault(line.about, [])
        if line.is_passing and known and known[-1].step == line.step:
            known.pop()
        known.append(line)
    return {subject: [line.text for line in known] for subject, known in found.items()}


def follows(wanted: Sequence[str], texts: Sequence[str]) -> bool:
    """Whether the texts are those wanted, in their order, none missing but after a question mark.

    Those after question marks that stand together may come in any order, as two controllers may write the object, and
    with them what counts another part of the same change (see `is_on_the_way`).
    """
    reached, last = {0}, ""
    doubtful: list[str] = []
    for want in (*wanted, END):
        if want.startswith("? "):
            doubtful.append(want.removeprefix("? "))
            continue
        around = (*doubtful, *filter(None, (last, want)))
        reached = {
            end + 1
            for begin in reached
            for end, text in enumerate((*texts, END))
            if end >= begin and text == want and _are_passing(texts[begin:end], doubtful, around)
        }
        doubtful, last = [], want
    return len(texts) + 1 in reached


def _are_passing(texts: Sequence[str], doubtful: Sequence[str], around: Sequence[str]) -> bool:
    return all(is_on_the_way(text, around) for text in Counter(texts) - Counter(doubtful))


def is_on_the_way(text: str, around: Sequence[str]) -> bool:
    """Whether a status may be met between others: it says the same, and each of its counts is between theirs.

    From `1:3/3/3` to `1:1/1/1` a controller may tell of `1:2/2/2`, if it gets to it before it has seen all. What goes
    counts as nothing.
    """
    alike = [each for each in around if _NUMBER.sub("#", each) == _NUMBER.sub("#", text)]
    numbers = [tuple(map(int, _NUMBER.findall(each))) for each in alike]
    if numbers and any(each.endswith(" gone") for each in around):
        numbers.append((0,) * len(numbers[0]))
    return len(numbers) > 1 and all(
        min(known) <= here <= max(known)
        for here, known in zip(map(int, _NUMBER.findall(text)), zip(*numbers, strict=True), strict=True)
    )


END = "end"
_NUMBER = re.compile(r"\d+")


# Lines


def _text(event: Event, letters: dict[str, str]) -> str:
    tell = {
        PODS: _pod,
        DAEMON_SETS: _daemons,
        REPLICASETS: _replicas,
        STATEFULSETS: _ordered,
        DEPLOYMENTS: _rollout,
        CLONESETS: _clones,
        DISRUPTION_BUDGETS: _budget,
        CONTROLLER_REVISIONS: _revision,
        CONFIGMAPS: _thing,
        CLAIMS: _claim,
        CORE_EVENTS: _told,
    }
    subject, state = tell[event.resource](event, event.object.get("status", {}), letters)
    metadata = event.object["metadata"]
    if event.type == "DELETED":
        return f"{subject} gone"
    if "deletionTimestamp" in metadata:
        state = "going" if event.resource == PODS else f"{state} going"
    orphan = " orphan" if event.resource in (PODS, CONTROLLER_REVISIONS) and not metadata.get("ownerReferences") else ""
    return f"{subject} {state}{orphan}".replace("  ", " ").rstrip()


def _letter(letters: dict[str, str], tree: Tree) -> str:
    """Of a pod's or a revision's template."""
    labels = tree["metadata"].get("labels", {})
    marks = [labels[key] for key in (TEMPLATE_HASH, HASH_LABEL, REVISION_LABEL) if key in labels]
    if not marks:
        return "-"
    return _named(letters, marks[0])


def _named(letters: dict[str, str], revision: str) -> str:
    hashed = revision.rpartition("-")[2]
    return letters.setdefault(hashed, chr(ord("a") + len(letters))) if hashed else "-"


def _generations(tree: Tree, status: Tree) -> str:
    return f"{tree['metadata']['generation']}({status.get('observedGeneration', 0)})"


def _counts(status: Tree, *keys: str) -> str:
    return "/".join(str(status.get(key, 0)) for key in keys)


def _pod(event: Event, status: Tree, letters: dict[str, str]) -> tuple[str, str]:
    metadata, name = event.object["metadata"], event.name
    made_for = metadata.get("generateName", "").removesuffix("-")
    app = metadata.get("labels", {}).get("app", "")
    if made_for and made_for != "st":
        name = made_for if made_for in SETS else app
    if REVIEWED in metadata.get("labels", {}):
        name = f"{name}={metadata['labels'][REVIEWED]}"
    conditions = {each["type"]: each["status"] for each in status.get("conditions", [])}
    state = "ready" if conditions.get("Ready") == "True" else "new"
    if status.get("phase") == "Failed":
        state = "failed"
    if conditions.get("DisruptionTarget") == "True":
        state = "doomed"
    labels = metadata.get("labels", {})
    state = ":".join(filter(None, (state, labels.get(LIFECYCLE, ""))))
    if SPECIFIED_DELETE in labels:
        state = f"{state} marked"
    return f"pod {name} {_letter(letters, event.object)}", state


def _told(event: Event, status: Tree, letters: dict[str, str]) -> tuple[str, str]:
    """Without generated names, and without what follows from how a webhook is reached."""
    message = _GENERATED.sub(r"\1-#", event.object["message"])
    message, failed, _ = message.partition(UNREACHED)
    name = _GENERATED.sub(r"\1-#", event.object["involvedObject"]["name"])
    return f"told {name}", f"{event.object['reason']}: {message}{failed}"


UNREACHED = "failed to call webhook"
_GENERATED = re.compile(r"\b(de|rs|da)-[a-z0-9]{5,10}(?:-[a-z0-9]{5})?\b")


def _daemons(event: Event, status: Tree, letters: dict[str, str]) -> tuple[str, str]:
    nodes = f"{status.get('desiredNumberScheduled', 0)}:{status.get('currentNumberScheduled', 0)}"
    ready, updated = status.get("numberReady", 0), status.get("updatedNumberScheduled", 0)
    pods = f"ready {ready} new {updated} up {status.get('numberAvailable', 0)}"
    surplus = f" misplaced {status['numberMisscheduled']}" if status.get("numberMisscheduled") else ""
    return "daemons da", f"{_generations(event.object, status)} {nodes} {pods}{surplus}"


def _replicas(event: Event, status: Tree, letters: dict[str, str]) -> tuple[str, str]:
    name = event.name if event.name in SETS else _letter(letters, event.object)
    counts = _counts(status, "replicas", "readyReplicas", "availableReplicas")
    size = event.object["spec"]["replicas"]
    return f"replicas {name}", (
        f"{_generations(event.object, status)} {size}:{counts} full {status.get('fullyLabeledReplicas', 0)}"
    )


def _ordered(event: Event, status: Tree, letters: dict[str, str]) -> tuple[str, str]:
    counts = _counts(status, "replicas", "readyReplicas", "availableReplicas")
    current = _named(letters, status.get("currentRevision", ""))
    update = _named(letters, status.get("updateRevision", ""))
    at, to = status.get("currentReplicas", 0), status.get("updatedReplicas", 0)
    return "ordered st", f"{_generations(event.object, status)} {counts} {current}:{at} {update}:{to}"


def _rollout(event: Event, status: Tree, letters: dict[str, str]) -> tuple[str, str]:
    metadata = event.object["metadata"]
    revision = metadata.get("annotations", {}).get(REVISION, "-")
    counts = _counts(status, "replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
    conditions = {each["type"]: each for each in status.get("conditions", [])}
    available = {"True": "+", "False": "-"}.get(conditions.get("Available", {}).get("status", ""), "")
    reason = conditions.get("Progressing", {}).get("reason", "")
    # Which of these words says that it goes on depends on writes that were refused.
    if reason in GOES_ON and (reason != GOES_ON[0] or len(set(counts.split("/"))) > 1):
        reason = "moving"
    return "rollout de", f"{_generations(event.object, status)} #{revision} {counts} {available}{reason}"


def _clones(event: Event, status: Tree, letters: dict[str, str]) -> tuple[str, str]:
    counts = _counts(status, "replicas", "readyReplicas", "availableReplicas")
    updated = _counts(status, "updatedReplicas", "updatedReadyReplicas", "updatedAvailableReplicas")
    revisions = ">".join(_named(letters, status.get(key, "")) for key in ("currentRevision", "updateRevision"))
    named = len(event.object["spec"].get("scaleStrategy", {}).get("podsToDelete", ()))
    return "clones cs", (
        f"{_generations(event.object, status)} {counts} new {updated} of {status.get('expectedUpdatedReplicas', 0)} "
        f"{revisions}{f' naming {named}' if named else ''}"
    )


def _budget(event: Event, status: Tree, letters: dict[str, str]) -> tuple[str, str]:
    allowed = f"{status.get('disruptionsAllowed', 0)} of {status.get('expectedPods', 0)}"
    healthy = f"healthy {_counts(status, 'currentHealthy', 'desiredHealthy')}"
    said = next((each["reason"] for each in status.get("conditions", [])), "")
    leaving = f" leaving {len(status['disruptedPods'])}" if status.get("disruptedPods") else ""
    return f"budget {event.name}", f"{_generations(event.object, status)} {allowed} {healthy} {said}{leaving}"


def _revision(event: Event, status: Tree, letters: dict[str, str]) -> tuple[str, str]:
    return f"revision {_letter(letters, event.object)}", f"#{event.object['revision']}"


def _thing(event: Event, status: Tree, letters: dict[str, str]) -> tuple[str, str]:
    held = ",".join(event.object["metadata"].get("finalizers", []))
    return f"thing {event.name}", " ".join(filter(None, (_owners(event.object), held)))


def _claim(event: Event, status: Tree, letters: dict[str, str]) -> tuple[str, str]:
    return f"claim {event.name}", _owners(event.object)


def _owners(tree: Tree) -> str:
    owners = ",".join(sorted(each["name"] for each in tree["metadata"].get("ownerReferences", [])))
    return f"of {owners}" if owners else "free"


def node_of(pod: Tree) -> str:
    """On which it is, or for which it was made."""
    spec = pod["spec"]
    affinity = spec.get("affinity", {}).get("nodeAffinity", {})
    terms = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", {}).get("nodeSelectorTerms", [])
    named = [field["values"][0] for term in terms for field in term.get("matchFields", [])]
    node: str = spec.get("nodeName") or next(iter(named), "-")
    return node


def is_ready(pod: Tree) -> bool:
    conditions = pod.get("status", {}).get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
