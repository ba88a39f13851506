"""What the kubelet reads of a pod, and the statuses it writes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from sys import intern

from msgspec import Struct

from kubeloop import clock
from kubeloop.objects.meta import Meta
from kubesim.pods.behaviour import Behaviour, Run, Shape
from kubesim.pods.scheduling import Affinity

Tree = dict[str, object]

CRASH_LOOP = "CrashLoopBackOff"
IMAGE_BACK_OFF = "ImagePullBackOff"
OWN = "sim://"
"""IDs of containers that a kubelet like this runs begin so."""
SCHEDULER = "default-scheduler"
"""Who places the pods that ask for nobody else."""


_NONE: dict[str, str] = {}
_SCHEDULED = "PodScheduled"


class PodMeta(Meta, frozen=True, rename="camel", gc=False):
    annotations: dict[str, str] = {}


class Container(Struct, frozen=True, rename="camel", gc=False):
    name: str
    image: str = ""
    restart_policy: str = ""


class Gate(Struct, frozen=True, gc=False):
    name: str = ""


class ReadinessGate(Struct, frozen=True, rename="camel", gc=False):
    condition_type: str = ""


class PodSpec(Struct, frozen=True, rename="camel", gc=False):
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()
    node_name: str = ""
    node_selector: dict[str, str] = {}
    affinity: Affinity = Affinity()
    scheduling_gates: tuple[Gate, ...] = ()
    readiness_gates: tuple[ReadinessGate, ...] = ()
    scheduler_name: str = SCHEDULER


class Waiting(Struct, frozen=True, gc=False):
    reason: str = ""


class Running(Struct, frozen=True, rename="camel", gc=False):
    started_at: str = ""


class State(Struct, frozen=True):
    waiting: Waiting | None = None
    running: Running | None = None


class ContainerStatus(
    Struct,
    frozen=True,
    rename={"container_id": "containerID", "restart_count": "restartCount", "last_state": "lastState"},
):
    name: str
    image: str = ""
    container_id: str = ""
    restart_count: int = 0
    state: State = State()
    last_state: dict[str, object] = {}


class PodStatus(Struct, frozen=True, rename={"pod_ip": "podIP", "container_statuses": "containerStatuses"}):
    phase: str = ""
    pod_ip: str = ""
    conditions: tuple[dict[str, object], ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()


class Pod(Struct, frozen=True, gc=False):
    metadata: PodMeta
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def restarts(self) -> int:
        return max((container.restart_count for container in self.status.container_statuses), default=0)

    @property
    def runs_its_images(self) -> bool:
        """Whether containers run the images of the spec, which may be changed on a living pod.

        Those of other kubelets may be told by other names.
        """
        wanted = {each.name: each.image for each in self.spec.containers}
        own = [each for each in self.status.container_statuses if each.container_id.startswith(OWN)]
        return all(wanted.get(each.name, each.image) == each.image for each in own)

    def is_true(self, condition: str) -> bool:
        return any(each.get("type") == condition and each.get("status") == "True" for each in self.status.conditions)

    @property
    def gates_shut(self) -> list[str]:
        """Conditions of others that keep it from being ready."""
        return [each.condition_type for each in self.spec.readiness_gates if not self.is_true(each.condition_type)]

    @property
    def is_as_its_gates(self) -> bool:
        """Whether its status says what its gates make of ready containers; without gates nobody else has a say."""
        if not self.spec.readiness_gates or not self.is_true("ContainersReady"):
            return True
        if not self.gates_shut:
            return self.is_true("Ready")
        text = behind_gates(self)["message"]
        return any(each.get("type") == "Ready" and each.get("message") == text for each in self.status.conditions)


def outline_of(pod: Pod) -> Pod:
    """Which pod it is and how it is to be treated; not what it consists of."""
    meta = pod.metadata
    kept = PodMeta(
        name=meta.name,
        uid=meta.uid,
        resource_version=meta.resource_version,
        namespace=intern(meta.namespace),
        labels=_NONE,
        annotations=meta.annotations or _NONE,
        deletion_timestamp=meta.deletion_timestamp,
    )
    return Pod(kept)


def shape_of(pod: Pod) -> Shape:
    """What the pod's status says."""
    status = pod.status
    waiting = [each.state.waiting.reason for each in status.container_statuses if each.state.waiting is not None]
    if CRASH_LOOP in waiting:
        return Shape.CRASHED
    if IMAGE_BACK_OFF in waiting:
        return Shape.IMAGE
    if status.phase != "Running":
        return Shape.NEW
    return Shape.READY if pod.is_true("ContainersReady" if pod.spec.readiness_gates else "Ready") else Shape.RUNNING


def begun(pod: Pod, shape: Shape, behaviour: Behaviour, now: float) -> Run:
    """What the status tells to somebody who sees the pod for the first time; `now` is the loop's time."""
    wall = clock.now()
    started = now - _ago(_started_at(pod.status.container_statuses), wall)
    if shape is Shape.READY:
        # It became ready by rules that are not known here, and is not taken back.
        started = min(started, now - behaviour.ready_after)
    changed = next((each for each in pod.status.conditions if each.get("type") == "Ready"), {})
    since = now - _ago(str(changed.get("lastTransitionTime") or ""), wall)
    return Run(shape, max(since, started), started, pod.restarts)


