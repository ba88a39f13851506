"""Pods that come and go as their annotations say; the kubelet sees nothing but the API."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from kubeloop.errors import TransportError
from kubeloop.request import MERGE_PATCH, Request, Response, Stream, Transport, path_of
from kubesim.auth.rbac import insider
from kubesim.kinds.registry import NODES, PODS
from kubesim.pods import behaviour
from tests.e2e.clusters import RealGround, Site, everywhere
from tests.kubesim.kubelets import NAMESPACE, READY_AFTER, TESTER, World, condition, play, waiting

pytestmark = pytest.mark.fidelity


def test_a_pod_is_bound_runs_and_becomes_ready() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet():
            world.make()
            await asyncio.sleep(READY_AFTER / 2)
            halfway = world.pod()
            await asyncio.sleep(READY_AFTER)
            pod = world.pod()

        assert halfway["spec"]["nodeName"].startswith("sim-node-")
        assert halfway["status"]["phase"] == "Running"
        assert condition(halfway, "Ready")["status"] == "False"
        assert {each["type"]: each["status"] for each in pod["status"]["conditions"]} == {
            "Initialized": "True",
            "Ready": "True",
            "ContainersReady": "True",
            "PodScheduled": "True",
        }
        assert pod["status"]["podIP"].startswith("10.")
        assert pod["status"]["startTime"] == halfway["status"]["startTime"] == "2030-01-01T00:00:00Z"
        assert condition(pod, "Ready")["lastTransitionTime"] == "2030-01-01T00:00:01Z"
        assert condition(pod, "Initialized")["lastTransitionTime"] == "2030-01-01T00:00:00Z"
        assert all(each["lastProbeTime"] is None for each in pod["status"]["conditions"])
        for name, container in zip(("c", "d"), pod["status"]["containerStatuses"], strict=True):
            assert (container["name"], container["ready"], container["restartCount"]) == (name, True, 0)
            assert container["state"] == {"running": {"startedAt": "2030-01-01T00:00:00Z"}}

    play(scenario)


def test_a_whole_life_costs_four_requests() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet():
            world.make()
            await asyncio.sleep(3)
            world.delete()
            await asyncio.sleep(3)

        assert world.requests == ["POST pod/binding", "PATCH pod/status", "PATCH pod/status", "DELETE pod"]

    play(scenario)


def test_a_pod_with_readiness_gates_is_ready_when_others_say_so() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet():
            world.make(readinessGates=[{"conditionType": "one"}, {"conditionType": "two"}])
            await asyncio.sleep(3)
            waiting_for_both = world.pod()
            world.say("one", "False")
            world.say("two", "True")
            await asyncio.sleep(1)
            waiting_for_one = world.pod()
            world.say("one", "True")
            await asyncio.sleep(1)
            is_ready = world.is_ready()
            world.say("two", "False")
            await asyncio.sleep(1)

        assert condition(waiting_for_both, "ContainersReady")["status"] == "True"
        assert condition(waiting_for_both, "Ready")["reason"] == "ReadinessGatesNotReady"
        assert condition(waiting_for_one, "Ready")["message"] == (
            'the status of pod readiness gate "one" is not "True", but False'
        )
        assert is_ready
        assert not world.is_ready()

    play(scenario)


def test_containers_whose_image_is_changed_start_anew() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet():
            world.make()
            await asyncio.sleep(3)
            world.change_image("c", "i:2")
            await asyncio.sleep(READY_AFTER / 2)
            changing = world.pod()
            await asyncio.sleep(READY_AFTER)
            pod = world.pod()

        assert condition(changing, "Ready")["status"] == "False"
        assert [each["image"] for each in changing["status"]["containerStatuses"]] == ["i:2", "j:1"]
        assert world.is_ready()
        (container, _) = pod["status"]["containerStatuses"]
        assert (container["imageID"], container["restartCount"]) == ("i:2", 1)
        assert container["state"] == {"running": {"startedAt": "2030-01-01T00:00:03Z"}}

    play(scenario)


def test_a_pod_that_is_ready_at_once_costs_one_request_less() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet():
            world.make(annotations={behaviour.READY_AFTER: "0s"})
            await asyncio.sleep(3)

        assert world.requests == ["POST pod/binding", "PATCH pod/status"]
        assert world.is_ready()

    play(scenario)


def test_a_deleted_pod_is_gone_after_its_time() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet():
            world.make(annotations={behaviour.GONE_AFTER: "2s"})
            await asyncio.sleep(3)

            world.delete()
            await asyncio.sleep(1.9)
            assert "deletionTimestamp" in world.pod()["metadata"]
            await asyncio.sleep(0.2)

            assert world.pods() == {}

    play(scenario)


def test_pods_are_spread_over_the_nodes() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet():
            for number in range(6):
                world.make(f"pod-{number}")
            await asyncio.sleep(3)

        nodes = world.cluster.verbs.list(NODES)
        names = [each["metadata"]["name"] for each in nodes]
        assert nodes[0]["status"]["capacity"] == {"cpu": "64", "memory": "256Gi", "pods": "10k"}
        hosts = [pod["spec"]["nodeName"] for pod in world.pods().values()]
        assert names == ["sim-node-0", "sim-node-1", "sim-node-2"]
        assert sorted(hosts) == sorted(names * 2)

    play(scenario)


def test_every_pod_has_an_address_of_its_own() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet():
            for number in range(300):
                world.make(f"pod-{number}")
            await asyncio.sleep(3)

        assert len({pod["status"]["podIP"] for pod in world.pods().values()}) == 300

    play(scenario)


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param({"annotations": {behaviour.PENDING: "true"}}, id="that is to stay pending"),
        pytest.param({"schedulingGates": [{"name": "a.example/gate"}]}, id="that has scheduling gates"),
    ],
)
def test_a_pod_is_not_bound(pod: dict[str, Any]) -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet():
            world.make(**pod)
            await asyncio.sleep(60)

        assert "nodeName" not in world.pod()["spec"]
        assert world.pod()["status"]["phase"] == "Pending"

    play(scenario)


def test_a_pending_pod_is_bound_when_its_annotation_goes() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet():
            world.make(annotations={behaviour.PENDING: "true"})
            await asyncio.sleep(5)

            world.annotate("pod", behaviour.PENDING, None)
            await asyncio.sleep(2)

        assert world.is_ready()

    play(scenario)


def test_a_held_pod_becomes_ready_when_the_test_says_so() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet():
            world.make(annotations={behaviour.HOLD: "true"})
            await asyncio.sleep(600)
            assert not world.is_ready()

            world.annotate("pod", behaviour.HOLD, "false")
            await asyncio.sleep(0.1)

            assert world.is_ready()

    play(scenario)


def test_a_ready_pod_that_is_held_is_not_ready_any_more() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet():
            world.make()
            await asyncio.sleep(5)

            world.annotate("pod", behaviour.HOLD, "true")
            await asyncio.sleep(0.1)

        assert not world.is_ready()
        assert condition(world.pod(), "Ready")["reason"] == "ContainersNotReady"
        assert condition(world.pod(), "Ready")["lastTransitionTime"] == "2030-01-01T00:00:05Z"

    play(scenario)


def test_an_image_that_cannot_be_pulled() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet():
            world.make(annotations={behaviour.IMAGE_PULL: "fail"})
            await asyncio.sleep(60)
            assert waiting(world.pod()) == {"ImagePullBackOff"}
            assert world.pod()["status"]["phase"] == "Pending"

            world.annotate("pod", behaviour.IMAGE_PULL, None)
            await asyncio.sleep(2)

        assert world.is_ready()

    play(scenario)


def test_a_crashing_pod_counts_its_restarts_and_recovers() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet():
            world.make(annotations={behaviour.CRASH_AFTER: "2s", behaviour.CRASH_TIMES: "2"})
            await asyncio.sleep(3)
            down = world.pod()
            await asyncio.sleep(20)
            up = world.pod()

        assert waiting(down) == {"CrashLoopBackOff"}
        assert condition(down, "Ready")["status"] == "False"
        assert [each["restartCount"] for each in down["status"]["containerStatuses"]] == [1, 1]
        assert [each["restartCount"] for each in up["status"]["containerStatuses"]] == [2, 2]
        assert up["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 1
        assert condition(up, "Ready")["status"] == "True"

    play(scenario)


def test_a_flapping_pod_is_ready_every_other_time() -> None:
    async def scenario(world: World) -> None:
        seen = []
        async with world.kubelet():
            world.make(annotations={behaviour.FLAP: "2s"})
            for _ in range(6):
                await asyncio.sleep(2)
                seen.append(world.is_ready())

        assert seen == [True, False] * 3

    play(scenario)


def test_a_pod_that_hangs_stays_until_its_annotation_goes() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet():
            world.make(annotations={behaviour.HANG_TERMINATING: "true"})
            await asyncio.sleep(5)
            world.delete()
            await asyncio.sleep(600)
            assert "deletionTimestamp" in world.pod()["metadata"]

            world.annotate("pod", behaviour.HANG_TERMINATING, None)
            await asyncio.sleep(0.5)

        assert world.pods() == {}

    play(scenario)


def test_a_pod_with_finalizers_is_deleted_once_and_waits_for_them() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet():
            world.make()
            world.finalize("pod", "a.example/hold")
            await asyncio.sleep(3)
            world.delete()
            await asyncio.sleep(600)
            assert world.requests.count("DELETE pod") == 1

            world.finalize("pod")
            await asyncio.sleep(1)

        assert world.pods() == {}

    play(scenario)


def test_a_pod_that_has_ended_is_left_as_it_is() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet():
            world.make(annotations={behaviour.HOLD: "true"})
            await asyncio.sleep(3)
            body = msgspec.json.encode({"status": {"phase": "Failed"}})
            world.cluster.verbs.patch(PODS, NAMESPACE, "pod", MERGE_PATCH, body, subresource="status", user=TESTER)

            world.annotate("pod", behaviour.HOLD, None)
            await asyncio.sleep(10)

        assert world.pod()["status"]["phase"] == "Failed"

    play(scenario)


def test_conditions_of_others_are_kept() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet():
            world.make(annotations={behaviour.HOLD: "true"})
            await asyncio.sleep(3)
            mine = {"type": "a.example/Mine", "status": "True", "lastTransitionTime": "2030-01-01T00:00:00Z"}
            conditions = [*world.pod()["status"]["conditions"], mine]
            body = msgspec.json.encode({"status": {"conditions": conditions}})
            world.cluster.verbs.patch(PODS, NAMESPACE, "pod", MERGE_PATCH, body, subresource="status", user=TESTER)

            world.annotate("pod", behaviour.HOLD, None)
            await asyncio.sleep(1)

        assert world.is_ready()
        assert condition(world.pod(), "a.example/Mine") | mine == condition(world.pod(), "a.example/Mine")

    play(scenario)


def test_init_containers_are_done_and_sidecars_run() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet():
            inits = [{"name": "first", "image": "i"}, {"name": "side", "image": "i", "restartPolicy": "Always"}]
            world.make(initContainers=inits)
            await asyncio.sleep(3)

        states = {each["name"]: list(each["state"]) for each in world.pod()["status"]["initContainerStatuses"]}
        assert states == {"first": ["terminated"], "side": ["running"]}

    play(scenario)


@pytest.mark.parametrize("seed", range(10))
def test_another_kubelet_goes_on_where_the_first_stopped(seed: int) -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet():
            for number in range(20):
                world.make(f"pod-{number}")
                await asyncio.sleep(0.1)
            for number in range(5):
                world.delete(f"pod-{number}")
        addresses = {name: pod["status"].get("podIP") for name, pod in world.pods().items()}

        async with world.kubelet():
            await asyncio.sleep(5)

        assert sorted(world.pods()) == sorted(f"pod-{number}" for number in range(5, 20))
        assert all(world.is_ready(name) for name in world.pods())
        now = {name: pod["status"]["podIP"] for name, pod in world.pods().items()}
        assert len(set(now.values())) == 15
        assert all(now[name] == address for name, address in addresses.items() if address and name in now)

    play(scenario, seed)


@pytest.mark.parametrize("seed", range(10))
def test_a_pod_that_is_made_again_at_once_is_another_pod(seed: int) -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet(gone_after=0.5):
            first = world.make(annotations={behaviour.HOLD: "true"})
            await asyncio.sleep(2)
            world.cluster.verbs.delete(PODS, NAMESPACE, "pod", grace=0, user=TESTER)
            second = world.make()
            await asyncio.sleep(3)

        assert first["metadata"]["uid"] != second["metadata"]["uid"] == world.pod()["metadata"]["uid"]
        assert world.is_ready()

    play(scenario, seed)


class Failing:
    """Loses the answer to every third request, after it was carried out or before, and breaks watches."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self._count = 0

    async def send(self, request: Request) -> Response:
        self._count += 1
        if self._count % 6 == 0:
            raise TransportError("connection refused")
        response = await self._inner.send(request)
        if self._count % 3 == 0:
            raise TransportError("connection reset")
        return response

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        async with self._inner.stream(request) as opened:
            yield opened


