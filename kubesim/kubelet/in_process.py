"""Pods of a cluster in the same process: read from its store and written to it, without requests.

The watch has the lag of any other, and a write for which there is no short way is a request, as is every write where
requests take time.
"""

from __future__ import annotations

from collections.abc import Callable

from kubeloop.errors import error_of
from kubesim.api.inside import InsideClient
from kubesim.errors import StatusError
from kubesim.kubelet.access import OverClient, Watching
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
        done = self._briefly(pod, lambda old: self._client.bind(old, node))
        return await self._over_client.bind(pod, node) if done is None else _read(done)

    async def put_status(self, pod: Pod, fields: Tree) -> Pod:
        done = self._briefly(pod, lambda old: self._client.put_status(old, fields))
        return await self._over_client.put_status(pod, fields) if done is None else _read(done)

    async def delete(self, pod: Pod) -> None:
        options = Options(uid=pod.metadata.uid, grace=0)
        if self._briefly(pod, lambda old: self._client.delete(old, options)) is None:
            await self._over_client.delete(pod)

    def _briefly(self, pod: Pod, write: Callable[[Version], Version | None]) -> Version | None:
        """What the pod is after a write; None where it is not at hand: there is no short way, or it is gone."""
        meta = pod.metadata
        old = self._table.live.get((meta.namespace, meta.name))
        if old is None or old.head.uid != meta.uid:
            return None
        try:
            new = write(old)
        except StatusError as error:
            raise error_of(refusal(error), f"writing to pod {meta.namespace}/{meta.name}") from error
        if new is not None and new is not old:
            self._written.add(new.revision)
        return new
