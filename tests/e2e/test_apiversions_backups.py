"""Backups of the objects of a CRD, and bringing them back, on both clusters."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest

from fairlead.contracts.apiversions.commands import codes
from fairlead.contracts.apiversions.commands.live_definition import NoDefinition
from fairlead.engine.command import Precondition
from kubeloop import clock
from kubeloop.client import Client
from kubeloop.errors import ApiError
from kubeloop.objects.meta import Ref
from kubeloop.request import Request, Response, apply, path_to
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.policies import CONFIG_MAPS
from tests.e2e.widgets import MERGE, Widgets, a_version, body_of, called, tree_of, widgets

QUIET = ("--progress", "none", "--qps", "0")


async def a_shop(site: Site, count: int = 5) -> Widgets:
    """Widgets with a status each."""
    shop = widgets(site)
    await shop.define("v1")
    for number in range(count):
        await shop.make(f"w-{number}", size=number, colour="red", status={"phase": "Ready", "seen": number})
    return shop


def content_of(folder: Path) -> list[Path]:
    return list(folder.iterdir())


async def backed_up(shop: Widgets, place: Path, *words: str) -> Path:
    assert await called("backup", shop.site.client, shop.name, "--out", str(place), *QUIET, *words) == codes.DONE
    return place


async def restored(shop: Widgets, place: Path, *words: str) -> int:
    return await called("restore", shop.site.client, str(place), *QUIET, *words)


async def redefined(shop: Widgets, versions: list[Tree]) -> None:
    """The CRD has these versions, and the API server goes by them."""
    body = msgspec.json.encode({"spec": {"versions": versions}})
    path = path_to(Ref(CUSTOM_RESOURCES, "", shop.name))
    await shop.site.client.call(Request("PATCH", path, body=body, content_type=MERGE))
    newest = versions[-1]["name"]

    async def is_listed() -> bool:
        try:
            await shop.all(newest)
        except ApiError:
            return False
        return True

    await shop.site.until(is_listed, every=0.05)


def names_in(place: Path) -> list[str]:
    return sorted(each.name for each in place.iterdir())


def versions(objects: dict[str, Tree]) -> dict[str, str]:
    return {name: tree["metadata"]["resourceVersion"] for name, tree in objects.items()}


@everywhere(controllers=False)
async def test_a34_a_restore_makes_what_is_gone_brings_back_what_changed_and_touches_nothing_else(
    site: Site, tmp_path: Path
) -> None:
    shop = await a_shop(site)
    saved = await shop.all()
    place = await backed_up(shop, tmp_path / "backup", "--dependents", "ConfigMap")
    await shop.delete("w-1")
    await shop.change("w-2", {"spec": {"colour": None, "size": 9}, "metadata": {"labels": {"by": "somebody"}}})
    await shop.change("w-3", {"status": {"phase": "Broken"}}, subresource="status")
    before = versions(await shop.all())

    assert await restored(shop, place, "--dry-run") == codes.DONE
    assert versions(await shop.all()) == before

    assert await restored(shop, place) == codes.DONE

    after = await shop.all()
    assert {name: body_of(each) for name, each in after.items()} == {
        name: body_of(each) for name, each in saved.items()
    }
    for name in ("w-0", "w-4"):
        assert after[name]["metadata"]["resourceVersion"] == before[name]
    for name in ("w-1", "w-2", "w-3"):
        assert after[name]["metadata"]["managedFields"] == saved[name]["metadata"]["managedFields"]

    assert await restored(shop, place) == codes.DONE
    assert versions(await shop.all()) == versions(after)


@everywhere(controllers=False)
async def test_what_an_object_owned_is_pointed_to_the_one_that_was_made_again(site: Site, tmp_path: Path) -> None:
    shop = await a_shop(site, 2)
    owner = (await shop.live("w-1"))["metadata"]
    reference = {"apiVersion": shop.resource().api_version, "kind": "Widget", "name": "w-1", "uid": owner["uid"]}
    other = {"apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "0", "controller": True}
    body = {"metadata": {"name": "owned", "ownerReferences": [other, {**reference, "blockOwnerDeletion": True}]}}
    await site.create(CONFIG_MAPS, body)
    place = await backed_up(shop, tmp_path / "backup", "--dependents", "ConfigMap")
    await shop.delete("w-1")

    assert await restored(shop, place) == codes.DONE

    uid = (await shop.live("w-1"))["metadata"]["uid"]
    assert uid != owner["uid"]
    owned = await site.get(CONFIG_MAPS, "owned")
    assert owned is not None
    assert owned["metadata"]["ownerReferences"] == [other, {**reference, "uid": uid, "blockOwnerDeletion": True}]


@everywhere(controllers=False)
async def test_whoever_applied_in_a_version_that_is_gone_since_applies_to_what_was_brought_back(
    site: Site, tmp_path: Path
) -> None:
    """An apply to an object fails while its managedFields name a version that its definition does not have."""
    shop = widgets(site)
    await shop.define("v1", "v2")
    for name in ("w-0", "w-1"):
        await applied(shop, name, {"size": 1}, "v2")
    place = await backed_up(shop, tmp_path / "backup")
    await redefined(shop, [a_version("v1", storage=True)])
    await shop.delete("w-0")
    await shop.change("w-1", {"spec": {"size": 5}})

    assert await restored(shop, place) == codes.DONE

    for name in ("w-0", "w-1"):
        assert (await applied(shop, name, {"size": 2}))["spec"] == {"size": 2}


async def applied(shop: Widgets, name: str, spec: Tree, version: str = "v1") -> Tree:
    """By one manager, without force."""
    resource = shop.resource(version)
    body = {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": {"name": name}, "spec": spec}
    ref = Ref(resource, shop.site.namespace, name)
    return tree_of((await shop.site.client.call(apply(ref, msgspec.json.encode(body), "somebody"))).body)


@everywhere(controllers=False, on=("sim",))
async def test_an_object_that_is_being_deleted_keeps_the_finalizers_that_it_has(site: Site, tmp_path: Path) -> None:
    """One that came since the backup stands for work that is not done, and none can be put back."""
    shop = await a_shop(site, 2)
    await shop.change("w-1", {"metadata": {"finalizers": ["example.test/done", "example.test/keep"]}})
    place = await backed_up(shop, tmp_path / "backup")
    for name, finalizers in (("w-0", ["example.test/since"]), ("w-1", ["example.test/keep"])):
        await shop.change(name, {"metadata": {"finalizers": finalizers}, "spec": {"size": 77}})
        await shop.delete(name)

    assert await restored(shop, place) == codes.DONE

    after = await shop.all()
    assert {name: (each["spec"]["size"], each["metadata"]["finalizers"]) for name, each in after.items()} == {
        "w-0": (0, ["example.test/since"]),
        "w-1": (1, ["example.test/keep"]),
    }


@everywhere(controllers=False)
async def test_an_object_that_somebody_made_anew_is_left_alone_unless_it_may_be_replaced(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = await a_shop(site, 2)
    place = await backed_up(shop, tmp_path / "backup", "--dependents", "ConfigMap")
    await shop.delete("w-1")
    made = await shop.make("w-1", size=77)

    assert await restored(shop, place) == codes.DONE
    assert (await shop.live("w-1"))["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    assert "--replace-different-uid" in capsys.readouterr().out

    assert await restored(shop, place, "--replace-different-uid") == codes.DONE
    brought = await shop.live("w-1")
    assert brought["spec"] == {"size": 1, "colour": "red"}
    assert brought["status"] == {"phase": "Ready", "seen": 1}
    assert brought["metadata"]["uid"] == made["metadata"]["uid"]


@everywhere(controllers=False)
async def test_objects_are_not_brought_back_where_the_stored_version_would_drop_their_fields(
    site: Site, tmp_path: Path
) -> None:
    """As after an offline upgrade, when somebody serves the old version again."""
    shop = await a_shop(site, 2)
    place = await backed_up(shop, tmp_path / "backup", "--dependents", "ConfigMap")
    await redefined(shop, [a_version("v1", storage=False), a_version("v2", storage=True)])
    await shop.change("w-0", {"spec": {"paint": {"colour": "blue"}}}, "v2")
    before = await shop.all("v2")

    for words in (("--dry-run",), ()):
        with pytest.raises(Precondition, match=r"2 objects would be stored in v2, which has no spec\.colour"):
            await restored(shop, place, *words)

    assert await shop.all("v2") == before


@everywhere(controllers=False, on=("sim",))
async def test_an_object_whose_field_its_version_has_no_more_is_left_as_it_is(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = await a_shop(site, 1)
    await shop.make("plain", size=4)
    place = await backed_up(shop, tmp_path / "backup", "--dependents", "ConfigMap")
    narrower = a_version("v1", storage=True)
    spec = narrower["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"] = {"size": {"type": "integer"}}
    await redefined(shop, [narrower])
    await shop.change("plain", {"spec": {"size": 5}})
    before = await shop.live("w-0")

    assert await restored(shop, place) == codes.OBJECTS_FAILED

    assert "w-0: not written, since v1 has no spec.colour and would drop it" in capsys.readouterr().out
    assert await shop.live("w-0") == before
    assert (await shop.live("plain"))["spec"] == {"size": 4}


@everywhere(controllers=False, on=("sim",))
async def test_a_backup_that_was_cut_short_or_edited_writes_nothing(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = await a_shop(site, 2)
    whole = await backed_up(shop, tmp_path / "whole")
    await shop.delete("w-1")
    capsys.readouterr()

    def spoilt(name: str) -> Path:
        return Path(shutil.copytree(whole, tmp_path / name))

    def manifest(place: Path, **fields: object) -> Path:
        path = place / "manifest.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | fields))
        return place

    one = f"objects/{site.namespace}/w-1.json"
    edited = spoilt("edited")
    (edited / one).write_text((edited / one).read_text().replace("red", "blue"))
    short = spoilt("short")
    (short / one).unlink()
    cut = spoilt("cut")
    (cut / "manifest.json").write_bytes((cut / "manifest.json").read_bytes()[:100])
    files = json.loads((whole / "manifest.json").read_text())["files"]
    cases = {
        tmp_path / "none": "is no directory",
        edited: "is not as it was",
        short: "is missing",
        cut: "cut short or edited",
        manifest(spoilt("newer"), format=2): "says format 2",
        manifest(spoilt("other"), crd="gadgets.example.test"): "is about gadgets.example.test",
        manifest(spoilt("outside"), files=files | {"objects/../../x.json": "0"}): "which no backup has",
        manifest(spoilt("rooted"), files=files | {"/etc/passwd": "0"}): "which no backup has",
        manifest(spoilt("fewer"), objects=7): "it was edited",
    }
    linked = spoilt("linked")
    (tmp_path / "elsewhere.json").write_bytes((whole / one).read_bytes())
    (linked / one).unlink()
    (linked / one).symlink_to(tmp_path / "elsewhere.json")
    cases[linked] = "leads out of"

    for place, sentence in cases.items():
        assert await restored(shop, place) == codes.ERROR, place
        said = capsys.readouterr()
        assert sentence in said.err, place
        assert said.err.count("\n") == 1
        assert not said.out
    assert [*await shop.all()] == ["w-0"]


@everywhere(controllers=False, on=("sim",))
async def test_a_backup_never_overwrites_and_a_crd_that_is_not_there_is_named(site: Site, tmp_path: Path) -> None:
    shop = await a_shop(site, 1)
    place = await backed_up(shop, tmp_path / "backup")
    held = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}

    with pytest.raises(Precondition, match="is there already"):
        await called("backup", site.client, shop.name, "--out", str(place), *QUIET)
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == held

    with pytest.raises(NoDefinition, match=shop.name):
        await called("backup", site.client, f"wigdets.{shop.group}", "--out", str(tmp_path / "b"), *QUIET)
    assert names_in(tmp_path) == ["backup"]


@everywhere(controllers=False, on=("sim",))
async def test_objects_that_are_written_while_they_are_listed_are_fetched_again(site: Site, tmp_path: Path) -> None:
    shop = await a_shop(site, 6)
    transport = site.ground.transport("admin")
    send = transport.send
    lists: list[str] = []

    async def meddling(request: Request) -> Response:
        answer = await send(request)
        if request.method == "GET" and request.path.endswith("/widgets"):
            lists.append(request.target)
            if len(lists) == 1:
                await shop.change("w-0", {"spec": {"size": 100}})
                await shop.delete("w-1")
                await shop.make("w-9", size=9)
        return answer

    transport.send = meddling  # type: ignore[method-assign]
    place = tmp_path / "backup"

    words = (shop.name, "--out", str(place), "--page-size", "2", *QUIET)
    assert await called("backup", Client(transport), *words) == codes.DONE

    folder = place / "objects" / site.namespace
    found = {name.removesuffix(".json"): tree_of((folder / name).read_bytes()) for name in names_in(folder)}
    assert found == await shop.all()
    assert json.loads((place / "manifest.json").read_text())["objects"] == len(found) == 6


@everywhere(controllers=False, on=("sim",))
@pytest.mark.parametrize(("failures", "unlisted", "dependents"), [(2, [], 1), (100, ["v1"], 0)])
async def test_a_group_whose_server_fails_is_asked_again_and_then_named(
    site: Site, tmp_path: Path, failures: int, unlisted: list[str], dependents: int
) -> None:
    """What is left out without a word is never pointed to an owner that is made again, and collected as garbage."""
    shop = await a_shop(site, 1)
    owner = (await shop.live("w-0"))["metadata"]
    reference = {"apiVersion": shop.resource().api_version, "kind": "Widget", "name": "w-0", "uid": owner["uid"]}
    await site.create(CONFIG_MAPS, {"metadata": {"name": "owned", "ownerReferences": [reference]}})
    transport = site.ground.transport("admin")
    send = transport.send
    left = [failures]

    async def failing(request: Request) -> Response:
        if request.target == "/api/v1" and left[0]:
            left[0] -= 1
            return Response(503, b"service unavailable")
        return await send(request)

    transport.send = failing  # type: ignore[method-assign]
    place = tmp_path / "backup"

    assert await called("backup", Client(transport), shop.name, "--out", str(place), *QUIET) == codes.DONE

    manifest = json.loads((place / "manifest.json").read_text())
    assert (manifest.get("unlisted") or [], len(manifest.get("dependents") or [])) == (unlisted, dependents)


@everywhere(controllers=False, on=("sim",))
async def test_a_backup_asks_no_faster_than_it_is_told(site: Site, tmp_path: Path) -> None:
    shop, begun = await a_shop(site, 6), clock.monotonic()

    await backed_up(shop, tmp_path / "kept", "--qps", "2", "--burst", "1", "--page-size", "1")

    assert clock.monotonic() - begun >= 3  # six pages, and more


@everywhere(controllers=False, on=("sim",))
async def test_a_backup_that_takes_too_long_ends_and_leaves_nothing(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = await a_shop(site, 6)
    slow = ("--qps", "1", "--burst", "1", "--page-size", "1", "--timeout", "3s")

    code = await called("backup", site.client, shop.name, "--out", str(tmp_path / "kept"), *QUIET, *slow)

    assert code == codes.ERROR
    assert "was not kept within --timeout; nothing is left of" in capsys.readouterr().err
    assert content_of(tmp_path) == []


@everywhere(controllers=False, on=("sim",))
async def test_a_restore_that_takes_too_long_ends_and_goes_on_later(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = await a_shop(site, 6)
    place = await backed_up(shop, tmp_path / "kept")
    for name in await shop.all():
        await shop.delete(name)

    code = await restored(shop, place, "--qps", "1", "--burst", "1", "--concurrency", "1", "--timeout", "4s")

    assert code == codes.RESUMABLE
    assert "was not restored within --timeout; run the command again" in capsys.readouterr().err
    assert await restored(shop, place) == codes.DONE
    assert len(await shop.all()) == 6
