"""`fairlead up --real`: the same, on etcd, kube-apiserver and kube-controller-manager as they are."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from fairlead.cli.embedded import real_host
from fairlead.cli.main import main
from fairlead.plane.build import PROGRAMS
from fairlead.plane.launch import Plane, PortTaken
from kubeloop.errors import TransportError
from kubesim.hosting import Unhostable
from tests.cli.ups import FAIRLEAD, Kubectl, finished, real_environment, started
from tests.plane.processes import alive, until

DEMOS: dict[str, Sequence[str]] = {
    "zones": ("12 of 12 pods are new and ready; at the worst moment 2 of them were out, in 1 zone.",),
    "drain": (
        r"sim-node-[01]: ingester-zone-[ab]-\d stays for now: 1 pod not ready in",
        "both nodes were drained; at the worst moment 1 pod of 1 zone was out.",
    ),
    "environments": (
        "generation 2 Promoting 1/1",
        "generation 2 serves; 2 generations were there at most, and one was ready at every moment.",
    ),
    "leaderworker": (
        "3 of 3 groups run the new image, with 4 groups at most",
        r"group llm-0 crashed meanwhile and came back on its own revision \(example.test/server:1.0\)",
    ),
    "plans": (
        r"the metric request-success-rate is \d+\.\d+, below its min 99",
        "the corrected example.test/shop:2.1 runs in all 10 pods.",
        "0 of them lost by the rollouts",
    ),
}
"""What is said on the way, in this order."""


@pytest.mark.real
@pytest.mark.long
@pytest.mark.parametrize(("demo", "said"), DEMOS.items(), ids=DEMOS)
def test_a_demo_shows_the_same_as_on_the_embedded_cluster(tmp_path: Path, demo: str, said: Sequence[str]) -> None:
    done = finished(real_environment(tmp_path), "--real", "--demo", demo, "--until-done")

    assert (done.returncode, done.stderr) == (0, "")
    assert re.search(".*".join(said), done.stdout, re.DOTALL), done.stdout
    assert "as the operator says (pod fairlead)" in done.stdout


MANIFEST = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "example.test/web:1.0"}]}
"""
BAD_SET = """\
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: llm}
spec:
  replicas: -1
  leaderWorkerTemplate:
    size: 2
    workerTemplate: {spec: {containers: [{name: server, image: "example.test/server:1.0"}]}}
"""


@pytest.mark.real
def test_kubectl_and_webhooks_work_beside_it_and_nothing_is_left_of_it(tmp_path: Path) -> None:
    (good := tmp_path / "web.yaml").write_text(MANIFEST)
    (bad := tmp_path / "set.yaml").write_text(BAD_SET)
    kubectl = Kubectl(tmp_path)
    command = (*FAIRLEAD, "up", "--real", "-f", str(good))
    with started(tmp_path, *command, variables=real_environment(tmp_path)) as (up, said):
        programs = plane_of(up.pid)
        kubectl("version", r"Server Version: v1\.36")
        kubectl("rollout status deployment/web --timeout=60s", "successfully rolled out")
        kubectl(f"create -f {bad}", "denied the request|Invalid value", code=1)
        kubectl("logs deployment/web", "no program runs in the pods of this cluster", code=1)
        second = finished(real_environment(tmp_path), "--real")

        up.send_signal(signal.SIGTERM)

        assert up.wait(120) == 0
        until(lambda: not any(map(alive, programs)))
    assert len(programs) == len(PROGRAMS) + 1
    assert "Applied from files: 1\n" in said
    assert second.returncode == 1
    assert "is of another `fairlead up`, at https://127.0.0.1:" in second.stderr


@pytest.mark.real
@pytest.mark.long
@pytest.mark.parametrize("ends", [(signal.SIGINT,), (signal.SIGTERM, signal.SIGTERM), (signal.SIGKILL,)], ids=str)
def test_a_start_that_is_broken_off_leaves_no_process(tmp_path: Path, ends: Sequence[int]) -> None:
    command = (*FAIRLEAD, "up", "--real", "--demo", "zones")
    with started(tmp_path, *command, until="are started", variables=real_environment(tmp_path)) as (up, _):
        programs = until(lambda: plane_of(up.pid))
        for each in ends:
            up.send_signal(each)

        assert up.wait(120) in (130, -signal.SIGKILL)
        until(lambda: not any(map(alive, programs)))


