"""Bringing back objects whose owners are gone or were made again, beside a garbage collector."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.contracts.apiversions.commands import codes
from kubeloop.request import Request, path_of
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.policies import CONFIG_MAPS
from tests.e2e.widgets import Widgets, called, widgets

QUIET = ("--progress", "none", "--qps", "0")


def owned_by(owner: Tree) -> Tree:
    metadata = owner["metadata"]
    return {
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "controller": True,
    }


async def a_family(site: Site) -> Widgets:
    """A parent of another kind; a widget that it owns; one that this one owns, whose name comes first; and a free
    one."""
    shop = widgets(site)
    await shop.define("v1")
    parent = await a_parent(site)
    child = await make_owned(shop, "z-child", parent)
    await make_owned(shop, "a-grandchild", child)
    await shop.make("free", size=1)
    return shop


async def a_parent(site: Site) -> Tree:
    return await site.create(CONFIG_MAPS, {"metadata": {"name": "parent"}})


async def make_owned(shop: Widgets, name: str, owner: Tree) -> Tree:
    metadata = {"name": name, "ownerReferences": [owned_by(owner)]}
    return await shop.site.create(shop.resource(), {"metadata": metadata, "spec": {"size": 7}})


async def lost(shop: Widgets) -> None:
    """The parent and all widgets are deleted."""
    site = shop.site
    await site.client.call(Request("DELETE", path_of(CONFIG_MAPS, site.namespace, "parent")))
    await site.client.call(Request("DELETE", path_of(shop.resource(), site.namespace)))

    async def is_empty() -> bool:
        return not await shop.all() and await site.get(CONFIG_MAPS, "parent") is None

    await site.until(is_empty, every=0.2)


async def collected(shop: Widgets) -> None:
    """The garbage collector has gone by once more: what it was to find it has found."""
    nobody = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "nobody", "uid": "1-2-3"}}
    await make_owned(shop, "canary", nobody)

    async def is_gone() -> bool:
        return "canary" not in await shop.all()

    await shop.site.until(is_gone, within=120, every=0.5)


async def owners(shop: Widgets) -> dict[str, list[tuple[str, str]]]:
    """Names and UIDs of the owners of each widget."""
    found = await shop.all()
    return {
        name: [(each["name"], each["uid"]) for each in tree["metadata"].get("ownerReferences") or ()]
        for name, tree in found.items()
    }


@everywhere(long=True)
async def test_objects_that_are_made_again_belong_to_the_owners_that_are_there_now(site: Site, tmp_path: Path) -> None:
    """As in another cluster: whatever names the UID of before would be collected as soon as it is made."""
    shop = await a_family(site)
    place = tmp_path / "backup"
    assert await called("backup", site.client, shop.name, "--out", str(place), *QUIET) == codes.DONE
    await lost(shop)
    parent = await a_parent(site)

    assert await called("restore", site.client, str(place), *QUIET) == codes.DONE
    await collected(shop)

    child = (await shop.live("z-child"))["metadata"]["uid"]
    assert await owners(shop) == {
        "z-child": [("parent", parent["metadata"]["uid"])],
        "a-grandchild": [("z-child", child)],
        "free": [],
    }
    assert await called("restore", site.client, str(place), *QUIET) == codes.DONE
    assert (await owners(shop))["a-grandchild"] == [("z-child", child)]


@everywhere(on=("sim",))
async def test_an_object_whose_owner_is_gone_is_made_without_it_and_named(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = await a_family(site)
    place = tmp_path / "backup"
    assert await called("backup", site.client, shop.name, "--out", str(place), *QUIET) == codes.DONE
    await lost(shop)

    for words in (("--dry-run",), ()):
        capsys.readouterr()
        assert await called("restore", site.client, str(place), *QUIET, *words) == codes.DONE
        told = capsys.readouterr().out
        assert "z-child: without its owner ConfigMap parent, which is not there" in told
        assert "a-grandchild: without" not in told
    await collected(shop)

    child = (await shop.live("z-child"))["metadata"]["uid"]
    assert await owners(shop) == {"z-child": [], "a-grandchild": [("z-child", child)], "free": []}
    assert (await shop.live("z-child"))["spec"] == {"size": 7}


@everywhere(on=("sim",))
async def test_an_object_that_its_owner_has_let_go_is_not_given_back_to_an_owner_that_is_gone(
    site: Site, tmp_path: Path
) -> None:
    """After `kubectl delete --cascade=orphan` the old reference would be the end of an object that is there."""
    shop = await a_family(site)
    place = tmp_path / "backup"
    assert await called("backup", site.client, shop.name, "--out", str(place), *QUIET) == codes.DONE
    orphaning = (("propagationPolicy", "Orphan"),)
    await site.client.call(Request("DELETE", path_of(CONFIG_MAPS, site.namespace, "parent"), query=orphaning))

    async def is_let_go() -> bool:
        return (await owners(shop))["z-child"] == []

    await site.until(is_let_go, every=0.2)
    before = await shop.live("z-child")
    await shop.change("z-child", {"spec": {"size": 9}})

    assert await called("restore", site.client, str(place), *QUIET) == codes.DONE
    await collected(shop)

    after = await shop.live("z-child")
    assert (after["metadata"]["uid"], after["spec"]) == (before["metadata"]["uid"], {"size": 7})
    assert "ownerReferences" not in after["metadata"]


@everywhere(controllers=False, on=("sim",))
async def test_a_child_of_the_same_kind_that_is_there_keeps_its_fields_when_its_owner_is_made_again(
    site: Site, tmp_path: Path
) -> None:
    """Without conversion a write in the preferred version would drop what only the stored one knows."""
    shop = widgets(site)
    await shop.define("v1", "v2")
    owner = await shop.make("w-0", size=1)
    await shop.make("w-1", size=1, colour="red")
    await shop.change("w-1", {"metadata": {"ownerReferences": [owned_by(owner)]}})
    place = tmp_path / "backup"
    assert await called("backup", site.client, shop.name, "--out", str(place), *QUIET) == codes.DONE
    await shop.delete("w-0")

    assert await called("restore", site.client, str(place), *QUIET) == codes.DONE

    child = await shop.live("w-1")
    assert child["spec"] == {"size": 1, "colour": "red"}
    uid = (await shop.live("w-0"))["metadata"]["uid"]
    assert [each["uid"] for each in child["metadata"]["ownerReferences"]] == [uid]


@everywhere(on=("sim",))
async def test_what_is_as_it_was_keeps_its_version_even_where_its_owner_cannot_be_found(
    site: Site, tmp_path: Path
) -> None:
    """The garbage collector leaves alone what names a kind that nobody serves."""
    shop = await a_family(site)
    stranger = {"apiVersion": "apps.example.test/v1", "kind": "App", "metadata": {"name": "app", "uid": "4-5-6"}}
    made = await make_owned(shop, "of-a-stranger", stranger)
    place = tmp_path / "backup"
    assert await called("backup", site.client, shop.name, "--out", str(place), *QUIET) == codes.DONE

    assert await called("restore", site.client, str(place), *QUIET) == codes.DONE

    assert await shop.live("of-a-stranger") == made
