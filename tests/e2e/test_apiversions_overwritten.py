"""A conversion that somebody writes over (section 3.13): it is put back and told, or left to whoever has it."""

from __future__ import annotations

import asyncio

from fairlead.contracts.apiversions.kinds import kept_rules_name
from kubeloop.objects.core import CONFIGMAPS
from tests.e2e.api_commands import api
from tests.e2e.attached import (
    NOBODY,
    attached_by_one,
    conversion,
    defined,
    is_attached,
    probe_of,
    unconvert,
)
from tests.e2e.clusters import Site, everywhere
from tests.e2e.converting import patched
from tests.e2e.converting_operator import rules_in_a_map
from tests.e2e.replicated_operator import Replicas
from tests.e2e.tellings import tellings
from tests.e2e.widgets import a_version


@everywhere(controllers=False)
async def test_whoever_overwrites_the_conversion_is_corrected_and_people_are_told(site: Site) -> None:
    kind, _, _ = await attached_by_one(site)
    told = await tellings(site)

    await unconvert(site, kind)
    await site.until(lambda: is_attached(kind), every=0.1)

    await site.until(lambda: told.has("ConversionLost"), every=0.1)


@everywhere(controllers=False)
async def test_a_conversion_that_goes_with_a_new_version_is_put_back_before_there_are_rules_for_that(
    site: Site,
) -> None:
    """As where somebody replaces the definition with a text that says nothing of conversion."""
    kind, *_ = await attached_by_one(site)
    told = await tellings(site)
    replaced = {"op": "replace", "path": "/spec/conversion", "value": NOBODY}
    third = {**a_version("v2", storage=False, served=False), "name": "v3"}

    await patched(site, replaced, {"op": "add", "path": "/spec/versions/-", "value": third}, name=kind.name)

    await site.until(lambda: is_attached(kind), within=20, every=0.1)
    await site.until(lambda: told.has("ConversionLost", "UnknownVersion"), every=0.1)
    assert (await kind.live("w-1", "v1"))["spec"]["colour"] == "red"


@everywhere(controllers=False, on=("sim",))
async def test_people_are_told_that_nobody_converts_while_the_next_repair_is_waited_for(site: Site) -> None:
    """A tool that applies the CRD from a repository without its conversion takes it away with every sync."""
    kind, _, replica = await attached_by_one(site)
    told = await tellings(site)

    async def sync() -> None:
        while True:
            await unconvert(site, kind)
            await asyncio.sleep(1)

    syncing = site.start(sync())
    await site.until(lambda: probe_of(replica, kind) == "lost", every=0.1)
    await site.stop(syncing)

    async def is_told() -> bool:
        return any("nobody converts its objects now" in each["note"] for each in await told.all("ConversionLost"))

    await site.until(is_told, every=0.1)
    await site.until(lambda: is_attached(kind), every=0.1)
    await site.until(lambda: probe_of(replica, kind) == "answers", every=0.1)


@everywhere(controllers=False)
async def test_a_conversion_that_was_overwritten_while_no_operator_ran_is_told_as_well(site: Site) -> None:
    """Section 3.13: whoever leads next knows it from what is kept beside the rules."""
    kind, replicas, first = await attached_by_one(site)
    uid = (await kind.live_definition())["metadata"]["uid"]

    async def is_noted() -> bool:
        kept = await site.get(CONFIGMAPS, kept_rules_name(kind.name))
        return kept is not None and kept["data"].get("attached") == uid

    await site.until(is_noted, every=0.1)
    await replicas.lose(first)
    told = await tellings(site)

    await unconvert(site, kind)
    await replicas.add()
    await site.until(lambda: is_attached(kind), every=0.1)

    await site.until(lambda: told.has("ConversionLost"), every=0.1)
    assert not await told.has("CRDRegistered")


@everywhere(controllers=False, on=("sim",))
async def test_a_conversion_of_somebody_else_is_left_to_him(site: Site) -> None:
    kind = await defined(site)
    theirs = {"service": {"name": "other", "namespace": "elsewhere", "path": "/convert", "port": 443}}
    webhook = {"conversionReviewVersions": ["v1"], "clientConfig": theirs}
    value = {"strategy": "Webhook", "webhook": webhook}
    await patched(site, {"op": "replace", "path": "/spec/conversion", "value": value}, name=kind.name)
    replicas = Replicas(site)
    await replicas.begin()
    await replicas.add()

    told = await tellings(site)
    await rules_in_a_map(site, {**kind.rules(), "attach": True})
    await site.until(lambda: told.has("ConversionForeign"), every=1)

    assert conversion(await kind.live_definition()) == value
    refused = await api(site.client, "detach", kind.name, "--operator-namespace", site.namespace)
    assert (refused.code, "elsewhere/other" in refused.err) == (6, True)
