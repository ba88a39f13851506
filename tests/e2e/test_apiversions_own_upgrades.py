"""An operator that upgrades a CRD of its own without a webhook, at its start."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import yaml

from fairlead.contracts.apiversions.kinds import CRD_OWNER
from fairlead.contracts.apiversions.settings import ApiVersionsSettings, MigrationSettings, UpgradeSettings
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import JSON, Request, path_of, path_to
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.converting_operator import ConvertingOperator
from tests.e2e.upgrades import Upgraded, begun, check_done
from tests.e2e.widgets import MERGE


async def own(upgraded: Upgraded, owner: str) -> None:
    """The CRD is of that installation."""
    body = msgspec.json.encode({"metadata": {"annotations": {CRD_OWNER: owner}}})
    path = path_of(CUSTOM_RESOURCES, name=upgraded.shop.name)
    await upgraded.site.client.call(Request("PATCH", path, body=body, content_type=MERGE))


def settings_of(upgraded: Upgraded) -> ApiVersionsSettings:
    rules, backups = upgraded.folder / "rules", upgraded.folder / "backups"
    rules.mkdir(exist_ok=True)
    backups.mkdir(exist_ok=True)
    definition = upgraded.shop.definition("v1", "v2", storage="v2")
    (rules / "widgets.yaml").write_text(yaml.safe_dump_all([upgraded.shop.rules(), definition]))
    return ApiVersionsSettings(
        serves=False,
        conversion="none",
        rules=(str(rules),),
        migration=MigrationSettings(qps=1000, burst=1000),
        upgrades=UpgradeSettings(offline="auto", backup_folder=str(backups)),
    )


async def an_old_operator(site: Site) -> Ref:
    labels = {"app.kubernetes.io/name": "fairlead", "app.kubernetes.io/version": "0.0.1"}
    spec = {"containers": [{"name": "o", "image": "o"}], "terminationGracePeriodSeconds": 0}
    await site.create(PODS, {"metadata": {"name": "old", "labels": labels}, "spec": spec})
    return Ref(PODS, site.namespace, "old")


def reasons(operator: ConvertingOperator) -> list[str]:
    """What it told of upgrades."""
    return [str(each["reason"]) for each in operator.log.of("offline upgrade")]


async def is_upgraded(upgraded: Upgraded) -> bool:
    return (await upgraded.versions()).get("v1") == (False, False)


@everywhere(controllers=False, long=True)
async def test_a_new_operator_upgrades_its_crd_when_no_older_one_is_left(site: Site, tmp_path: Path) -> None:
    upgraded = await begun(site, tmp_path, 6)
    await own(upgraded, site.namespace)
    old = await an_old_operator(site)
    operator = ConvertingOperator(site, settings_of(upgraded))
    task = site.start_operator(operator)
    await site.until(lambda: operator.log.of("offline upgrade waits for older operators"), every=0.1)
    assert await upgraded.versions() == {"v1": (True, True)}

    await site.client.call(Request("DELETE", path_to(old), body=b"{}", content_type=JSON))
    await site.until(lambda: "OfflineUpgradeSucceeded" in reasons(operator), every=0.5, within=90)
    await site.stop(task)

    await check_done(upgraded)


@everywhere(controllers=False, on=("sim",))
async def test_the_next_leader_goes_on_with_what_the_last_one_began(site: Site, tmp_path: Path) -> None:
    upgraded = await begun(site, tmp_path, 6)
    await own(upgraded, site.namespace)
    first = ConvertingOperator(site, settings_of(upgraded))
    task = site.start_operator(first)

    async def is_introduced() -> bool:
        return "v2" in await upgraded.versions()

    await site.until(is_introduced, every=0.01)
    await site.stop(task)
    assert not await is_upgraded(upgraded)
    second = ConvertingOperator(site, settings_of(upgraded))
    task = site.start_operator(second)
    await site.until(lambda: is_upgraded(upgraded), every=0.5, within=120)
    await site.until(lambda: "OfflineUpgradeSucceeded" in reasons(second), every=0.5)
    await site.stop(task)

    await check_done(upgraded)
    assert len([*(tmp_path / "backups").iterdir()]) == 1


@everywhere(controllers=False, on=("sim",))
async def test_an_upgrade_ends_with_its_crd_and_begins_anew_with_another_of_that_name(
    site: Site, tmp_path: Path
) -> None:
    upgraded = await begun(site, tmp_path, 3)
    shop = upgraded.shop
    await own(upgraded, site.namespace)
    task = site.start_operator(ConvertingOperator(site, settings_of(upgraded)))

    async def is_introduced() -> bool:
        return "v2" in await upgraded.versions()

    await site.until(is_introduced, every=0.01)
    await site.stop(task)
    await site.client.call(Request("DELETE", path_of(CUSTOM_RESOURCES, name=shop.name), body=b"{}", content_type=JSON))
    await site.history.follow(CUSTOM_RESOURCES)
    await site.until(lambda: shop.name not in site.history.objects(CUSTOM_RESOURCES))
    await shop.define("v1")
    await own(upgraded, site.namespace)
    await shop.make("another", size=1, colour="red")
    await asyncio.sleep(1)  # backups are named after the second

    second = ConvertingOperator(site, settings_of(upgraded))
    task = site.start_operator(second)
    await site.until(lambda: "OfflineUpgradeSucceeded" in reasons(second), every=0.5, within=120)
    await site.stop(task)

    assert await is_upgraded(upgraded)
    assert (await shop.live("another", "v2"))["spec"] == {"size": 1, "paint": {"colour": "red"}}


@everywhere(controllers=False, on=("sim",))
async def test_a_crd_of_somebody_else_is_left_alone(site: Site, tmp_path: Path) -> None:
    upgraded = await begun(site, tmp_path, 1)
    await own(upgraded, "elsewhere")
    operator = ConvertingOperator(site, settings_of(upgraded))
    task = site.start_operator(operator)

    await site.until(lambda: operator.log.of("offline upgrade left to its owner"), every=0.1)
    await site.stop(task)

    assert await upgraded.versions() == {"v1": (True, True)}
