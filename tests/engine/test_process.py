"""A whole process with webhooks, against a cluster over real HTTP: served from its start to its end."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import msgspec
import pytest
from msgspec import structs

from fairlead.engine.certificates.secured import Secured
from fairlead.engine.certificates.served import CertificateFiles, Credentials
from fairlead.engine.certificates.trouble import CertificateTrouble
from fairlead.engine.options import OperatorOptions, WebhookOptions
from fairlead.engine.process import _process, config_of
from fairlead.engine.serving.https_server import Shutdown
from fairlead.engine.serving.plain_paths import PlainPaths
from kubeloop import clock, request
from kubeloop.client import Client
from kubeloop.errors import NotFound
from kubeloop.http_transport import HttpTransport
from kubeloop.objects.core import LEASES
from kubeloop.objects.meta import Ref
from kubesim.cluster import FIRST_NAMESPACES, Cluster
from kubesim.pki import Authority
from kubesim.server import serve
from kubesim.time import run
from tests.engine.webhooks.benches import body
from tests.engine.world import Log
from tests.operator_parts import ZONES

LONG = 120.0
"""Seconds after which a test has failed."""


class Process:
    """One that runs in this loop; `stop` sends it the signal that ends it."""

    def __init__(self, options: OperatorOptions) -> None:
        self.log = Log()
        self.task = asyncio.create_task(_process(options, self.log.logger()))

    async def said(self, message: str) -> dict[str, object]:
        while not self.log.of(message):
            if self.task.done():
                self.task.result()
                raise AssertionError(f"it ended without saying {message!r}: {self.log.records}")
            await asyncio.sleep(0.01)
        return self.log.of(message)[0]

    async def stop(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        await self.task


@asynccontextmanager
async def options(folder: Path, webhooks: WebhookOptions) -> AsyncIterator[OperatorOptions]:
    """Of a process on a cluster of its own."""
    cluster = Cluster(seed=1, namespaces=(*FIRST_NAMESPACES, "test"))
    async with asyncio.timeout(LONG), serve(cluster, anonymous="admin") as server:
        config = folder / "config"
        config.write_text(
            f"""
            {{"apiVersion": "v1", "kind": "Config", "current-context": "x",
              "contexts": [{{"name": "x", "context": {{"cluster": "x", "user": "x"}}}}],
              "clusters": [{{"name": "x", "cluster": {{"server": "{server.url}"}}}}],
              "users": [{{"name": "x", "user": {{"token": "admin"}}}}]}}
            """
        )
        yield OperatorOptions(
            process="rollout-operator",
            namespaces=("test",),
            parts=(ZONES,),
            config_file=str(config),
            server_port=0,
            webhooks=webhooks,
        )


def files(folder: Path) -> tuple[WebhookOptions, ssl.SSLContext]:
    """A certificate in files, and what trusts it."""
    authority = Authority()
    pair = authority.server(("localhost", "127.0.0.1"))
    (folder / "cert").write_bytes(pair.certificate)
    (folder / "key").write_bytes(pair.key)
    trust = ssl.create_default_context(cadata=authority.certificate.decode())
    wanted = WebhookOptions(
        port=0, secret="s", organisation="o", certificate_file=str(folder / "cert"), key_file=str(folder / "key")
    )
    return wanted, trust


async def judged(port: object, trust: ssl.SSLContext) -> bool:
    async with (
        aiohttp.ClientSession() as session,
        session.post(
            f"https://127.0.0.1:{port}/admission/no-downscale",
            data=body(),
            headers={"Content-Type": "application/json"},
            ssl=trust,
        ) as answer,
    ):
        assert answer.status == 200
        return bool(msgspec.json.decode(await answer.read())["response"]["allowed"])


def test_metrics_may_have_a_server_of_their_own(tmp_path: Path) -> None:
    async def scenario() -> None:
        wanted, _ = files(tmp_path)
        async with options(tmp_path, wanted) as given:
            apart = PlainPaths(ready=("/readyz",), alive=("/healthz",), metrics=())
            process = Process(structs.replace(given, plain_paths=apart, metrics_address=("127.0.0.1", 0)))
            said = await process.said("starting")
            found = {
                (name, path): await status_of(said[name], path)
                for name in ("port", "metrics_port")
                for path in ("/healthz", "/metrics")
            }
            await process.stop()

            assert found == {
                ("port", "/healthz"): 200,
                ("port", "/metrics"): 404,
                ("metrics_port", "/healthz"): 404,
                ("metrics_port", "/metrics"): 200,
            }

    asyncio.run(scenario())


async def status_of(port: object, path: str) -> int:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}{path}") as answer:
        return answer.status


def test_what_the_event_loop_meets_is_a_record_like_any_other(tmp_path: Path) -> None:
    """Of asyncio's own there would be lines in no form, for whose reader it would wait."""

    async def scenario() -> None:
        wanted, _ = files(tmp_path)
        async with options(tmp_path, wanted) as given:
            process, loop = Process(given), asyncio.get_running_loop()
            await process.said("ready")
            limit = OSError(errno.EMFILE, "Too many open files")
            mistake = RuntimeError("ours")
            loop.call_exception_handler({"message": "socket.accept() out of system resource", "exception": limit})
            loop.call_exception_handler({"message": "Task exception was never retrieved", "exception": mistake})
            await process.stop()

            during, error = "socket.accept() out of system resource", "[Errno 24] Too many open files"
            assert process.log.of("the event loop meets the system's limits") == [{"during": during, "error": error}]
            (told,) = process.log.of("an error that nobody waited for")
            assert told == {"during": "Task exception was never retrieved", "exc_info": mistake}

    asyncio.run(scenario())


