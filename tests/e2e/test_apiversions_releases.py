"""What another release of the operator would make of a cluster, told beforehand, on both clusters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from fairlead.contracts.apiversions.commands import codes
from fairlead.core.controller_version import CONTROLLER_VERSION
from fairlead.core.release import Release, ReleasedKind, Roll, written
from fairlead.core.rollout_hash import hash_of
from fairlead.engine.command import Usage
from fairlead.engine.contract import Room
from fairlead.engine.decide.downgrade import MAX_OPERATOR_VERSION
from fairlead.engine.hashes import Hashed, Hashes
from kubeloop.objects.meta import Resource
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.widgets import Widgets, called, widgets

LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")


class Given(Room[Hashes], frozen=True):
    """What a test has made itself."""

    module: str = ""
    attribute: str = ""
    ways: Hashes | None = None

    def get(self) -> Hashes:
        assert self.ways is not None
        return self.ways


class Desk:
    def __init__(self, site: Site, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.site, self._folder, self._capsys = site, folder, capsys
        self.shop: Widgets = widgets(site)

    def release(self, *versions: str, **fields: Any) -> str:
        """The file of a release that knows these versions of widgets."""
        kind = ReleasedKind("widgets", self.shop.definition(*versions, storage=versions[-1]), [*versions])
        found: dict[str, Any] = {"version": "1.3.0", "minimum_compatible": "1.1.0", **fields}
        path = self._folder / "release.json"
        path.write_text(written(Release(crds=[kind], **found)))
        return str(path)

    async def asked(self, *words: str, version: str = "1.3.0", ways: Hashes | None = None) -> tuple[int, list[Tree]]:
        words = ("--to-operator-version", version, *words, "-o", "json")
        code = await called("preflight", self.site.client, *words, hashes=() if ways is None else (Given(ways=ways),))
        return code, json.loads(self._capsys.readouterr().out)["findings"]


@everywhere(controllers=False)
async def test_objects_that_a_release_leaves_alone_and_workloads_it_rolls_are_counted(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(site, tmp_path, capsys)
    await desk.shop.define("v1")
    for name, stamp in (("new", "1.4.0"), ("old", "1.0.9"), ("good", "1.2.0"), ("unstamped", "")):
        await desk.shop.make(name, size=1)
        if stamp:
            await desk.shop.change(name, {"metadata": {"annotations": {CONTROLLER_VERSION: stamp}}})
    rolls = [Roll(desk.shop.name, "its helper is injected in another place")]

    code, found = await desk.asked("--release", desk.release("v1", rolls=rolls))

    assert code == codes.DONE
    ignored = {each["objects"][0]: each["message"] for each in found if each["code"] == "ObjectsIgnored"}
    assert {*ignored} == {f"{site.namespace}/new", f"{site.namespace}/old"}
    assert "older than 1.1.0" in ignored[f"{site.namespace}/old"]
    (roll,) = (each for each in found if each["code"] == "WouldRoll")
    assert (roll["severity"], roll["count"]) == ("warn", 4)
    assert "helper is injected" in roll["message"]


@everywhere(controllers=False)
async def test_workloads_are_named_whose_users_have_changed_something_since_they_were_rolled(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sections 3.9.6 and 3.9.7: an upgrade rolls what was changed, and nothing else."""
    desk = Desk(site, tmp_path, capsys)
    await desk.shop.define("v1")
    for name, rolled in (("same", hash_of({"size": 1})), ("changed", hash_of({"size": 7})), ("never", "")):
        await desk.shop.make(name, size=1, status={"oldMark": rolled} if rolled else None)
    ways = Hashes(
        kind="Widget",
        group=desk.shop.group,
        about="",
        is_one=lambda _: True,
        hashed=lambda tree: Hashed("", "", hash_of(cast("Tree", tree)["spec"])),
        number=2,
        rolled=lambda tree: (tree.get("status") or {}).get("oldMark", ""),
    )

    _, found = await desk.asked("--release", desk.release("v1", hash_versions={"widgets": [1, 2]}), ways=ways)
    _, blind = await desk.asked("--release", desk.release("v1", hash_versions={"widgets": [3]}), ways=ways)

    (roll,) = (each for each in found if each["code"] == "WouldRoll")
    assert (roll["severity"], roll["count"]) == ("warn", 1)
    assert roll["objects"] == [f"{site.namespace}/changed"]
    assert "changed after what was rolled last" in roll["message"]
    assert [each for each in blind if each["code"] == "WouldRoll"] == [], "what it cannot compare it does not roll"


@everywhere(controllers=False)
async def test_a_downgrade_below_what_has_led_or_below_what_is_stored_blocks(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(site, tmp_path, capsys)
    await desk.shop.define("v1", "v2", storage="v2")
    annotations = {MAX_OPERATOR_VERSION: "1.4.0"}
    await site.create(LEASES, {"metadata": {"name": "fairlead-operator", "annotations": annotations}})

    code, found = await desk.asked("--release", desk.release("v1"))

    assert code == codes.FINDINGS
    told = [each["message"] for each in found if each["code"] == "DowngradeBlocked"]
    assert len(told) == 2
    assert f"Lease {site.namespace}/fairlead-operator: version 1.3.0 does not lead after 1.4.0" in told[0] + told[1]
    assert any("stored in v2, which 1.3.0 does not know" in each for each in told)
    assert {"StorageVersionDropped", "ServedVersionGone"} <= {each["code"] for each in found}


@everywhere(controllers=False, on=("sim",))
async def test_a_release_that_is_not_known_or_another_one_is_refused(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    desk = Desk(site, tmp_path, capsys)

    with pytest.raises(Usage, match=r"0\.1\.0: give what its own `fairlead manifests --release`"):
        await desk.asked(version="9.9.9")
    with pytest.raises(Usage, match=r"is about release 1\.3\.0"):
        await desk.asked("--release", desk.release("v1"), version="1.2.0")
    with pytest.raises(Usage, match="write a version such as"):
        await desk.asked(version="latest")
    with pytest.raises(Usage, match="correct the path"):
        await desk.asked("--release", str(tmp_path / "none.json"))
    with pytest.raises(Usage, match="either -f FILE or"):
        await desk.asked("-f", desk.release("v1"))
    assert await desk.asked(version="0.1.0") == (codes.DONE, [])
