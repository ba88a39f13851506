"""A set to look at while its groups get a new image and an old one crashes; and how `fairlead up` serves sets."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec

from fairlead.contracts.leaderworker.decide.groups import is_running_and_ready, key_on
from fairlead.contracts.leaderworker.install.registrations import SERVICE, registrations
from fairlead.contracts.leaderworker.kinds import LEADER_WORKER_SETS, Pod
from fairlead.contracts.leaderworker.settings import Settings
from fairlead.engine.demo import NAMESPACE, Demo, Hosted, Tell, WorstSeen, create_namespace
from kubeloop import request
from kubeloop.client import Client
from kubeloop.errors import NotFound
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubesim.pods.behaviour import CRASH_AFTER, CRASH_TIMES, READY_AFTER

SET = "llm"
REPLICAS, SIZE = 3, 3
OLD, NEW = "example.test/server:1.0", "example.test/server:2.0"
SURGE, CRASHING = f"{SET}-{REPLICAS}", f"{SET}-0"
"""The first group that gets the new image, and one that has the old one until the end."""
LOOK_EVERY = 0.1
HISTORY = 5
"""Old revisions that are kept, as under `fairlead operator`."""


def _template(image: str) -> dict[str, object]:
    return {
        "metadata": {"annotations": {READY_AFTER: "2s"}},
        "spec": {"containers": [{"name": "server", "image": image}]},
    }


class _Play:
    """One play of the demo, and what became of the group that crashed."""

    def __init__(self) -> None:
        self._came_back = ""

    async def create(self, client: Client) -> None:
        await create_namespace(client)
        made = {
            "apiVersion": LEADER_WORKER_SETS.api_version,
            "kind": LEADER_WORKER_SETS.kind,
            "metadata": {"name": SET},
            "spec": {
                "replicas": REPLICAS,
                "rolloutStrategy": {
                    "type": "RollingUpdate",
                    "rollingUpdateConfiguration": {"maxUnavailable": 0, "maxSurge": 1},
                },
                "leaderWorkerTemplate": {"size": SIZE, "workerTemplate": _template(OLD)},
            },
        }
        await client.call(request.create(LEADER_WORKER_SETS, NAMESPACE, msgspec.json.encode(made)))

    async def change(self, client: Client, tell: Tell) -> None:
        """A new image; while the first group with it starts, a worker of an old group crashes."""
        body = msgspec.json.encode({"spec": {"leaderWorkerTemplate": {"workerTemplate": _template(NEW)}}})
        ref = Ref(LEADER_WORKER_SETS, NAMESPACE, SET)
        before = await _until(client, CRASHING, lambda _: True)
        await client.call(request.patch(ref, request.MERGE_PATCH, body))
        await _until(client, SURGE, lambda _: True)
        worker = f"{CRASHING}-1"
        crash = {"metadata": {"annotations": {CRASH_AFTER: "1s", CRASH_TIMES: "1"}}}
        await client.call(request.patch(Ref(PODS, NAMESPACE, worker), request.MERGE_PATCH, msgspec.json.encode(crash)))
        tell(f"{worker} of an old group crashes: its group is recreated as a whole")
        after = await _until(client, CRASHING, lambda pod: _is_another(pod, before))
        same = "its own revision" if key_on(after.metadata) == key_on(before.metadata) else "the new revision"
        image = ", ".join(each.image for each in after.spec.containers)
        self._came_back = f"group {CRASHING} crashed meanwhile and came back on {same} ({image})"
        tell(self._came_back)

    def summary(self, worst: WorstSeen) -> str:
        stands = worst.last.stands if worst.last is not None else None
        done = f"{stands.done} of {stands.total} {stands.unit}" if stands is not None else "nothing"
        return (
            f"{done} run the new image, with {worst.most_lanes} groups at most; {self._came_back}.\n"
            f"To go back to the old image: fairlead undo {SET} -n {NAMESPACE}"
        )


def _is_another(pod: Pod, before: Pod) -> bool:
    return pod.metadata.uid != before.metadata.uid and is_running_and_ready(pod)


async def _until(client: Client, name: str, holds: Callable[[Pod], bool]) -> Pod:
    """The pod of this name, once it is there and so."""
    while True:
        try:
            answer = await client.call(request.get(Ref(PODS, NAMESPACE, name)))
            if holds(pod := msgspec.json.decode(answer.body, type=Pod)):
                return pod
        except NotFound:
            pass  # it is between two lives
        await asyncio.sleep(LOOK_EVERY)


_PLAY = _Play()
ROLLOUT = Demo(
    NAMESPACE,
    SET,
    f"Three groups of {SIZE} pods get a new image, one more group at a time; an old group crashes meanwhile.",
    _PLAY.create,
    _PLAY.change,
    _PLAY.summary,
    tries=(f"fairlead history {SET} -n {NAMESPACE}", f"fairlead undo {SET} -n {NAMESPACE}"),
)
HOSTED = Hosted(
    settings=Settings(history_limit=HISTORY),
    webhooks=registrations,
    host=lambda namespace: f"{SERVICE}.{namespace}.svc",
)
