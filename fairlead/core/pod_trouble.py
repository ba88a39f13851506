"""Whether a pod is stuck: which container, for which reason, since when, and whether waiting still makes sense.

Where the kubelet itself gives up for a while (it backs off, or cannot create the container), that counts at once.
Anything else may take until a deadline. A crash loop is the same trouble in all its states: the kubelet shows
CrashLoopBackOff, then running, then terminated, and a judgement that followed it would change every few seconds.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from fairlead.core.pod_readiness import is_ready, is_terminating
from kubeloop.objects.core import ContainerStatus, ContainerTerminated, Pod

DEFAULT_DEADLINE = timedelta(minutes=10)

CRASH_LOOP = "CrashLoopBackOff"
IMAGE_BACK_OFF = "ImagePullBackOff"
TERMINATING = "Terminating"
UNSCHEDULABLE = "Unschedulable"
NOT_READY = "NotReady"

AT_ONCE = frozenset(
    {
        CRASH_LOOP,
        IMAGE_BACK_OFF,
        "ErrImagePull",
        "ErrImageNeverPull",
        "ImageInspectError",
        "InvalidImageName",
        "RegistryUnavailable",
        "SignatureValidationFailed",
        "CreateContainerConfigError",
        "CreateContainerError",
        "PreCreateHookError",
        "PreStartHookError",
        "PostStartHookError",
        "RunContainerError",
    }
)
"""Why a container waits when the kubelet has failed to bring it up and only repeats itself."""

FEWEST_RESTARTS = 2
"""Of a crash loop: the kubelet restarts a container once without delay, and backs off from then on."""
KUBELET_FORGETS = timedelta(minutes=10)
"""A container that ran for as long is restarted without delay again, so what it did before is no crash loop."""
LONGEST_DETAIL = 200
"""Characters; a message of the kubelet or the scheduler may be of any length."""


class PodTrouble(Struct, frozen=True):
    """Why one pod is not ready."""

    namespace: str
    pod: str
    container: str
    """Empty where it is about the pod as a whole."""
    reason: str
    """The kubelet's word, or one of TERMINATING, UNSCHEDULABLE and NOT_READY; the same in all states of a loop."""
    restarts: int
    """Of the container."""
    detail: str
    """How the container ended last, its image, or what the kubelet or the scheduler says; may be empty."""
    since: datetime | None
    """When the pod ceased to be ready, or was made; for one that goes, when it was deleted."""
    until: datetime | None
    """When it counts as stuck though nothing changes; None where it does already, or where nobody can tell."""
    is_past: bool
    """Whether it is stuck: it waits for what does not come by itself, or has waited longer than its deadline."""

    @property
    def has_crashed(self) -> bool:
        return self.restarts > 0 or self.reason == CRASH_LOOP

    @property
    def cause(self) -> str:
        """In words that stay the same for as long as the pod is stuck for this reason."""
        match self.reason, self.container:
            case "Terminating", _:
                return "it does not finish shutting down"
            case "Unschedulable", _:
                return "no node is found for it"
            case reason, "":
                return f"its phase is {reason}"
            case "NotReady", container:
                return f"container {container} is not ready"
        return f"container {self.container} {'is in' if self.reason in AT_ONCE else 'waits with'} {self.reason}"

    @property
    def text(self) -> str:
        """The cause with what may differ from look to look."""
        times = f"{self.restarts} restart{'s' * (self.restarts != 1)}" if self.restarts else ""
        beside = ", ".join(filter(None, (times, self.detail)))
        return f"{self.cause} ({beside})" if beside else self.cause

    @property
    def advice(self) -> tuple[str, ...]:
        """Commands that show more, the first first."""
        describe = f"kubectl -n {self.namespace} describe pod {self.pod}"
        logs = f"kubectl -n {self.namespace} logs {self.pod} -c {self.container}"
        if self.has_crashed and self.container:
            return f"{logs} --previous", describe
        if self.reason == NOT_READY:
            return logs, describe
        if self.reason == TERMINATING:
            force = f"kubectl -n {self.namespace} delete pod {self.pod} --force --grace-period=0"
            return describe, f"only when its node is gone for good: {force}"
        return (describe,)


def trouble_of(pod: Pod, now: datetime, deadline: timedelta = DEFAULT_DEADLINE) -> PodTrouble | None:
    """Why the pod is not ready; None when it is."""
    if is_ready(pod):
        return None
    if is_terminating(pod):
        return _terminating(pod, now, deadline)
    containers = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    for container in containers:
        if reason := _fails(container, now):
            return _trouble(pod, container, reason, _detail(pod, container, reason), is_past=True)
    since = _since(pod)
    until = None if since is None else _later(since, deadline)
    if until is not None and until <= now:
        return _trouble(pod, *_waits(pod, containers), is_past=True)
    return _trouble(pod, *_waits(pod, containers), until=until)


def is_failing(pod: Pod) -> bool:
    """Whether the kubelet has given up on a container for a while, or restarts it again and again.

    For whoever must hear of it at once: any other trouble is one after some time only.
    """
    containers = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    return any(not each.ready and (each.restart_count >= FEWEST_RESTARTS or _is_at_once(each)) for each in containers)


