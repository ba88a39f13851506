"""An offline upgrade that is killed at any of its effects goes on to the same end, and can be undone from anywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.contracts.apiversions.commands import codes
from tests.chaos.machine import MARKS, SOAKS
from tests.e2e.clusters import Site, everywhere
from tests.e2e.killing import Executioner, How, KilledAt
from tests.e2e.upgrades import Upgraded, begun, check_done, check_undone, run

pytestmark = MARKS
SOME = 2
UP, BACK = 70, 55
"""More effects than an upgrade and a rollback have; a test says so."""


def moments(most: int, every: int) -> list[object]:
    """Every effect and how it ends, or some of them: each way in turn."""
    ways = list(How)
    played = [(number, how) for number in range(1, most) for how in ways]
    if not SOAKS:
        played = [(number, ways[place % len(ways)]) for place, number in enumerate(range(1, most, every))]
    return [pytest.param(number, how, id=f"{how.value}-{number}") for number, how in played]


async def gone_on(upgraded: Upgraded, *words: str) -> int:
    """The exit code of whatever a person would call after a crash."""
    if not upgraded.place.exists():
        ran = await upgraded.run("--freeze", *upgraded.operator)
    else:
        ran = await upgraded.run(*words)
    return ran.code


@pytest.mark.parametrize(("number", "how"), moments(UP, 3))
@everywhere(controllers=False, on=("sim",))
async def test_an_upgrade_goes_on_to_the_same_end(site: Site, tmp_path: Path, number: int, how: How) -> None:
    upgraded = await begun(site, tmp_path, SOME)

    first = await run(upgraded, Executioner(number, how), "--freeze", *upgraded.operator)
    if first is None:
        assert await gone_on(upgraded, "--resume") == codes.DONE
    else:
        assert first == codes.DONE

    await check_done(upgraded)


@pytest.mark.parametrize(("number", "how"), moments(UP, 4))
@everywhere(controllers=False, on=("sim",))
async def test_an_upgrade_that_was_killed_is_undone(site: Site, tmp_path: Path, number: int, how: How) -> None:
    if how is How.LOST:
        how = How.AFTER
    upgraded = await begun(site, tmp_path, SOME)
    await run(upgraded, Executioner(number, how), "--freeze", *upgraded.operator)
    if not upgraded.place.exists():
        return await check_undone(upgraded)

    ran = await upgraded.run("--rollback")

    if ran.code == codes.PRECONDITION:  # the operator may run already
        assert await gone_on(upgraded, "--resume") == codes.DONE
        return await check_done(upgraded)
    assert ran.code == codes.DONE, ran.err
    return await check_undone(upgraded)


@pytest.mark.parametrize(("number", "how"), moments(BACK, 3))
@everywhere(controllers=False, on=("sim",))
async def test_a_rollback_that_is_killed_goes_on_to_the_same_end(
    site: Site, tmp_path: Path, number: int, how: How
) -> None:
    upgraded = await begun(site, tmp_path, SOME)
    await killed_when_unserved(upgraded)

    first = await run(upgraded, Executioner(number, how), "--rollback")
    if first is None:
        assert await gone_on(upgraded, ("--resume", "--rollback")[number % 2]) == codes.DONE
    else:
        assert first == codes.DONE

    await check_undone(upgraded)


async def killed_when_unserved(upgraded: Upgraded) -> None:
    """An upgrade whose old version is served no longer, and whose operator is not started yet."""
    await run(upgraded, KilledAt("PUT /apis/apiextensions", 2), "--freeze", *upgraded.operator)
    assert (await upgraded.versions())["v1"] == (False, False)


@everywhere(controllers=False, on=("sim",))
async def test_an_upgrade_has_no_more_effects_than_are_played(site: Site, tmp_path: Path) -> None:
    upgraded = await begun(site, tmp_path, SOME)
    counting = Executioner()

    assert await run(upgraded, counting, "--freeze", *upgraded.operator) == codes.DONE

    assert len(counting.effects) < UP


@everywhere(controllers=False, on=("sim",))
async def test_a_rollback_has_no_more_effects_than_are_played(site: Site, tmp_path: Path) -> None:
    upgraded = await begun(site, tmp_path, SOME)
    await killed_when_unserved(upgraded)
    counting = Executioner()

    assert await run(upgraded, counting, "--rollback") == codes.DONE

    assert len(counting.effects) < BACK
