"""A kubelet in the process of its cluster writes to the store; that counts as requests of its user all the same."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from kubeloop.errors import Conflict, Invalid
from kubeloop.request import MERGE_PATCH
from kubesim.kinds.registry import PODS
from kubesim.kubelet.in_process import InProcess
from kubesim.kubelet.pods import Pod
from kubesim.store.decoded import reader_of
from kubesim.store.versions import Tree
from kubesim.time import run
from tests.kubesim.hooks import HOST, Recorder, a_hook, a_rule, configure, send
from tests.kubesim.hooks import PODS as POD_PATH
from tests.kubesim.kubelets import NAMESPACE, TESTER, NearWorld

ROUNDS = "example.com/rounds"


def test_its_writes_bear_its_name() -> None:
    async def scenario() -> list[tuple[str, str, str, str]]:
        world = NearWorld(0)
        async with world.kubelet():
            world.make()
            await asyncio.sleep(3)
        entries = [each for each in world.cluster.history.entries if each.resource == PODS]
        return [(each.author.user, each.author.verb, each.author.subresource, each.event.type) for each in entries]

    assert run(scenario()) == [
        (TESTER, "create", "", "ADDED"),
        ("kubelet", "create", "binding", "MODIFIED"),
        ("kubelet", "patch", "status", "MODIFIED"),
        ("kubelet", "patch", "status", "MODIFIED"),
    ]


@pytest.mark.parametrize(
    ("subresource", "operation"), [("binding", "CREATE"), ("status", "UPDATE")], ids=["a binding", "a status"]
)
def test_who_reviews_its_writes_is_asked_about_them(subresource: str, operation: str) -> None:
    hook = Recorder()

    async def scenario() -> str:
        world = NearWorld(0)
        world.cluster.network.serve(HOST, hook)
        rule = a_rule("*", f"pods/{subresource}")
        await configure(world.cluster, "validating", "v", a_hook("one", rule, timeoutSeconds=5))
        async with world.kubelet():
            world.make()
            await asyncio.sleep(10)
        phase: str = world.pod()["status"]["phase"]
        return phase

    assert run(scenario()) == "Running"
    assert hook.asked
    assert {request["userInfo"]["username"] for _, request in hook.asked} == {"kubelet"}
    assert {(request["subResource"], request["operation"]) for _, request in hook.asked} == {(subresource, operation)}


def test_a_refused_binding_is_tried_again_until_it_is_let_pass() -> None:
    hook = Recorder(one={"allowed": False})

    async def scenario() -> tuple[str, str]:
        world = NearWorld(0)
        world.cluster.network.serve(HOST, hook)
        await configure(world.cluster, "validating", "v", a_hook("one", a_rule("*", "pods/binding")))
        async with world.kubelet():
            world.make()
            await asyncio.sleep(60)
            before = world.pod()["spec"].get("nodeName", "")
            path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/v"
            await send(world.cluster, "DELETE", path)
            await asyncio.sleep(60)
            return before, world.pod()["status"]["phase"]

    assert run(scenario()) == ("", "Running")
    assert len(hook.asked) > 1


def test_what_goes_while_nobody_tells_it_is_forgotten_and_what_comes_is_run() -> None:
    """Its watch is ended by the server, and the next one begins with what there is."""

    async def scenario() -> tuple[list[str], set[str], set[str]]:
        world = NearWorld(0)
        async with world.kubelet():
            world.make("stays")
            world.make("goes")
            await asyncio.sleep(3)
            first = {pod["metadata"]["name"]: pod["status"]["podIP"] for pod in world.pods().values()}
            world.cluster.disconnect()
            world.delete("goes")
            world.cluster.verbs.delete(PODS, NAMESPACE, "goes", grace=0, user=TESTER)
            world.make("comes")
            await asyncio.sleep(3)
            second = {pod["metadata"]["name"]: pod["status"]["podIP"] for pod in world.pods().values()}
            return sorted(second), set(first.values()), set(second.values())

    names, before, after = run(scenario())

    assert names == ["comes", "stays"]
    assert len(before) == len(after) == 2


def test_what_others_write_between_what_it_saw_and_its_write_is_heeded() -> None:
    """The annotation comes with the very write that it would have been told of."""

    async def scenario() -> tuple[bool, bool]:
        world = NearWorld(0)
        async with world.kubelet():
            world.make()
            await asyncio.sleep(0.9999)
            world.annotate("pod", "fairlead.dev/sim-hold", "true")
            await asyncio.sleep(5)
            held = world.is_ready()
            world.annotate("pod", "fairlead.dev/sim-hold", None)
            await asyncio.sleep(5)
            return held, world.is_ready()

    assert run(scenario()) == (False, True)


def test_another_pod_under_the_name_is_left_alone() -> None:
    async def scenario() -> Tree:
        world = NearWorld(0)
        world.make()
        table = world.cluster.store.table(PODS)
        seen = reader_of(Pod)(table.live[NAMESPACE, "pod"])
        world.cluster.verbs.delete(PODS, NAMESPACE, "pod", grace=0, user=TESTER)
        world.make()
        access = InProcess(world.cluster.inside("kubelet"), "")
        with pytest.raises(Invalid):
            await access.put_status(seen, {"phase": "Running"})
        with pytest.raises(Conflict):
            await access.delete(seen)
        return world.pod()

    assert run(scenario())["status"]["phase"] == "Pending"


def test_rules_hold_for_its_statuses() -> None:
    """A status that the API refuses is refused here, in the words of a client's error."""

    async def scenario() -> str:
        world = NearWorld(0)
        world.make()
        seen = reader_of(Pod)(world.cluster.store.table(PODS).live[NAMESPACE, "pod"])
        access = InProcess(world.cluster.inside("kubelet"), "")
        body = msgspec.json.encode({"status": {"qosClass": "Guaranteed"}})
        answer = await send(world.cluster, "PATCH", f"{POD_PATH}/pod/status", msgspec.json.decode(body))
        assert answer.status == 422
        with pytest.raises(Exception, match="qosClass") as refused:
            await access.put_status(seen, {"qosClass": "Guaranteed"})
        return type(refused.value).__name__

    assert run(scenario()) == "Invalid"


def test_annotations_from_a_patch_of_its_own_are_checked() -> None:
    """Nothing is lost of what others say in between: `rounds` is no word of ours and changes nothing."""

    async def scenario() -> str:
        world = NearWorld(0)
        async with world.kubelet():
            world.make()
            for number in range(10):
                await asyncio.sleep(0.1)
                change = msgspec.json.encode({"metadata": {"annotations": {ROUNDS: str(number)}}})
                world.cluster.verbs.patch(PODS, NAMESPACE, "pod", MERGE_PATCH, change, user=TESTER)
            await asyncio.sleep(3)
        assert world.is_ready()
        rounds: str = world.pod()["metadata"]["annotations"][ROUNDS]
        return rounds

    assert run(scenario()) == "9"
