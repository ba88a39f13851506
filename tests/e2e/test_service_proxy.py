"""The proxy of a Service that scenarios with several replicas stand on: only ready endpoints are called."""

from __future__ import annotations

import asyncio

from kubeloop.calls import Call, Reply
from tests.e2e.clusters import SimGround, Site, everywhere
from tests.e2e.service_proxy import LOCAL, Endpoint, ServiceProxy, listening

FIRST, SECOND = Endpoint("first", "10.1.0.1"), Endpoint("second", "10.1.0.2")


async def placed(site: Site, proxy: ServiceProxy, endpoint: Endpoint) -> None:
    """Something that answers with the name of the pod."""

    async def handler(_: Call) -> Reply:
        return Reply(200, endpoint.pod.encode())

    async def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(endpoint.pod.encode())
        writer.close()

    if isinstance(site.ground, SimGround):
        proxy.place(endpoint.address, handler)
    else:
        proxy.place(endpoint.address, await listening(site, connected))


async def answer(site: Site, proxy: ServiceProxy) -> str:
    if isinstance(site.ground, SimGround):
        call = Call(method="GET", url=f"https://{proxy.host}/", headers=(), body=b"", timeout=1.0)
        return (await site.ground.cluster.network.call(call)).body.decode()
    reader, writer = await asyncio.open_connection(LOCAL, proxy.port)
    try:
        return (await reader.read()).decode()
    finally:
        writer.close()


@everywhere(controllers=False)
async def test_connections_go_to_ready_endpoints_in_turn_and_to_no_others(site: Site) -> None:
    proxy = ServiceProxy(site)
    await proxy.start()
    for each in (FIRST, SECOND):
        await placed(site, proxy, each)

    await proxy.tell(FIRST, SECOND)
    both = {await answer(site, proxy) for _ in range(4)}
    await proxy.tell(FIRST, Endpoint("second", "10.1.0.2", ready=False))
    one = {await answer(site, proxy) for _ in range(4)}

    assert both == {"first", "second"}
    assert one == {"first"}