def _ago(time: str, wall: datetime) -> float:
    """Seconds since a time of day; none where there is no such time, or it is yet to come."""
    if not time:
        return 0.0
    try:
        return max((wall - datetime.fromisoformat(time)).total_seconds(), 0.0)
    except (TypeError, ValueError):
        return 0.0


def status_fields(pod: Pod, shape: Shape, restarts: int, address: str, now: str) -> Tree:
    """Fields of the status that give the pod its shape; none is null or an object."""
    status: Tree = {
        "phase": "Pending" if shape is Shape.IMAGE else "Running",
        "conditions": _conditions(pod, shape is Shape.READY, now),
        "containerStatuses": [
            _container(pod, each, _state(pod, shape, now), shape is Shape.READY)
            | {"restartCount": restarts, "lastState": _last_state(pod, each, shape, now)}
            for each in pod.spec.containers
        ],
    }
    if pod.spec.init_containers:
        status["initContainerStatuses"] = [_init_container(pod, each, now) for each in pod.spec.init_containers]
    if not pod.status.pod_ip:
        status |= {"startTime": now, "podIP": address, "podIPs": [{"ip": address}], "hostIP": "127.0.0.1"}
    return status


def unschedulable(pod: Pod, why: str, now: str) -> Tree | None:
    """Fields of the status that say why the pod has no node; None where they say so already."""
    wanted = {"status": "False", "reason": "Unschedulable", "message": why}
    seen = next((each for each in pod.status.conditions if each.get("type") == _SCHEDULED), {})
    if wanted.items() <= seen.items():
        return None
    since = seen.get("lastTransitionTime") if seen.get("status") == "False" else now
    said = {"lastProbeTime": None, "lastTransitionTime": since or now, "type": _SCHEDULED, **wanted}
    return {"conditions": [each for each in pod.status.conditions if each.get("type") != _SCHEDULED] + [said]}


def _conditions(pod: Pod, ready: bool, now: str) -> list[Tree]:
    """The kubelet's four conditions, times kept where nothing changed, and whatever others have set."""
    seen = {str(condition.get("type")): condition for condition in pod.status.conditions}
    names = [container.name for container in pod.spec.containers]
    readiness: Tree = (
        {"status": "True"}
        if ready
        else {
            "status": "False",
            "reason": "ContainersNotReady",
            "message": f"containers with unready status: [{' '.join(names)}]",
        }
    )
    wanted: dict[str, Tree] = {
        "Initialized": {"status": "True"},
        "Ready": behind_gates(pod) if ready and pod.gates_shut else readiness,
        "ContainersReady": readiness,
        _SCHEDULED: {"status": "True"},
    }
    made = []
    for type_, says in wanted.items():
        before = seen.get(type_, {})
        same = before.get("status") == says["status"] and before.get("lastTransitionTime")
        since = before["lastTransitionTime"] if same else now
        made.append({"lastProbeTime": None, "lastTransitionTime": since, "type": type_, **says})
    return made + [condition for type_, condition in seen.items() if type_ not in wanted]


def behind_gates(pod: Pod) -> Tree:
    """Of a pod whose containers are ready, and nothing else."""
    seen = {str(condition.get("type")): condition for condition in pod.status.conditions}
    texts = [
        f'the status of pod readiness gate "{each}" is not "True", but {seen[each].get("status")}'
        if each in seen
        else f'corresponding condition of pod readiness gate "{each}" does not exist.'
        for each in pod.gates_shut
    ]
    return {"status": "False", "reason": "ReadinessGatesNotReady", "message": ", ".join(texts)}


def _state(pod: Pod, shape: Shape, now: str) -> Tree:
    match shape:
        case Shape.IMAGE:
            return {"waiting": {"reason": IMAGE_BACK_OFF, "message": "Back-off pulling image"}}
        case Shape.CRASHED:
            return {"waiting": {"reason": CRASH_LOOP, "message": "back-off restarting failed container"}}
        case _:
            since = _started_at(pod.status.container_statuses) if pod.runs_its_images else ""
            return {"running": {"startedAt": since or now}}


def _started_at(statuses: Sequence[ContainerStatus]) -> str:
    return next((each.state.running.started_at for each in statuses if each.state.running is not None), "")


def _last_state(pod: Pod, container: Container, shape: Shape, now: str) -> Tree:
    """How the container ended before: just now, if it has crashed."""
    if shape is Shape.CRASHED:
        return _terminated(1, "Error", now)
    return next((each.last_state for each in pod.status.container_statuses if each.name == container.name), {})


def _terminated(exit_code: int, reason: str, now: str) -> Tree:
    return {"terminated": {"exitCode": exit_code, "reason": reason, "startedAt": now, "finishedAt": now}}


def _container(pod: Pod, container: Container, state: Tree, ready: bool) -> Tree:
    return {
        "name": container.name,
        "image": container.image,
        "imageID": container.image,
        "containerID": f"{OWN}{pod.metadata.uid}/{container.name}",
        "ready": ready,
        "started": "running" in state,
        "restartCount": 0,
        "state": state,
    }


def _init_container(pod: Pod, container: Container, now: str) -> Tree:
    """Done, or for a sidecar running, by the time the containers start."""
    is_sidecar = container.restart_policy == "Always"
    state: Tree = {"running": {"startedAt": now}} if is_sidecar else _terminated(0, "Completed", now)
    return _container(pod, container, state, ready=True) | {"lastState": {}}
