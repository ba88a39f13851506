"""What the kubelet and its scheduler tell of pods in Events.

Annotations that cannot be read are always told of. The rest, what `kubectl describe pod` shows of a life, costs several
requests for each pod and is told only where somebody looks.
"""

from __future__ import annotations

import asyncio

from kubeloop.client import Client
from kubeloop.events import Recorder, Stamps
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubesim.kubelet import answers
from kubesim.kubelet.obstacles import UNPLACED
from kubesim.kubelet.pods import Pod
from kubesim.pods import behaviour
from kubesim.pods.behaviour import PREFIX, Shape

_STARTED = (Shape.RUNNING, Shape.READY)


class Telling:
    """The Events of one kubelet; `everything` of a pod's life, or only what is wrong with its annotations."""

    def __init__(self, client: Client, *, everything: bool) -> None:
        self._everything = everything
        stamps = Stamps()
        self._kubelet = Recorder(client, "kubelet", "sim-node", stamps=stamps)
        self._scheduler = Recorder(client, "default-scheduler", "sim-scheduler", stamps=stamps)

    async def run(self) -> None:
        """Writes what was told until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for recorder in (self._kubelet, self._scheduler):
                tasks.create_task(recorder.run())

    def check(self, pod: Pod) -> None:
        """Says what is wrong with the pod's annotations, and how to write them."""
        annotations = pod.metadata.annotations
        if any(key.startswith(PREFIX) for key in annotations):
            for text in behaviour.complaints(annotations) + answers.complaints(annotations):
                self._kubelet.tell(_ref(pod), True, "BadAnnotation", text)

    def hindered(self, about: Ref, reason: str, text: str) -> None:
        """Something is in the way of a pod."""
        recorder = self._scheduler if reason == UNPLACED else self._kubelet
        recorder.tell(about, True, reason, text)

    def bound(self, pod: Pod, node: str) -> None:
        if self._everything:
            meta = pod.metadata
            text = f"Successfully assigned {meta.namespace}/{meta.name} to {node}"
            self._scheduler.tell(_ref(pod), False, "Scheduled", text)

    def took(self, pod: Pod, before: Shape, after: Shape) -> None:
        """The pod has another shape."""
        if not self._everything:
            return
        starts = after in _STARTED and before not in _STARTED
        for container in pod.spec.containers:
            image = f'image "{container.image}"'
            if starts and before is not Shape.CRASHED:
                text = f"Container {image} already present on machine and can be accessed by the pod"
                self._tell(pod, "Pulled", text)
            if starts:
                self._tell(pod, "Created", "Container created")
                self._tell(pod, "Started", "Container started")
            elif after is Shape.IMAGE:
                self._tell(pod, "Pulling", f"Pulling {image}")
                self._tell(pod, "Failed", "Error: ErrImagePull", warning=True)
                self._tell(pod, "BackOff", f"Back-off pulling {image}")
                self._tell(pod, "Failed", "Error: ImagePullBackOff", warning=True)
            elif after is Shape.CRASHED:
                meta = pod.metadata
                which = f"{container.name} in pod {meta.name}_{meta.namespace}({meta.uid})"
                self._tell(pod, "BackOff", f"Back-off restarting failed container {which}", warning=True)

    def ends(self, pod: Pod) -> None:
        """The pod has been deleted and its containers are told to stop."""
        if self._everything and pod.status.phase == "Running":
            for container in pod.spec.containers:
                self._tell(pod, "Killing", f"Stopping container {container.name}")

    def _tell(self, pod: Pod, reason: str, text: str, *, warning: bool = False) -> None:
        self._kubelet.tell(_ref(pod), warning, reason, text)


def _ref(pod: Pod) -> Ref:
    return Ref(PODS, pod.metadata.namespace, pod.metadata.name, pod.metadata.uid)
