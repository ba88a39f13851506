"""Metrics over HTTPS for those who may read them, and probes under the paths that a contract has."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from pathlib import Path

import aiohttp
import pytest
from msgspec import structs

from fairlead.engine.certificates.in_memory import InMemory
from fairlead.engine.options import MetricsOptions
from fairlead.engine.serving.plain_paths import PlainPaths
from kubesim.pki import Authority
from kubesim.time import run
from tests.engine.test_process import Process, files, options
from tests.engine.world import Log

pytestmark = pytest.mark.usefixtures("few_keys")

TOKEN = {"Authorization": "Bearer admin"}


@asynccontextmanager
async def started(
    folder: Path, wanted: MetricsOptions | None, paths: PlainPaths
) -> AsyncIterator[tuple[Process, aiohttp.ClientSession]]:
    webhooks, _ = files(folder)
    async with options(folder, webhooks) as given, aiohttp.ClientSession() as session:
        process = Process(structs.replace(given, webhooks=None, secure_metrics=wanted, plain_paths=paths))
        try:
            yield process, session
        finally:
            await process.stop()


async def status(session: aiohttp.ClientSession, url: str, tls: ssl.SSLContext | bool = True, **headers: str) -> int:
    async with session.get(url, ssl=tls, headers=headers) as answer:
        return answer.status


def test_metrics_are_served_over_https_to_whoever_the_api_server_lets(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with started(tmp_path, MetricsOptions(port=0), PlainPaths(metrics=())) as (process, session):
            url = f"https://127.0.0.1:{(await process.said('metrics served'))['port']}"

            assert await status(session, f"{url}/metrics", False) == 401
            async with session.get(f"{url}/metrics", ssl=False, headers=TOKEN) as answer:
                assert answer.status == 200
                assert 'fairlead_leader{part="zones"}' in await answer.text()
            assert await status(session, f"{url}/ready", False, **TOKEN) == 404
            plain = f"http://127.0.0.1:{process.log.of('starting')[0]['port']}"
            assert await status(session, f"{plain}/metrics") == 404

    asyncio.run(scenario())


def test_the_certificate_of_the_files_is_shown_where_they_are(tmp_path: Path) -> None:
    async def scenario() -> None:
        authority = Authority()
        pair = authority.server(("127.0.0.1",))
        (tmp_path / "tls.crt").write_bytes(pair.certificate)
        (tmp_path / "tls.key").write_bytes(pair.key)
        trust = ssl.create_default_context(cadata=authority.certificate.decode())
        wanted = MetricsOptions(
            port=0, certificate_file=str(tmp_path / "tls.crt"), key_file=str(tmp_path / "tls.key"), path="/numbers"
        )
        async with started(tmp_path, wanted, PlainPaths()) as (process, session):
            url = f"https://127.0.0.1:{(await process.said('metrics served'))['port']}"

            assert await status(session, f"{url}/numbers", trust, **TOKEN) == 200

    asyncio.run(scenario())


def test_probes_answer_under_the_paths_that_the_options_name(tmp_path: Path) -> None:
    async def scenario() -> None:
        paths = PlainPaths(ready=("/readyz", "/ready"), alive=("/healthz",))
        async with started(tmp_path, None, paths) as (process, session):
            await process.said("ready")
            plain = f"http://127.0.0.1:{process.log.of('starting')[0]['port']}"
            asked = ("/readyz", "/ready", "/healthz", "/livez", "/metrics")

            assert [await status(session, plain + path) for path in asked] == [200, 200, 200, 404, 200]

    asyncio.run(scenario())


def test_a_certificate_that_is_kept_nowhere_is_renewed_before_its_end() -> None:
    async def scenario() -> None:
        log = Log()
        kept = InMemory("fairlead", log.logger())
        credentials = await kept.start()
        first = credentials.pair
        task = asyncio.create_task(kept.run())
        await asyncio.sleep(timedelta(days=240).total_seconds())
        assert credentials.pair == first

        await asyncio.sleep(timedelta(days=10).total_seconds())

        assert credentials.pair != first
        assert len(log.of("certificate renewed")) == 1
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    run(scenario())
