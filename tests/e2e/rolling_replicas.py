"""An operator of several replicas as processes behind one Service, replaced one by one as a Deployment would.

Nobody runs pods here, so this plays their kubelet and the controllers of Deployments and endpoints: a process is
started and told of as ready when its own probe says so; one that goes gets a signal first, and leaves the slice a
moment later.
Each process asks the API server under a name of its own, whose requests are in the audit log.
"""

from __future__ import annotations

import signal
import ssl
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from kubeloop.objects.core import LEASES, SECRETS
from tests.e2e.clusters import Site
from tests.e2e.operator_versions import copy_of, environment
from tests.e2e.processes import Program, started
from tests.e2e.replicated_operator import LEASE, SERVICE
from tests.e2e.service_proxy import LOCAL, Endpoint, ServiceProxy, a_pod
from tests.planes import ACCOUNTS

PROBE_SECONDS = 1.0
"""After which a kubelet gives a probe up."""
GRACE_SECONDS = 30.0
"""After which a kubelet ends a pod that has been told to."""


class Replica:
    """One process."""

    def __init__(self, number: int, version: str, program: Program) -> None:
        self.endpoint = Endpoint(f"fairlead-{number}", f"10.1.0.{number}")
        self.version = version
        self.program = program
        self.port = 0
        self._probes = 0

    @property
    def name(self) -> str:
        return self.endpoint.pod

    async def started(self) -> None:
        """Returns when its own probe says that it may be called."""
        self.port = await self.program.port()
        self._probes = await self.program.probes()

    async def ready(self) -> bool:
        """What a kubelet finds."""
        limit = aiohttp.ClientTimeout(total=PROBE_SECONDS)
        try:
            async with (
                aiohttp.ClientSession(timeout=limit) as session,
                session.get(f"http://{LOCAL}:{self._probes}/readyz") as answer,
            ):
                return answer.status == 200
        except (aiohttp.ClientError, TimeoutError):
            return False

    async def unready(self) -> bool:
        return not await self.ready()

    def signal(self, number: signal.Signals) -> None:
        self.program.process.send_signal(number)


