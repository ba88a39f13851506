"""The offline upgrade: objects of a CRD in another version without a webhook, and back, on both clusters."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from fairlead.contracts.apiversions.commands import codes
from fairlead.core.domain import short_hash
from fairlead.engine.decide.storage_migration.names import migration_name
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import ApiError
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import EVENTS, LEASES, PODS
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH, Request, delete, patch
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.killing import Executioner, How, KilledAt, Meddler, lived
from tests.e2e.policies import BINDINGS, CONFIG_MAPS, POLICIES
from tests.e2e.roles import grant
from tests.e2e.test_apiversions_migrate import Meddled
from tests.e2e.upgrades import COUNT, Upgraded, begun, check_done, check_undone, forget_lease, run, versions_of
from tests.e2e.widgets import Widgets, body_of


async def owned(upgraded: Upgraded) -> str:
    """The version by which a dependent names its owner, which it is given where it has none."""
    site, name = upgraded.site, "owned"
    if (found := await site.get(CONFIG_MAPS, name)) is not None:
        return str(found["metadata"]["ownerReferences"][0]["apiVersion"].rpartition("/")[2])
    owner = {
        "apiVersion": upgraded.shop.resource().api_version,
        "kind": "Widget",
        "name": "w-01",
        "uid": upgraded.saved["w-01"]["metadata"]["uid"],
    }
    await site.create(CONFIG_MAPS, {"metadata": {"name": name, "ownerReferences": [owner]}})
    return "v1"


@everywhere(controllers=False)
async def test_a19_fifty_objects_go_to_the_new_version_while_nobody_else_may_write(site: Site, tmp_path: Path) -> None:
    """A19."""
    upgraded = await begun(site, tmp_path)
    shop = upgraded.shop
    await owned(upgraded)
    user = await grant(site, {(shop.group, "widgets"): ("patch",)}, "user")
    somebody = site.client_as(user.name)
    definition = await shop.live_definition()
    refusals: list[str] = []

    async def write() -> None:
        body = b'{"spec":{"size":7}}'
        with pytest.raises(ApiError) as refused:
            await somebody.call(patch(Ref(shop.resource(), site.namespace, "w-03"), MERGE_PATCH, body))
        refusals.append(str(refused.value))

    tried = await upgraded.run("--dry-run", "--freeze", *upgraded.operator)
    assert tried.code == codes.DONE, tried.err
    assert f"{COUNT} objects go from v1 to v2" in tried.out
    assert versions_of(await shop.all()) == versions_of(upgraded.saved)
    assert await shop.live_definition() == definition
    assert await upgraded.replicas() == 2
    assert not upgraded.place.exists()

    meddler = Meddler(f"PUT /apis/{shop.group}/v2", write)
    assert await run(upgraded, meddler, "--freeze", *upgraded.operator) == codes.DONE

    await check_done(upgraded)
    assert await owned(upgraded) == "v2"
    assert "is frozen" in refusals[0]
    assert (
        f"where no run is at work any more, end it with `fairlead api offline-upgrade {shop.name} --resume`"
        in (refusals[0])
    )
    events = await site.client.list(EVENTS, dict[str, Any], namespace="default")
    told = {(each["regarding"]["name"], each["reason"]) for each in events.items}
    assert (shop.name, "OfflineUpgradeSucceeded") in told
    entries = [each for tree in (await shop.all("v2")).values() for each in tree["metadata"]["managedFields"]]
    assert {(each["manager"], each["apiVersion"]) for each in entries} == {
        ("kubeloop", shop.resource("v2").api_version)
    }
    assert any("f:paint" in (each["fieldsV1"].get("f:spec") or {}) for each in entries)


@everywhere(controllers=False)
async def test_a20_an_upgrade_that_is_killed_while_it_converts_goes_on(site: Site, tmp_path: Path) -> None:
    """A20."""
    upgraded = await begun(site, tmp_path)
    killed = KilledAt(f"PUT /apis/{upgraded.shop.group}/v2", 30)
    assert await run(upgraded, killed, "--freeze", *upgraded.operator) is None
    await forget_lease(upgraded)

    refused = await upgraded.run("--freeze", *upgraded.operator)
    assert refused.code == codes.PRECONDITION
    assert "--resume" in refused.err
    ran = await upgraded.run("--resume")

    assert ran.code == codes.DONE, ran.err
    await check_done(upgraded)


@everywhere(controllers=False)
async def test_a21_an_upgrade_that_has_converted_is_rolled_back(site: Site, tmp_path: Path) -> None:
    """A21."""
    upgraded = await begun(site, tmp_path)
    await owned(upgraded)
    killed = KilledAt("PUT /apis/apiextensions", 2)  # the old version is served no longer, and nothing is started
    assert await run(upgraded, killed, "--freeze", *upgraded.operator) is None
    await forget_lease(upgraded)
    assert await upgraded.replicas() == 0
    assert await owned(upgraded) == "v2"

    ran = await upgraded.run("--rollback")

    assert ran.code == codes.DONE, ran.err
    await check_undone(upgraded)
    assert await owned(upgraded) == "v1"
    again = await upgraded.run("--rollback")
    assert again.code == codes.DONE
    await check_undone(upgraded)


@everywhere(controllers=False, on=("sim",))
@pytest.mark.parametrize(
    ("unanswered", "code"),
    [(("/widgets/",), codes.RESUMABLE), (("/widgets/", "/leases/"), codes.ERROR)],
    ids=["by time", "by the loss of its Lease"],
)
async def test_a_rollback_that_is_cut_off_says_how_to_go_on_undoing(
    site: Site, tmp_path: Path, unanswered: tuple[str, ...], code: int
) -> None:
    upgraded = await begun(site, tmp_path)
    assert await run(upgraded, KilledAt("PUT /apis/apiextensions", 2)) is None
    await forget_lease(upgraded)

    async def slow(sent: Request) -> None:
        if sent.method == "PUT" and any(each in sent.path for each in unanswered):
            await asyncio.sleep(100)

    hung = Client(Meddled(site.ground.transport("admin"), slow), timeout=500)
    ran = await upgraded.run("--rollback", "--timeout", "20s", client=hung)

    assert ran.code == code
    command = f"fairlead api offline-upgrade {upgraded.shop.name} --rollback --backup {upgraded.place}"
    assert f"go on undoing it with `{command}`" in ran.err
    await forget_lease(upgraded)
    assert (await upgraded.run("--rollback")).code == codes.DONE
    await check_undone(upgraded)


@everywhere(controllers=False, on=("sim",))
async def test_a_write_of_somebody_else_is_converted_again_where_nothing_is_frozen(site: Site, tmp_path: Path) -> None:
    """It is written in the old version, whose fields the new one has no place for are lost: the plan says so."""
    upgraded = await begun(site, tmp_path, 4)
    shop = upgraded.shop

    async def write() -> None:
        await shop.change("w-02", {"spec": {"size": 77}})
        await shop.make("w-new", "v2", size=1, paint={"finish": "matt"})

    ran = await run(upgraded, Meddler(f"PUT /apis/{shop.group}/v2/namespaces/{site.namespace}/widgets/w-02", write))

    assert ran == codes.DONE
    after = await shop.all("v2")
    assert after["w-02"]["spec"]["size"] == 77
    assert after["w-new"]["spec"] == {"size": 1, "paint": {"finish": "matt"}}
    untouched = ("w-00", "w-01", "w-03")
    assert {name: body_of(after[name]) for name in untouched} == {
        name: body_of(shop.converted(upgraded.saved[name])) for name in untouched
    }


@everywhere(controllers=False, on=("sim",))
async def test_what_was_made_in_the_new_version_is_converted_back(site: Site, tmp_path: Path) -> None:
    upgraded = await begun(site, tmp_path, 2)
    shop = upgraded.shop

    async def write() -> None:
        await shop.make("w-new", "v2", size=1, paint={"colour": "blue", "finish": "matt"})

    class KilledMeddler(Meddler):
        @property
        def is_due(self) -> bool:
            return self._is_done and self.effects[-1].startswith("PUT /apis/apiextensions")

    meddler = KilledMeddler(f"PUT /apis/{shop.group}/v2", write)
    meddler.how = How.AFTER
    assert await run(upgraded, meddler) is None

    ran = await upgraded.run("--rollback")

    assert ran.code == codes.DONE, ran.err
    made = await shop.live("w-new")
    assert made["spec"] == {"size": 1, "colour": "blue"}
    assert shop.converted(made)["spec"] == {"size": 1, "paint": {"colour": "blue", "finish": "matt"}}


@everywhere(controllers=False, on=("sim",))
async def test_a_leaking_freeze_ends_the_run(site: Site, tmp_path: Path) -> None:
    upgraded = await begun(site, tmp_path, 3)
    shop = upgraded.shop

    async def write() -> None:
        await shop.change("w-01", {"spec": {"size": 77}})  # by the caller, whom the freeze lets write

    meddler = Meddler(f"PUT /apis/{shop.group}/v2/namespaces/{site.namespace}/widgets/w-01", write)
    assert await run(upgraded, meddler, "--freeze", *upgraded.operator) == codes.OBJECTS_FAILED

    assert await upgraded.is_frozen()
    ran = await upgraded.run("--rollback")
    assert ran.code == codes.DONE, ran.err
    await check_undone(upgraded)


@everywhere(controllers=False, on=("sim",))
async def test_an_object_that_cannot_be_converted_is_named_before_anything_is_written(
    site: Site, tmp_path: Path
) -> None:
    upgraded = await begun(site, tmp_path, 2)
    shop = upgraded.shop
    await shop.change("w-01", {"metadata": {"annotations": {"large": "x" * 262_130}}})
    definition = await shop.live_definition()

    ran = await upgraded.run("--freeze", *upgraded.operator)

    assert ran.code == codes.PRECONDITION
    assert f"{site.namespace}/w-01: it cannot be converted" in ran.out
    assert "nothing was written" in ran.err
    assert await shop.live_definition() == definition
    assert not upgraded.place.exists()
    assert await upgraded.replicas() == 2


@everywhere(controllers=False, on=("sim",))
async def test_the_directory_is_what_counts(site: Site, tmp_path: Path) -> None:
    """Without its ConfigMap an upgrade goes on all the same; with another directory, or an edited one, it does not."""
    upgraded = await begun(site, tmp_path, 2)
    killed = KilledAt(f"PUT /apis/{upgraded.shop.group}/v2", 1)
    assert await run(upgraded, killed, "--freeze", *upgraded.operator) is None
    await forget_lease(upgraded)
    ref = Ref(CONFIG_MAPS, site.namespace, migration_name(upgraded.shop.name))
    other = Path(shutil.copytree(upgraded.place, tmp_path / "other"))
    manifest = json.loads((other / "manifest.json").read_text())
    (other / "manifest.json").write_text(json.dumps(manifest | {"generation": 7}))

    refused = await upgraded.run("--resume", place=other)
    assert refused.code == codes.PRECONDITION
    assert "has another backup" in refused.err
    with (other / "journal.jsonl").open("ab") as journal:
        journal.write(b"rubbish\n")
    edited = await upgraded.run("--resume", place=other)
    assert edited.code == codes.PRECONDITION

    await site.client.call(delete(ref))
    with (upgraded.place / "journal.jsonl").open("ab") as journal:
        journal.write(b'{"key":"upgrade","value":{"crd"')  # the line that it was killed in
    ran = await upgraded.run("--resume")

    assert ran.code == codes.DONE, ran.err
    assert "it is made from" in ran.err
    await check_done(upgraded)
    summary = await site.get(CONFIG_MAPS, ref.name)
    assert summary is not None
    assert json.loads(summary["data"]["upgrade"])["state"] == "Done"


@everywhere(controllers=False, on=("sim",))
async def test_an_upgrade_that_is_done_is_not_undone_and_may_remove_the_old_version(site: Site, tmp_path: Path) -> None:
    upgraded = await begun(site, tmp_path, 3)
    shop = upgraded.shop

    ran = await upgraded.run("--remove", *upgraded.operator)
    assert ran.code == codes.DONE, ran.err

    assert await upgraded.versions() == {"v2": (True, True)}
    assert not any("annotations" in each["metadata"] for each in (await shop.all("v2")).values())
    undone = await upgraded.run("--rollback")
    assert undone.code == codes.PRECONDITION
    assert "fairlead api restore" in undone.err
    again = await upgraded.run("--resume")
    assert again.code == codes.DONE


async def scale(upgraded: Upgraded, replicas: int) -> None:
    """As somebody does who needs the operator back."""
    ref = Ref(STATEFULSETS, upgraded.site.namespace, "operator")
    await upgraded.site.client.call(patch(ref, MERGE_PATCH, b'{"spec":{"replicas":%d}}' % replicas))


class Witness(Executioner):
    """Notes what the cluster is like at every write of an object."""

    def __init__(self, upgraded: Upgraded) -> None:
        super().__init__()
        self._upgraded = upgraded
        self.seen: set[tuple[int, bool]] = set()
        """Replicas of the operator, and whether objects are frozen."""

    async def at(self, name: str, carried_out: Callable[[], Awaitable[Any]], *, is_local: bool = False) -> Any:
        if name.startswith(f"PUT /apis/{self._upgraded.shop.group}"):
            self.seen.add((await self._upgraded.replicas(), await self._upgraded.is_frozen()))
        return await super().at(name, carried_out, is_local=is_local)


@everywhere(controllers=False, on=("sim",))
@pytest.mark.parametrize("way", ["--resume", "--rollback"])
async def test_an_operator_that_was_started_between_two_runs_is_stopped_again_and_a_freeze_that_was_lifted_is_back(
    site: Site, tmp_path: Path, way: str
) -> None:
    """Whoever was killed at night has people start the operator first, and go on in the morning."""
    upgraded = await begun(site, tmp_path, 4)
    killed = KilledAt(f"PUT /apis/{upgraded.shop.group}/v2", 3)
    assert await run(upgraded, killed, "--freeze", "--concurrency", "1", *upgraded.operator) is None
    await forget_lease(upgraded)
    await scale(upgraded, 2)
    for resource in (BINDINGS, POLICIES):
        await site.client.call(delete(Ref(resource, "", f"fairlead-freeze-{short_hash(upgraded.shop.name)}")))

    witness = Witness(upgraded)
    assert await run(upgraded, witness, way) == codes.DONE

    assert witness.seen == {(0, True)}
    await (check_done if way == "--resume" else check_undone)(upgraded)


@everywhere(controllers=False, on=("sim",))
async def test_an_operator_that_somebody_starts_meanwhile_ends_the_run_which_names_it(
    site: Site, tmp_path: Path
) -> None:
    upgraded = await begun(site, tmp_path, 4)

    starting = Meddler(f"PUT /apis/{upgraded.shop.group}/v2", lambda: scale(upgraded, 1))
    ran = await lived(site, starting, lambda client: upgraded.run(*upgraded.operator, client=client))

    assert ran.code == codes.ERROR
    assert "somebody has scaled StatefulSet operator up meanwhile" in ran.err
    assert (await upgraded.run("--resume")).code == codes.DONE
    await check_done(upgraded)


@everywhere(controllers=False, on=("sim",))
@pytest.mark.parametrize("again", [False, True], ids=["gone", "made again"])
async def test_what_was_stopped_for_a_crd_that_is_gone_is_started_by_a_rollback(
    site: Site, tmp_path: Path, again: bool
) -> None:
    """Its objects went with it, and nothing else lets anybody write those of another CRD of its name."""
    upgraded = await begun(site, tmp_path, 4)
    shop = upgraded.shop
    killed = KilledAt(f"PUT /apis/{shop.group}/v2", 3)
    assert await run(upgraded, killed, "--freeze", "--concurrency", "1", *upgraded.operator) is None
    await forget_lease(upgraded)
    await site.client.call(delete(Ref(CUSTOM_RESOURCES, "", shop.name)))
    gone = lambda: shop.name not in site.history.objects(CUSTOM_RESOURCES)  # noqa: E731
    await site.history.follow(CUSTOM_RESOURCES)
    await site.until(gone)
    if again:
        await shop.define("v1")
        resumed = await upgraded.run("--resume")
        assert resumed.code == codes.ERROR
        assert "it was deleted and made again meanwhile, so there is nothing left to convert" in resumed.err

    ran = await upgraded.run("--rollback")

    assert ran.code == codes.DONE, ran.err
    assert f"it was deleted{' and made again' * again} meanwhile, so no object was brought back" in ran.out
    assert f"fairlead api restore {upgraded.place}" in ran.out
    assert (await upgraded.replicas(), await upgraded.is_frozen()) == (2, False)


@everywhere(controllers=False, on=("sim",))
async def test_an_upgrade_that_had_ended_is_told_as_that_and_not_as_how_objects_are(site: Site, tmp_path: Path) -> None:
    upgraded = await begun(site, tmp_path, 2)
    killed = KilledAt(f"PUT /apis/{upgraded.shop.group}/v2", 1)
    assert await run(upgraded, killed, "--concurrency", "1") is None
    await forget_lease(upgraded)
    assert (await upgraded.run("--rollback")).code == codes.DONE
    assert (await upgraded.run(place=tmp_path / "second")).code == codes.DONE

    ran = await upgraded.run("--rollback")

    assert ran.code == codes.DONE
    assert f"the upgrade of {upgraded.place} had ended at " in ran.out
    assert "(RolledBack), so nothing was done" in ran.out


@everywhere(controllers=False, on=("sim",))
async def test_an_operator_that_holds_its_lease_is_waited_for(site: Site, tmp_path: Path) -> None:
    upgraded = await begun(site, tmp_path, 1)
    held = {"holderIdentity": "operator-0_1", "leaseDurationSeconds": 15, "renewTime": "2030-01-01T00:00:00.000000Z"}
    await site.create(LEASES, {"metadata": {"name": "theirs"}, "spec": held})
    began = clock.monotonic()

    ran = await upgraded.run(*upgraded.operator)

    assert ran.code == codes.DONE, ran.err
    assert 15 <= clock.monotonic() - began < 25
    await check_done(upgraded)


@everywhere(controllers=False, on=("sim",))
async def test_the_lease_of_an_operator_is_waited_for_no_longer_where_the_clock_is_set_back(
    site: Site, tmp_path: Path
) -> None:
    upgraded = await begun(site, tmp_path, 1)
    held = {"holderIdentity": "operator-0_1", "leaseDurationSeconds": 15, "renewTime": "2030-01-01T00:00:00.000000Z"}
    await site.create(LEASES, {"metadata": {"name": "theirs"}, "spec": held})
    loop = asyncio.get_running_loop()
    began = loop.time()
    loop.call_later(12.0, loop.jump, -86_400.0)  # type: ignore[attr-defined]

    ran = await upgraded.run(*upgraded.operator)

    assert ran.code == codes.DONE, ran.err
    assert loop.time() - began < 60
    await check_done(upgraded)


@everywhere(controllers=False)
async def test_a_definition_that_changed_since_the_backup_ends_the_run_before_it_loses_what_is_new(
    site: Site, tmp_path: Path
) -> None:
    """As a tool that applies manifests may do meanwhile; the old version would be written back as it was."""
    upgraded = await begun(site, tmp_path, 3)
    shop = upgraded.shop

    async def widened() -> None:
        (version,) = (await shop.live_definition())["spec"]["versions"]
        version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["extra"] = {"type": "string"}
        body = json.dumps({"spec": {"versions": [version]}}).encode()
        await site.client.call(patch(Ref(CUSTOM_RESOURCES, "", shop.name), MERGE_PATCH, body))

        async def is_kept() -> bool:
            return bool((await shop.change("w-01", {"spec": {"extra": "x"}}))["spec"].get("extra"))

        await site.until(is_kept, every=0.1)

    assert await run(upgraded, Meddler("PATCH /apis/apps/v1", widened), *upgraded.operator) == codes.CHANGED
    assert (await shop.live("w-01"))["spec"]["extra"] == "x"
    await forget_lease(upgraded)

    ran = await upgraded.run("--rollback")

    assert ran.code == codes.DONE, ran.err
    assert (await shop.change("w-02", {"spec": {"extra": "y"}}))["spec"]["extra"] == "y"
    assert (await shop.live("w-01"))["spec"]["extra"] == "x"
    assert await upgraded.replicas() == 2


@everywhere(controllers=False, on=("sim",))
async def test_what_an_upgrade_waits_for_is_told(site: Site, tmp_path: Path) -> None:
    """A pod that does not go, such as one on a node that is lost, and then the Lease that it has held."""
    upgraded = await begun(site, tmp_path, 1)
    container = {"name": "o", "image": "o"}
    labelled = {"name": "operator-0", "labels": {"app": "operator"}, "finalizers": ["example.test/mine"]}
    await site.create(PODS, {"metadata": labelled, "spec": {"containers": [container]}})
    held = {"holderIdentity": "operator-0_1", "leaseDurationSeconds": 15}
    await site.create(LEASES, {"metadata": {"name": "theirs"}, "spec": held})
    pod = Ref(PODS, site.namespace, "operator-0")

    async def goes() -> None:
        await asyncio.sleep(20)
        await site.client.call(delete(pod))
        await asyncio.sleep(20)
        await site.client.call(patch(pod, MERGE_PATCH, b'{"metadata":{"finalizers":null}}'))

    site.start(goes())
    ran = await upgraded.run(*upgraded.operator)

    assert ran.code == codes.DONE, ran.err
    waited = [line.partition("waiting: ")[2] for line in ran.err.splitlines() if "waiting: " in line]
    assert waited[0] == "pod operator-0 is there still"
    assert re.fullmatch(
        r"pod operator-0 is being deleted since \S+, and waits for finalizers example.test/mine", waited[1]
    )
    assert waited[2:] == ["lease theirs is held by operator-0_1"]


@everywhere(controllers=False)
async def test_objects_of_no_namespace_go_too_and_those_that_are_being_deleted(site: Site, tmp_path: Path) -> None:
    shop = Widgets(site, f"{site.namespace}.example.test", is_namespaced=False)
    upgraded = await begun(site, tmp_path, 2, shop)
    await shop.change("w-01", {"metadata": {"finalizers": ["example.test/kept"]}})
    await shop.delete("w-01")
    upgraded.saved = await shop.all()
    assert "deletionTimestamp" in upgraded.saved["w-01"]["metadata"]

    ran = await upgraded.run("--freeze", *upgraded.operator)

    assert ran.code == codes.DONE, ran.err
    await check_done(upgraded)
    assert (upgraded.place / "objects" / "_cluster" / "w-00.json").exists()
    assert "deletionTimestamp" in (await shop.all("v2"))["w-01"]["metadata"]
