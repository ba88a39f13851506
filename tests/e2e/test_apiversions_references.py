"""References to versions that go: who owns fields and who belongs to whom stays, under a version that stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from fairlead.contracts.apiversions.commands import codes
from kubeloop import request
from kubeloop.client import Client
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import Request, Response
from tests.e2e.api_commands import Ran, api
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.stored_widgets import (
    GROUP,
    NAME,
    NEW,
    OLD,
    PROBE,
    QUICK,
    a_crd,
    a_version,
    apply,
    is_served,
    move_storage,
    read,
    stored_in_v1,
    stored_versions,
    widgets,
    with_versions,
)
from tests.e2e.widgets import widgets as unconverted

ELDEST = Resource(GROUP, "v0", "widgets", "Widget")
PACE = ("--qps", "0", "--progress", "none")


async def fix_refs(site: Site, *more: str) -> Ran:
    return await api(site.client, "fix-refs", NAME, *PACE, *more)


def owned_by(*owners: Tree) -> Tree:
    return {
        "metadata": {"name": "belonging", "ownerReferences": list(owners)},
        "data": {"password": "c2VjcmV0"},
    }


def named(tree: Tree, api_version: str, **more: Any) -> Tree:
    metadata = tree["metadata"]
    return {"apiVersion": api_version, "kind": "Widget", "name": metadata["name"], "uid": metadata["uid"], **more}


@everywhere(controllers=False)
async def test_references_name_the_storage_version_afterwards(site: Site) -> None:
    """A22, the half that fixes them."""
    await stored_in_v1(site, 4, manager="a")
    found = await widgets(site)
    flags = {"controller": True, "blockOwnerDeletion": True}
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": "another-uid"}
    owners = (other, named(found["w-0"], OLD.api_version, **flags), named(found["w-1"], NEW.api_version))
    secret = await site.create(SECRETS, owned_by(*owners))

    tried = await fix_refs(site, "--dry-run", "--dependents", "Secret")
    unchanged = await read(site.client, Ref(SECRETS, site.namespace, "belonging"))
    ran = await fix_refs(site, "--dependents", "Secret", "-o", "json")

    assert tried.code == codes.DONE
    assert unchanged["metadata"]["resourceVersion"] == secret["metadata"]["resourceVersion"]
    assert ran.code == codes.DONE
    assert ran.tree == {"crd": NAME, "version": "v2", "objects": 4, "dependents": 1}
    after = await read(site.client, Ref(SECRETS, site.namespace, "belonging"))
    expected = [other, {**owners[1], "apiVersion": NEW.api_version}, owners[2]]
    assert after["metadata"]["ownerReferences"] == expected
    assert after["data"] == secret["data"]
    entries = [each for tree in (await widgets(site)).values() for each in tree["metadata"]["managedFields"]]
    assert {(each["manager"], each["operation"], each["apiVersion"]) for each in entries} == {
        ("a", "Apply", NEW.api_version)
    }
    changed = await apply(site, "w-0", manager="a", colour="blue", via=NEW)
    assert changed["spec"]["colour"] == "blue"
    again = await fix_refs(site, "--dependents", "Secret", "-o", "json")
    assert (again.tree["objects"], again.tree["dependents"]) == (0, 0)


@everywhere(controllers=False)
async def test_a_creator_whose_fields_others_took_over_owns_none_of_them_afterwards(site: Site, tmp_path: Path) -> None:
    """Section 3.6: who applies a field that is nobody else's need not force it."""
    await stored_in_v1(site, 1)
    await site.create(OLD, {"metadata": {"name": "made"}, "spec": {"size": 1, "colour": "red"}})
    await apply(site, "made", manager="a", size=2, colour="green", force=True)
    rules = tmp_path / "rules.yaml"
    spokes = [{"version": "v1"}]
    rules.write_bytes(msgspec.json.encode({"kind": "ConversionRules", "crd": NAME, "hub": "v2", "spokes": spokes}))

    ran = await fix_refs(site, "--dependents", "Secret", "--rules", str(rules))
    changed = await apply(site, "made", manager="a", size=3, colour="blue", via=NEW)

    assert ran.code == codes.DONE
    assert changed["spec"] == {"size": 3, "colour": "blue"}


@everywhere(controllers=False)
async def test_every_kind_that_can_be_listed_is_looked_through(site: Site) -> None:
    """Section 3.6."""
    await stored_in_v1(site, 1)
    found = await widgets(site)
    await site.create(SECRETS, owned_by(named(found["w-0"], OLD.api_version)))
    chain = {"metadata": {"name": "child", "ownerReferences": [named(found["w-0"], OLD.api_version)]}}
    await site.create(OLD, chain)

    ran = await fix_refs(site, "-o", "json")

    assert (ran.code, ran.tree["dependents"]) == (codes.DONE, 2)
    child = (await widgets(site))["child"]
    assert child["metadata"]["ownerReferences"][0]["apiVersion"] == NEW.api_version