@pytest.mark.parametrize("seed", range(10))
def test_lost_requests_are_made_good(seed: int) -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet(Failing(world.cluster.transport(insider("kubelet")))):
            for number in range(20):
                world.make(f"pod-{number}")
            await asyncio.sleep(10)
            for number in range(10):
                world.delete(f"pod-{number}")
            world.cluster.disconnect()
            await asyncio.sleep(60)

        assert sorted(world.pods()) == sorted(f"pod-{number}" for number in range(10, 20))
        assert all(world.is_ready(name) for name in world.pods())

    play(scenario, seed)


class Late:
    """Answers to writes of a status come so late that watches have shown what happened after them."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.stream = inner.stream

    async def send(self, request: Request) -> Response:
        response = await self._inner.send(request)
        if request.path.endswith("/status"):
            await asyncio.sleep(1)
        return response


def test_what_is_asked_while_an_answer_is_on_its_way_is_done() -> None:
    async def scenario(world: World) -> None:
        async with world.kubelet(Late(world.cluster.transport(insider("kubelet")))):
            world.make(annotations={behaviour.HOLD: "true"})
            await asyncio.sleep(0.5)
            assert world.pod()["status"]["phase"] == "Running"
            world.annotate("pod", behaviour.HOLD, None)
            await asyncio.sleep(5)

        assert world.is_ready()

    play(scenario)


@everywhere(controllers=False, on=("real",))
async def test_it_runs_as_a_process_of_its_own_on_a_real_cluster_and_ends_when_told(site: Site) -> None:
    assert isinstance(site.ground, RealGround)
    kubeconfig = str(site.ground.plane.kubeconfig)
    options = ("--kubeconfig", kubeconfig, "--namespace", site.namespace, "--ready-after", "0", "--gone-after", "0")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "kubesim.kubelet", *options, stdout=pipe, stderr=pipe
    )
    try:
        containers = {"containers": [{"name": "c", "image": "i:1"}]}
        await site.create(PODS, {"metadata": {"name": "pod"}, "spec": containers})
        await site.until(
            lambda: any(condition(pod, "Ready").get("status") == "True" for pod in site.history.objects(PODS).values())
        )

        await site.client.call(Request("DELETE", path_of(PODS, site.namespace, "pod")))
        await site.until(lambda: not site.history.objects(PODS))
    finally:
        process.send_signal(signal.SIGTERM)
        said = await process.communicate()

    assert (process.returncode, said) == (0, (b"", b""))