class RollingReplicas:
    """All of one installation; `copies` are folders of the versions."""

    def __init__(self, site: Site, folder: Path, versions: tuple[str, ...], parts: str) -> None:
        self.site = site
        self.proxy = ServiceProxy(site, SERVICE)
        self.all: list[Replica] = []
        """Those that the slice names."""
        self.gone: list[Replica] = []
        self._copies = {version: copy_of(version, folder) for version in versions}
        self._parts = parts
        self._made = 0
        self._stack = AsyncExitStack()

    async def begin(self) -> None:
        await self.proxy.start()
        await self.site.history.follow(LEASES)

    async def close(self) -> None:
        await self._stack.aclose()

    async def add(self, version: str, *options: str) -> Replica:
        """Returns when the Service sends somebody there."""
        replica = await self.start(version, *options)
        await self.site.until(replica.ready, every=0.1)
        self.all.append(replica)
        await self.publish()
        return replica

    async def start(self, version: str, *options: str) -> Replica:
        self._made += 1
        name = f"fairlead-{self._made}"
        await a_pod(self.site, name)
        given: Mapping[str, str] = {
            **environment(self._copies[version]),
            "POD_NAME": name,
            "POD_NAMESPACE": self.site.namespace,
        }
        program = await self._stack.enter_async_context(started(self._command(name, options), given))
        replica = Replica(self._made, version, program)
        await replica.started()
        self.proxy.place(replica.endpoint.address, replica.port)
        return replica

    async def publish(self) -> None:
        await self.proxy.tell(*(each.endpoint for each in self.all))

    def leave(self, replica: Replica) -> None:
        self.all.remove(replica)
        self.gone.append(replica)

    async def rejoin(self, replica: Replica) -> None:
        """Its probe says again that it may be called."""
        self.gone.remove(replica)
        self.all.append(replica)
        await self.publish()

    async def ended(self) -> list[int]:
        """Exit codes of all that were told to go, each within the time that its pod is given."""
        return [await each.program.ended(within=GRACE_SECONDS) for each in self.gone]

    async def leader(self) -> Replica:
        """Who leads now, once somebody does."""

        def found() -> Replica | None:
            return next((each for each in self.all if each.name == self._holder()), None)

        leading = await self.site.until(found, every=0.1)
        assert leading is not None
        return leading

    def _holder(self) -> str:
        lease = self.site.history.objects(LEASES).get(LEASE)
        return "" if lease is None else lease["spec"].get("holderIdentity") or ""

    @property
    def holders(self) -> list[str]:
        """Who held the Lease, in order; given back in between or not."""
        held = [
            event.object["spec"].get("holderIdentity") or ""
            for event in self.site.history.of(LEASES)
            if event.name == LEASE
        ]
        return [each for each in _runs(held) if each]

    async def intruders(self) -> list[str]:
        """Writes that only a leader may send, and that came when somebody else held the Lease."""
        await self.site.history.caught_up()
        written = [each for each in self._lines() if each.is_leading]
        assert written, "nobody has ever written anything"
        return [f"{each.received} {each.name} {each.verb} {each.object_ref}" for each in written if not self._led(each)]

    def _led(self, line: _Line) -> bool:
        """Whether the last one to take the Lease before that moment is the one who wrote."""
        specs = [event.object["spec"] for event in self.site.history.of(LEASES) if event.name == LEASE]
        terms = [(each["acquireTime"], each["holderIdentity"]) for each in specs if each.get("holderIdentity")]
        before = [holder for taken, holder in terms if taken <= line.received]
        return before[-1:] == [line.name]

    def _lines(self) -> list[_Line]:
        lines = self.site.plane.audit_log.read_bytes().splitlines()
        found = [msgspec.json.decode(line, type=_Line) for line in lines]
        prefix = f"system:serviceaccount:{self.site.namespace}:"
        return [each for each in found if each.user.username.startswith(prefix)]

    async def trust(self) -> ssl.SSLContext:
        """A client that takes what the replicas show."""
        secret = await self.site.get(SECRETS, "fairlead-webhook-cert")
        assert secret is not None
        authority = msgspec.convert(secret["data"]["ca.crt"], bytes)
        return ssl.create_default_context(cadata=authority.decode())

    def _command(self, name: str, options: tuple[str, ...]) -> tuple[str, ...]:
        site = self.site
        account = f"system:serviceaccount:{site.namespace}:{name}"
        return (
            sys.executable,
            "-P",
            "-m",
            "fairlead",
            "operator",
            f"--parts={self._parts}",
            f"--kubeconfig={site.plane.kubeconfig_for(account, (ACCOUNTS, 'system:masters'))}",
            f"-n={site.namespace}",
            "--port=0",
            "--webhook-port=0",
            f"--webhook-service-name={SERVICE}",
            f"--webhook-service-namespace={site.namespace}",
            f"--webhook-service-port={self.proxy.port}",
            f"--leader-election-identity={name}",
            *options,
        )


class _User(msgspec.Struct, frozen=True):
    username: str = ""


class _Line(msgspec.Struct, frozen=True, rename="camel"):
    user: _User
    verb: str
    received: str = msgspec.field(name="requestReceivedTimestamp")
    object_ref: dict[str, Any] = {}

    @property
    def name(self) -> str:
        return self.user.username.rpartition(":")[2]

    @property
    def is_leading(self) -> bool:
        """Whether only a leader may ask for it: every replica notes on its pod what it can, and tells Events."""
        is_write = self.verb in ("create", "update", "patch", "delete", "deletecollection")
        return is_write and self.object_ref.get("resource") not in ("leases", "events", "pods")


def _runs(names: list[str]) -> list[str]:
    """Each for as long as no other comes."""
    return [each for index, each in enumerate(names) if index == 0 or names[index - 1] != each]
