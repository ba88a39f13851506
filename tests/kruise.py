"""OpenKruise's own manager beside a real control plane: its kinds and webhooks in the cluster, and its process.

It is as an installation starts it, with the features that are on by default, but for the election, since it alone is
there, and for the limit of its requests, since many scenarios are played at once.
The API server has no network to Services, so its webhooks are called at the loopback address.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import yaml

from fairlead.plane import kruise
from fairlead.plane.build import Unavailable
from fairlead.plane.held import Held
from fairlead.plane.launch import START_TIMEOUT_SECONDS, Plane, free_port
from kubeloop.client import Client
from kubeloop.errors import AlreadyExists
from kubeloop.http_transport import HttpTransport
from kubeloop.objects.core import NAMESPACES
from kubeloop.objects.meta import Resource
from kubeloop.request import create
from kubesim.kinds.registry import MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS
from kubesim.standins.definitions import install_definitions

Tree = dict[str, Any]

HOME = "kruise-system"
HOST = "127.0.0.1"
WEBHOOKS = ("kruise-mutating-webhook-configuration", "kruise-validating-webhook-configuration")
"""Its configurations, which it looks for under these names alone."""
LOOK_EVERY = 0.1
_NAME = "kruise"


class Kruise:
    """One manager on a plane that runs. `with`, or `start` and `stop`."""

    def __init__(self, plane: Plane) -> None:
        self._plane = plane
        self._held: Held | None = None

    def start(self) -> None:
        """Returns when it is ready; raises Unavailable with what would help, or with its last words."""
        program = kruise.find(lambda _line: None, build=False)
        asyncio.run(_install(self._plane, kruise.source()))
        self._held = held = Held()
        try:
            probes = free_port()
            held.run(_NAME, _command(program, self._plane.kubeconfig, held.folder, probes))
            _until_ready(held, probes)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.close()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def last_words(self, lines: int = 15) -> str:
        return self._held.last_words(_NAME, lines) if self._held is not None else ""


def definitions(source: Path) -> tuple[Tree, ...]:
    """Of all its kinds, as the module has them."""
    found = _documents(*sorted((source / "config" / "crd" / "bases").glob("*.yaml")))
    return tuple({key: value for key, value in each.items() if key != "status"} for each in found)


def webhooks(source: Path) -> dict[Resource, Tree]:
    """Its two configurations; whom each webhook is about is partly in a second file."""
    folder = source / "config" / "webhook"
    narrowed = {
        (each["kind"], hook["name"]): hook
        for each in _documents(folder / "patch_manifests.yaml")
        for hook in each["webhooks"]
    }
    kinds = {resource.kind: resource for resource in (MUTATING_WEBHOOKS, VALIDATING_WEBHOOKS)}
    return {
        kinds[each["kind"]]: each
        | {
            "metadata": {"name": f"kruise-{each['metadata']['name']}"},
            "webhooks": [hook | narrowed.get((each["kind"], hook["name"]), {}) for hook in each["webhooks"]],
        }
        for each in _documents(folder / "manifests.yaml")
    }


async def _install(plane: Plane, source: Path) -> None:
    """What is there already stays as it is."""
    client = Client(HttpTransport(plane.config()))
    home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}
    try:
        await install_definitions(client, *definitions(source))
        for resource, tree in {NAMESPACES: home, **webhooks(source)}.items():
            with suppress(AlreadyExists):
                await client.call(create(resource, "", msgspec.json.encode(tree)))
    finally:
        await client.close()


def _command(program: Path, kubeconfig: Path, folder: Path, probes: int) -> list[str]:
    variables = {
        "KUBECONFIG": kubeconfig,
        "POD_NAMESPACE": HOME,
        "WEBHOOK_HOST": HOST,
        "WEBHOOK_PORT": free_port(),
        "WEBHOOK_CERT_DIR": folder / "certificates",
    }
    options = {
        "enable-leader-election": "false",
        "enable-pprof": "false",
        "metrics-addr": "0",
        "health-probe-addr": f"{HOST}:{probes}",
        "rest-config-qps": "1000",
        "rest-config-burst": "1000",
    }
    words = [f"{name}={value}" for name, value in variables.items()]
    return ["env", *words, str(program), *(f"--{name}={value}" for name, value in options.items())]


def _until_ready(held: Held, port: int) -> None:
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        if held.ended():
            break
        if _is_ready(port):
            return
        time.sleep(LOOK_EVERY)
    raise Unavailable(f"OpenKruise's manager is not ready; the end of its log:\n{held.last_words(_NAME)}")


def _is_ready(port: int) -> bool:
    connection = HTTPConnection(HOST, port, timeout=2)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _documents(*files: Path) -> Iterator[Tree]:
    return (tree for file in files for tree in yaml.safe_load_all(file.read_text(encoding="utf-8")) if tree)