@pytest.mark.real
@pytest.mark.long
def test_a_program_of_the_control_plane_that_ends_is_told_in_one_sentence(tmp_path: Path) -> None:
    with started(tmp_path, *FAIRLEAD, "up", "--real", variables=real_environment(tmp_path)) as (up, _):
        etcd = next(pid for pid in plane_of(up.pid) if b"--data-dir=" in Path(f"/proc/{pid}/cmdline").read_bytes())
        subprocess.run(["/bin/kill", "-9", str(etcd)], check=True)
        _, told = up.communicate(timeout=120)

        assert told == "fairlead: the cluster cannot go on: etcd ended with code -9: start anew\n"
        assert up.returncode == 1


@pytest.mark.parametrize(
    ("port", "program", "told"),
    [
        (7443, "kube-apiserver", "port 7443 cannot be listened on (address already in use): choose another --port"),
        (7443, "kube-controller-manager", "5 free ports that were tried for kube-controller-manager"),
        (0, "kube-apiserver", "5 free ports that were tried for kube-apiserver"),
    ],
    ids=["the one that was chosen", "another program's", "none was chosen"],
)
def test_the_port_that_is_taken_is_named_and_no_other(
    port: int, program: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def start(_: Plane) -> None:
        raise PortTaken(program, f"{program} ended with code 1")

    async def scenario() -> None:
        async with real_host._started(port):
            raise AssertionError("it has started")

    monkeypatch.setattr(Plane, "start", start)

    with pytest.raises(Unhostable) as caught:
        asyncio.run(scenario())

    assert told in str(caught.value)
    assert (f"port {port} " in str(caught.value)) is told.startswith("port")


class Lost(Plane):
    """A control plane of which this is told."""

    def __init__(self, told: str) -> None:
        self.told = told

    def lost(self) -> str:
        return self.told


@pytest.mark.parametrize(
    ("told", "raised"),
    [
        ("etcd ended with code -9: start anew", "the cluster cannot go on: etcd ended with code -9: start anew"),
        ("", "connection refused"),
    ],
)
def test_a_request_that_fails_with_the_control_plane_is_told_as_its_end(
    told: str, raised: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A demo, or files that are applied, ask the API server before anybody has looked whether it is still there."""
    monkeypatch.setattr(real_host, "CHECK_EVERY", 0.0)

    async def scenario() -> None:
        async with real_host.explained(Lost(told)):
            raise TransportError("connection refused")

    with pytest.raises(Unhostable if told else TransportError) as caught:
        asyncio.run(scenario())

    assert str(caught.value) == raised


@pytest.mark.parametrize(
    "words",
    [
        ["--speed", "10"],
        ["--save", "state"],
        ["--load", "state"],
        ["--webhook", "reviewer.shop=https://127.0.0.1:9443"],
        ["--controllers=*,-deployment-controller"],
    ],
    ids=lambda words: words[0].partition("=")[0],
)
def test_what_the_real_control_plane_cannot_do_is_refused_in_one_sentence(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["up", "--real", *words])

    (line,) = capsys.readouterr().err.splitlines()
    option = words[0].partition("=")[0]
    assert line == f"fairlead: {option} is for the embedded cluster: leave out {option}, or --real"
    assert code == 2


def test_programs_that_are_not_built_are_told_with_the_way_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))

    without_go = main(["up", "--real"]), capsys.readouterr().err
    (tmp_path / "go").touch(mode=0o700)
    with_go = main(["up", "--real"]), capsys.readouterr().err

    assert (without_go[0], with_go[0]) == (1, 1)
    assert len(without_go[1].splitlines()) == len(with_go[1].splitlines()) == 1
    assert "install Go" in without_go[1]
    assert "run `make control-plane` to build it" in with_go[1]


def plane_of(pid: int) -> list[int]:
    """The guard of its control plane, and the programs of that."""
    guards = [each for each in children_of(pid) if b"fairlead.plane.guard" in cmdline(each)]
    return [process for guard in guards for process in (guard, *children_of(guard))]


def children_of(pid: int) -> list[int]:
    try:
        tasks = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [int(each) for text in tasks for each in text.split()]


def cmdline(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""
