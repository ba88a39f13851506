"""The real control plane: what it grants, and that it starts and ends cleanly."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from fairlead.plane import held, launch
from fairlead.plane.build import PROGRAMS, Unavailable
from fairlead.plane.launch import Plane, PortTaken
from kubeloop.client import Client
from kubeloop.errors import Forbidden, TransportError, Unauthorized
from kubeloop.http_transport import HttpTransport
from kubeloop.kubeconfig import ClusterConfig
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Resource
from kubeloop.request import Request, create, path_of
from tests.plane.processes import alive, until
from tests.planes import Planes

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
ROLES = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")
ROLE_BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")


@pytest.mark.real
def test_administrator_may_create_a_pod_where_no_controllers_run(planes: Planes) -> None:
    plane = planes.get(controllers=False)

    made = call(plane.config(), create(PODS, "default", encoded(a_pod("lonely"))))

    assert "kube-controller-manager" not in plane.pids
    assert msgspec.json.decode(made)["metadata"]["name"] == "lonely"


@pytest.mark.real
def test_administrator_is_known_by_a_token_and_may_be_by_a_certificate(planes: Planes) -> None:
    plane = planes.get(controllers=False)
    by_token, by_certificate = plane.config(), plane.config_as("admin", ("system:masters",))

    assert (bool(by_token.token), bool(by_token.certificate)) == (True, False)
    assert (bool(by_certificate.token), bool(by_certificate.certificate)) == (False, True)
    for config in (by_token, by_certificate):
        assert call(config, Request("GET", path_of(ROLES)))


@pytest.mark.real(controllers=True)
def test_controllers_make_the_pods_of_a_statefulset(planes: Planes) -> None:
    plane = planes.get(controllers=True)
    statefulset = {
        "metadata": {"name": "made"},
        "spec": {
            "serviceName": "made",
            "replicas": 2,
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": {"name": "made"}},
            "template": {"metadata": {"labels": {"name": "made"}}, "spec": a_pod("x")["spec"]},
        },
    }

    call(plane.config(), create(STATEFULSETS, "default", encoded(statefulset)))

    names = asyncio.run(names_of_added_pods(plane.config(), "name=made", 2))
    assert names == {"made-0", "made-1"}


@pytest.mark.real
@pytest.mark.parametrize("user", ["ana", "bearer"])
def test_user_may_do_only_what_is_granted(user: str, planes: Planes) -> None:
    """By client certificate or by token, and by either of the two it is the user that it says."""
    plane = planes.get(controllers=False)
    look = Request("GET", path_of(CONFIG_MAPS, "default"))

    with pytest.raises(Forbidden, match=f'User "{user}" cannot list'):
        call(plane.config_as(user), look)
    grant(plane, "User", user)

    assert call_until_allowed(plane.config_as(user), look)


@pytest.mark.real
def test_groups_of_a_user_count(planes: Planes) -> None:
    plane = planes.get(controllers=False)
    look = Request("GET", path_of(CONFIG_MAPS, "default"))
    grant(plane, "Group", "readers")

    assert call_until_allowed(plane.config_as("bo", ("writers", "readers")), look)
    with pytest.raises(Forbidden):
        call(plane.config_as("bo", ("writers",)), look)


@pytest.mark.real
def test_groups_cannot_be_given_to_a_user_known_by_token(planes: Planes) -> None:
    with pytest.raises(ValueError, match="bearer is known by a token"):
        planes.get(controllers=False).kubeconfig_for("bearer", ("readers",))


@pytest.mark.real
def test_credentials_of_another_plane_are_refused(planes: Planes) -> None:
    plane, other = planes.get(controllers=False), planes.get(controllers=True)
    look = Request("GET", path_of(CONFIG_MAPS, "default"))
    mistaken = msgspec.structs.replace(other.config(), server=plane.url, ca=plane.ca)
    misled = msgspec.structs.replace(plane.config(), server=other.url)

    with pytest.raises(Unauthorized):
        call(mistaken, look)
    with pytest.raises(TransportError, match="certificate"):
        call(misled, look)


@pytest.mark.real
def test_busy_port_is_left_for_another(planes: Planes, monkeypatch: pytest.MonkeyPatch) -> None:
    planes.get(controllers=False)
    free = launch.free_port
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = taken.getsockname()[1]
        ports = [busy]
        monkeypatch.setattr(launch, "free_port", lambda: ports.pop() if ports else free())

        async def start() -> tuple[str, Path]:
            async with Plane(controllers=False) as plane:
                await asyncio.to_thread(call, plane.config(), Request("GET", "/readyz"))
                return plane.url, plane.folder

        url, folder = asyncio.run(start())

    assert not ports
    assert not url.endswith(f":{busy}")
    assert not folder.exists()


@pytest.mark.real
def test_features_are_on_and_writes_are_told_where_that_is_asked_for(planes: Planes) -> None:
    """A write that is refused is told as well; reads, and writes of others, are not, but for members of a group."""
    planes.get(controllers=False)
    gate = "MaxUnavailableStatefulSet"
    template = {"metadata": {"labels": {"name": "made"}}, "spec": a_pod("x")["spec"]}
    spec = {"serviceName": "made", "selector": {"matchLabels": {"name": "made"}}, "template": template}
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 2}}
    statefulset = {"metadata": {"name": "made"}, "spec": {**spec, "updateStrategy": strategy}}

    with Plane(controllers=False, audited_users=("ana",), audited_groups=("crew",), gates=(gate,)) as plane:
        made = call(plane.config(), create(STATEFULSETS, "default", encoded(statefulset)))
        for request in (Request("GET", path_of(PODS, "default")), create(PODS, "default", encoded(a_pod("hers")))):
            with pytest.raises(Forbidden):
                call(plane.config_as("ana"), request)
        with pytest.raises(Forbidden):
            call(plane.config_as("bob", ("crew",)), Request("GET", path_of(PODS, "default")))
        told = [msgspec.json.decode(line) for line in until(plane.audit_log.read_bytes).splitlines()]

    assert msgspec.json.decode(made)["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"] == 2
    assert [(each["user"]["username"], each["verb"], each["objectRef"]["resource"]) for each in told] == [
        ("ana", "create", "pods"),
        ("bob", "list", "pods"),
    ]
    assert {each["responseStatus"]["code"] for each in told} == {403}


@pytest.mark.real(controllers=True)
def test_nothing_survives_a_killed_test_run(planes: Planes) -> None:
    planes.get(controllers=True)
    code = (
        "import sys; from fairlead.plane.launch import Plane\n"
        "with Plane() as plane: print(plane.folder, *plane.pids.values(), flush=True); sys.stdin.read()"
    )
    run = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with run:
        assert run.stdout is not None
        folder, *pids = run.stdout.readline().split()
        assert len(pids) == len(PROGRAMS) + 1
        assert all(alive(int(pid)) for pid in pids)

        run.kill()

    until(lambda: not any(alive(int(pid)) for pid in pids) and not Path(folder).exists())


def test_failing_program_is_quoted_and_nothing_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_programs(tmp_path, monkeypatch, apiserver="seq 40; echo unknown flag: --nonsense >&2; exit 2")

    with pytest.raises(
        Unavailable, match=r"(?s)^kube-apiserver ended with code 2; .*unknown flag: --nonsense"
    ) as raised:
        Plane().start()

    assert len(str(raised.value).splitlines()) == 16
    assert [path.name for path in tmp_path.iterdir()] == ["programs"]


def test_ports_are_tried_only_so_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = tmp_path / "tries"
    use_programs(tmp_path, monkeypatch, apiserver=f"echo x >>{tries}; echo bind: address already in use; exit 1")

    with pytest.raises(PortTaken):
        Plane().start()

    assert len(tries.read_text().splitlines()) == launch.ATTEMPTS


@pytest.mark.real
def test_a_taken_port_of_another_program_is_exchanged_also_when_the_own_one_was_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own, other = launch.free_port(), launch.free_port()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        chosen = iter([taken.getsockname()[1], other])
        monkeypatch.setattr(launch, "free_port", lambda: next(chosen))

        with Plane(port=own) as plane:
            assert plane.url == f"https://127.0.0.1:{own}"

    assert list(chosen) == []


def test_silent_program_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_programs(tmp_path, monkeypatch, apiserver="echo still thinking; exec sleep 600")
    monkeypatch.setattr(launch, "START_TIMEOUT_SECONDS", 0.5)

    with pytest.raises(Unavailable, match=r"(?s)did not answer within .*still thinking"):
        Plane().start()

    assert [path.name for path in tmp_path.iterdir()] == ["programs"]


def test_plane_that_does_not_run_has_no_kubeconfig() -> None:
    plane = Plane()

    plane.stop()

    with pytest.raises(RuntimeError, match="does not run"):
        assert plane.kubeconfig


def use_programs(folder: Path, monkeypatch: pytest.MonkeyPatch, *, apiserver: str) -> None:
    """An etcd that only makes its socket, and an API server that does this."""
    monkeypatch.setattr(held, "_parent", lambda: folder)
    programs = folder / "programs"
    programs.mkdir()
    etcd = 'for flag; do case $flag in --listen-client-urls=*) touch "${flag#*unix://}";; esac; done; exec sleep 600'
    for name, script in (("etcd", etcd), ("kube-apiserver", apiserver), ("kube-controller-manager", "exit 1")):
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o700)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(programs))


def call(config: ClusterConfig, request: Request) -> bytes:
    async def send() -> bytes:
        client = Client(HttpTransport(config))
        try:
            return (await client.call(request)).body
        finally:
            await client.close()

    return asyncio.run(send())


def call_until_allowed(config: ClusterConfig, request: Request) -> bytes:
    """The API server's authorizer learns of a new binding by a watch of its own."""

    def attempt() -> bytes:
        try:
            return call(config, request)
        except Forbidden:
            return b""

    return until(attempt)