def _is_at_once(container: ContainerStatus) -> bool:
    return container.state.waiting is not None and container.state.waiting.reason in AT_ONCE


def advice_on_missing(namespace: str, statefulset: str) -> str:
    """What shows why a pod is not made, such as a quota or a webhook that refuses it: Events of its StatefulSet."""
    return f"see what keeps it from being made: kubectl -n {namespace} describe statefulset {statefulset}"


def restarts_of(pod: Pod) -> int:
    """Of the container that was restarted most often."""
    containers = (*pod.status.init_container_statuses, *pod.status.container_statuses)
    return max((container.restart_count for container in containers), default=0)


def failure_of(pod: Pod) -> str:
    """Which container of the pod was restarted, and how it ended; empty when none was. A pod that goes tells it too."""
    for container in (*pod.status.init_container_statuses, *pod.status.container_statuses):
        if container.restart_count:
            ending = _ending(container)
            return f"container {container.name} was restarted{f', {ending}' if ending else ''}"
    return ""


def _fails(container: ContainerStatus, now: datetime) -> str:
    """Why waiting for this container makes no sense; empty when it may."""
    if container.ready:
        return ""
    if _is_crash_looping(container, now):
        return CRASH_LOOP
    waiting = container.state.waiting
    if waiting is None or not _is_at_once(container):
        return ""
    # The kubelet shows one of these while it tries and the other while it waits for the next try.
    return IMAGE_BACK_OFF if waiting.reason == "ErrImagePull" else waiting.reason


def _is_crash_looping(container: ContainerStatus, now: datetime) -> bool:
    """Whether it was restarted more than once, and its last run was short and ended a short while ago."""
    ended = container.state.terminated or container.last_state.terminated
    if container.restart_count < FEWEST_RESTARTS or ended is None or ended.finished_at is None:
        return False
    ran = ended.finished_at - (ended.started_at or ended.finished_at)
    return ran < KUBELET_FORGETS and now - ended.finished_at < KUBELET_FORGETS


def _waits(pod: Pod, containers: tuple[ContainerStatus, ...]) -> tuple[ContainerStatus | None, str, str]:
    """What a pod waits for that may still come: a container, a reason and what is said about it."""
    for condition in pod.status.conditions:
        if condition.type == "PodScheduled" and condition.status == "False":
            return None, UNSCHEDULABLE, _brief(condition.message)
    for container in containers:
        if not container.ready and container.state.waiting is not None:
            reason = container.state.waiting.reason or NOT_READY
            return container, reason, _brief(container.state.waiting.message)
    for container in containers:
        if not container.ready or (container.state.running is None and container in pod.status.container_statuses):
            return container, NOT_READY, _ending(container)
    return None, pod.status.phase or "unknown", ""


def _detail(pod: Pod, container: ContainerStatus, reason: str) -> str:
    """Without what differs between two tries: the message of a back-off names the seconds until the next."""
    if reason == CRASH_LOOP:
        return _ending(container)
    if reason in (IMAGE_BACK_OFF, "InvalidImageName", "ErrImageNeverPull"):
        image = next((each.image for each in pod.spec.all_containers if each.name == container.name), "")
        return f"image {_brief(image)}" if image else ""
    return _brief(container.state.waiting.message) if container.state.waiting is not None else ""


def _ending(container: ContainerStatus) -> str:
    """How its last run ended; empty when it is the first."""
    ended: ContainerTerminated | None = container.state.terminated or container.last_state.terminated
    if ended is None:
        return ""
    telling = ended.reason not in ("", "Error", "Completed")
    return f"last ended with {ended.reason}" if telling else f"last ended with exit code {ended.exit_code}"


def _since(pod: Pod) -> datetime | None:
    """When the pod last ceased to be ready; one that never was, when it was made."""
    for condition in pod.status.conditions:
        if condition.type == "Ready" and condition.status != "True" and condition.last_transition_time is not None:
            return condition.last_transition_time
    return pod.metadata.creation_timestamp


def _terminating(pod: Pod, now: datetime, deadline: timedelta) -> PodTrouble:
    """The deadline counts from the end of the grace period, when the pod should have been gone."""
    metadata = pod.metadata
    end = metadata.deletion_timestamp
    since = None if end is None else _later(end, timedelta(seconds=-metadata.deletion_grace_period_seconds)) or end
    until = None if end is None else _later(end, deadline)
    is_past = until is not None and until <= now
    shown = None if is_past else until
    return PodTrouble(metadata.namespace, metadata.name, "", TERMINATING, 0, "", since, shown, is_past)


def _trouble(
    pod: Pod,
    container: ContainerStatus | None,
    reason: str,
    detail: str,
    *,
    until: datetime | None = None,
    is_past: bool = False,
) -> PodTrouble:
    name, restarts = ("", 0) if container is None else (container.name, container.restart_count)
    metadata = pod.metadata
    return PodTrouble(metadata.namespace, metadata.name, name, reason, restarts, detail, _since(pod), until, is_past)


def _later(moment: datetime, length: timedelta) -> datetime | None:
    """None beyond what a calendar holds."""
    try:
        return moment + length
    except OverflowError:
        return None


def _brief(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_DETAIL else f"{line[: LONGEST_DETAIL - 3]}..."
