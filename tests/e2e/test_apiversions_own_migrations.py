"""The leader of an operator moves what is stored of definitions of its own installation, and of no others."""

from __future__ import annotations

from typing import Any

import msgspec

from fairlead.contracts.apiversions.kinds import CRD_OWNER
from kubeloop import request
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.converting_operator import ConvertingOperator
from tests.e2e.stored_widgets import NAME, NEW, OLD, move_storage, stored_in_v1, stored_versions, versions_of
from tests.e2e.tellings import tellings
from tests.e2e.test_apiversions_migrate import deny_updates


async def own(site: Site) -> None:
    body = msgspec.json.encode({"metadata": {"annotations": {CRD_OWNER: site.namespace}}})
    await site.client.call(request.patch(Ref(CUSTOM_RESOURCES, "", NAME), MERGE_PATCH, body))


@everywhere(controllers=False)
async def test_own_definitions_are_migrated_when_the_operator_leads(site: Site) -> None:
    """Section 3.5, section 2.8 and section 2.9."""
    await stored_in_v1(site, 6)
    before = await versions_of(site)
    operator = ConvertingOperator(site)

    site.start_operator(operator)
    await site.until(lambda: operator.sample("fairlead_crd_stored_version", crd=NAME, version="v1") is None, every=0.1)
    assert await versions_of(site) == before
    told = await tellings(site)
    await own(site)

    async def is_pruned() -> bool:
        return await stored_versions(site.client) == ["v2"]

    await site.until(is_pruned, within=60, every=0.2)
    assert not set((await versions_of(site)).items()) & set(before.items())
    sample = operator.sample
    await site.until(lambda: sample("fairlead_crd_stored_version", crd=NAME, version="v2") == 1, every=0.1)
    assert sample("fairlead_crd_stored_version", crd=NAME, version="v1") is None
    # Those of earlier scenarios on the same cluster among them.
    stored = await site.client.list(NEW, dict[str, Any])
    assert sample("fairlead_storage_migration_objects", crd=NAME, state="done") == len(stored.items) >= 6
    assert sample("fairlead_storage_migration_objects", crd=NAME, state="pending") == 0

    expected = "StorageMigrationStarted", "StorageMigrationSucceeded", "StoredVersionsPruned"
    await site.until(lambda: told.has(*expected), every=0.2)


@everywhere(controllers=False, on=("sim",))
async def test_what_cannot_be_migrated_is_told_and_tried_again(site: Site) -> None:
    """Section 3.5: an object that a policy protects is named, and a storage version that changes back is a conflict."""
    await stored_in_v1(site, 6)
    await deny_updates(site, "w-3")
    told = await tellings(site)
    operator = ConvertingOperator(site)
    site.start_operator(operator)
    await own(site)

    await site.until(lambda: told.has("StorageMigrationIncomplete"), within=60, every=0.2)
    (event,) = await told.all("StorageMigrationIncomplete")
    assert f"{site.namespace}/w-3" in event["note"]
    assert operator.sample("fairlead_storage_migration_objects", crd=NAME, state="failed") == 1
    assert await stored_versions(site.client) == ["v1", "v2"]


@everywhere(controllers=False, on=("sim",))
async def test_a_storage_version_that_changes_back_meanwhile_is_told_as_a_conflict(site: Site) -> None:
    await stored_in_v1(site, 6)
    told = await tellings(site)
    site.start_operator(ConvertingOperator(site))
    await own(site)

    await site.until(lambda: told.has("StorageMigrationStarted"), within=60, every=0.05)
    await move_storage(site, OLD)
    await site.until(lambda: told.has("StorageMigrationConflict"), within=60, every=0.2)

    async def is_pruned() -> bool:
        return await stored_versions(site.client) == ["v1"]

    await site.until(is_pruned, within=200, every=1)
