"""Processes that want one lease of a scripted server, and what that lease says."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from kubeloop.election import Election
from kubeloop.errors import NotLeader
from kubeloop.objects.core import LEASES
from kubeloop.objects.meta import Ref
from kubesim.time import run
from tests.kubeloop.scripted import Scripted, Tree

LEASE = Ref(LEASES, "ns", "fairlead")
PATH = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/fairlead"


class Candidate:
    """A process that wants to lead, comes back after a loss, and notes when it led."""

    def __init__(self, api: Scripted, name: str, *, seed: int = 0, duration: float = 15) -> None:
        self.api = api
        self.election = Election(api.client(), LEASE, name, seed=seed, duration=duration)
        self.leading = asyncio.Event()
        self.ended: list[str] = []
        self.task: asyncio.Task[None] | None = None

    async def lead(self) -> None:
        self.leading.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.leading.clear()
            self.ended.append("open" if self.passes() else "closed")

    def passes(self) -> bool:
        try:
            self.election.gate()
        except NotLeader:
            return False
        return True

    def knows(self, api: Scripted) -> bool:
        """Whether it has seen the present lease, which is what its safety after a deletion rests on."""
        uid: str = api.objects[PATH]["metadata"]["uid"]
        return self.election._seen is not None and uid.encode() in bytes(self.election._seen.metadata)

    def start(self) -> Candidate:
        self.task = asyncio.create_task(self.election.run(self.lead))
        return self

    async def stop(self) -> None:
        assert self.task is not None
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)


def play(scenario: Callable[[], Awaitable[None]], seed: int = 0) -> None:
    async def whole() -> None:
        await scenario()

    run(whole(), seed=seed, steps=200_000)


def spec(api: Scripted) -> Tree:
    found: Tree = api.objects[PATH]["spec"]
    return found


def a_lease(holder: str, **fields: object) -> Tree:
    record = {"holderIdentity": holder, "leaseDurationSeconds": 15, "leaseTransitions": 3, **fields}
    return {"metadata": {"name": "fairlead", "namespace": "ns", "labels": {"kept": "yes"}}, "spec": record}
