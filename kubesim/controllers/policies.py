"""The status of ValidatingAdmissionPolicies: which generation was looked at.

Expressions are not compared with the types of the kinds that a policy names, so no status has warnings about them.
"""

from __future__ import annotations

import asyncio

from msgspec import Struct

from kubeloop.objects.meta import Meta
from kubeloop.queue import Queue
from kubeloop.worker import work
from kubesim.api.verbs import Verbs
from kubesim.controllers.base import ACCOUNTS, Api, failed
from kubesim.kinds.registry import ADMISSION_POLICIES
from kubesim.store.versions import Tree

WORKERS = 5
FIRST_RETRY, LONGEST_RETRY = 0.005, 1000.0


class _Generated(Meta, frozen=True, rename="camel"):
    generation: int = 0


class _Policy(Struct, frozen=True):
    metadata: _Generated
    status: Tree = {}


class PolicyStatusController:
    """One controller; its watch is behind by the lag of the verbs."""

    def __init__(self, verbs: Verbs) -> None:
        self._api = api = Api(verbs, f"{ACCOUNTS}validatingadmissionpolicy-status-controller")
        self._policies = api.view(ADMISSION_POLICIES, _Policy)
        self._queue: Queue[str] = Queue(first_delay=FIRST_RETRY, longest_delay=LONGEST_RETRY)
        self._policies.subscribe(self._changed)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._policies.run())
            await self._policies.synced.wait()
            tasks.create_task(work(self._queue, self._sync, workers=WORKERS, failed=failed))

    def _changed(self, _old: _Policy | None, new: _Policy | None) -> None:
        if new is not None:
            self._queue.add(new.metadata.name)

    async def _sync(self, name: str) -> None:
        policy = self._policies.objects.get("", name)
        if policy is None or policy.metadata.generation <= policy.status.get("observedGeneration", 0):
            return
        checked = {"observedGeneration": policy.metadata.generation, "typeChecking": {}}
        await self._api.put_status(ADMISSION_POLICIES, policy.metadata, {**policy.status, **checked})
