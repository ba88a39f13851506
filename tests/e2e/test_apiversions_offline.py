"""The offline upgrade: objects of a CRD in another version without a webhook, and back, on both clusters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead.contracts.apiversions.commands import codes
from fairlead.contracts.apiversions.kinds import short_hash
from kubeloop.errors import ApiError
from kubeloop.objects.apps import STATEFULSETS
from tests.e2e.api_commands import Ran, api
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.policies import BINDINGS, CONFIG_MAPS, POLICIES
from tests.e2e.widgets import Widgets, body_of, widgets

QUIET = ("--progress", "none", "--qps", "0", "--settle", "0s", "--page-size", "20")
COUNT = 50


class Upgraded:
    """A kind on its way from v1 to v2, with its operator."""

    def __init__(self, shop: Widgets, folder: Path) -> None:
        self.shop, self.folder = shop, folder
        self.site = shop.site
        self.saved: dict[str, Tree] = {}

    @property
    def place(self) -> Path:
        return self.folder / "backup"

    async def run(self, *words: str) -> Ran:
        journal = ("--journal", self.site.namespace)
        given = () if {"--resume", "--rollback"} & {*words} else self._files()
        return await api(
            self.site.client,
            *("offline-upgrade", self.shop.name, *given, "--backup", str(self.place), *QUIET, *journal, *words),
            "--dependents",
            "ConfigMap",
        )

    def _files(self) -> tuple[str, ...]:
        definition, rules = self.folder / "crd.yaml", self.folder / "rules.yaml"
        definition.write_text(yaml.safe_dump(self.shop.definition("v1", "v2", storage="v2")))
        rules.write_text(yaml.safe_dump(self.shop.rules()))
        return ("-f", str(definition), "--rules", str(rules))

    @property
    def operator(self) -> tuple[str, str]:
        return ("--operator", f"{self.site.namespace}/StatefulSet/operator")

    async def replicas(self) -> int:
        found = await self.site.get(STATEFULSETS, "operator")
        assert found is not None
        return int(found["spec"]["replicas"])

    async def versions(self) -> dict[str, tuple[bool, bool]]:
        definition = await self.shop.live_definition()
        return {each["name"]: (each["served"], each["storage"]) for each in definition["spec"]["versions"]}

    async def is_frozen(self) -> bool:
        name = f"fairlead-freeze-{short_hash(self.shop.name)}"
        site = self.site
        found = []
        for resource in (POLICIES, BINDINGS):
            listed = await site.client.list(resource, dict[str, Any])
            found += [each for each in listed.items if each["metadata"]["name"] == name]
        return bool(found)

    async def state(self) -> tuple[object, ...]:
        """All that a run leaves behind."""
        definition = await self.shop.live_definition()
        served = [each["name"] for each in definition["spec"]["versions"] if each["served"]]
        objects = {
            version: {name: body_of(each) for name, each in (await self.shop.all(version)).items()}
            for version in served
        }
        stored = definition["status"]["storedVersions"]
        return await self.versions(), stored, objects, await self.replicas(), await self.is_frozen()


async def begun(site: Site, folder: Path, count: int = COUNT) -> Upgraded:
    shop = widgets(site)
    await shop.define("v1")
    for number in range(count):
        await shop.make(
            f"w-{number:02}",
            size=number,
            colour="red",
            legacyMode=number % 2 == 0,
            status={"phase": "Ready", "seen": number, "oldMark": "x"},
        )
    template = {"metadata": {"labels": {"app": "operator"}}, "spec": {"containers": [{"name": "o", "image": "o"}]}}
    await site.create(
        STATEFULSETS,
        {
            "metadata": {"name": "operator"},
            "spec": {
                "replicas": 2,
                "serviceName": "o",
                "selector": {"matchLabels": {"app": "operator"}},
                "template": template,
            },
        },
    )
    upgraded = Upgraded(shop, folder)
    upgraded.saved = await shop.all()
    return upgraded


def versions_of(objects: dict[str, Tree]) -> dict[str, str]:
    return {name: tree["metadata"]["resourceVersion"] for name, tree in objects.items()}


async def check_done(upgraded: Upgraded) -> None:
    shop = upgraded.shop
    assert await upgraded.versions() == {"v1": (False, False), "v2": (True, True)}
    assert (await shop.live_definition())["status"]["storedVersions"] == ["v2"]
    after = await shop.all("v2")
    wanted = {name: body_of(shop.converted(each)) for name, each in upgraded.saved.items()}
    assert {name: body_of(each) for name, each in after.items()} == wanted
    assert await upgraded.replicas() == 2
    assert not await upgraded.is_frozen()


@everywhere(controllers=False)
async def test_a19_fifty_objects_go_to_the_new_version_while_nobody_else_may_write(site: Site, tmp_path: Path) -> None:
    upgraded = await begun(site, tmp_path)
    shop = upgraded.shop
    await site.create(
        CONFIG_MAPS,
        {
            "metadata": {
                "name": "owned",
                "ownerReferences": [
                    {
                        "apiVersion": shop.resource().api_version,
                        "kind": "Widget",
                        "name": "w-01",
                        "uid": upgraded.saved["w-01"]["metadata"]["uid"],
                    }
                ],
            }
        },
    )
    definition = await shop.live_definition()

    tried = await upgraded.run("--dry-run", "--freeze", *upgraded.operator)
    assert tried.code == codes.DONE, tried.err
    assert f"{COUNT} objects go from v1 to v2" in tried.out
    assert versions_of(await shop.all()) == versions_of(upgraded.saved)
    assert await shop.live_definition() == definition
    assert await upgraded.replicas() == 2
    assert not upgraded.place.exists()

    ran = await upgraded.run("--freeze", *upgraded.operator)
    assert ran.code == codes.DONE, ran.err + ran.out

    await check_done(upgraded)
    owned = await site.get(CONFIG_MAPS, "owned")
    assert owned is not None
    assert owned["metadata"]["ownerReferences"][0]["apiVersion"] == shop.resource("v2").api_version


@everywhere(controllers=False)
async def test_an_upgrade_that_is_done_is_not_undone(site: Site, tmp_path: Path) -> None:
    upgraded = await begun(site, tmp_path, 12)
    shop = upgraded.shop

    ran = await upgraded.run(*upgraded.operator)
    assert ran.code == codes.DONE, ran.err
    undone = await upgraded.run("--rollback")
    assert undone.code == codes.PRECONDITION
    assert "fairlead api restore" in undone.err
    await check_done(upgraded)
    assert json.loads((upgraded.place / "manifest.json").read_text())["objects"] == 12
    assert shop.name in (upgraded.place / "crd.yaml").read_text()
    with pytest.raises(ApiError):
        await shop.all("v1")
