"""Who is beside whom: the pods that have nodes, for pods that care which others are there.

Nothing is kept until a pod is seen that has a required affinity or anti-affinity to pods. From then on every pod that
comes is noted, and those that were there before are read once, before the first pod is placed. A node counts as taken
as soon as it is chosen, so that pods which are placed at the same time know of one another. A pod that finds no node
for the sake of others is looked at again when one of those comes, goes, or changes its labels.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Container, Iterable, Iterator, Mapping

from msgspec import Struct, structs

from kubeloop.client import Client
from kubeloop.objects.core import NAMESPACES
from kubeloop.objects.meta import Meta
from kubesim.kubelet.access import PodAccess
from kubesim.kubelet.pods import Pod
from kubesim.pods.affinity import Labels, Sociable, Surroundings, surroundings

_ENDED = ("Succeeded", "Failed")
_UNASKED: Mapping[str, Labels] = {}

LabelsOf = Callable[[str], Labels | None]
"""Of a node by its name; None where there is no such node."""


class Neighbour(Struct, frozen=True):
    """What is known of one pod."""

    pod: Sociable
    version: int
    node: str = ""
    """Empty as long as it has none, and when it has ended."""
    taken: str = ""
    """The node that was chosen for it here, whether or not it has come to be there yet."""

    @property
    def place(self) -> str:
        return self.node or self.taken


class _Namespace(Struct, frozen=True):
    metadata: Meta


class Neighbours:
    """The pods of one kubelet; `look` is called with the UID of one that may find a node now."""

    def __init__(self, client: Client, access: PodAccess, present: Container[str], look: Callable[[str], None]) -> None:
        """`present` are the UIDs of pods that were seen and are not gone."""
        self._client = client
        self._access = access
        self._present = present
        self._look = look
        self._is_needed = False
        """Some pod has terms about others."""
        self._are_all_known = False
        self._reading = asyncio.Lock()
        self._all: dict[str, Neighbour] = {}
        """By UID."""
        self._placed: dict[str, dict[str, Neighbour]] = {}
        """Those that have a place, by namespace and UID."""
        self._wary: dict[str, Neighbour] = {}
        """Those of them with an anti-affinity of their own."""
        self._asking: set[str] = set()
        """Those of them that select namespaces."""
        self._waiting: dict[str, Sociable] = {}
        """Pods that found no node, for whatever reason."""

    def seen(self, pod: Pod) -> None:
        """A pod is there, or is another than before."""
        if not self._is_needed:
            if not pod.spec.affinity.is_about_pods:
                return
            self._is_needed = True
        uid, version = pod.metadata.uid, int(pod.metadata.resource_version)
        known = self._all.get(uid)
        if known is not None and known.version >= version:
            return
        taken = "" if known is None else known.taken
        has_ended = pod.status.phase in _ENDED
        self._note(uid, Neighbour(_sociable(pod), version, *(() if has_ended else (pod.spec.node_name, taken))))

    def gone(self, uid: str) -> None:
        """A pod is not there any more."""
        if self._is_needed:
            self._waiting.pop(uid, None)
            self._note(uid, None)

    async def read(self, pod: Pod) -> Mapping[str, Labels]:
        """Everything is known afterwards that matters for the pod; answers with the namespaces where those do."""
        if not self._is_needed:
            return _UNASKED
        await self._read_pods()
        if not self._asking and not _sociable(pod).selects_namespaces:
            return _UNASKED
        found = (await self._client.list(NAMESPACES, _Namespace)).items
        return {each.metadata.name: each.metadata.labels for each in found}

    def around(self, pod: Pod, labels_of: LabelsOf, namespaces: Mapping[str, Labels]) -> Surroundings | None:
        """What pods that have a place mean for one that has none; None where they mean nothing."""
        if not self._is_needed:
            return None
        own = _sociable(pod)
        placed = (each for space in own.looks_into(self._placed) for each in self._placed.get(space, {}).values())
        return surroundings(own, _on_nodes(placed, labels_of), _on_nodes(self._wary.values(), labels_of), namespaces)

    def take(self, pod: Pod, node: str) -> None:
        """The pod is about to be on the node."""
        if self._is_needed:
            uid = pod.metadata.uid
            self._waiting.pop(uid, None)
            self._note(uid, structs.replace(self._all.get(uid) or Neighbour(_sociable(pod), 0), taken=node))

    def release(self, uid: str) -> None:
        """The pod could not be put on the node that it took; if it is there all the same, that will be seen."""
        known = self._all.get(uid)
        if known is not None:
            self._note(uid, structs.replace(known, taken=""))

    def wait(self, pod: Pod) -> None:
        """The pod has no place for now."""
        if self._is_needed:
            self._waiting[pod.metadata.uid] = _sociable(pod)

    def _note(self, uid: str, new: Neighbour | None) -> None:
        old = self._all.pop(uid, None)
        if old is not None and old.place:
            del self._placed[old.pod.namespace][uid]
            self._wary.pop(uid, None)
            self._asking.discard(uid)
        if new is not None:
            self._all[uid] = new
        if new is not None and new.place:
            self._placed.setdefault(new.pod.namespace, {})[uid] = new
            if new.pod.apart:
                self._wary[uid] = new
                if new.pod.selects_namespaces:
                    self._asking.add(uid)
        if self._waiting:
            self._wake(old, new)

    def _wake(self, old: Neighbour | None, new: Neighbour | None) -> None:
        placed = [each for each in (old, new) if each is not None and each.place]
        if len(placed) == 2 and (placed[0].place, placed[0].pod) == (placed[1].place, placed[1].pod):
            return
        for uid, pod in self._waiting.items():
            if any(pod.may_care_about(each.pod) for each in placed):
                self._look(uid)

    async def _read_pods(self) -> None:
        """Pods that came before anybody cared; those that went since are not taken back."""
        async with self._reading:
            if not self._are_all_known:
                for pod in await self._access.everyone():
                    if pod.metadata.uid in self._present:
                        self.seen(pod)
                self._are_all_known = True


def _on_nodes(pods: Iterable[Neighbour], labels_of: LabelsOf) -> Iterator[tuple[Sociable, Labels]]:
    """With the labels of their nodes; without those whose node is gone."""
    for each in pods:
        labels = labels_of(each.place)
        if labels is not None:
            yield each.pod, labels


def _sociable(pod: Pod) -> Sociable:
    affinity = pod.spec.affinity
    return Sociable(
        pod.metadata.namespace, pod.metadata.labels, affinity.pod_affinity.required, affinity.pod_anti_affinity.required
    )
