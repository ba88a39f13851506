"""Objects stored in an old version are written once more, and the old version is forgotten when all are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from math import ceil
from pathlib import Path

import msgspec
import pytest

from fairlead.contracts.environments.install.definitions import materializes
from fairlead.contracts.environments.kinds import MATERIALIZES
from fairlead.engine.decide.migration_job import MigrationPace
from fairlead.engine.decide.registration import Tree
from fairlead.engine.kinds.migration import Migration, Run
from kubeloop import request
from kubeloop.client import Client
from kubeloop.errors import ServerError
from kubeloop.objects.meta import Ref
from kubeloop.records import LeaseRecords, MemoryRecords, Records
from kubeloop.request import MERGE_PATCH, Request, Response, Stream, Transport
from tests.e2e.clusters import Site, everywhere
from tests.e2e.converting import LATEST, NAME, OLD, Stage, an_environment, definition, patched
from tests.engine.alone import rounds_of

COUNT = 25
QUICK = MigrationPace(page=10, settling=0.0, first_delay=0.2, longest_delay=1.0)


async def migrate(stage: Stage, client: Client, runs: list[Run], records: Records | None = None) -> None:
    """As a process that begins to lead; returns when a run has succeeded."""
    done = asyncio.Event()

    def heard(run: Run) -> None:
        runs.append(run)
        if run.finished:
            done.set()

    migration = Migration(NAME, lambda: True, records or MemoryRecords(), pace=QUICK, heard=heard)
    task = asyncio.create_task(rounds_of(migration.controller, client, stage.log.logger()).run())
    try:
        await done.wait()
    finally:
        task.cancel()


class Meddled:
    """A transport before whose requests something else may happen."""

    def __init__(self, transport: Transport, before: Callable[[Request], Awaitable[None]]) -> None:
        self._transport = transport
        self._before = before

    async def send(self, sent: Request) -> Response:
        await self._before(sent)
        return await self._transport.send(sent)

    async def close(self) -> None:
        close = getattr(self._transport, "close", None)
        if close is not None:
            await close()

    def stream(self, sent: Request) -> AbstractAsyncContextManager[Stream]:
        return self._transport.stream(sent)


def only_old() -> Tree:
    """The definition before there was another version."""
    tree: Tree = materializes()
    version = next(each for each in tree["spec"]["versions"] if each["name"] == OLD.version)
    return {**tree, "spec": {**tree["spec"], "versions": [{**version, "storage": True}]}}


async def stored_in_the_old_version(stage: Stage) -> None:
    """A cluster whose objects are stored in the old version while the definition has all of them."""
    await stage.registration(None, only_old()).register()
    for number in range(COUNT):
        await stage.site.create(OLD, an_environment(f"m-{number:02}", OLD))
    await stage.registration(None, materializes()).register()
    assert await stored_versions(stage.site) == [OLD.version, MATERIALIZES.version]


@asynccontextmanager
async def closing(client: Client) -> AsyncIterator[Client]:
    try:
        yield client
    finally:
        await client.close()


async def stored_versions(site: Site) -> list[str]:
    versions: list[str] = (await definition(site))["status"]["storedVersions"]
    return versions


async def without_webhook(site: Site) -> list[str]:
    """Names of the objects that are read without any conversion: all are stored in the version they are read in."""
    where = "/spec/conversion/webhook/clientConfig/url"
    await patched(site, {"op": "replace", "path": where, "value": "https://127.0.0.1:1/convert"})

    async def is_in_force() -> bool:
        """Whether the server calls the webhook where there is none: it hears of the definition by a watch."""
        try:
            await site.get(LATEST, "m-24")
        except ServerError:
            return True
        return False

    await site.until(is_in_force, every=0.05)
    listed = await site.client.list(MATERIALIZES, Named, namespace=site.namespace)
    return [each.metadata.name for each in listed.items]


class NamedMeta(msgspec.Struct):
    name: str


class Named(msgspec.Struct):
    metadata: NamedMeta


@everywhere(controllers=False, on=("sim", "real"))
async def test_objects_are_rewritten_in_pages_whatever_happens_to_them_meanwhile(site: Site, tmp_path: Path) -> None:
    stage = Stage(site, tmp_path)
    await stage.serve()
    await stored_in_the_old_version(stage)
    total = len((await site.client.list(MATERIALIZES, Named)).items)  # a shared cluster may have some from elsewhere
    lists: list[Request] = []
    done: list[str] = []

    async def meddle(sent: Request) -> None:
        name = sent.path.rsplit("/", 1)[1]
        if sent.method == "GET" and name == MATERIALIZES.plural:
            lists.append(sent)
        if sent.method != "PUT" or name in done:
            return
        done.append(name)
        ref = Ref(MATERIALIZES, site.namespace, name)
        if name == "m-05":
            body = msgspec.json.encode({"spec": {"podLabels": {"written": "meanwhile"}}})
            await site.client.call(request.patch(ref, MERGE_PATCH, body))
        if name == "m-17":
            await site.client.call(request.delete(ref))

    runs: list[Run] = []
    async with closing(Client(Meddled(site.ground.transport("admin"), meddle))) as client:
        await migrate(stage, client, runs)

    assert runs == [Run(total - 1, 1, 0, True)]
    assert len(lists) == ceil(total / QUICK.page) + ceil((total - 1) / QUICK.page)
    assert total >= COUNT
    assert await stored_versions(site) == [MATERIALIZES.version]
    kept = await site.get(MATERIALIZES, "m-05")
    assert kept is not None
    assert kept["spec"]["podLabels"] == {"written": "meanwhile"}
    names = [f"m-{number:02}" for number in range(COUNT) if number != 17]
    assert await without_webhook(site) == names


@everywhere(controllers=False, on=("sim", "real"))
async def test_nothing_is_forgotten_while_the_webhook_does_not_answer(site: Site, tmp_path: Path) -> None:
    """The migration goes on trying, and is done soon after the webhook is back."""
    stage = Stage(site, tmp_path)
    await stage.serve()
    await stored_in_the_old_version(stage)
    with pytest.raises(ServerError):
        await without_webhook(site)
    runs: list[Run] = []
    task = site.start(migrate(stage, site.client, runs))

    await site.until(lambda: len(runs) > 1, every=0.05)

    assert not any(run.finished for run in runs)
    assert await stored_versions(site) == [OLD.version, MATERIALIZES.version]

    await stage.registration(None, materializes()).register()
    await task

    assert runs[-1].finished
    assert await stored_versions(site) == [MATERIALIZES.version]


@everywhere(controllers=False, on=("sim", "real"))
async def test_a_clean_kind_is_left_alone(site: Site, tmp_path: Path) -> None:
    stage = Stage(site, tmp_path)
    await stage.serve()
    await stage.registration(None, materializes()).register()
    made = await site.create(MATERIALIZES, an_environment("m"))

    await migrate(stage, site.client, [])

    found = await site.get(MATERIALIZES, "m")
    assert found is not None
    assert found["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


@everywhere(controllers=False, on=("sim", "real"))
async def test_a_journal_that_is_stored_has_the_next_process_go_on_where_the_last_was_killed(
    site: Site, tmp_path: Path
) -> None:
    stage = Stage(site, tmp_path)
    await stage.serve()
    await stored_in_the_old_version(stage)
    records = LeaseRecords(site.client, site.namespace, "journal", {})
    written: list[str] = []
    killed = asyncio.Event()

    async def kill(sent: Request) -> None:
        if sent.method == "PUT" and sent.path.startswith(f"/apis/{MATERIALIZES.group}/"):
            written.append(sent.path)
            if len(written) == QUICK.page + 2:  # in the second page
                killed.set()
                await asyncio.Event().wait()

    async with closing(Client(Meddled(site.ground.transport("admin"), kill))) as client:
        first = asyncio.create_task(migrate(stage, client, [], records))
        await killed.wait()
        first.cancel()
        assert await stored_versions(site) == [OLD.version, MATERIALIZES.version]
        runs: list[Run] = []
        await migrate(stage, client, runs, records)

    assert runs[-1].finished
    assert await stored_versions(site) == [MATERIALIZES.version]
    assert {written.count(each) for each in written[: QUICK.page]} == {2}  # once in each of the two passes
