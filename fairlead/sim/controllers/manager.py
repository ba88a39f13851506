"""All controllers of the embedded cluster, as kube-controller-manager runs them."""

from __future__ import annotations

import asyncio

from fairlead.sim.controllers.base import LAG, Api
from fairlead.sim.controllers.garbage import GarbageCollector
from fairlead.sim.controllers.statefulset import StatefulSets
from fairlead.sim.verbs import Verbs

ACCOUNTS = "system:serviceaccount:kube-system:"


async def run(verbs: Verbs, *, lag: tuple[float, float] = LAG) -> None:
    """Until cancelled; `lag` is the range in seconds by which each watch of a controller is behind."""
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(StatefulSets(Api(verbs, f"{ACCOUNTS}statefulset-controller"), lag=lag).run())
        tasks.create_task(GarbageCollector(Api(verbs, f"{ACCOUNTS}generic-garbage-collector"), lag=lag).run())
