"""Commands in the hands of people whom nobody imagined: odd names, CRDs that go meanwhile, rights that lack."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from fairlead.contracts.apiversions.commands import codes
from fairlead.engine.decide.storage_migration.names import migration_name
from kubeloop import request
from kubeloop.client import Client
from kubeloop.objects.core import CONFIGMAPS, LEASES, NAMESPACES
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, Request
from tests.e2e.api_commands import Ran, api
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.roles import allow
from tests.e2e.stored_widgets import (
    NAME,
    NEW,
    QUICK,
    a_crd,
    a_version,
    apply,
    definition,
    is_served,
    stored_in_v1,
    stored_versions,
)
from tests.e2e.test_apiversions_migrate import Meddled, is_rewrite, migrate

CRD = Ref(CUSTOM_RESOURCES, "", NAME)


@everywhere(controllers=False)
@pytest.mark.parametrize("name", ["", ".", "..", f"{NAME}/status", f"{NAME}?limit=1", f"{NAME} ", "%2e%2e"])
async def test_what_is_no_name_is_no_crd_and_never_the_path_of_something_else(site: Site, name: str) -> None:
    await stored_in_v1(site, 1)

    ran = await api(site.client, "migrate", name, *QUICK, "--journal", site.namespace)

    assert (ran.code, ran.out) == (codes.ERROR, "")
    assert ran.err.startswith("fairlead: there is no CRD ")
    assert "there are " in ran.err
    assert await stored_versions(site.client) == ["v1", "v2"]


async def hold(site: Site, *finalizers: str) -> None:
    """One Widget goes only when somebody has let it."""
    body = msgspec.json.encode({"metadata": {"finalizers": [*finalizers] or None}})
    await site.client.call(request.patch(Ref(NEW, site.namespace, "w-0"), MERGE_PATCH, body))


@everywhere(controllers=False)
async def test_a_crd_that_is_being_deleted_is_told_as_that_and_not_written(site: Site) -> None:
    await stored_in_v1(site, 2)
    await hold(site, "example.test/keep")
    await site.client.call(request.delete(CRD))
    before = await definition(site.client)

    shown = await api(site.client, "status", NAME, "--journal", site.namespace)
    migrated = await migrate(site)
    steps = [
        await api(site.client, *words)
        for words in (("set-storage", NAME, "v1"), ("deprecate", NAME, "v1"), ("unserve", NAME, "v1", "--yes"))
    ]

    since = before["metadata"]["deletionTimestamp"]
    assert f"deleted      since {since}" in shown.out
    assert "`fairlead api migrate" not in shown.out
    assert migrated.code == codes.PRECONDITION
    assert migrated.err.startswith(f"fairlead: {NAME}: it is being deleted")
    assert [each.code for each in steps] == [codes.PRECONDITION] * 3
    assert [f"{NAME} is being deleted: see what the finalizers" in each.err for each in steps] == [True] * 3
    after = await definition(site.client)
    assert after["spec"] == before["spec"]
    await hold(site)


@everywhere(controllers=False)
@pytest.mark.parametrize("again", [False, True], ids=["gone", "made again"])
async def test_a_crd_that_is_deleted_in_the_middle_is_a_conflict(site: Site, again: bool) -> None:
    """Section 5.2: its objects cannot be listed for a while, which is no failure of the server."""
    await stored_in_v1(site, 9)
    made = await definition(site.client)
    rewrites: list[str] = []

    async def meddle(sent: Request) -> None:
        rewrites.extend([sent.path] * is_rewrite(sent))
        if len(rewrites) == 4 and is_rewrite(sent):
            await site.client.call(request.delete(CRD))
            await site.until(lambda: is_gone(site), every=0.05)
            if again:
                body = {key: made[key] for key in ("apiVersion", "kind", "spec")} | {"metadata": {"name": NAME}}
                await site.client.call(request.create(CUSTOM_RESOURCES, "", msgspec.json.encode(body)))
                await site.until(lambda: is_served(site.client), every=0.05)

    client = Client(Meddled(site.ground.transport("admin"), meddle))
    ran = await migrate(site, "--page-size", "3", "--concurrency", "1", client=client)
    await client.close()

    assert ran.code == codes.CHANGED, ran
    assert f"{NAME}: it was deleted{' and made again' * again} meanwhile" in ran.out


async def is_gone(site: Site) -> bool:
    listed = await site.client.list(CUSTOM_RESOURCES, dict[str, Any])
    return NAME not in [each["metadata"]["name"] for each in listed.items] and not await is_served(site.client)


@everywhere(controllers=False, on=("sim",))
async def test_of_several_crds_those_that_can_be_are_migrated(site: Site) -> None:
    """Another run is at work on the first."""
    await stored_in_v1(site, 2)
    gadgets = a_crd(a_version("v1", storage=True))
    gadgets["metadata"]["name"] = "gadgets.example.test"
    gadgets["spec"]["names"] = {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"}
    await site.client.call(request.create(CUSTOM_RESOURCES, "", msgspec.json.encode(gadgets)))
    lease = {"holderIdentity": "elsewhere", "leaseDurationSeconds": 3600, "renewTime": "2030-01-01T00:00:00.000000Z"}
    await site.create(LEASES, {"metadata": {"name": migration_name("gadgets.example.test")}, "spec": lease})

    ran = await api(site.client, "migrate", "gadgets.example.test", NAME, *QUICK, "--journal", site.namespace)

    assert ran.code == codes.PRECONDITION
    assert "another run is at work: elsewhere holds the Lease" in ran.err
    assert f"{NAME}: every object is stored in v2" in ran.out
    assert await stored_versions(site.client) == ["v2"]


@everywhere(controllers=False)
async def test_who_may_only_read_is_told_which_rights_a_migration_takes(site: Site) -> None:
    await stored_in_v1(site, 1)
    user = f"reader-{site.namespace}"
    reading = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}
    await allow(site, user, [reading], everywhere=True)
    client = site.client_as(user)

    ran = await migrate(site, client=client)

    assert ran.code == codes.PRECONDITION
    assert "ask for a role that allows to get, create and update leases there" in ran.err
    assert "--journal" in ran.err
    assert await stored_versions(site.client) == ["v1", "v2"]


@everywhere(controllers=False, on=("sim",))
async def test_a_journal_in_a_namespace_that_goes_is_told_as_that(site: Site) -> None:
    """No role would help."""
    await stored_in_v1(site, 1)
    await hold(site, "example.test/keep")
    await site.client.call(request.delete(Ref(NAMESPACES, "", site.namespace)))

    ran = await migrate(site)

    assert ran.code == codes.PRECONDITION
    assert "because it is being terminated; put that right, or name another namespace with --journal" in ran.err
    assert "ask for a role" not in ran.err


@everywhere(controllers=False)
async def test_of_a_journal_that_nobody_may_write_any_more_it_is_said_what_helps(site: Site) -> None:
    await stored_in_v1(site, 1)
    sealed = {"metadata": {"name": migration_name(NAME)}, "data": {"journal": "{}"}, "immutable": True}
    await site.create(CONFIGMAPS, sealed)

    ran = await migrate(site)
    await site.client.call(request.delete(Ref(CONFIGMAPS, site.namespace, migration_name(NAME))))
    after = await migrate(site)

    assert ran.code == codes.ERROR
    assert f"ConfigMap {site.namespace}/{migration_name(NAME)} is immutable: delete it" in ran.err
    assert "goes on where it was" not in ran.err
    assert after.code == codes.DONE


@everywhere(controllers=False)
async def test_an_object_that_goes_while_it_is_migrated_goes_and_is_stored_in_the_new_version_until_then(
    site: Site,
) -> None:
    await stored_in_v1(site, 5)
    await hold(site, "example.test/keep")
    await apply(site, "w-9")
    going = [Ref(NEW, site.namespace, name) for name in ("w-0", "w-1")]

    async def meddle(sent: Request) -> None:
        if is_rewrite(sent) and going:
            for each in going:
                await site.client.call(request.delete(each))
            going.clear()

    client = Client(Meddled(site.ground.transport("admin"), meddle))
    ran = await migrate(site, "--concurrency", "1", client=client)
    await client.close()

    assert ran.code == codes.DONE, ran
    assert await stored_versions(site.client) == ["v2"]
    await hold(site)


@everywhere(controllers=False, on=("sim",))
@pytest.mark.parametrize("tries", [False, True], ids=["for real", "a dry run"])
async def test_only_a_run_that_has_a_journal_can_go_on_after_it_was_interrupted(site: Site, tries: bool) -> None:
    """Section 2.3: 7, else 130, which the command line makes of the cancellation."""
    await stored_in_v1(site, 3)
    rewrites = asyncio.Event()

    async def hang(sent: Request) -> None:
        if is_rewrite(sent):
            rewrites.set()
            await asyncio.sleep(100)

    client = Client(Meddled(site.ground.transport("admin"), hang), timeout=500)
    running = asyncio.create_task(migrate(site, *["--dry-run"] * tries, client=client))
    await rewrites.wait()
    running.cancel()
    (ended,) = await asyncio.gather(running, return_exceptions=True)
    await client.close()

    if tries:
        assert isinstance(ended, asyncio.CancelledError)
    else:
        assert isinstance(ended, Ran)
        assert ended.code == codes.RESUMABLE
