"""What this replica can convert, written on its own pod, so that the leader knows whom API servers may ask
(section 2.4)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping

import msgspec
from structlog.types import FilteringBoundLogger

from fairlead.contracts.apiversions.kinds import CONVERTIBLE
from fairlead.contracts.apiversions.rule_book import RuleBook
from fairlead.contracts.apiversions.settings import ApiVersionsSettings
from fairlead.core.act import EventNote
from fairlead.engine.decide.replicas import written
from fairlead.engine.part import PartContext
from kubeloop.client import Client
from kubeloop.errors import Forbidden, KubeError
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, patch

FIRST_DELAY, LONGEST_DELAY = 1.0, 30.0
WRITTEN_AGAIN = 300.0
"""Seconds after which it is written although nothing has changed here: somebody else may have changed it."""


class ConvertibleNote:
    """Of one replica; a process that is no pod writes none."""

    def __init__(
        self,
        context: PartContext,
        settings: ApiVersionsSettings,
        book: RuleBook,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        name = settings.pod_name or environment.get("POD_NAME", "")
        self._pod = Ref(PODS, environment.get("POD_NAMESPACE", "") or context.home, name) if name else None
        self._client: Client = (context.replica_client or context.client).within(10.0)
        self._log: FilteringBoundLogger = context.log
        self._tell: Callable[[EventNote], None] = context.tell
        self._conversion = context.conversion
        self._book = book
        self._changed = asyncio.Event()
        book.subscribe(lambda *_: self._changed.set())

    async def run(self) -> None:
        """Until cancelled."""
        if self._pod is None:
            return
        delay, seconds = FIRST_DELAY, 0.0
        while True:
            try:
                async with asyncio.timeout(seconds):
                    await self._changed.wait()
            except TimeoutError:
                pass
            self._changed.clear()
            if await self._write(self._pod):
                delay, seconds = FIRST_DELAY, WRITTEN_AGAIN
            else:
                seconds, delay = delay, min(2 * delay, LONGEST_DELAY)

    async def _write(self, pod: Ref) -> bool:
        loaded = {crd: each.versions for crd, each in self._book.loaded.items() if each.versions}
        of_others = self._conversion.kinds if self._conversion is not None else {}
        text = written({**loaded, **of_others})
        body = msgspec.json.encode({"metadata": {"annotations": {CONVERTIBLE: text}}})
        try:
            await self._client.call(patch(pod, MERGE_PATCH, body))
        except KubeError as error:
            advice = "allow patch of pods in the operator's namespace" if isinstance(error, Forbidden) else ""
            self._log.warning("what can be converted is not on the pod", pod=pod.name, error=str(error), help=advice)
            return False
        return True
