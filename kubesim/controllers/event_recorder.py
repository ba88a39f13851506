"""Events as controllers write them; what becomes of repeated ones is told in `event_correlation`."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine
from contextlib import suppress

from kubeloop import clock
from kubeloop.objects.meta import Meta, Resource
from kubesim.controllers.base import Api
from kubesim.controllers.event_correlation import Correlator, Told
from kubesim.errors import StatusError
from kubesim.kinds.registry import CORE_EVENTS
from kubesim.store.versions import Tree, timestamp

EVENTS_OF_THE_CLUSTER = "default"
"""Where Events about objects are that lie in no namespace."""


class Recorder:
    """Writes Events as the controllers of kube-controller-manager do: repeated ones are counted, too many left out.

    Where somebody is asked about Events, they are written one after the other, and no controller waits for that.
    """

    def __init__(self, api: Api, component: str) -> None:
        self._api = api
        self._component = component
        self._correlator = Correlator()
        self._waiting: deque[tuple[Told, Tree]] = deque()
        self._tasks: asyncio.TaskGroup | None = None

    def work_in(self, tasks: asyncio.TaskGroup) -> None:
        """From now on Events that take time are written in this group, which is the controller's; others wait."""
        self._tasks = tasks
        if self._waiting:
            self._begin()

    def tell(self, about: Resource, meta: Meta, reason: str, text: str, *, warning: bool = False) -> None:
        """Records what happened; where that is refused (the namespace may be going away) it is let be."""
        name = f"{meta.name}.{self._api.store.draws('events').integer():016x}"
        told = self._correlator.told((about.kind, meta.uid, warning), reason, text, name, clock.now())
        if told is None:
            return
        event = self._event(told, about, meta) | {"reason": reason, "type": "Warning" if warning else "Normal"}
        namespace = event["metadata"]["namespace"]
        operations = ("CREATE",) if told.count == 1 else ("UPDATE", "CREATE")
        is_reviewed = any(self._api.is_reviewed(each, CORE_EVENTS, namespace) for each in operations)
        if not is_reviewed and not self._waiting:
            _at_once(self._write(told, event))
            return
        self._waiting.append((told, event))
        if len(self._waiting) == 1:
            self._begin()

    def _begin(self) -> None:
        if self._tasks is None:
            return
        working = self._work_off()
        try:
            self._tasks.create_task(working)
        except RuntimeError:  # the group is ending, and with it all need to tell
            working.close()

    async def _work_off(self) -> None:
        while self._waiting:
            await self._write(*self._waiting[0])
            self._waiting.popleft()

    async def _write(self, told: Told, event: Tree) -> None:
        namespace = event["metadata"]["namespace"]
        with suppress(StatusError):
            if told.count == 1 or not await self._counted(namespace, told, event["lastTimestamp"]):
                await self._api.create(CORE_EVENTS, namespace, event)

    async def _counted(self, namespace: str, told: Told, moment: str) -> bool:
        """Whether the Event was there and is brought up to date; Events live for an hour."""
        again = {"count": told.count, "lastTimestamp": moment, "message": told.text}
        try:
            await self._api.merge(CORE_EVENTS, namespace, told.name, again)
        except StatusError as error:
            if error.code != 404:
                raise
            return False
        return True

    def _event(self, told: Told, about: Resource, meta: Meta) -> Tree:
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": told.name, "namespace": meta.namespace or EVENTS_OF_THE_CLUSTER},
            "involvedObject": {
                "kind": about.kind,
                **({"namespace": meta.namespace} if meta.namespace else {}),
                "name": meta.name,
                "uid": meta.uid,
                "apiVersion": about.api_version,
                **({"resourceVersion": meta.resource_version} if meta.resource_version else {}),
            },
            "source": {"component": self._component},
            # Nobody reports what is combined.
            "reportingComponent": "" if told.is_combined else self._component,
            "reportingInstance": "",
            "firstTimestamp": clock.seconds(told.first),
            "lastTimestamp": timestamp(),
            "count": told.count,
            "message": told.text,
        }


def _at_once(work: Coroutine[None, None, None]) -> None:
    """Does what waits for nothing."""
    try:
        work.send(None)
    except StopIteration:
        return
    work.close()
    raise RuntimeError("an Event waits although nobody is asked about it")
