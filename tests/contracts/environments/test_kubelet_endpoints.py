"""The kubelet as a process answers for the pods it runs, on both clusters, at one address."""

from __future__ import annotations

import asyncio
import signal
import sys

import msgspec

from fairlead.contracts.environments.stand_in.environmentd import PROGRAM
from kubeloop.calls import Call, NoReply
from kubeloop.http_caller import HttpCaller
from kubeloop.objects.core import PODS, SERVICES
from tests.e2e.clusters import Site, everywhere

LABELS = {
    "materialize.cloud/app": "environmentd",
    "materialize.cloud/mz-resource-id": "abc",
    "materialize.cloud/name": "mzabc-environmentd-1",
}


async def make_generation(site: Site) -> None:
    name = LABELS["materialize.cloud/name"]
    selector = {"materialize.cloud/name": name}
    await site.create(SERVICES, {"metadata": {"name": name}, "spec": {"selector": selector, "ports": [{"port": 6878}]}})
    annotations = {
        "materialize.cloud/generation": "1",
        "fairlead.dev/environmentd-catch-up": "0s",
        "fairlead.dev/environmentd-promote-takes": "0s",
    }
    metadata = {"name": f"{name}-0", "labels": LABELS, "annotations": annotations}
    await site.create(PODS, {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i:1"}]}})


async def told(caller: HttpCaller, method: str, url: str) -> object:
    """The answer's content; None while nobody answers."""
    try:
        reply = await caller(Call(method=method, url=url))
    except NoReply:
        return None
    return msgspec.json.decode(reply.body)


@everywhere(controllers=False, on=("served", "real"))
async def test_a_kubelet_of_its_own_answers_for_environmentd(site: Site) -> None:
    options = (
        "--kubeconfig",
        str(site.server.kubeconfig),
        "--ready-after",
        "0",
        "--endpoints",
        "0",
        "--program",
        PROGRAM,
    )
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "kubesim.kubelet", "--namespace", site.namespace, *options, stdout=pipe, stderr=pipe
    )
    caller = HttpCaller()
    try:
        assert process.stdout is not None
        word, address = (await process.stdout.readline()).decode().split()
        base = f"{address}/{site.namespace}/mzabc-environmentd-1:6878"
        await make_generation(site)

        status = await site.until(lambda: told(caller, "GET", f"{base}/api/leader/status"), every=0.05)
        promoted = await told(caller, "POST", f"{base}/api/leader/promote")
        leads = await told(caller, "GET", f"{base}/api/leader/status")
        calls = await told(caller, "GET", f"{address}/fairlead/calls")
    finally:
        await caller.close()
        process.send_signal(signal.SIGTERM)
        said = await process.communicate()

    assert (word, status, promoted) == ("endpoints", {"status": "ReadyToPromote"}, {"result": "Success"})
    assert leads == {"status": "IsLeader"}
    assert isinstance(calls, list)
    seen = [(call["method"], call["path"], call["generation"], call["port"], call["status"]) for call in calls]
    assert seen == [
        ("GET", "/api/leader/status", 1, 6878, 200),
        ("POST", "/api/leader/promote", 1, 6878, 200),
        ("GET", "/api/leader/status", 1, 6878, 200),
    ]
    assert (process.returncode, said) == (0, (b"", b""))
