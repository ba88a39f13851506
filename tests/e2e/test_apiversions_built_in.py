"""The cluster's own migration: used where somebody carries it out, joined where it is under way, given up otherwise."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from fairlead.contracts.apiversions.commands import codes
from fairlead.engine.decide.storage_migration import built_in
from fairlead.plane.build import Unavailable, find
from fairlead.plane.launch import Plane
from kubeloop import request
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH
from tests.e2e.api_commands import Ran, api
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere, played
from tests.e2e.history import Tree
from tests.e2e.stored_widgets import GROUP, NAME, QUICK, is_served, stored_in_v1, stored_versions, untrack, versions_of

MIGRATIONS = Resource(
    "storagemigration.k8s.io", "v1beta1", "storageversionmigrations", "StorageVersionMigration", namespaced=False
)
APIS = ("storagemigration.k8s.io/v1beta1",)
GATES = ("StorageVersionMigrator",)


async def serve_migrations(site: Site) -> None:
    """The API of them on an embedded cluster, without anybody who carries them out."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1beta1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    crd = {
        "apiVersion": CUSTOM_RESOURCES.api_version,
        "kind": CUSTOM_RESOURCES.kind,
        "metadata": {
            "name": "storageversionmigrations.storagemigration.k8s.io",
            "annotations": {"api-approved.kubernetes.io": "unapproved, a stand-in"},
        },
        "spec": {
            "group": MIGRATIONS.group,
            "scope": "Cluster",
            "names": {"plural": MIGRATIONS.plural, "kind": MIGRATIONS.kind},
            "versions": [{**version, "subresources": {"status": {}}}],
        },
    }
    await site.client.call(request.create(CUSTOM_RESOURCES, "", msgspec.json.encode(crd)))
    await site.until(lambda: is_served(site.client, MIGRATIONS), every=0.05)


async def migrate(site: Site, *more: str) -> Ran:
    return await api(site.client, "migrate", NAME, *QUICK, "--journal", site.namespace, "-o", "json", *more)


async def migrations(site: Site) -> list[Tree]:
    return (await site.client.list(MIGRATIONS, dict[str, Any])).items


async def nobody_carries_it_out(site: Site) -> None:
    await stored_in_v1(site, 15)

    ran = await migrate(site)

    assert (ran.code, ran.err) == (codes.DONE, "")
    assert ran.tree[0]["rewritten"] == 15
    assert await migrations(site) == []
    assert await stored_versions(site.client) == ["v2"]


@everywhere(controllers=False, on=("sim",))
async def test_a_migration_that_nobody_begins_is_deleted_after_a_minute(site: Site) -> None:
    """A15."""
    await serve_migrations(site)
    began = asyncio.get_running_loop().time()

    await nobody_carries_it_out(site)

    assert 60 <= asyncio.get_running_loop().time() - began < 75


@pytest.mark.real(controllers=False)
def test_on_a_real_server_without_its_controller_it_is_given_up_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A15; the minute is waited for on the embedded cluster."""
    monkeypatch.setattr(built_in, "RUNS_WITHIN", timedelta(seconds=3))
    with a_plane(controllers=False) as plane:
        asyncio.run(played(plane, "built-in", nobody_carries_it_out))


@pytest.mark.long  # the controller takes two minutes until it begins
@pytest.mark.real(controllers=True)
def test_the_controller_of_the_cluster_migrates_where_it_runs() -> None:
    """Section 3.5: it is believed together with the proof, and no object is written by us."""

    async def scenario(site: Site) -> None:
        await stored_in_v1(site, 30)
        before = await versions_of(site)

        ran = await migrate(site)

        assert (ran.code, ran.err) == (codes.DONE, "")
        assert "rewritten" not in ran.tree[0]
        (found,) = await migrations(site)
        assert found["metadata"]["name"].startswith(f"fairlead-{NAME}-")
        after = await versions_of(site)
        assert all(after[name] != version for name, version in before.items())
        assert await stored_versions(site.client) == ["v2"]

    with a_plane(controllers=True) as plane:
        asyncio.run(played(plane, "built-in", scenario))


def a_plane(*, controllers: bool) -> Plane:
    try:
        find(lambda _line: None, build=False)
    except Unavailable as problem:
        pytest.skip(str(problem))
    more = ("storage-version-migrator-controller",)
    return Plane(controllers=controllers, gates=GATES, apis=APIS, more_controllers=more)


async def carry_out(site: Site, *conditions: str) -> None:
    """As the controller does, for the first migration that there is."""
    found = await site.until(lambda: migrations(site), every=0.5)
    named = [{"type": each, "status": "True"} for each in conditions]
    body = msgspec.json.encode({"status": {"conditions": named}})
    ref = Ref(MIGRATIONS, "", found[0]["metadata"]["name"])
    await site.client.call(request.patch(ref, MERGE_PATCH, body, "status"))


@everywhere(controllers=False, on=("sim",))
async def test_one_that_fails_or_lies_is_made_up_for(site: Site) -> None:
    """Section 3.5: the proof writes what was not written."""
    await serve_migrations(site)
    await stored_in_v1(site, 9)
    site.start(carry_out(site, "Succeeded"))

    ran = await migrate(site)

    assert (ran.code, ran.err) == (codes.DONE, "")
    assert await stored_versions(site.client) == ["v2"]


@everywhere(controllers=False, on=("sim",))
async def test_one_of_somebody_else_is_joined_and_left_alone(site: Site) -> None:
    """Section 3.5."""
    await serve_migrations(site)
    await stored_in_v1(site, 9)
    other = {"metadata": {"name": "theirs"}, "spec": {"resource": {"group": GROUP, "resource": "widgets"}}}
    named = {"apiVersion": MIGRATIONS.api_version, "kind": MIGRATIONS.kind, **other}
    await site.client.call(request.create(MIGRATIONS, "", msgspec.json.encode(named)))

    ran = await migrate(site)

    assert (ran.code, ran.err) == (codes.DONE, "")
    assert [each["metadata"]["name"] for each in await migrations(site)] == ["theirs"]
    assert ran.tree[0]["rewritten"] == 9


@everywhere(controllers=False, on=("sim",))
async def test_an_object_without_managed_fields_keeps_it_from_being_used(site: Site) -> None:
    """Section 3.5: it would begin to track them."""
    await serve_migrations(site)
    await stored_in_v1(site, 3)
    await untrack(site, "w-1")

    ran = await migrate(site)

    assert (ran.code, ran.err) == (codes.DONE, "")
    assert await migrations(site) == []
