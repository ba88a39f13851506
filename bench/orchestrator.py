"""`orchestratord` on the real control plane: its certificate, its flags, and when it serves."""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
from msgspec import Struct

from bench.ground import Ground
from bench.processes import Process, busy_seconds, children, cpu_seconds, running
from bench.rollout import Load
from bench.subjects import until_ready
from fairlead.plane.launch import free_port
from kubesim.pki import Authority

USER = "orchestratord"
"""As whom it is counted."""
HOST = "127.0.0.1"
START_LIMIT = 120.0
_LOOK_EVERY = 0.05


class Operator(Struct, frozen=True):
    """A running operator whose kinds are registered and whose webhook is trusted."""

    process: Process
    http: int
    https: int
    authority: str
    """PEM, of the webhook's certificate."""


@asynccontextmanager
async def operating(ground: Ground, namespace: str, folder: Path, flags: Sequence[str] = ()) -> AsyncIterator[Operator]:
    """While the context lasts; its Lease is in the namespace."""
    authority = Authority()
    pair = authority.server((HOST,))
    files = {"ca": authority.certificate, "cert": pair.certificate, "key": pair.key}
    for name, content in files.items():
        (folder / f"webhook.{name}").write_bytes(content)
    http, https = free_port(), free_port()
    command = [
        str(Path(sys.executable).with_name("orchestratord")),
        f"--kubeconfig={ground.kubeconfig_of(USER)}",
        "--cloud-provider=local",
        "--region=bench",
        "--console-image-tag-default=v26.0.0",
        "--webhook-service-name=orchestratord",
        f"--webhook-service-namespace={namespace}",
        f"--webhook-url=https://{HOST}:{https}/convert",
        f"--webhook-listen-address={HOST}:{https}",
        f"--metrics-listen-address={HOST}:{http}",
        *(f"--tls-{name}={folder / f'webhook.{name}'}" for name in files),
        *flags,
    ]
    async with running(USER, command, folder) as process:
        operator = Operator(process, http, https, authority.certificate.decode())
        async with asyncio.timeout(START_LIMIT):
            await until_ready(process, http)
            await until_healthy(operator)
        yield operator


def load_of(ground: Ground, process: Process, beside: Process) -> Load:
    """CPU so far, of an operator and its children; that of the process beside it counts as the kubelet's."""
    own = [process.pid, *children(process.pid)]
    plane = (pid for name, pid in ground.plane.pids.items() if name != "guard")
    return Load(
        cpu_seconds(own), cpu_seconds(plane), cpu_seconds([beside.pid]), cpu_seconds([os.getpid()]), busy_seconds()
    )


async def until_healthy(operator: Operator) -> None:
    context = ssl.create_default_context(cadata=operator.authority)
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session:
        while True:
            operator.process.check()
            async with session.get(f"https://{HOST}:{operator.https}/healthz") as response:
                if response.status == 200:
                    return
            await asyncio.sleep(_LOOK_EVERY)
