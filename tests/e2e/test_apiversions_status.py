"""How the versions of a kind stand, as people and programs are told, on both clusters."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from fairlead.contracts.apiversions.commands import codes
from fairlead.core.controller_version import CONTROLLER_VERSION
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, patch
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.conversions import NAME, V2, a_factory, a_gadget
from tests.e2e.history import Tree
from tests.e2e.test_apiversions_lifecycle import QUICK, Life
from tests.e2e.widgets import called

ONLY_SECRETS = ("--dependents", "Secret")


async def shown(site: Site, capsys: pytest.CaptureFixture[str], *words: str) -> Tree:
    capsys.readouterr()
    assert await called("status", site.client, *words, *ONLY_SECRETS, "-o", "json") == codes.DONE
    (found,) = json.loads(capsys.readouterr().out)["crds"]
    return dict(found)


@everywhere(controllers=False)
async def test_versions_and_what_names_them_are_counted(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    life = Life(site, tmp_path)
    await life.define("v1", "v2")
    owner = (await life.shop.make("w-1", "v1", size=1))["metadata"]
    await life.shop.make("w-2", "v2", size=1)
    await life.shop.change("w-2", {"metadata": {"annotations": {CONTROLLER_VERSION: "1.2.0"}}}, "v2")
    reference = {"apiVersion": f"{life.shop.group}/v1", "kind": "Widget", "name": "w-1", "uid": owner["uid"]}
    await site.create(SECRETS, {"metadata": {"name": "owned", "ownerReferences": [reference]}})
    assert await life.does("set_storage", "v2") == codes.DONE
    assert await life.does("deprecate", "v1") == codes.DONE

    found = await shown(site, capsys, life.shop.name)

    assert found["versions"] == [
        {"name": "v2", "served": True, "storage": True},
        {"name": "v1", "served": True, "storage": False, "deprecated": True},
    ]
    assert (found["storedVersions"], found["strategy"], found["objects"]) == (["v1", "v2"], "None", 2)
    assert (found["managed"], found["owned"]) == ({"v1": 1, "v2": 1}, {"v1": 1})
    assert found["controllers"] == {"1.2.0": 1, "unstamped": 1}
    assert found["advice"] == [f"objects may be stored in an older version: `fairlead api migrate {life.shop.name}`"]


@everywhere(controllers=False)
async def test_b18_an_object_that_cannot_be_converted_is_named_although_the_list_fails(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    async with a_factory(site) as factory:
        for name in ("good", "bad"):
            await factory.create(a_gadget(name, size=1))

        def spoil(review: Tree) -> Tree:
            if all(each["metadata"]["name"] != "bad" for each in review["response"]["convertedObjects"]):
                return review
            failed = {"status": "Failure", "message": "bad is odd"}
            return review | {"response": review["response"] | {"result": failed, "convertedObjects": []}}

        factory.webhook.spoil = spoil
        found = await shown(site, capsys, NAME)

    assert "bad is odd" in found["unlisted"][V2.version]
    assert [(each["version"], each["name"]) for each in found["unconvertible"]] == [("v2", f"{site.namespace}/bad")]
    assert (found["objects"], found["managed"]) == (2, {"v1": 2})


@everywhere(controllers=False)
async def test_a_version_that_was_removed_by_force_is_found_and_can_be_brought_back(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    life = Life(site, tmp_path)
    await life.define("v1", "v2")
    await life.shop.make("w-1", "v1", size=1)
    assert await life.does("set_storage", "v2") == codes.DONE
    ref = Ref(CUSTOM_RESOURCES, "", life.shop.name)
    body = msgspec.json.encode({"status": {"storedVersions": ["v2"]}})
    await site.client.call(patch(ref, MERGE_PATCH, body, "status"))
    live = await life.shop.live_definition()
    kept = [each for each in live["spec"]["versions"] if each["name"] == "v2"]
    await site.client.call(patch(ref, MERGE_PATCH, msgspec.json.encode({"spec": {"versions": kept}})))

    async def told() -> list[str]:
        return [
            each for each in (await shown(site, capsys, life.shop.name)).get("advice", []) if "served: false" in each
        ]

    assert await site.until(told, every=0.2)
    back = [*kept, *({**each, "served": False} for each in live["spec"]["versions"] if each["name"] == "v1")]
    await site.client.call(patch(ref, MERGE_PATCH, msgspec.json.encode({"spec": {"versions": back}})))

    async def is_listed() -> bool:
        return "unlisted" not in await shown(site, capsys, life.shop.name)

    await site.until(is_listed, every=0.2)
    assert [*await life.shop.all("v2")] == ["w-1"]


@everywhere(controllers=False, on=("sim",))
async def test_a_status_is_for_people_too(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    life = Life(site, tmp_path)
    await life.define("v1", "v2")
    await life.shop.make("w-1", "v1", size=1)

    assert await called("status", site.client, life.shop.name, *ONLY_SECRETS) == codes.DONE
    text = capsys.readouterr().out
    assert text.splitlines()[:4] == [
        life.shop.name,
        "  versions     v2 served; v1 served, storage",
        "  stored in    v1",
        "  conversion   None",
    ]
    assert await called("status", site.client) == codes.DONE
    table = capsys.readouterr().out.splitlines()
    assert table[0].split() == ["NAME", "SERVED", "STORAGE", "STORED", "CONVERSION"]
    assert table[1].split() == [life.shop.name, "v2,v1", "v1", "v1", "None"]
    assert await called("status", site.client, "gadgets.example.test") == codes.ERROR
    assert life.shop.name in capsys.readouterr().err


@everywhere(controllers=False, on=("sim",))
async def test_the_last_migration_is_told(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    life = Life(site, tmp_path)
    await life.define("v1", "v2")
    await life.shop.make("w-1", "v1", size=1)
    assert await life.does("set_storage", "v2") == codes.DONE
    assert "migration" not in await shown(site, capsys, life.shop.name, "--journal", site.namespace)

    assert await life.does("migrate", *QUICK, "--journal", site.namespace) == codes.DONE

    found = await shown(site, capsys, life.shop.name, "--journal", site.namespace)
    assert found["migration"]["phase"] == "Clean"
    assert found["migration"]["completedAt"]
    assert found["storedVersions"] == ["v2"]
