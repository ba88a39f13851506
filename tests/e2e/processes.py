"""Operators with webhooks as processes of their own: their log, their two servers, and their end.

The log is read all the time, because a process whose log nobody reads stops when the pipe is full.
"""

from __future__ import annotations

import asyncio
import json
import re
import ssl
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp

from tests.e2e.clusters import Site
from tests.e2e.history import Tree
from tests.e2e.pairs import LOCAL
from tests.e2e.programs import LONG, running

JSON = {"Content-Type": "application/json"}


class Program:
    """A process that runs, or has ended."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[str] = []
        self._more = asyncio.Event()

    async def read(self) -> None:
        """Until the end of the log."""
        assert self.process.stderr is not None
        with suppress(ValueError):  # a line longer than any of ours
            async for line in self.process.stderr:
                self.lines.append(line.decode().rstrip("\n"))
                self._wake()
        self._wake()

    async def said(self, text: str, since: int = 0, within: float = LONG) -> str:
        """The first line from the so-manieth on that holds this text, once there is one."""
        try:
            async with asyncio.timeout(within):
                while (found := self.found(text, since)) is None:
                    more = self._more
                    assert self.process.stderr is not None
                    if self.process.stderr.at_eof():
                        break
                    await more.wait()
        except TimeoutError:
            found = None
        assert found is not None, f"{text!r} was never said, only:\n" + "\n".join(self.lines)
        return found

    def found(self, text: str, since: int = 0) -> str | None:
        return next((line for line in self.lines[since:] if text in line), None)

    async def port(self) -> int:
        """Of its webhooks, once they are served."""
        return _number(await self.said('msg="webhooks served"'))

    async def probes(self) -> int:
        """The port of `/ready` and `/metrics`."""
        return _number(await self.said("msg=starting"))

    async def ready(self) -> int:
        """The status of `/ready`."""
        url = f"http://127.0.0.1:{await self.probes()}/ready"
        async with aiohttp.ClientSession() as session, session.get(url) as answer:
            return answer.status

    async def ended(self, within: float = LONG) -> int:
        """Its exit code, when it has ended by itself."""
        async with asyncio.timeout(within):
            return await self.process.wait()

    async def stop(self) -> int:
        """Its exit code after it was told to end."""
        self.process.terminate()
        return await self.ended()

    def _wake(self) -> None:
        self._more.set()
        self._more = asyncio.Event()


def contract(site: Site, *flags: str, kubeconfig: Path | None = None, url: str = "") -> Sequence[str]:
    """The zone contract's process with webhooks, at ports that are free."""
    return (
        "rollout-operator",
        f"-kubernetes.api-url={url or site.server.url}",
        f"-kubernetes.config-file={kubeconfig or site.server.kubeconfig}",
        f"-kubernetes.namespace={site.namespace}",
        "-server.port=0",
        "-server-tls.enabled",
        "-server-tls.port=0",
        *flags,
    )


def local(site: Site, *flags: str) -> Sequence[str]:
    """The same, under the name that the API server calls it by."""
    return contract(site, f"-server-tls.self-signed-cert.dns-name={LOCAL}", *flags)


def operator(site: Site, *options: str, namespaces: Sequence[str] = ()) -> Sequence[str]:
    """`fairlead operator` with webhooks, for the site's namespace unless others are given."""
    named = [word for namespace in namespaces or (site.namespace,) for word in ("-n", namespace)]
    ports = ("--port", "0", "--webhooks", "--webhooks-port", "0", "--certificate-dns-name", LOCAL)
    return ("fairlead", "operator", "--kubeconfig", str(site.server.kubeconfig), *named, *ports, *options)


@asynccontextmanager
async def started(command: Sequence[str], environment: Mapping[str, str] | None = None) -> AsyncIterator[Program]:
    """While it runs, or has ended by itself; killed afterwards."""
    async with running(*command, environment=environment) as process:
        program = Program(process)
        reading = asyncio.create_task(program.read())
        try:
            yield program
        finally:
            with suppress(ProcessLookupError):
                process.kill()
            await reading


def trusting(authority: bytes) -> ssl.SSLContext:
    """A client that takes nothing else, and nothing that the standards for certificates do not allow."""
    context = ssl.create_default_context(cadata=authority.decode())
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    return context


@asynccontextmanager
async def calling(port: int, authority: bytes, name: str = LOCAL) -> AsyncIterator[Caller]:
    """A client with connections of its own to the webhooks; they must show a certificate for this name."""
    connector = aiohttp.TCPConnector(ssl=trusting(authority))
    async with aiohttp.ClientSession(connector=connector) as session:
        yield Caller(session, port, name)


class Caller:
    def __init__(self, session: aiohttp.ClientSession, port: int, name: str) -> None:
        self._session = session
        self._port = port
        self._name = name

    async def ask(self, webhook: str, review: Tree) -> Tree:
        """The response of a review; anything but a 200 with the uid of the request fails."""
        status, body = await self.post(webhook, json.dumps(review).encode())
        assert status == 200, body
        answer: Tree = json.loads(body)
        assert answer["response"]["uid"] == review["request"]["uid"]
        response: Tree = answer["response"]
        return response

    async def post(self, webhook: str, body: bytes, headers: Mapping[str, str] = JSON) -> tuple[int, bytes]:
        url = f"https://127.0.0.1:{self._port}/admission/{webhook}"
        sent = {**headers, "Host": self._name}
        async with self._session.post(url, data=body, headers=sent, server_hostname=self._name) as answer:
            return answer.status, await answer.read()


def review(old: Tree, new: Tree, *, version: str = "v1", uid: str = "uid-1", **request: object) -> Tree:
    """An AdmissionReview of the update of a StatefulSet."""
    asked: Tree = {
        "uid": uid,
        "kind": {"group": "apps", "version": "v1", "kind": "StatefulSet"},
        "resource": {"group": "apps", "version": "v1", "resource": "statefulsets"},
        "name": old["metadata"]["name"],
        "namespace": old["metadata"].get("namespace", ""),
        "operation": "UPDATE",
        "userInfo": {"username": "alice"},
        "oldObject": _typed(old),
        "object": _typed(new),
        **request,
    }
    return {"apiVersion": f"admission.k8s.io/{version}", "kind": "AdmissionReview", "request": asked}


def _typed(tree: Tree) -> Tree:
    return {"apiVersion": "apps/v1", "kind": "StatefulSet", **tree}


def _number(line: str) -> int:
    found = re.search(r" port=(\d+)", line)
    assert found is not None, line
    return int(found[1])
