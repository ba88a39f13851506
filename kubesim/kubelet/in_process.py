"""Pods of a cluster in the same process: read from its store and written to it, without requests.

The watch has the lag of any other, and a write for which there is no short way is a request, as is every write where
requests take time.
"""

from __future__ import annotations

from kubeloop.errors import KubeError, error_of
from kubeloop.worker import stepping_aside
from kubesim.api.inside import InsideClient
from kubesim.errors import StatusError
from kubesim.kubelet.access import OverClient, Pace, Watching
from kubesim.kubelet.pods import Pod, Tree
from kubesim.requests.handling import refusal
from kubesim.store.decoded import reader_of
from kubesim.store.following import follow
from kubesim.store.versions import Event, Version
from kubesim.writes.deletion import Options

_read = reader_of(Pod)


class InProcess:
    """The short way where there is one, else that of the client."""

    def __init__(self, client: InsideClient, namespace: str) -> None:
        self._client = client
        self._table = client.pods
        self._namespace = namespace
        self._over_client = OverClient(client, namespace)
        self.pace = Pace(workers=1, in_a_row=32) if client.is_near else OverClient.pace
        self._written: set[int] = set()
        """Revisions of own writes that the watch has not brought yet: nobody needs to be told of them."""

    async def follow(self, watching: Watching) -> None:
        is_first = True

        def present(versions: list[Version], _revision: int) -> None:
            nonlocal is_first
            self._written.clear()
            watching.only({version.head.uid for version in versions})
            for version in versions:
                watching.seen(_read(version), initial=is_first)
            is_first = False

        def changed(event: Event) -> None:
            if event.type == "DELETED":
                watching.gone(event.new.head.uid)
            elif event.revision in self._written:
                self._written.discard(event.revision)
            else:
                watching.seen(_read(event.new), initial=False)

        await follow(self._table, self._is_ours if self._namespace else None, self._client.lag, present, changed)

    def _is_ours(self, version: Version) -> bool:
        return version.head.namespace == self._namespace

    async def bind(self, pod: Pod, node: str) -> Pod:
        old = self._stored(pod)
        if old is not None:
            try:
                new = self._client.bind(old, node)
            except StatusError as error:
                raise _as_answer(error, pod) from error
            if new is not None:
                return self._wrote(pod, old, new)
        async with stepping_aside():
            return await self._over_client.bind(pod, node)

    async def put_status(self, pod: Pod, fields: Tree) -> Pod:
        old = self._stored(pod)
        if old is not None:
            try:
                new = self._client.put_status(old, fields)
            except StatusError as error:
                raise _as_answer(error, pod) from error
            if new is not None:
                return self._wrote(pod, old, new)
        async with stepping_aside():
            return await self._over_client.put_status(pod, fields)

    async def delete(self, pod: Pod) -> None:
        old = self._stored(pod)
        if old is not None:
            try:
                new = self._client.delete(old, Options(uid=pod.metadata.uid, grace=0))
            except StatusError as error:
                raise _as_answer(error, pod) from error
            if new is not None:
                return
        async with stepping_aside():
            await self._over_client.delete(pod)

    def _stored(self, pod: Pod) -> Version | None:
        """The pod as it is now; None when it is gone, or another has its name."""
        meta = pod.metadata
        found = self._table.live.get((meta.namespace, meta.name))
        return found if found is not None and found.head.uid == meta.uid else None

    def _wrote(self, pod: Pod, old: Version, new: Version) -> Pod:
        """What the pod is after a write, if nobody else has written to it since it was seen, made from that."""
        if new is old:
            return _read(new)
        self._written.add(new.revision)
        is_seen = pod.metadata.resource_version == str(old.revision)
        return _read.after(new, old, pod) if is_seen else _read(new)


def _as_answer(error: StatusError, pod: Pod) -> KubeError:
    """The refusal as a client raises it."""
    return error_of(refusal(error), f"writing to pod {pod.metadata.namespace}/{pod.metadata.name}")
