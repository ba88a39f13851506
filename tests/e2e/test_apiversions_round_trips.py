"""Live objects tried from version to version, and manifests converted by a live definition, on both clusters."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairlead.contracts.apiversions.commands import codes
from fairlead.contracts.apiversions.kinds import RULES_LABEL
from kubeloop.objects.core import CONFIGMAPS
from tests.e2e.clusters import Site, everywhere
from tests.e2e.widgets import Widgets, called, widgets

Captured = pytest.CaptureFixture[str]
ODD = "w-3"
"""It has a field that the new version does not know."""


async def a_shop(site: Site, folder: Path, storage: str = "v1") -> tuple[Widgets, str]:
    """Seven widgets of the old version, and a file with rules."""
    shop = widgets(site)
    await shop.define("v1", "v2", storage=storage)
    for number in range(7):
        legacy: dict[str, Any] = {"legacyMode": True} if f"w-{number}" == ODD else {}
        await shop.make(f"w-{number}", size=number, colour="red", **legacy)
    file = folder / "rules.yaml"
    file.write_text(yaml.safe_dump(shop.rules()))
    return shop, str(file)


def stop_carrying(file: str) -> None:
    rules = yaml.safe_load(Path(file).read_text())
    rules["spokes"][0]["carry"] = "off"
    Path(file).write_text(yaml.safe_dump(rules))


@everywhere(controllers=False)
async def test_live_objects_are_tried_page_by_page_and_the_one_that_loses_is_named(
    site: Site, tmp_path: Path, capsys: Captured
) -> None:
    shop, rules = await a_shop(site, tmp_path)
    words = (shop.name, "--live", "--page-size", "3", "--rules", rules, "-o", "json")

    assert await called("roundtrip", site.client, *words) == codes.DONE
    report = json.loads(capsys.readouterr().out)
    assert (report["objects"], report["failed"], report["rules"]) == ({"live": 7}, 0, rules)

    stop_carrying(rules)
    assert await called("roundtrip", site.client, *words) == codes.FINDINGS

    (failure,) = json.loads(capsys.readouterr().out)["failures"]
    assert (failure["what"], failure["first"], failure["other"]) == (f"{site.namespace}/{ODD}", "v1", "v2")
    assert failure["differences"] == [{"place": "/spec/legacyMode", "before": "true", "after": "-"}]


@everywhere(controllers=False)
async def test_rules_of_the_cluster_are_those_that_objects_are_tried_with(
    site: Site, tmp_path: Path, capsys: Captured
) -> None:
    shop, rules = await a_shop(site, tmp_path)
    await put_in_force(site, rules)

    assert await called("roundtrip", site.client, shop.name, "--live", "-o", "json") == codes.DONE
    assert json.loads(capsys.readouterr().out)["rules"] == "of the cluster"


async def put_in_force(site: Site, rules: str) -> None:
    metadata = {"name": "rules", "labels": {RULES_LABEL: "true"}}
    text = await asyncio.to_thread(Path(rules).read_text)
    await site.create(CONFIGMAPS, {"metadata": metadata, "data": {"rules.yaml": text}})


@everywhere(controllers=False)
async def test_manifests_are_converted_by_the_definition_of_the_cluster_and_taken_by_it(
    site: Site, tmp_path: Path, capsys: Captured
) -> None:
    shop, rules = await a_shop(site, tmp_path, storage="v2")
    manifest = tmp_path / "widget.yaml"
    manifest.write_text(
        f"apiVersion: {shop.group}/v1\nkind: Widget\nmetadata:\n  name: new\nspec:\n  colour: blue # sky\n  size: 2\n"
    )

    words = ("-f", str(manifest), "--to", "v2", "--rules", rules, "--in-place")
    assert await called("convert", site.client, *words) == codes.DONE
    assert "Widget new: v1 -> v2" in capsys.readouterr().err

    text = manifest.read_text()
    assert text.endswith("spec:\n  paint:\n    colour: blue # sky\n  size: 2\n")
    made = await site.create(shop.resource("v2"), yaml.safe_load(text))
    assert made["spec"] == {"paint": {"colour": "blue"}, "size": 2}


@everywhere(controllers=False)
async def test_rules_are_checked_and_drafted_by_the_definition_of_the_cluster(
    site: Site, tmp_path: Path, capsys: Captured
) -> None:
    shop, rules = await a_shop(site, tmp_path)

    assert await called("rules_check", site.client, rules) == codes.DONE
    assert f"{shop.name}: may be used" in capsys.readouterr().out

    assert await called("rules_suggest", site.client, shop.name, "--hub", "v2") == codes.DONE
    draft = yaml.safe_load(capsys.readouterr().out)
    assert {"op": "move", "from": "/spec/colour", "to": "/spec/paint/colour"} in draft["spokes"][0]["toHub"]
