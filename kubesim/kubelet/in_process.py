"""Pods of a cluster in the same process: read from its store and written to it, without requests.

The watch has the lag of any other, and a write for which there is no short way is a request, as is every write where
requests take time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVarTuple, Unpack

from kubeloop.errors import error_of
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

Ts = TypeVarTuple("Ts")

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
                watching.seen(_read.of(event), initial=False)

        await follow(self._table, self._is_ours if self._namespace else None, self._client.lag, present, changed)

    def _is_ours(self, version: Version) -> bool:
        return version.head.namespace == self._namespace

    async def everyone(self) -> Iterable[Pod]:
        versions = self._table.live.values()
        return [_read(version) for version in versions if not self._namespace or self._is_ours(version)]

    async def bind(self, pod: Pod, node: str) -> Pod:
        done = self._briefly(pod, self._client.bind, node)
        if done is not None:
            return _after(pod, *done)
        async with stepping_aside():
            return await self._over_client.bind(pod, node)

    async def start(self, pod: Pod, node: str, fields: Tree) -> Pod:
        done = self._briefly(pod, self._client.start, node, fields)
        return await self.put_status(await self.bind(pod, node), fields) if done is None else _after(pod, *done)

    async def put_status(self, pod: Pod, fields: Tree) -> Pod:
        done = self._briefly(pod, self._client.put_status, fields)
        if done is not None:
            return _after(pod, *done)
        async with stepping_aside():
            return await self._over_client.put_status(pod, fields)

    async def delete(self, pod: Pod) -> None:
        if self._briefly(pod, self._client.delete, Options(uid=pod.metadata.uid, grace=0)) is None:
            async with stepping_aside():
                await self._over_client.delete(pod)

    def _briefly(
        self, pod: Pod, write: Callable[[Version, Unpack[Ts]], Version | None], *what: *Ts
    ) -> tuple[Version, Version] | None:
        """What the pod was before a write and is after it; None, and nothing written, where there is no short way."""
        meta = pod.metadata
        old = self._table.live.get((meta.namespace, meta.name))
        if old is None or old.head.uid != meta.uid:
            return None
        try:
            new = write(old, *what)
        except StatusError as error:
            raise error_of(refusal(error), f"writing to pod {meta.namespace}/{meta.name}") from error
        if new is None:
            return None
        if new is not old:
            self._written.add(new.revision)
        return old, new


def _after(pod: Pod, old: Version, new: Version) -> Pod:
    """The pod after a write, made from what was seen of it if nobody else has written since."""
    return _read.after(new, old, pod) if pod.metadata.resource_version == str(old.revision) else _read(new)
