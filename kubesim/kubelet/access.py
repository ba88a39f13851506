"""How the kubelet gets at pods: what it is told of them, and what it does to them.

There are two ways with one meaning: requests over a client (here), which work against any control plane, and the store
of a cluster in the same process (`in_process`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

import msgspec
from msgspec import Struct

from kubeloop.client import Client
from kubeloop.informer import Change, Informer
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import JSON, MERGE_PATCH, Request, patch, path_to
from kubesim.kubelet.pods import Pod, Tree, outline_of


class Pace(Struct, frozen=True):
    """How work with an access is best shared out."""

    workers: int
    """How many pods are seen to at once."""
    in_a_row: int
    """How many one of them sees to before others have a turn."""


class Watching(Protocol):
    """Who is told of pods."""

    def seen(self, pod: Pod, *, initial: bool) -> None:
        """The pod as it is now; what was written through the same access may come once more, or not."""

    def gone(self, uid: str) -> None:
        """There is no such pod any more."""

    def only(self, uids: set[str]) -> None:
        """There are no pods but these, after a time in which nobody was told what goes."""


class PodAccess(Protocol):
    """The pods of a namespace, or of all; every failure is a KubeError."""

    pace: Pace

    async def follow(self, watching: Watching) -> None:
        """Tells of the pods there are, and of all that becomes of them, until cancelled."""

    async def everyone(self) -> Iterable[Pod]:
        """The pods there are, as they are now, each in full."""

    async def bind(self, pod: Pod, node: str) -> Pod:
        """Puts the pod on a node; answers with what is known of it then."""

    async def start(self, pod: Pod, node: str, fields: Tree) -> Pod:
        """Both at once where that can be done, else one after the other; answers with the whole pod as it is then."""

    async def put_status(self, pod: Pod, fields: Tree) -> Pod:
        """Sets these fields of the status; answers with the whole pod as it is then."""

    async def delete(self, pod: Pod) -> None:
        """Ends the pod without another grace period; Conflict where another pod has its name."""


def ref_of(pod: Pod) -> Ref:
    meta = pod.metadata
    return Ref(PODS, meta.namespace, meta.name, meta.uid)


class OverClient:
    """Pods over a client, by an informer and requests."""

    pace = Pace(workers=16, in_a_row=1)

    def __init__(self, client: Client, namespace: str) -> None:
        self._client = client
        self._namespace = namespace

    async def follow(self, watching: Watching) -> None:
        def changed(change: Change[Pod]) -> None:
            old, new = change.old, change.new
            if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
                watching.gone(old.metadata.uid)
            if new is not None:
                watching.seen(new, initial=change.initial)

        informer = Informer(self._client, PODS, Pod, namespace=self._namespace, kept=outline_of)
        informer.subscribe(changed)
        await informer.run()

    async def everyone(self) -> Iterable[Pod]:
        return (await self._client.list(PODS, Pod, namespace=self._namespace)).items

    async def bind(self, pod: Pod, node: str) -> Pod:
        meta = pod.metadata
        binding = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": meta.name, "namespace": meta.namespace, "uid": meta.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        body = msgspec.json.encode(binding)
        await self._client.call(Request("POST", path_to(ref_of(pod), "binding"), body=body, content_type=JSON))
        return pod

    async def start(self, pod: Pod, node: str, fields: Tree) -> Pod:
        return await self.put_status(await self.bind(pod, node), fields)

    async def put_status(self, pod: Pod, fields: Tree) -> Pod:
        """By a merge patch, which the API refuses if the pod is another by now."""
        body = msgspec.json.encode({"metadata": {"uid": pod.metadata.uid}, "status": fields})
        answer = await self._client.call(patch(ref_of(pod), MERGE_PATCH, body, "status"))
        found = _VERSION.search(answer.body)
        if found is None or int(found[1]) <= int(pod.metadata.resource_version):
            return pod
        # The whole of it: somebody else may have written before, which the watch then has no news of.
        return _decoder.decode(answer.body)

    async def delete(self, pod: Pod) -> None:
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": pod.metadata.uid},
        }
        body = msgspec.json.encode(options)
        await self._client.call(Request("DELETE", path_to(ref_of(pod)), body=body, content_type=JSON))


_decoder = msgspec.json.Decoder(Pod)
_VERSION = re.compile(rb'"resourceVersion":"([0-9]+)"')
