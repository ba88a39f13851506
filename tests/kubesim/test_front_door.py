"""What others use of kubesim: its names, its cluster in virtual time, its command."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import kubesim
from kubeloop import clock
from kubeloop.calls import Call, Reply
from kubeloop.client import Client
from kubeloop.http_transport import HttpTransport
from kubeloop.kubeconfig import load
from kubeloop.objects.core import PODS
from kubesim import VirtualCluster
from kubesim.kinds.registry import MUTATING_WEBHOOKS, NAMESPACES, STATEFUL_SETS
from kubesim.store.versions import Tree

ROOT = Path(__file__).parent.parent.parent
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "one"},
    "spec": {"containers": [{"name": "main", "image": "example.test/main:1.0"}]},
}


def test_importing_it_imports_nothing_else() -> None:
    program = "import sys, kubesim; print([name for name in sys.modules if name.startswith(('kubesim.', 'kubeloop'))])"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)

    assert done.stdout == "[]\n"


def test_what_it_promises_is_there_and_nothing_else() -> None:
    from kubesim.cluster import Cluster
    from kubesim.kubelet import Kubelet
    from kubesim.served import ServedCluster
    from kubesim.time import run

    expected = [Cluster, Kubelet, ServedCluster, VirtualCluster, run]
    assert [getattr(kubesim, name) for name in kubesim.__all__] == expected
    assert set(kubesim.__all__) <= set(dir(kubesim))
    with pytest.raises(AttributeError, match="has no attribute 'Clutser'"):
        kubesim.Clutser  # noqa: B018


def test_a_virtual_cluster_runs_pods_and_its_conditions_are_met_when_they_are() -> None:
    async def scenario(world: VirtualCluster) -> tuple[float, str]:
        await world.create(PODS, "default", POD)

        async def is_ready() -> bool:
            found = await world.get(PODS, "default", "one")
            conditions = found["status"].get("conditions", []) if found is not None else []
            return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)

        took = await world.until(is_ready)
        await world.patch(PODS, "default", "one", {"metadata": {"labels": {"a": "b"}}})
        (pod,) = await world.list(PODS, "default")
        return took, pod["metadata"]["labels"]["a"]

    took, label = VirtualCluster(ready_after=90.0).play(scenario)

    assert 90 <= took < 91
    assert label == "b"


def test_what_is_never_met_says_so_with_its_seed() -> None:
    async def scenario(world: VirtualCluster) -> None:
        async def never() -> bool:
            return False

        began = clock.monotonic()
        with pytest.raises(AssertionError, match=r"not met within 50 seconds \(seed 7\)"):
            await world.until(never, within=50.0)
        assert clock.monotonic() - began == pytest.approx(50)

    VirtualCluster(7).play(scenario)


def test_a_cluster_is_played_on_once() -> None:
    async def scenario(world: VirtualCluster) -> int:
        return world.seed

    world = VirtualCluster(3)

    assert world.play(scenario) == 3
    with pytest.raises(RuntimeError, match="make another VirtualCluster"):
        world.play(scenario)


def test_what_a_scenario_raises_is_raised_as_it_is() -> None:
    async def scenario(_: VirtualCluster) -> None:
        await asyncio.sleep(1)
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        VirtualCluster().play(scenario)


def test_a_controller_that_fails_ends_the_scenario(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the scenario would wait for ever for what nobody does any more."""

    async def failing(_: object) -> None:
        await asyncio.sleep(60)
        raise LookupError("theirs")

    async def scenario(_: VirtualCluster) -> None:
        await asyncio.sleep(3600)

    monkeypatch.setattr(kubesim.Cluster, "run", failing)

    with pytest.raises(LookupError, match="theirs"):
        VirtualCluster().play(scenario)


async def _busy(done: list[str]) -> None:
    try:
        await asyncio.sleep(3600)
        done.append("an hour")
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        done.append("killed")
        raise


def test_an_operator_is_at_work_beside_the_scenario_and_killed_in_the_end() -> None:
    async def scenario(world: VirtualCluster) -> list[str]:
        done: list[str] = []
        async with world.beside(_busy(done)):
            await asyncio.sleep(5400)
            done.append("half an hour later")
        return done

    assert VirtualCluster().play(scenario) == ["an hour", "half an hour later", "killed"]


def test_what_an_operator_fails_of_fails_the_scenario_at_once() -> None:
    async def failing() -> None:
        await asyncio.sleep(60)
        raise LookupError("its own")

    async def scenario(world: VirtualCluster) -> None:
        async with world.beside(failing()):
            await asyncio.sleep(3600)

    async def timed(world: VirtualCluster) -> float:
        with pytest.raises(LookupError, match="its own"):
            await scenario(world)
        return clock.monotonic()

    assert VirtualCluster().play(timed) == pytest.approx(60)


