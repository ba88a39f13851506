"""A manager of LeaderWorkerSets as a process on a control plane: ours, or a release of upstream's.

Its kinds, accounts and webhooks are put into the cluster first. The API server has no network to Services, so webhooks
are registered by address, with a certificate for that.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from base64 import b64encode
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import msgspec
import yaml
from msgspec import Struct

from fairlead.contracts.leaderworker.install.definitions import definitions
from fairlead.contracts.leaderworker.install.objects import objects
from fairlead.contracts.leaderworker.install.values import OPERATOR, Values
from fairlead.plane.build import Unavailable
from fairlead.plane.launch import Plane, free_port
from kubeloop.client import Client
from kubeloop.errors import AlreadyExists
from kubeloop.request import Request, create, path_of
from kubesim.pki import Authority
from tests.e2e.definitions import is_established
from tests.e2e.installing import resource_of

T = TypeVar("T")
Tree = dict[str, Any]

HOME = "lws-system"
START_SECONDS = 120.0
"""How long a manager may take to be ready on a busy machine."""
LOOK_EVERY = 0.1
CONFIGURATION = {"apiVersion": "config.lws.x-k8s.io/v1alpha1", "kind": "Configuration"}
USUAL_PORT = 9443
MOUNT = Path("/tmp/k8s-webhook-server/serving-certs/tls.crt")  # noqa: S108 where installations mount it
_WEBHOOKS = ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")


class Manager(Struct, frozen=True, kw_only=True):
    """What is put into a cluster for a manager, and how it is started."""

    command: tuple[str, ...]
    definitions: tuple[Tree, ...]
    objects: tuple[Tree, ...] = ()
    """Of its installation, without the webhooks."""
    webhooks: tuple[Tree, ...] = ()
    """Its webhook configurations; without any it is told to serve none."""
    user: str = ""
    """Who it is for the API server; an administrator without a name."""
    gang_scheduler: str = ""
    reads_file: bool = True
    """Whether it takes a configuration file; else it serves at a fixed port, and makes a certificate by itself."""


def ours(*, webhooks: bool = True, gang_scheduler: str = "", workload: bool = False) -> Manager:
    """This release, with the rights of its installation and no others; the process is not of its `workload`."""
    made = objects(Values(namespace=HOME, gang_scheduler=gang_scheduler, disaggregated_sets=True))
    apart = (*_WEBHOOKS, *(() if workload else ("Deployment",)))
    return Manager(
        command=(sys.executable, "-m", "fairlead.cli.process", "lws-manager"),
        definitions=definitions(),
        objects=tuple(each for each in made if each["kind"] not in apart),
        webhooks=tuple(each for each in made if each["kind"] in _WEBHOOKS) if webhooks else (),
        user=f"system:serviceaccount:{HOME}:{OPERATOR}",
        gang_scheduler=gang_scheduler,
    )


def run(work: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`; told to end by SIGTERM, it ends what it has started first."""

    async def ended_in_order() -> T:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    try:
        return asyncio.run(ended_in_order())
    except asyncio.CancelledError:
        raise SystemExit(128 + signal.SIGTERM) from None


