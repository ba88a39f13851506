"""`fairlead get` asks an operator process through the API server's proxy, on a port that it really serves."""

from __future__ import annotations

import socket

import aiohttp
import msgspec
from msgspec import structs

from fairlead.contracts.zones.kinds import PAUSED
from fairlead.core.explain import Explain, RolloutList
from kubeloop.calls import Call, Reply
from kubeloop.http_caller import HttpCaller
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS
from tests.e2e.clusters import Site, everywhere
from tests.e2e.processes import Program, contract, started
from tests.e2e.programs import finished
from tests.e2e.rollouts import three_zones
from tests.e2e.served import ServedGround
from tests.e2e.zones import PREFIX, change

POD = "rollout-operator-5d4f"


def own_address() -> str:
    """Of this machine, as others see it: the API server refuses the loopback. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        address: str = probe.getsockname()[0]
    return address


async def as_a_pod(site: Site, program: Program, caller: HttpCaller) -> None:
    """The process as the pod that it would be, at an address where it is found."""
    port, address = await program.probes(), own_address()
    if isinstance(site.ground, ServedGround):

        async def forward(call: Call) -> Reply:
            return await caller(structs.replace(call, url=f"http://127.0.0.1:{port}{call.url}"))

        site.ground.cluster.network.serve(f"{address}:{port}", forward)
    container = {
        "name": "rollout-operator",
        "image": "fairlead:1",
        "ports": [{"name": "http-metrics", "containerPort": port}],
    }
    metadata = {"name": POD, "labels": {"app.kubernetes.io/name": "rollout-operator"}}
    status = {"phase": "Running", "podIP": address, "podIPs": [{"ip": address}]}
    spec = {"nodeName": "elsewhere", "containers": [container], "automountServiceAccountToken": False}
    await site.create(PODS, {"metadata": metadata, "spec": spec}, status=status)


async def shown(site: Site) -> Explain:
    config = site.server.kubeconfig
    listed = await finished("fairlead", "get", "-n", site.namespace, "-o", "json", kubeconfig=config)
    assert (listed.code, listed.err) == (0, "")
    (one,) = msgspec.json.decode(listed.out, type=RolloutList).items
    return one


@everywhere(controllers=True, on=("served", "real"))
async def test_get_shows_the_word_of_an_operator_process_while_it_runs_and_works_it_out_after(site: Site) -> None:
    caller = HttpCaller()
    try:
        await _asked_and_worked_out(site, caller)
    finally:
        await caller.close()


async def _asked_and_worked_out(site: Site, caller: HttpCaller) -> None:
    await three_zones(site)
    # Without webhooks the process needs nothing but the cluster.
    words = [word for word in contract(site) if not word.startswith("-server-tls")]
    async with started(words) as program:
        await program.said("msg=ready")
        await as_a_pod(site, program, caller)
        await change(site, STATEFULSETS, f"{PREFIX}a", {"metadata": {"annotations": {PAUSED: "true"}}})
        url = f"http://127.0.0.1:{await program.probes()}/fairlead/explain?namespace={site.namespace}"

        async def is_decided() -> bool:
            async with aiohttp.ClientSession() as session, session.get(url) as answer:
                return b'"Paused"' in await answer.read()

        await site.until(is_decided, every=0.1)
        told = await shown(site)

        assert told.source
        assert (told.source.by, told.source.name) == ("operator", f"pod {POD}")
        assert told.source.decided_at is not None
        assert told.stands.lanes[0].phase == "Paused"
        assert await program.stop() == 0

    alone = await shown(site)

    assert alone.source
    assert alone.source.by == "command"
    assert f"pod {POD} cannot be asked" in alone.source.why
    assert (alone.stands.phase, alone.stands.lanes) == (told.stands.phase, told.stands.lanes)
