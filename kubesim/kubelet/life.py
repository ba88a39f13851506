"""What the kubelet remembers of a pod."""

from __future__ import annotations

from kubeloop.objects.meta import Ref
from kubesim.kubelet.access import ref_of
from kubesim.kubelet.pods import Pod, outline_of
from kubesim.pods.behaviour import Run


class Life:
    """What is remembered of one pod."""

    __slots__ = (
        "address",
        "annotations",
        "deleted",
        "dying_since",
        "exited",
        "hindered",
        "node",
        "pod",
        "rests",
        "run",
        "settled",
    )

    def __init__(self, pod: Pod) -> None:
        self.pod = pod
        """The newest that was seen."""
        self.annotations = pod.metadata.annotations
        self.node = pod.spec.node_name
        self.address = pod.status.pod_ip
        self.run: Run | None = None
        self.dying_since: float | None = None
        self.deleted = False
        self.exited = False
        """Its program has ended by itself, and the status does not say so yet."""
        self.hindered = False
        """At the last look it lacked something."""
        self.rests = False
        """It stays as it is until somebody changes it."""
        self.settled = False
        """Nothing more is due: what happens next comes with the whole pod, so little of it is kept until then."""

    def answered(self, pod: Pod) -> None:
        """What came of a write of ours; while the answer was on its way a watch may have shown what came after it."""
        if int(pod.metadata.resource_version) >= self.version:
            self.pod = pod

    def settle(self) -> None:
        self.settled = True
        self.pod = outline_of(self.pod)

    @property
    def version(self) -> int:
        """Of the newest pod that is known."""
        return int(self.pod.metadata.resource_version)

    @property
    def ref(self) -> Ref:
        return ref_of(self.pod)