def grant(plane: Plane, kind: str, name: str) -> None:
    """Lets them list the ConfigMaps of the default namespace."""
    rule = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}
    role = {"metadata": {"generateName": "granted-"}, "rules": [rule]}
    made = msgspec.json.decode(call(plane.config(), create(ROLES, "default", encoded(role))))
    binding = {
        "metadata": {"generateName": "granted-"},
        "subjects": [{"kind": kind, "name": name, "apiGroup": ROLES.group}],
        "roleRef": {"kind": "Role", "name": made["metadata"]["name"], "apiGroup": ROLES.group},
    }
    call(plane.config(), create(ROLE_BINDINGS, "default", encoded(binding)))


async def names_of_added_pods(config: ClusterConfig, labels: str, count: int) -> set[str]:
    client = Client(HttpTransport(config))
    names: set[str] = set()
    query = (("watch", "true"), ("labelSelector", labels))
    try:
        async with asyncio.timeout(60), client.stream(Request("GET", path_of(PODS, "default"), query=query)) as lines:
            async for line in lines:
                names.add(msgspec.json.decode(line)["object"]["metadata"]["name"])
                if len(names) == count:
                    break
    finally:
        await client.close()
    return names


def a_pod(name: str) -> dict[str, dict[str, object]]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "main", "image": "none"}]}}