def test_webhooks_are_served_over_https_until_a_signal_ends_the_process(tmp_path: Path) -> None:
    async def scenario() -> None:
        wanted, trust = files(tmp_path)
        async with options(tmp_path, wanted) as given:
            process = Process(given)
            port = (await process.said("webhooks served"))["port"]

            assert await judged(port, trust)
            await process.said("ready")
            async with aiohttp.ClientSession() as session:
                plain = process.log.of("starting")[0]["port"]
                async with session.get(f"http://127.0.0.1:{plain}/metrics") as answer:
                    assert 'route="admission_no_downscale",status_code="200"' in await answer.text()
            await process.stop()
            with pytest.raises(aiohttp.ClientConnectorError):
                await judged(port, trust)

    asyncio.run(scenario())


def test_one_of_several_replicas_gives_its_lease_back_at_once_and_answers_webhooks_a_little_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until a second signal here, because the wait is made longer than the test."""

    async def scenario() -> None:
        monkeypatch.setattr("fairlead.engine.process.DRAIN_SECONDS", 10 * LONG)
        wanted, trust = files(tmp_path)
        async with options(tmp_path, wanted) as given:
            process = Process(structs.replace(given, lease="fairlead", identity="me"))
            port = (await process.said("webhooks served"))["port"]
            await process.said("ready")
            lease = Ref(LEASES, "test", "fairlead")
            async with connected(given) as client:
                await holder(client, lease, "me")
                os.kill(os.getpid(), signal.SIGTERM)
                await holder(client, lease, "")

            assert await judged(port, trust)
            assert not process.task.done()
            await process.stop()

    asyncio.run(scenario())


@asynccontextmanager
async def connected(given: OperatorOptions) -> AsyncIterator[Client]:
    transport = HttpTransport(config_of(given))
    try:
        yield Client(transport)
    finally:
        await transport.close()


async def holder(client: Client, lease: Ref, expected: str) -> None:
    """Returns when the lease is held by this one, or by nobody."""
    while True:
        with suppress(NotFound):
            found = msgspec.json.decode((await client.call(request.get(lease))).body)
            if found["spec"].get("holderIdentity", "") == expected:
                return
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(("drain", "again", "seconds"), [(0.0, None, 0), (5.0, None, 5), (5.0, 2, 2)])
def test_webhooks_are_taken_for_a_while_after_a_signal_and_no_longer_after_a_second_one(
    drain: float, again: float | None, seconds: float
) -> None:
    async def scenario() -> None:
        ending = Shutdown(drain)
        loop = asyncio.get_running_loop()
        loop.call_later(1, ending.asked)
        if again is not None:
            loop.call_later(1 + again, ending.asked)
        begun = clock.monotonic()

        await ending.drained()

        assert clock.monotonic() - begun == pytest.approx(1 + seconds)

    run(scenario())


def test_a_signal_while_the_certificate_is_made_ends_the_process(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with options(tmp_path, WebhookOptions(port=0, secret="s", organisation="o")) as given:
            process = Process(given)
            await process.said("starting")
            await process.stop()

            assert process.log.of("stopped")

    asyncio.run(scenario())


class Expiring:
    """Certificates whose end is in the hands of the test."""

    def __init__(self, folder: Path) -> None:
        wanted, self.trust = files(folder)
        self._files = CertificateFiles(Path(wanted.certificate_file), Path(wanted.key_file))
        self.expired = asyncio.Event()

    async def start(self) -> Credentials:
        return Credentials(self._files.read(datetime.now(UTC)))

    async def run(self) -> None:
        await self.expired.wait()


def test_the_process_ends_with_its_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> None:
        certificates = Expiring(tmp_path)
        monkeypatch.setattr("fairlead.engine.admission_server.secured_of", lambda *_: Secured(0, certificates))
        async with options(tmp_path, WebhookOptions(port=0, secret="s", organisation="o")) as given:
            process = Process(given)
            port = (await process.said("webhooks served"))["port"]
            assert await judged(port, certificates.trust)

            certificates.expired.set()
            await process.task

            assert process.log.of("stopped")

    asyncio.run(scenario())


def test_a_certificate_that_cannot_be_used_ends_the_start(tmp_path: Path) -> None:
    async def scenario() -> None:
        wanted, _ = files(tmp_path)
        (tmp_path / "key").write_text("no key")
        async with options(tmp_path, wanted) as given:
            process = Process(given)
            with pytest.raises(CertificateTrouble):
                await process.task

    asyncio.run(scenario())
