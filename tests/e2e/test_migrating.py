"""Objects stored in an old version are written once more, and the old version is forgotten when all are."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from math import ceil
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from fairlead.contracts.environments.install.definitions import materializes
from fairlead.contracts.environments.kinds import MATERIALIZES, OWN_LABELS
from fairlead.contracts.environments.metrics import EnvironmentMetrics
from fairlead.contracts.environments.migration import VIEW, StoredEnvironments
from fairlead.engine.decide.registration import Tree
from fairlead.engine.decide.storage_migration.names import migration_name
from fairlead.engine.kinds.migrations import Migrations, RunEnd
from fairlead.engine.metrics import Metrics
from fairlead.engine.part import PartContext
from kubeloop import request
from kubeloop.client import Client
from kubeloop.errors import ServerError
from kubeloop.objects.core import CONFIGMAPS, LEASES
from kubeloop.objects.meta import Ref
from kubeloop.request import APPLY, MERGE_PATCH, Request, Response, Stream, Transport
from tests.e2e.clusters import Site, everywhere
from tests.e2e.converting import LATEST, NAME, OLD, Stage, an_environment, definition, patched

COUNT = 25
QUICK = structs.replace(VIEW, page_size=10, settle_seconds=0.0)


async def migrate(
    stage: Stage, client: Client, metrics: Metrics | None = None, seen: Tree | None = None
) -> list[RunEnd]:
    """As a process that begins to lead and has seen the definition so; returns all runs when one has succeeded."""
    done = asyncio.Event()
    ends: list[RunEnd] = []
    site, log = stage.site, stage.log.logger()
    counts = metrics or Metrics()
    context = PartContext(stage.caches, client, (), None, counts, log, home=site.namespace, replica_client=site.client)
    stored = StoredEnvironments(context, counts.of(EnvironmentMetrics))

    def ended(end: RunEnd, seconds: float) -> None:
        stored.terms.ended(end, seconds)
        ends.append(end)
        if not end.problem:
            done.set()

    stored.heed(NAME, seen or await definition(site))
    migrations = Migrations(context, structs.replace(stored.terms, view=QUICK, qps=0, ended=ended))
    task = asyncio.create_task(migrations.run())
    try:
        await done.wait()
    finally:
        task.cancel()
        await asyncio.wait([task])
    return ends


def is_rewrite(sent: Request) -> bool:
    return sent.content_type == APPLY and sent.path.startswith(f"/apis/{MATERIALIZES.group}/")


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
        if sent.method == "GET" and name == MATERIALIZES.plural and ("limit", str(QUICK.page_size)) in sent.query:
            lists.append(sent)
        if not is_rewrite(sent) or name in done:
            return
        done.append(name)
        ref = Ref(MATERIALIZES, site.namespace, name)
        if name == "m-05":
            body = msgspec.json.encode({"spec": {"podLabels": {"written": "meanwhile"}}})
            await site.client.call(request.patch(ref, MERGE_PATCH, body))
        if name == "m-17":
            await site.client.call(request.delete(ref))

    metrics = Metrics()
    async with closing(Client(Meddled(site.ground.transport("admin"), meddle))) as client:
        (end,) = await migrate(stage, client, metrics)

    assert end.journal is not None
    assert (end.journal.rewritten.done, end.journal.rewritten.skipped) == (total - 2, 2)
    assert len(lists) == 2 * ceil(total / QUICK.page_size) + ceil((total - 1) / QUICK.page_size)
    assert total >= COUNT
    counted = {
        result: metrics.registry.get_sample_value("orchestratord_migrated_objects_total", {"result": result})
        for result in ("stored", "gone", "failed")
    }
    assert counted == {"stored": total - 2, "gone": 2, "failed": 0}
    (finished,) = stage.log.of("storage migration finished")
    assert (finished["stored"], finished["gone"]) == (total - 2, 2)
    assert len(stage.log.of("object rewritten")) >= 2 * total - 2
    assert len(stage.log.of("stored versions forgotten")) == 1
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
    tried: list[str] = []

    async def count(sent: Request) -> None:
        if is_rewrite(sent) or sent.path.endswith(f"/{MATERIALIZES.plural}"):
            tried.append(sent.target)

    async with closing(Client(Meddled(site.ground.transport("admin"), count))) as client:

        async def migrated() -> None:
            await migrate(stage, client)

        task = site.start(migrated())
        await site.until(lambda: len(tried) > 2, every=0.05)

        assert not task.done()
        assert await stored_versions(site) == [OLD.version, MATERIALIZES.version]

        await stage.registration(None, materializes()).register()
        await task

    assert await stored_versions(site) == [MATERIALIZES.version]


@everywhere(controllers=False, on=("sim", "real"))
async def test_a_clean_kind_is_left_alone(site: Site, tmp_path: Path) -> None:
    stage = Stage(site, tmp_path)
    await stage.serve()
    await stage.registration(None, materializes()).register()
    made = await site.create(MATERIALIZES, an_environment("m"))

    live = await definition(site)
    late = {**live, "status": {**live["status"], "storedVersions": [OLD.version, MATERIALIZES.version]}}

    (end,) = await migrate(stage, site.client, seen=late)

    assert end.journal is not None
    assert end.journal.plan is None
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
    written: list[str] = []
    killed = asyncio.Event()

    async def kill(sent: Request) -> None:
        if is_rewrite(sent):
            written.append(sent.path)
            if len(written) == QUICK.page_size + 2:  # in the second page
                killed.set()
                await asyncio.Event().wait()

    async with closing(Client(Meddled(site.ground.transport("admin"), kill))) as client:
        first = asyncio.create_task(migrate(stage, client))
        await killed.wait()
        first.cancel()
        await asyncio.wait([first])
        assert await stored_versions(site) == [OLD.version, MATERIALIZES.version]
        (end,) = await migrate(stage, client)

    assert not end.problem
    assert await stored_versions(site) == [MATERIALIZES.version]
    assert {written.count(each) for each in written[: QUICK.page_size]} == {2}  # once in each of the two passes
    kept = await site.get(CONFIGMAPS, migration_name(NAME))
    lease = await site.get(LEASES, migration_name(NAME))
    assert kept is not None
    assert lease is not None
    assert msgspec.json.decode(kept["data"]["journal"])["phase"] == "Clean"
    assert all(each["metadata"]["labels"].items() >= OWN_LABELS.items() for each in (kept, lease))
