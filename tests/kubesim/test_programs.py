"""Programs in pods: which Service leads to which, and when nobody answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest

from kubeloop.calls import Call, NoReply, Reply
from kubeloop.client import Client
from kubeloop.http_caller import HttpCaller
from kubeloop.request import MERGE_PATCH
from kubesim.auth.rbac import insider
from kubesim.cluster import Cluster
from kubesim.kinds.registry import PODS, SERVICES
from kubesim.kubelet import Kubelet
from kubesim.kubelet.programs import Exit, Hosted, Programs
from kubesim.kubelet.serving import serve
from kubesim.store.versions import Tree
from kubesim.time import run

NAMESPACE = "default"
TESTER = "tester"


class Echo:
    """Answers with its pod's name and what it was asked; ends when it is asked to."""

    def __init__(self, pod: Hosted, exit_: Exit) -> None:
        self.pod = pod
        self.exit = exit_
        self.stops = 0

    async def answer(self, call: Call) -> Reply:
        host = (call.header("Host") or [""])[0]
        return Reply(200, f"{self.pod.name} {call.method} {call.url} {host}".encode(), (("X", "1"), ("X", "2")))

    def changed(self, pod: Hosted) -> None:
        self.pod = pod

    def stop(self) -> None:
        self.stops += 1


