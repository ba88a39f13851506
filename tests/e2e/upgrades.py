"""A kind that goes from one version to another without a webhook, with its operator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from fairlead.core.domain import short_hash
from fairlead.engine.decide.storage_migration.names import migration_name
from kubeloop.client import Client
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import LEASES
from kubeloop.objects.meta import Ref
from kubeloop.request import delete
from tests.e2e.api_commands import Ran, api
from tests.e2e.clusters import Site
from tests.e2e.history import Tree
from tests.e2e.killing import Executioner, lived
from tests.e2e.policies import BINDINGS, POLICIES
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

    async def run(self, *words: str, client: Client | None = None, place: Path | None = None) -> Ran:
        journal = ("--journal", self.site.namespace)
        given = () if {"--resume", "--rollback"} & {*words} else self._files()
        return await api(
            client or self.site.client,
            *(
                "offline-upgrade",
                self.shop.name,
                *given,
                "--backup",
                str(place or self.place),
                *QUIET,
                *journal,
                *words,
            ),
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


async def begun(site: Site, folder: Path, count: int = COUNT, shop: Widgets | None = None) -> Upgraded:
    shop = shop or widgets(site)
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


async def check_undone(upgraded: Upgraded) -> None:
    shop = upgraded.shop
    assert await upgraded.versions() == {"v1": (True, True)}
    assert (await shop.live_definition())["status"]["storedVersions"] == ["v1"]
    after = await shop.all("v1")
    assert {name: body_of(each) for name, each in after.items()} == {
        name: body_of(each) for name, each in upgraded.saved.items()
    }
    owners = {name: each["metadata"]["managedFields"] for name, each in upgraded.saved.items()}
    assert {name: each["metadata"]["managedFields"] for name, each in after.items()} == owners
    assert await upgraded.replicas() == 2
    assert not await upgraded.is_frozen()


async def run(upgraded: Upgraded, executioner: Executioner, *words: str) -> int | None:
    """The exit code, None where it was killed."""
    ran = await lived(upgraded.site, executioner, lambda client: upgraded.run(*words, client=client))
    return None if ran is None else int(ran.code)


async def forget_lease(upgraded: Upgraded) -> None:
    """As if its time had run out; that of a run that was killed lasts for a quarter of a minute."""
    ref = Ref(LEASES, upgraded.site.namespace, migration_name(upgraded.shop.name))
    await upgraded.site.client.call(delete(ref))