def test_what_a_scenario_fails_of_beside_an_operator_is_raised_as_it_is() -> None:
    done: list[str] = []

    async def scenario(world: VirtualCluster) -> None:
        async with world.beside(_busy(done)):
            raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        VirtualCluster().play(scenario)


def test_the_same_seed_gives_the_same_run() -> None:
    async def scenario(world: VirtualCluster) -> list[tuple[str, str, str]]:
        await world.create(PODS, "default", POD)
        await world.until(lambda: _has_ip(world))
        return [(entry.at.isoformat(), entry.name, entry.user) for entry in world.cluster.history]

    first, again, other = (VirtualCluster(seed).play(scenario) for seed in (1, 1, 2))

    assert first == again
    assert first != other


async def _has_ip(world: VirtualCluster) -> bool:
    found = await world.get(PODS, "default", "one")
    return found is not None and "podIP" in found["status"]


@contextmanager
def _up(*options: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "kubesim", *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=_environment()
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_the_command_serves_a_cluster_until_it_is_interrupted(tmp_path: Path, ending: signal.Signals) -> None:
    config = tmp_path / "my kubeconfig"

    async def named() -> list[str]:
        client = Client(HttpTransport(load([config])))
        try:
            return [each["metadata"]["name"] for each in (await client.list(NAMESPACES, dict)).items]
        finally:
            await client.close()

    with _up("--kubeconfig-out", str(config), "--seed", "3") as process:
        assert process.stdout is not None
        said = [process.stdout.readline() for _ in range(4)]
        names = asyncio.run(named())
        process.send_signal(ending)
        _, complaint = process.communicate(timeout=30)

    assert said[1] == f"  export KUBECONFIG='{config}'\n"
    assert said[3] == "Press Ctrl-C to end it.\n"
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]
    assert (process.returncode, complaint) == (0, "")
    assert config.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("contexts: [{name: prod}]\n", "is a kubeconfig of other clusters, or none at all: choose another"),
        ("{", "is a kubeconfig of other clusters, or none at all: choose another"),
    ],
)
def test_a_kubeconfig_of_somebody_else_is_left_alone(tmp_path: Path, content: str, words: str) -> None:
    config = tmp_path / "kubeconfig"
    config.write_text(content)

    with _up("--kubeconfig-out", str(config)) as process:
        _, complaint = process.communicate(timeout=30)

    assert process.returncode == 1
    assert complaint == f"kubesim: {config} {words} --kubeconfig-out\n"
    assert config.read_text() == content


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--port", "70000"), "it must be a port from 0 to 65535, not 70000"),
        (("--speed", "0"), "it must be a number above 0 and at most 100, not 0"),
    ],
)
def test_a_wrong_option_is_said_in_one_sentence(options: tuple[str, ...], words: str) -> None:
    with _up(*options) as process:
        _, complaint = process.communicate(timeout=30)

    assert process.returncode == 2
    assert words in complaint


def test_a_webhook_in_a_virtual_cluster_makes_the_pods_of_a_set_what_they_are() -> None:
    """It is found by the Service that its configuration names."""

    async def joined(call: Call) -> Reply:
        review = json.loads(call.body)
        index = review["request"]["name"].rpartition("-")[2]
        patch = [
            {"op": "add", "path": "/metadata/labels/group", "value": "first"},
            {"op": "add", "path": "/spec/containers/0/env", "value": [{"name": "INDEX", "value": index}]},
        ]
        response = {
            "uid": review["request"]["uid"],
            "allowed": True,
            "patchType": "JSONPatch",
            "patch": base64.b64encode(json.dumps(patch).encode()).decode(),
        }
        return Reply(200, json.dumps(review | {"response": response}).encode())

    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    hook = {
        "name": "groups.example.test",
        "clientConfig": {"service": {"namespace": "default", "name": "groups", "path": "/pods"}},
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    labels = {"app": "web"}
    spec = {
        "replicas": 3,
        "serviceName": "web",
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": POD["spec"]},
    }

    async def scenario(world: VirtualCluster) -> list[Tree]:
        world.cluster.network.serve("groups.default.svc", joined)
        await world.create(MUTATING_WEBHOOKS, "", {"metadata": {"name": "groups"}, "webhooks": [hook]})
        await world.create(STATEFUL_SETS, "default", {"metadata": {"name": "web"}, "spec": spec})

        async def are_ready() -> bool:
            found = await world.get(STATEFUL_SETS, "default", "web")
            return found is not None and found["status"].get("readyReplicas") == 3

        await world.until(are_ready)
        return [await world.get(PODS, "default", f"web-{number}") or {} for number in range(3)]

    pods = VirtualCluster().play(scenario)

    assert [pod["metadata"]["labels"]["group"] for pod in pods] == ["first"] * 3
    assert [pod["spec"]["containers"][0]["env"][0]["value"] for pod in pods] == ["0", "1", "2"]
    assert [pod["status"]["phase"] for pod in pods] == ["Running"] * 3
