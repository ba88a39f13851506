"""Generations of an environment on an embedded cluster: their Services and pods, and calls to their leader API."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from fairlead.contracts.environments.stand_in.environmentd import Environments
from fairlead.contracts.environments.stand_in.rules import PREFIX
from kubeloop.calls import Call, NoReply, Reply
from kubeloop.client import Client
from kubeloop.request import MERGE_PATCH
from kubesim.auth.rbac import insider
from kubesim.cluster import Cluster
from kubesim.kinds.registry import PODS, SERVICES
from kubesim.kubelet import Kubelet
from kubesim.kubelet.programs import Programs
from kubesim.store.versions import Tree
from kubesim.time import run

T = TypeVar("T")

NAMESPACE = "default"
TESTER = "tester"
ID = "abc"
READY_AFTER = 1.0
"""Seconds until a pod is ready; its process starts when the pod comes to its node."""


class World:
    """A cluster without controllers; pods are ready a second after they were made."""

    def __init__(self, seed: int = 0) -> None:
        self.cluster = Cluster(seed=seed)
        self.environments = Environments(catch_up=5.0, promote_takes=2.0)
        self.programs = Programs(self.environments.make, extra=self.environments.record)
        self.cluster.network.ask(self.programs.find)
        self.kubelet = Kubelet(
            Client(self.cluster.transport(insider("kubelet"))), ready_after=READY_AFTER, programs=self.programs
        )

    def make(self, generation: int, *, service: bool = True, name: str = "", **says: str) -> None:
        """A generation's Service and its pod; `says` are annotations of the stand-in, with `_` for `-`."""
        full = f"mz{ID}-environmentd-{generation}"
        labels = {
            "materialize.cloud/app": "environmentd",
            "materialize.cloud/mz-resource-id": ID,
            "materialize.cloud/name": full,
        }
        if service:
            spec = {"clusterIP": "None", "selector": {"materialize.cloud/name": full}, "ports": [{"port": 6878}]}
            self.cluster.verbs.create(SERVICES, NAMESPACE, {"metadata": {"name": full}, "spec": spec}, user=TESTER)
        annotations = {"materialize.cloud/generation": str(generation)} | _annotations(says)
        metadata = {"name": name or f"{full}-0", "labels": labels, "annotations": annotations}
        pod = {"metadata": metadata, "spec": {"containers": [{"name": "environmentd", "image": "i:1"}]}}
        self.cluster.verbs.create(PODS, NAMESPACE, pod, user=TESTER)

    def say(self, generation: int, **says: str | None) -> None:
        """Changes annotations of a living pod; None takes one away."""
        body = msgspec.json.encode({"metadata": {"annotations": _annotations(says)}})
        self.cluster.verbs.patch(PODS, NAMESPACE, self.pod_name(generation), MERGE_PATCH, body, user=TESTER)

    def delete(self, generation: int) -> None:
        self.cluster.verbs.delete(PODS, NAMESPACE, self.pod_name(generation), user=TESTER)

    def pod(self, generation: int) -> Tree:
        return self.cluster.get(PODS, NAMESPACE, self.pod_name(generation))

    def restarts(self, generation: int) -> int:
        count: int = self.pod(generation)["status"]["containerStatuses"][0]["restartCount"]
        return count

    def is_ready(self, generation: int) -> bool:
        conditions = self.pod(generation)["status"]["conditions"]
        return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)

    @staticmethod
    def pod_name(generation: int) -> str:
        return f"mz{ID}-environmentd-{generation}-0"

    async def call(
        self, generation: int, path: str, method: str = "POST", body: bytes = b"", cookie: str = ""
    ) -> Reply:
        host = f"mz{ID}-environmentd-{generation}.{NAMESPACE}.svc.cluster.local:6878"
        headers = (("Cookie", cookie),) if cookie else ()
        sent = Call(method=method, url=f"http://{host}{path}", body=body, headers=headers, timeout=10)
        return await self.cluster.network.call(sent)

    async def status(self, generation: int) -> str:
        """What the leader API says; `refused` when nobody answers."""
        try:
            reply = await self.call(generation, "/api/leader/status", "GET")
        except NoReply:
            return "refused"
        said: str = msgspec.json.decode(reply.body)["status"]
        return said

    async def promote(self, generation: int) -> Reply:
        return await self.call(generation, "/api/leader/promote")

    async def led_by(self, generation: int) -> None:
        """Makes a generation and promotes it; it leads afterwards."""
        self.make(generation, catch_up="0s", promote_takes="0s")
        await asyncio.sleep(2)
        await self.promote(generation)


def play(scenario: Callable[[World], Awaitable[T]], seed: int = 0) -> T:
    """Runs a scenario beside the kubelet, in virtual time; a kubelet that fails fails it."""

    async def main() -> T:
        world = World(seed)
        running = asyncio.create_task(world.kubelet.run())
        try:
            answer = await scenario(world)
            assert not running.done(), running.exception()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        return answer

    return run(main(), seed=seed)


def _annotations(says: dict[str, str] | dict[str, str | None]) -> dict[str, str | None]:
    return {f"{PREFIX}{key.replace('_', '-')}": value for key, value in says.items()}
