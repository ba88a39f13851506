"""Who is measured: the ideal deleter, fairlead under both of its names, the upstream operator where it is given."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import aiohttp
from msgspec import Struct

from bench.processes import Process
from fairlead.plane.launch import free_port

PEER = "PEER_ROLLOUT_OPERATOR"
"""Names the program of the upstream Go operator."""
_LOOK_EVERY = 0.05


class Subject(Struct, frozen=True):
    """One deleter of pods. The name is its user name, too."""

    name: str
    title: str
    records: bool = True
    """Whether it writes the current revision of a finished zone; the rollout then ends with that."""
    patience: float = 1.0
    """How many times the usual limit a rollout may take."""

    @property
    def program(self) -> str:
        """Of an operator that goes by the contract's flags."""
        return os.environ[PEER] if self is UPSTREAM else str(Path(sys.executable).with_name("rollout-operator"))

    def arguments(self, kubeconfig: Path, server: str, namespace: str, port: int) -> list[str]:
        """The command that runs it; `port` is for its own server."""
        match self.name:
            case "ideal":
                return [sys.executable, "-m", "bench.ideal", "--kubeconfig", str(kubeconfig), "-n", namespace]
            case "fairlead":
                program = str(Path(sys.executable).with_name("fairlead"))
                options = ["--parts", "zones", "--port", str(port), "--log-level", "warn"]
                return [program, "operator", "-n", namespace, "--kubeconfig", str(kubeconfig), *options]
            case _:
                return [
                    self.program,
                    f"-kubernetes.namespace={namespace}",
                    f"-kubernetes.config-file={kubeconfig}",
                    f"-kubernetes.api-url={server}",
                    f"-server.port={port}",
                ]


IDEAL = Subject("ideal", "ideal deleter", records=False)
FAIRLEAD = Subject("fairlead", "fairlead")
BY_CONTRACT = Subject("rollout-operator", "fairlead as rollout-operator")
"""With the contract's defaults, as the upstream operator."""
UPSTREAM = Subject("upstream", "upstream operator", patience=10.0)
OURS = (FAIRLEAD, BY_CONTRACT)


def subjects() -> list[Subject]:
    """Those that can be measured here, the ideal first."""
    return [IDEAL, *OURS, *([UPSTREAM] if os.environ.get(PEER) else [])]


def port_for(subject: Subject) -> int:
    return 0 if subject is IDEAL else free_port()


async def until_ready(process: Process, port: int, path: str = "/ready") -> None:
    """Returns when it says that it has seen the cluster: on that path, without a port on its standard output."""
    async with aiohttp.ClientSession() as session:
        while not (await _answers(session, port, path) if port else "ready" in process.last_words().split()):
            process.check()
            await asyncio.sleep(_LOOK_EVERY)


async def _answers(session: aiohttp.ClientSession, port: int, path: str) -> bool:
    try:
        async with session.get(f"http://127.0.0.1:{port}{path}") as response:
            return response.status == 200
    except aiohttp.ClientError:
        return False
