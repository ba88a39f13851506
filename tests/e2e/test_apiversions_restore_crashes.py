"""A restore that is killed at any of its effects comes to the same end when it is run again."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.contracts.apiversions.commands import codes
from tests.chaos.machine import MARKS, SOAKS
from tests.e2e.api_commands import api
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.killing import Executioner, How, lived
from tests.e2e.policies import CONFIG_MAPS
from tests.e2e.widgets import Widgets, body_of, widgets

pytestmark = MARKS
QUIET = ("--progress", "none", "--qps", "0")
MOST = 16
"""More effects than this restore has."""


def moments() -> list[object]:
    ways = list(How)
    played = [(number, how) for number in range(1, MOST) for how in ways]
    if not SOAKS:
        played = [(number, ways[number % len(ways)]) for number in range(1, MOST)]
    return [pytest.param(number, how, id=f"{how.value}-{number}") for number, how in played]


async def spoilt(site: Site, place: Path) -> tuple[Widgets, dict[str, Tree]]:
    """Of three objects one is gone, which owned something, and one is another in all its parts."""
    shop = widgets(site)
    await shop.define("v1")
    for number in range(3):
        await shop.make(f"w-{number}", size=number, status={"phase": "Ready", "seen": number})
    saved = await shop.all()
    uid = saved["w-0"]["metadata"]["uid"]
    owner = {"apiVersion": shop.resource().api_version, "kind": "Widget", "name": "w-0", "uid": uid}
    await site.create(CONFIG_MAPS, {"metadata": {"name": "owned", "ownerReferences": [owner]}})
    words = (shop.name, "--out", str(place), "--dependents", "ConfigMap", *QUIET)
    assert (await api(site.client, "backup", *words)).code == codes.DONE
    await shop.delete("w-0")
    await shop.change("w-1", {"spec": {"size": 9}, "metadata": {"labels": {"by": "somebody"}}})
    await shop.change("w-1", {"status": {"phase": "Broken"}}, subresource="status")
    return shop, saved


async def check_restored(shop: Widgets, saved: dict[str, Tree]) -> None:
    after = await shop.all()
    assert {name: body_of(each) for name, each in after.items()} == {
        name: body_of(each) for name, each in saved.items()
    }
    for name, each in saved.items():
        assert after[name]["metadata"]["managedFields"] == each["metadata"]["managedFields"]
    assert after["w-2"]["metadata"]["resourceVersion"] == saved["w-2"]["metadata"]["resourceVersion"]
    owned = await shop.site.get(CONFIG_MAPS, "owned")
    assert owned is not None
    assert owned["metadata"]["ownerReferences"][0]["uid"] == after["w-0"]["metadata"]["uid"]


@pytest.mark.parametrize(("number", "how"), moments())
@everywhere(controllers=False, on=("sim",))
async def test_a_restore_that_is_killed_comes_to_the_same_end(
    site: Site, tmp_path: Path, number: int, how: How
) -> None:
    place = tmp_path / "backup"
    shop, saved = await spoilt(site, place)

    executioner = Executioner(number, how)
    first = await lived(site, executioner, lambda client: api(client, "restore", str(place), *QUIET))
    if how is How.LOST:
        assert first is None or first.code in (codes.DONE, codes.OBJECTS_FAILED)
    if first is None or first.code != codes.DONE:
        assert (await api(site.client, "restore", str(place), *QUIET)).code == codes.DONE

    await check_restored(shop, saved)


@everywhere(controllers=False, on=("sim", "real"))
async def test_a_restore_has_no_more_effects_than_are_played(site: Site, tmp_path: Path) -> None:
    place = tmp_path / "backup"
    shop, saved = await spoilt(site, place)
    counting = Executioner()

    ran = await lived(site, counting, lambda client: api(client, "restore", str(place), *QUIET))

    assert ran.code == codes.DONE
    assert len(counting.effects) < MOST
    await check_restored(shop, saved)
