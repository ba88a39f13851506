"""Managers of LeaderWorkerSets as processes beside a cluster: upstream's and ours, installed alike.

Both find what upstream's chart installs, have the rights of its account, and get the same configuration file, so that
one can take the other's place. A Service that leads to this machine lets the API server reach their webhooks under the
name that certificates are for. The Secret is mounted as a kubelet would do it.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from base64 import b64decode
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import yaml
from msgspec import Struct

from bench.watching import answered
from fairlead.contracts.leaderworker.kinds import LEASE
from fairlead.plane import helm, lws
from fairlead.plane.launch import free_port
from kubeloop.objects.core import LEASES, NAMESPACES, SECRETS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import Transport, create, delete, get, list_page

UPSTREAM, OURS = "upstream", "lws-manager"
HOME = "lws-system"
"""The namespace of a manager that runs outside of a cluster."""
ACCOUNT = f"system:serviceaccount:{HOME}:lws-controller-manager"
ACCOUNT_GROUPS = ("system:serviceaccounts", f"system:serviceaccounts:{HOME}")
SECRET = Ref(SECRETS, HOME, "lws-webhook-server-cert")
SERVED_NAME = f"lws-webhook-service.{HOME}.svc"
AT_WORK = {UPSTREAM: 'Starting workers\t{"controller": "pod"', OURS: "msg=ready"}
"""What each logs when it leads."""
DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
CLUSTER_WIDE = ("ClusterRole", "ClusterRoleBinding", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
LEFT_OUT = ("Deployment",)
"""Of the chart: the manager is no pod."""
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_LOOK_EVERY = 0.1
_FINE, _TAKEN = 200, 409

Tree = dict[str, Any]


class Installation(Struct, frozen=True):
    """What a manager needs on one cluster, and where it is to serve."""

    kubeconfig: Path
    """Of the account."""
    folder: Path
    webhooks: int
    probes: int
    flags: tuple[str, ...] = ()
    """That upstream's manager does not have."""

    @property
    def certificates(self) -> Path:
        """Where the Secret is mounted."""
        return self.folder / "certificates"

    def command(self, name: str) -> list[str]:
        """Of upstream's manager or of ours."""
        program = lws.find(lambda _line: None, build=False) if name == UPSTREAM else _ours()
        file = self.folder / "configuration.yaml"
        own = () if name == UPSTREAM else self.flags
        return [str(program), f"--config={file}", f"--kubeconfig={self.kubeconfig}", "--zap-log-level=2", *own]

    def write_configuration(self) -> None:
        self.certificates.mkdir(exist_ok=True)
        tree = {
            "apiVersion": "config.lws.x-k8s.io/v1alpha1",
            "kind": "Configuration",
            "health": {"healthProbeBindAddress": f"127.0.0.1:{self.probes}"},
            "metrics": {"bindAddress": f"127.0.0.1:{free_port()}"},
            "webhook": {"host": "127.0.0.1", "port": self.webhooks, "certDir": str(self.certificates)},
            "leaderElection": {"leaderElect": True},
            "internalCertManagement": {"enable": True},
        }
        (self.folder / "configuration.yaml").write_text(json.dumps(tree))

    async def mounted(self, transport: Transport) -> None:
        """Returns when a certificate is where the manager looks for it."""
        while True:
            data = secret_of((await transport.send(get(SECRET))).body)
            if data:
                break
            await asyncio.sleep(_LOOK_EVERY)
        for name, content in data.items():
            part = self.certificates / f".{name}"
            part.write_bytes(content)
            part.rename(self.certificates / name)

    async def vacated(self, transport: Transport) -> None:
        """Takes the Lease of a process that has ended away, so that the next one need not wait for it to run out."""
        await transport.send(delete(Ref(LEASES, HOME, LEASE)))


async def installed(
    kubeconfig: Path, transport: Transport, folder: Path, rendered: Sequence[Tree] = (), flags: tuple[str, ...] = ()
) -> Installation:
    """Definitions and chart of upstream's release, or what was rendered of ours; what another left is replaced."""
    made = Installation(kubeconfig, folder, free_port(), free_port(), flags)
    made.write_configuration()
    await made.vacated(transport)
    for definition in await asyncio.to_thread(definitions):
        await answered(transport, create(DEFINITIONS, "", msgspec.json.encode(definition)))
    home = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}
    await transport.send(create(NAMESPACES, "", msgspec.json.encode(home)))
    for tree in objects(rendered or await asyncio.to_thread(chart), made.webhooks):
        await _put(transport, tree)
    for definition in definitions():
        await served(transport, definition["spec"])
    return made


async def _put(transport: Transport, tree: Tree) -> None:
    group, _, version = tree["apiVersion"].rpartition("/")
    kind = tree["kind"]
    resource = Resource(group, version, f"{kind.lower()}s", kind, kind not in CLUSTER_WIDE)
    namespace = HOME if resource.namespaced else ""
    request = create(resource, namespace, msgspec.json.encode(tree))
    if (await transport.send(request)).status == _TAKEN:
        await answered(transport, delete(Ref(resource, namespace, tree["metadata"]["name"])))
        await answered(transport, request)


async def served(transport: Transport, spec: Tree) -> None:
    """Returns when the kind is served: a new one is not known at first, and then its storage is not ready."""
    names, version = spec["names"], spec["versions"][0]["name"]
    resource = Resource(spec["group"], version, names["plural"], names["kind"])
    while True:
        if (await transport.send(list_page(resource, HOME))).status == _FINE:
            return
        await asyncio.sleep(_LOOK_EVERY)


def objects(rendered: Sequence[Tree], port: int) -> Iterator[Tree]:
    """What the chart makes, for a manager whose webhooks are at a port of this machine."""
    for tree in rendered:
        if tree["kind"] == "Service":
            yield {**tree, "spec": {"type": "ExternalName", "externalName": "localhost"}}
        elif "webhooks" in tree:
            yield {**tree, "webhooks": [_at(port, each) for each in tree["webhooks"]]}
        elif tree["kind"] not in LEFT_OUT:
            yield tree


def _at(port: int, webhook: Tree) -> Tree:
    config = webhook["clientConfig"]
    return {**webhook, "clientConfig": {**config, "service": {**config["service"], "port": port}}}


@cache
def definitions() -> tuple[Tree, ...]:
    """Upstream's kinds."""
    files = sorted((lws.source() / "config/crd/bases").glob("*.yaml"))
    return tuple(yaml.load(file.read_bytes(), Loader=_LOADER) for file in files)  # noqa: S506  a safe loader


@cache
def chart() -> tuple[Tree, ...]:
    """Upstream's chart as Helm renders it, without its definitions."""
    program = helm.find(lambda _line: None, build=False)
    words = [str(program), "template", "lws", str(lws.source() / "charts/lws"), "--namespace", HOME]
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "HOME": home}
        done = subprocess.run(words, env=environment, capture_output=True, check=True, text=True)
    return tuple(tree for tree in yaml.safe_load_all(done.stdout) if tree)


def secret_of(body: bytes) -> dict[str, bytes]:
    """What a Secret holds; empty until there is a certificate in it."""
    data = msgspec.json.decode(body).get("data") or {}
    return {name: b64decode(value) for name, value in data.items()} if data.get("tls.crt") else {}


def _ours() -> Path:
    return Path(sys.executable).with_name(OURS)
