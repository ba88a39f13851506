"""Programs of pods at one address on the loopback interface, for clusters whose names nobody resolves.

A call that a program does not answer is cut off: whoever calls cannot tell it from a connection that was refused.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from kubeloop.calls import Call, NoReply
from kubesim.kubelet.programs import Programs

_SHUTDOWN_SECONDS = 0.1


@asynccontextmanager
async def serve(programs: Programs, *, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[str]:
    """Serves while the context is open; yields the address, to which `/NAMESPACE/SERVICE` is added. Port 0: any."""

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        call = Call(
            method=request.method,
            url=request.raw_path,
            headers=tuple(request.headers.items()),
            body=await request.read(),
        )
        try:
            reply = await programs.handle(call)
        except NoReply:
            if request.transport is not None:
                request.transport.abort()
            return web.Response(status=502)
        made = web.Response(status=reply.status, body=reply.body)
        for name, value in reply.headers:
            made.headers.add(name, value)
        return made

    runner = web.ServerRunner(
        web.Server(answer, access_log=None, handler_cancellation=True), shutdown_timeout=_SHUTDOWN_SECONDS
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        yield f"http://{host}:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()