@pytest.fixture(params=[False, True], ids=["over a client", "in process"], autouse=True)
def is_near(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test with a kubelet that sends requests, and with one that reads and writes the store."""
    monkeypatch.setattr(World, "is_near", request.param)


class World:
    """A cluster, and a kubelet whose labelled pods echo."""

    is_near = False

    def __init__(self) -> None:
        self.cluster = Cluster()
        self.made: list[Echo] = []
        self.programs = Programs(self._echo)
        self.cluster.network.ask(self.programs.find)

    def _echo(self, pod: Hosted, exit_: Exit) -> Echo | None:
        if "app" not in pod.labels:
            return None
        self.made.append(Echo(pod, exit_))
        return self.made[-1]

    @asynccontextmanager
    async def kubelet(self) -> AsyncIterator[None]:
        cluster = self.cluster
        client = cluster.inside("kubelet") if self.is_near else Client(cluster.transport(insider("kubelet")))
        task = asyncio.create_task(Kubelet(client, ready_after=1.0, gone_after=5.0, programs=self.programs).run())
        try:
            yield
            assert not task.done(), task.exception()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def service(self, name: str = "web", selector: dict[str, str] | None = None, **spec: object) -> None:
        selector = {"app": "web"} if selector is None else selector
        tree: Tree = {"metadata": {"name": name}, "spec": {"selector": selector, "ports": [{"port": 80}]} | spec}
        self.cluster.verbs.create(SERVICES, NAMESPACE, tree, user=TESTER)

    def pod(self, name: str, labels: dict[str, str] | None = None) -> None:
        metadata = {"name": name, "labels": {"app": "web"} if labels is None else labels}
        tree: Tree = {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
        self.cluster.verbs.create(PODS, NAMESPACE, tree, user=TESTER)

    def patch(self, name: str, change: Tree, subresource: str = "") -> None:
        body = msgspec.json.encode(change)
        self.cluster.verbs.patch(PODS, NAMESPACE, name, MERGE_PATCH, body, subresource=subresource, user=TESTER)

    def status(self, name: str) -> Tree:
        status: Tree = self.cluster.get(PODS, NAMESPACE, name)["status"]
        return status

    async def who(self, host: str = "web.default.svc") -> str:
        """The name of the pod that answers, or why none does."""
        try:
            reply = await self.cluster.network.call(Call(method="GET", url=f"http://{host}/"))
        except NoReply as error:
            return str(error).rpartition(": ")[2]
        return reply.body.decode().split(" ")[0]


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("web.default.svc", "web-0"),
        ("web.default.svc.cluster.local", "web-0"),
        ("WEB.default.svc.cluster.local.:6878", "web-0"),
        ("web-1.web.default.svc.cluster.local", "web-1"),
        ("web-2.web.default.svc.cluster.local", "connection refused"),
        ("svc-in.default.svc", "web-0"),
        ("empty.default.svc", "connection refused"),
        ("all.default.svc", "connection refused"),
        ("other.default.svc", "no such host"),
        ("web.elsewhere.svc", "no such host"),
        ("web.default", "no such host"),
        ("a.b.web.default.svc", "no such host"),
    ],
)
def test_a_service_leads_to_the_ready_pods_that_it_selects(host: str, expected: str) -> None:
    async def scenario() -> str:
        world = World()
        for name in ("web", "svc-in"):
            world.service(name)
        world.service("empty", {"app": "none"})
        world.service("all", {})
        for name in ("web-1", "web-0"):
            world.pod(name)
        world.pod("aside", {})
        async with world.kubelet():
            await asyncio.sleep(2)
            return await world.who(host)

    assert run(scenario()) == expected


def test_a_pod_that_is_not_ready_is_reached_only_where_its_service_wants_that() -> None:
    async def scenario() -> list[str]:
        world = World()
        world.service()
        world.service("early", publishNotReadyAddresses=True)
        world.pod("web-0")
        async with world.kubelet():
            await asyncio.sleep(0.5)
            return [await world.who(), await world.who("early.default.svc")]

    assert run(scenario()) == ["connection refused", "web-0"]


def test_a_program_runs_until_its_pod_is_deleted_even_if_that_takes_long() -> None:
    async def scenario() -> tuple[list[str], int]:
        world = World()
        world.service()
        world.pod("web-0")
        async with world.kubelet():
            await asyncio.sleep(2)
            seen = [await world.who()]
            world.cluster.verbs.delete(PODS, NAMESPACE, "web-0", user=TESTER)
            await asyncio.sleep(1)
            assert "web-0" in [pod["metadata"]["name"] for pod in world.cluster.verbs.list(PODS, NAMESPACE)]
            return [*seen, await world.who()], world.made[0].stops

    assert run(scenario()) == (["web-0", "connection refused"], 1)


@pytest.mark.parametrize(
    "end",
    [
        {"metadata": {"annotations": {"fairlead.dev/sim-crash-after": "1s"}}},
        {"status": {"phase": "Failed"}},
    ],
)
def test_a_program_ends_with_its_containers(end: Tree) -> None:
    async def scenario() -> int:
        world = World()
        world.pod("web-0")
        async with world.kubelet():
            await asyncio.sleep(2)
            world.patch("web-0", end, "status" if "status" in end else "")
            await asyncio.sleep(0.2)
            return world.made[0].stops

    assert run(scenario()) == 1


def test_a_program_that_ends_by_itself_is_a_crash_and_is_started_again() -> None:
    async def scenario() -> tuple[Tree, list[str], int]:
        world = World()
        world.service()
        world.pod("web-0")
        async with world.kubelet():
            await asyncio.sleep(2)
            world.made[0].exit()
            seen = [await world.who()]
            await asyncio.sleep(0.1)
            status = world.status("web-0")
            await asyncio.sleep(3)
            return status, [*seen, await world.who()], len(world.made)

    status, seen, count = run(scenario())

    container = status["containerStatuses"][0]
    assert container["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert container["restartCount"] == 1
    assert seen == ["connection refused", "web-0"]
    assert count == 2


def test_a_program_that_has_ended_cannot_end_its_successor() -> None:
    async def scenario() -> int:
        world = World()
        world.pod("web-0")
        async with world.kubelet():
            await asyncio.sleep(2)
            world.made[0].exit()
            world.made[0].exit()
            await asyncio.sleep(5)
            restarts: int = world.status("web-0")["containerStatuses"][0]["restartCount"]
            return restarts

    assert run(scenario()) == 1


def test_a_program_hears_of_other_labels_and_is_chosen_by_them() -> None:
    async def scenario() -> tuple[list[str], str]:
        world = World()
        world.service()
        world.pod("web-0")
        async with world.kubelet():
            await asyncio.sleep(2)
            seen = [await world.who()]
            world.patch("web-0", {"metadata": {"labels": {"app": "else"}}})
            await asyncio.sleep(0.1)
            return [*seen, await world.who()], world.made[0].pod.labels["app"]

    assert run(scenario()) == (["web-0", "connection refused"], "else")


def test_one_address_serves_all_services_by_their_path() -> None:
    async def scenario() -> tuple[list[str], list[tuple[str, str]], list[str]]:
        world = World()
        world.service()
        world.service("empty", {"app": "none"})
        caller = HttpCaller()
        async with world.kubelet(), serve(world.programs) as address:
            await world.programs.synced.wait()
            world.programs.runs(Hosted(NAMESPACE, "web-0", "uid", {"app": "web"}), ready=True)
            answers, refused = [], []
            for path in ("/default/web/api/x?y=1", "/default/web:6876/", "/default/web"):
                reply = await caller(Call(method="POST", url=f"{address}{path}"))
                answers.append(reply.body.decode())
            for path in ("/default/empty/", "/default/none/", "/"):
                with pytest.raises(NoReply, match="cut off") as error:
                    await caller(Call(method="GET", url=f"{address}{path}"))
                refused.append(str(error.value))
        await caller.close()
        return answers, [pair for pair in reply.headers if pair[0] == "X"], refused

    answers, headers, refused = asyncio.run(scenario())

    assert answers == [
        "web-0 POST /api/x?y=1 web.default.svc",
        "web-0 POST / web.default.svc:6876",
        "web-0 POST / web.default.svc",
    ]
    assert headers == [("X", "1"), ("X", "2")]
    assert len(refused) == 3