@asynccontextmanager
async def managed(plane: Plane, client: Client, manager: Manager, folder: Path) -> AsyncIterator[Path]:
    """While it runs, from when it is ready; answers with the file of its log. It is told to end afterwards."""
    await define(client, manager.definitions)
    for each in ({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": HOME}}, *manager.objects):
        await put(client, each)
    probes, hooks, log = free_port(), free_port() if manager.reads_file else USUAL_PORT, folder / "manager.log"
    authority = Authority()
    certificates = _certified(folder, authority)
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{HOME}")
    kubeconfig = plane.kubeconfig_for(manager.user, groups) if manager.user else plane.kubeconfig
    variables = {"KUBECONFIG": str(kubeconfig), "TMPDIR": str(folder)}
    variables |= {} if manager.webhooks else {"ENABLE_WEBHOOKS": "false"}
    if manager.reads_file:
        words = [f"--config={_configured(manager, folder, certificates, probes, hooks)}"]
    else:
        words = ["--leader-elect=false", "--metrics-bind-address=0", f"--health-probe-bind-address=127.0.0.1:{probes}"]
    with nullcontext() if manager.reads_file else _mounted():
        async with _running((*manager.command, *words), variables, log) as process:
            await _ready(process, probes, log)
            for each in manager.webhooks:
                await put(client, at_address(each, f"https://127.0.0.1:{hooks}", authority.certificate))
            yield log


async def define(client: Client, wanted: Sequence[Tree]) -> None:
    """Returns when the kinds are served."""
    for each in wanted:
        await put(client, each)
    for each in wanted:
        path = path_of(resource_of(each), "", each["metadata"]["name"])
        async with asyncio.timeout(START_SECONDS):
            while True:
                found = await client.call(Request("GET", path))
                if is_established(msgspec.json.decode(found.body)):
                    break
                await asyncio.sleep(LOOK_EVERY)


async def put(client: Client, tree: Tree) -> None:
    """What is there already stays as it is."""
    resource = resource_of(tree)
    with suppress(AlreadyExists):
        await client.call(create(resource, tree["metadata"].get("namespace", ""), msgspec.json.encode(tree)))


def at_address(configuration: Tree, address: str, authority: bytes) -> Tree:
    """The configuration with webhooks that are called there instead of by their Service."""
    bundle = b64encode(authority).decode()
    entries = [
        each | {"clientConfig": {"url": address + each["clientConfig"]["service"]["path"], "caBundle": bundle}}
        for each in configuration["webhooks"]
    ]
    return configuration | {"webhooks": entries}


def documents(*files: Path) -> tuple[Any, ...]:
    """The objects in files of YAML."""
    return tuple(tree for file in files for tree in yaml.safe_load_all(file.read_text()) if tree)


def _certified(folder: Path, authority: Authority) -> Path:
    """Where a certificate for the address is: below the folder, as where nothing is said of it."""
    made = folder / "k8s-webhook-server" / "serving-certs"
    made.mkdir(parents=True)
    pair = authority.server(("127.0.0.1",))
    (made / "tls.crt").write_bytes(pair.certificate)
    (made / "tls.key").write_bytes(pair.key)
    return made


@contextmanager
def _mounted() -> Iterator[None]:
    """The file that a release without a configuration file waits for before it starts; it is not read."""
    there = MOUNT.exists()
    MOUNT.parent.mkdir(parents=True, exist_ok=True)
    MOUNT.touch()
    try:
        yield
    finally:
        if not there:
            MOUNT.unlink(missing_ok=True)


def _configured(manager: Manager, folder: Path, certificates: Path, probes: int, hooks: int) -> Path:
    """A configuration file without election and own certificates."""
    tree: Tree = CONFIGURATION | {
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "metrics": {"bindAddress": "0"},
        "health": {"healthProbeBindAddress": f"127.0.0.1:{probes}"},
        "webhook": {"host": "127.0.0.1", "port": hooks, "certDir": str(certificates)},
    }
    if manager.gang_scheduler:
        tree["gangSchedulingManagement"] = {"schedulerProvider": manager.gang_scheduler}
    file = folder / "configuration.yaml"
    file.write_text(yaml.safe_dump(tree))
    return file


@asynccontextmanager
async def _running(
    command: Iterable[str], variables: Mapping[str, str], log: Path
) -> AsyncIterator[asyncio.subprocess.Process]:
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *command,
            env={**os.environ, **variables},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=asyncio.subprocess.STDOUT,
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            try:
                async with asyncio.timeout(START_SECONDS):
                    await process.wait()
            except TimeoutError:
                process.kill()
        await process.wait()


async def _ready(process: asyncio.subprocess.Process, port: int, log: Path) -> None:
    try:
        async with asyncio.timeout(START_SECONDS), aiohttp.ClientSession() as session:
            while process.returncode is None:
                with suppress(aiohttp.ClientError):
                    async with session.get(f"http://127.0.0.1:{port}/readyz") as answer:
                        if answer.status == 200:
                            return
                await asyncio.sleep(LOOK_EVERY)
    except TimeoutError:
        pass
    raise Unavailable(f"the manager is not ready; the end of its log:\n{_end_of(log)}")


def _end_of(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-15:])
