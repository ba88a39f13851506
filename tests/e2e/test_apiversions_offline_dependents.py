"""What objects own while these go to another version without a webhook: nothing of it is lost or left behind."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path

from fairlead.contracts.apiversions.commands import codes
from kubeloop.client import Client
from kubeloop.request import Request, Response, Stream, Transport
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.killing import KilledAt, Meddler
from tests.e2e.policies import CONFIG_MAPS
from tests.e2e.upgrades import Upgraded, begun, check_done, check_undone, forget_lease, run


def reference(upgraded: Upgraded, name: str) -> Tree:
    uid = upgraded.saved[name]["metadata"]["uid"]
    return {"apiVersion": upgraded.shop.resource("v1").api_version, "kind": "Widget", "name": name, "uid": uid}


async def named(site: Site, name: str) -> str:
    """The version by which a ConfigMap names its owner."""
    found = await site.get(CONFIG_MAPS, name)
    assert found is not None
    return str(found["metadata"]["ownerReferences"][0]["apiVersion"].rpartition("/")[2])


async def a_family(site: Site, folder: Path) -> Upgraded:
    """Widgets, the second of which is owned by the first."""
    upgraded = await begun(site, folder, 3)
    owner = {"metadata": {"ownerReferences": [reference(upgraded, "w-00")]}}
    await upgraded.shop.change("w-01", owner)
    upgraded.saved = await upgraded.shop.all()
    return upgraded


@everywhere(controllers=False)
async def test_an_object_that_another_of_its_kind_owns_keeps_its_fields(site: Site, tmp_path: Path) -> None:
    """Without a webhook a write in the old version would drop what only the new one knows."""
    upgraded = await a_family(site, tmp_path)
    kind = ("--dependents", f"{upgraded.shop.group}/Widget")

    ran = await upgraded.run(*upgraded.operator, *kind)

    assert ran.code == codes.DONE, ran.err
    await check_done(upgraded)
    (owner,) = (await upgraded.shop.live("w-01", "v2"))["metadata"]["ownerReferences"]
    assert owner == {**reference(upgraded, "w-00"), "apiVersion": upgraded.shop.resource("v2").api_version}


@everywhere(controllers=False)
async def test_what_the_operator_makes_while_the_backup_is_taken_names_its_owner_in_the_new_version(
    site: Site, tmp_path: Path
) -> None:
    """It would never be collected once the old version is served no longer."""
    upgraded = await begun(site, tmp_path, 3)

    async def made() -> None:
        body = {"metadata": {"name": "late", "ownerReferences": [reference(upgraded, "w-01")]}}
        await site.create(CONFIG_MAPS, body)

    # Right before the workload is scaled down the backup is whole.
    assert await run(upgraded, Meddler("PATCH /apis/apps/v1", made), *upgraded.operator) == codes.DONE

    await check_done(upgraded)
    assert await named(site, "late") == "v2"


@everywhere(controllers=False, on=("sim",))
async def test_kinds_that_may_not_be_listed_are_named_at_the_end(site: Site, tmp_path: Path) -> None:
    """And the upgrade does not stop for them."""
    upgraded = await begun(site, tmp_path, 1)
    inner = site.ground.transport("admin")
    kind = ("--dependents", "coordination.k8s.io/Lease")

    ran = await upgraded.run(*upgraded.operator, *kind, client=Client(Unlistable(inner, "/configmaps")))

    assert ran.code == codes.DONE, ran.err
    assert "ConfigMap cannot be listed, so what these say of owners" in ran.out
    assert "Lease cannot" not in ran.out


class Unlistable:
    """A transport by which one kind may not be listed."""

    def __init__(self, inner: Transport, path: str) -> None:
        self._inner, self._path = inner, path

    async def send(self, message: Request) -> Response:
        if message.method == "GET" and message.path.endswith(self._path):
            return Response(403, b'{"kind":"Status","reason":"Forbidden","message":"may not list","code":403}')
        return await self._inner.send(message)

    def stream(self, message: Request) -> AbstractAsyncContextManager[Stream]:
        return self._inner.stream(message)


@everywhere(controllers=False, on=("sim",))
async def test_a_rollback_has_everything_name_the_old_version_again(site: Site, tmp_path: Path) -> None:
    upgraded = await a_family(site, tmp_path)
    kind = ("--dependents", f"{upgraded.shop.group}/Widget")
    await site.create(CONFIG_MAPS, {"metadata": {"name": "owned", "ownerReferences": [reference(upgraded, "w-01")]}})
    executioner = KilledAt(f"PATCH /api/v1/namespaces/{site.namespace}/configmaps/owned", 1)
    assert await run(upgraded, executioner, *upgraded.operator, *kind) is None
    assert await named(site, "owned") == "v2"
    await forget_lease(upgraded)

    ran = await upgraded.run("--rollback", *kind)

    assert ran.code == codes.DONE, ran.err
    await check_undone(upgraded)
    assert await named(site, "owned") == "v1"
    (owner,) = (await upgraded.shop.live("w-01"))["metadata"]["ownerReferences"]
    assert owner == reference(upgraded, "w-00")
