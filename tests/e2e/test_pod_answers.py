"""Pods that answer as their annotation says, under every name they have, in process and over real sockets."""

from __future__ import annotations

import asyncio
import json
import signal
import sys

import pytest
from aiohttp import ClientSession

from kubeloop.calls import Call, Caller, NoReply, Reply
from kubeloop.http_caller import HttpCaller
from kubeloop.objects.core import PODS, SERVICES
from kubesim.kubelet.answers import answering
from kubesim.kubelet.programs import Programs
from kubesim.pods.behaviour import HTTP
from tests.e2e.clusters import SimGround, Site, everywhere

pytestmark = pytest.mark.fidelity

RULES = {
    "/ready": 503,
    ":8080/ready": {"body": "fine"},
    "POST /prepare": {"status": 202, "body": {"timestamp": 1}, "delay": "100ms"},
}


async def make_pods(site: Site) -> str:
    """A pod behind a headless Service and behind one with an address; answers with the pod's own."""
    selector = {"app": "web"}
    ports = [{"port": 80, "targetPort": 8080}]
    await site.create(SERVICES, {"metadata": {"name": "web"}, "spec": {"selector": selector, "ports": ports}})
    headless = {"selector": selector, "clusterIP": "None", "ports": [{"port": 8080}]}
    await site.create(SERVICES, {"metadata": {"name": "peers"}, "spec": headless})
    metadata = {"name": "web-0", "labels": selector, "annotations": {HTTP: json.dumps(RULES)}}
    await site.create(PODS, {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i:1"}]}})
    await site.until(lambda: site.history.objects(PODS).get("web-0", {}).get("status", {}).get("podIP"))
    address: str = site.history.objects(PODS)["web-0"]["status"]["podIP"]
    return address


async def answered(caller: Caller, url: str, method: str = "GET") -> Reply | None:
    """None while nobody answers."""
    try:
        return await caller(Call(method=method, url=url))
    except NoReply:
        return None


def told(reply: Reply | None) -> tuple[int, bytes] | None:
    return None if reply is None else (reply.status, reply.body)


@everywhere(controllers=False, on=("sim",))
async def test_a_pod_answers_under_all_its_names(site: Site) -> None:
    assert isinstance(site.ground, SimGround)
    programs = Programs(answering)
    network = site.ground.cluster.network
    network.ask(programs.find)
    site.start_kubelet(ready_after=0.0, programs=programs)
    address = await make_pods(site)
    await asyncio.sleep(1.0)

    async def ask(host: str, path: str = "/ready", method: str = "GET") -> tuple[int, bytes] | None:
        return told(await answered(network.call, f"http://{host}{path}", method))

    names = ("web.test.svc", "web.test.svc.cluster.local", "WEB.test.svc.cluster.local.")
    assert {await ask(name) for name in names} == {(200, b"fine")}
    assert await ask("peers.test.svc:8080") == await ask("web-0.peers.test.svc:8080") == (200, b"fine")
    assert await ask("web-0.peers.test.svc") == await ask(address) == (503, b"")
    assert await ask(f"{address}:8080") == (200, b"fine")
    assert await ask(address, "/prepare", "POST") == (202, b'{"timestamp":1}')
    assert await ask(address, "/prepare") == (404, b"404 page not found\n")
    assert await ask("web-1.peers.test.svc") is await ask("other.test.svc") is await ask("127.99.9.9") is None


@everywhere(controllers=False, on=("served", "real"))
async def test_a_kubelet_of_its_own_answers_for_pods_at_one_address_and_as_a_proxy(site: Site) -> None:
    options = ("--kubeconfig", str(site.server.kubeconfig), "--ready-after", "0", "--endpoints", "0")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "kubesim.kubelet", "--namespace", site.namespace, *options, stdout=pipe, stderr=pipe
    )
    caller = HttpCaller()
    try:
        assert process.stdout is not None
        _, base = (await process.stdout.readline()).decode().split()
        address = await make_pods(site)
        place = f"{base}/{site.namespace}"

        await site.until(lambda: answered(caller, f"{place}/web:80/ready"), every=0.05)

        assert told(await answered(caller, f"{place}/web:80/ready")) == (200, b"fine")
        assert told(await answered(caller, f"{place}/web-0.peers/ready")) == (503, b"")
        assert told(await answered(caller, f"{place}/{address}:8080/ready")) == (200, b"fine")
        assert told(await answered(caller, f"{place}/web/prepare?now", "POST")) == (202, b'{"timestamp":1}')
        assert await answered(caller, f"{place}/other/ready") is None
        host = f"web-0.peers.{site.namespace}.svc.cluster.local.:8080"
        async with ClientSession() as session, session.get(f"http://{host}/ready?x=1", proxy=base) as proxied:
            assert (proxied.status, await proxied.read()) == (200, b"fine")
    finally:
        await caller.close()
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        _, said = await process.communicate()
    assert said == b""