def encoded(tree: object) -> bytes:
    return msgspec.json.encode(tree)


@pytest.mark.real
def test_a_program_that_ended_by_itself_is_told(planes: Planes) -> None:
    planes.get(controllers=False)  # skips where there is none
    with Plane(controllers=False) as plane:
        before = plane.lost()
        subprocess.run(["/bin/kill", "-9", str(plane.pids["etcd"])], check=True)

        told = until(plane.lost)

    assert before == ""
    assert told == "etcd ended with code -9: start anew"


@pytest.mark.real
def test_a_start_that_is_given_up_leaves_nothing(planes: Planes) -> None:
    planes.get(controllers=False)
    plane = Plane(controllers=False)
    folders: list[Path] = []

    async def scenario() -> None:
        starting = asyncio.create_task(plane.__aenter__())
        while not folders:
            await asyncio.sleep(0)
            if plane._held is not None:
                folders.append(plane.folder)
        starting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await starting

    asyncio.run(scenario())

    assert not folders[0].exists()
    with pytest.raises(RuntimeError, match="does not run"):
        plane.pids  # noqa: B018


@pytest.mark.real
def test_a_port_of_ones_own_that_is_taken_is_not_exchanged_for_another(planes: Planes) -> None:
    planes.get(controllers=False)
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(PortTaken):
        Plane(controllers=False, port=taken.getsockname()[1]).start()
