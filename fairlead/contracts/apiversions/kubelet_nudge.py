"""Has the kubelet look at a pod's volumes at once when the Secret behind mounted certificate files has changed.

A kubelet brings changed Secrets into volumes when it next looks at the pod, which takes a minute or more; it looks at
once when the pod changes. Each replica touches its own pod (section 6.1, B8).
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping

import msgspec

from fairlead.contracts.apiversions.kinds import CERTIFICATE_CHANGED
from fairlead.contracts.apiversions.settings import ApiVersionsSettings
from fairlead.engine.certificates.given_entries import NoticedSecret
from fairlead.engine.part import PartContext
from kubeloop import clock
from kubeloop.errors import KubeError
from kubeloop.informer import Change
from kubeloop.objects.core import PODS, SECRETS
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, patch

CALL_SECONDS = 10.0


class KubeletNudge:
    """Of one replica; a process that is no pod, or that reads no files, touches nothing."""

    def __init__(
        self, context: PartContext, settings: ApiVersionsSettings, environment: Mapping[str, str] = os.environ
    ) -> None:
        kept = settings.certificates
        name = settings.pod_name or environment.get("POD_NAME", "")
        self._pod = Ref(PODS, environment.get("POD_NAMESPACE", "") or context.home, name)
        self._client = (context.replica_client or context.client).within(CALL_SECONDS)
        self._log = context.log
        self._changed = asyncio.Event()
        self._is_needed = bool(name and kept.folder)
        if self._is_needed:
            informer = context.caches.informer(
                SECRETS,
                NoticedSecret,
                namespace=context.home,
                fields=f"metadata.name={kept.secret}",
                optional=True,
            )
            informer.subscribe(self._notice)

    async def run(self) -> None:
        """Until cancelled."""
        while self._is_needed:
            await self._changed.wait()
            self._changed.clear()
            await self._touch()

    async def _touch(self) -> None:
        note = {CERTIFICATE_CHANGED: f"{clock.now():%Y-%m-%dT%H:%M:%SZ}"}
        body = msgspec.json.encode({"metadata": {"annotations": note}})
        try:
            await self._client.call(patch(self._pod, MERGE_PATCH, body))
        except KubeError as error:
            help_ = "the files follow within a minute or two all the same"
            self._log.warning("pod not touched", pod=self._pod.name, error=str(error), help=help_)

    def _notice(self, change: Change[NoticedSecret]) -> None:
        if change.new is not None and not change.initial:
            self._changed.set()
