"""Upstream's manager of LeaderWorkerSets and ours, as processes that take turns on the real control plane."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from signal import SIGKILL

import aiohttp
import msgspec

from bench.managers import ACCOUNT, ACCOUNT_GROUPS, AT_WORK, HOME, SECRET, SERVED_NAME, Installation, installed
from fairlead.contracts.leaderworker.install.values import OPERATOR
from fairlead.contracts.leaderworker.kinds import LEADER_WORKER_SETS
from kubeloop.calls import Call, NoReply, Reply
from kubeloop.errors import ApiError
from kubeloop.request import JSON, Request, Transport, path_of
from tests.contracts.leaderworker.decide.sets import a_set
from tests.e2e.audits import denied
from tests.e2e.clusters import Site
from tests.e2e.history import Tree
from tests.e2e.leaderworker_play import FOLLOWED, Play
from tests.e2e.processes import Program, started
from tests.e2e.served import ServedGround

LATER_KIND = "disaggregatedsetrolescalers"
"""What upstream's role of 0.9 does not know yet; ours carries on without."""


class Turns:
    """One manager after the other; `play` is what they work on."""

    def __init__(self, site: Site, installation: Installation, transport: Transport) -> None:
        self.site = site
        self.play = Play(site)
        self._installation = installation
        self._transport = transport
        self._session = aiohttp.ClientSession()

    async def close(self) -> None:
        await self._session.close()

    async def forward(self, call: Call) -> Reply:
        """The embedded cluster knows nothing of Services that lead out of it."""
        url = f"https://127.0.0.1:{self._installation.webhooks}{call.url}"
        trust = _trusting(call.authority or b"")
        try:
            async with self._session.post(
                url, data=call.body, headers=dict(call.headers), ssl=trust, server_hostname=SERVED_NAME
            ) as answer:
                return Reply(answer.status, await answer.read(), (("Content-Type", "application/json"),))
        except aiohttp.ClientError as error:
            raise NoReply(str(error)) from error

    @asynccontextmanager
    async def at_work(self, name: str) -> AsyncIterator[Program]:
        """While the context lasts, or until it is killed; from when it leads and its webhooks answer."""
        async with started(self._installation.command(name)) as program:
            await self._installation.mounted(self._transport)
            await program.said(AT_WORK[name])
            await self.site.until(self._is_admitted, every=0.1)
            yield program
            with suppress(ProcessLookupError):
                program.process.terminate()
            assert await program.ended() in (0, -SIGKILL)
        await self._installation.vacated(self._transport)
        refused = [line for line in program.lines if "forbidden" in line.lower() and LATER_KIND not in line]
        assert not refused, refused
        if not isinstance(self.site.ground, ServedGround):
            assert not [each for each in denied(self.site, OPERATOR, HOME) if LATER_KIND not in each]

    async def _is_admitted(self) -> bool:
        """Its webhooks are asked: what is absent of a set is filled in."""
        tree = a_set("asked")
        del tree["spec"]["networkConfig"]
        try:
            answer = await self._ask(tree)
        except ApiError:
            return False
        return "networkConfig" in answer["spec"]

    async def _ask(self, tree: Tree) -> Tree:
        tree["metadata"]["namespace"] = self.site.namespace
        path, body = path_of(LEADER_WORKER_SETS, self.site.namespace), msgspec.json.encode(tree)
        request = Request("POST", path, query=(("dryRun", "All"),), body=body, content_type=JSON)
        answer: Tree = msgspec.json.decode((await self.site.client.call(request)).body)
        return answer

    async def trust(self) -> Tree:
        """The Secret with the certificates, and what the API server trusts."""
        return {"secret": await self._read(path_of(SECRET.resource, SECRET.namespace, SECRET.name))} | {
            kind: await self._read(f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/{name}")
            for kind, name in (
                ("mutating", "lws-mutating-webhook-configuration"),
                ("validating", "lws-validating-webhook-configuration"),
            )
        }

    async def _read(self, path: str) -> Tree:
        tree: Tree = msgspec.json.decode((await self.site.client.call(Request("GET", path))).body)
        return tree


@asynccontextmanager
async def turns(
    site: Site, folder: Path, rendered: Sequence[Tree] = (), flags: tuple[str, ...] = ()
) -> AsyncIterator[Turns]:
    """Upstream's installation, or what was rendered of ours, and pods that come and go."""
    transport = site.ground.transport("admin")
    made = Turns(site, await installed(_account(site), transport, folder, rendered, flags), transport)
    try:
        if isinstance(site.ground, ServedGround):
            site.ground.cluster.network.serve(SERVED_NAME, made.forward)
        for each in FOLLOWED:
            await site.history.follow(each)
        site.start_kubelet(ready_after=0.05, gone_after=0.05)
        yield made
    finally:
        await made.close()
        if (close := getattr(transport, "close", None)) is not None:
            await close()


@cache
def _trusting(authority: bytes) -> ssl.SSLContext:
    """One for all calls, so that connections are used again."""
    return ssl.create_default_context(cadata=authority.decode())


def _account(site: Site) -> Path:
    if isinstance(site.ground, ServedGround):
        return site.ground.kubeconfig_for(ACCOUNT)
    return site.plane.kubeconfig_for(ACCOUNT, ACCOUNT_GROUPS)