@everywhere(controllers=False)
async def test_a_version_that_is_gone_from_the_definition_does_not_stop_a_migration(site: Site) -> None:
    """Section 3.5: an apply to such an object would fail, and another write would wipe its managedFields."""
    versions = [a_version("v0"), a_version("v1", storage=True), a_version("v2")]
    crd = a_crd(*versions)
    await site.client.call(request.create(CUSTOM_RESOURCES, "", msgspec.json.encode(crd)))
    await site.until(lambda: is_served(site.client, ELDEST), every=0.05)
    for name in ("w-0", "w-1"):
        await apply(site, name, manager="a", via=ELDEST)
    await with_versions(site.client, *versions[1:])
    await move_storage(site, NEW)

    ran = await api(site.client, "migrate", NAME, *QUICK, "--journal", site.namespace, "-o", "json")

    assert (ran.code, ran.err) == (codes.DONE, "")
    assert ran.tree[0]["repaired"] == 2
    assert await stored_versions(site.client) == ["v2"]
    found = await widgets(site)
    assert PROBE not in found
    entries = [each for tree in found.values() for each in tree["metadata"]["managedFields"]]
    assert {(each["manager"], each["apiVersion"]) for each in entries} == {("a", NEW.api_version)}
    changed = await apply(site, "w-0", manager="a", colour="blue", via=NEW)
    assert changed["spec"]["colour"] == "blue"


@everywhere(controllers=False)
async def test_an_object_that_another_of_its_kind_owns_keeps_its_fields(site: Site) -> None:
    """Where nobody converts, a write in a version that is not stored drops what that one does not know."""
    shop = unconverted(site)
    await shop.define("v1", "v2")
    owner = await shop.make("w-0", size=1)
    await shop.make("w-1", size=1, colour="red")
    await shop.change("w-1", {"metadata": {"ownerReferences": [named(owner, shop.resource("v2").api_version)]}})

    for words in ((), ("--dependents", f"{shop.group}/Widget")):
        assert (await api(site.client, "fix-refs", shop.name, *PACE, *words)).code == codes.DONE

    child = await shop.live("w-1")
    assert child["spec"] == {"size": 1, "colour": "red"}
    assert child["metadata"]["ownerReferences"] == [named(owner, shop.resource("v1").api_version)]


@everywhere(controllers=False, on=("sim",))
async def test_what_is_mistyped_is_said(site: Site) -> None:
    """Section 2.3."""
    unknown = await fix_refs(site)
    await stored_in_v1(site, 1)
    version = await fix_refs(site, "--version", "v9")
    kind = await fix_refs(site, "--dependents", "Sekret")

    assert (unknown.code, "there is no CRD" in unknown.err) == (codes.ERROR, True)
    assert (version.code, "has no version v9: it has v1, v2" in version.err) == (codes.ERROR, True)
    assert (kind.code, "no kind Sekret is served here" in kind.err) == (codes.PRECONDITION, True)


@everywhere(controllers=False, on=("sim",))
async def test_owners_are_named_in_the_hub_which_need_not_be_stored_yet(site: Site, tmp_path: Path) -> None:
    """Section 3.6."""
    await stored_in_v1(site, 1)
    versions = [a_version("v1"), a_version("v2", storage=True), a_version("v3")]
    await with_versions(site.client, *versions)
    found = await widgets(site)
    await site.create(SECRETS, owned_by(named(found["w-0"], OLD.api_version)))
    spokes = [{"version": each} for each in ("v1", "v2")]
    rules = tmp_path / "rules.yaml"
    rules.write_bytes(msgspec.json.encode({"kind": "ConversionRules", "crd": NAME, "hub": "v3", "spokes": spokes}))

    ran = await fix_refs(site, "--dependents", "Secret", "--rules", str(rules))

    assert ran.code == codes.DONE
    assert "managedFields of 1 object name v2 and ownerReferences of 1 dependent name v3 now" in ran.out
    after = await read(site.client, Ref(SECRETS, site.namespace, "belonging"))
    assert after["metadata"]["ownerReferences"][0]["apiVersion"] == f"{GROUP}/v3"


@everywhere(controllers=False, on=("sim",))
async def test_a_group_whose_server_fails_is_named(site: Site) -> None:
    await stored_in_v1(site, 1, manager="a")
    transport = site.ground.transport("admin")
    send = transport.send

    async def failing(request: Request) -> Response:
        return Response(503, b"service unavailable") if request.target == "/apis/apps/v1" else await send(request)

    transport.send = failing  # type: ignore[method-assign]

    ran = await api(Client(transport), "fix-refs", NAME, *PACE)

    assert ran.code == codes.DONE, ran.err
    assert "not looked at, because they cannot be listed: apps/v1" in ran.out
