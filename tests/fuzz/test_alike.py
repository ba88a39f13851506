"""Random requests are answered alike by the embedded cluster and by a real one; the same requests each time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from fairlead.plane.build import Unavailable, find
from fairlead.plane.launch import Plane
from tests.fuzz.areas import AREAS
from tests.fuzz.playing import opened
from tests.fuzz.running import Found, Wishes, run

pytestmark = pytest.mark.fidelity

SEED = 20300101
STEPS = {"applying": 380, "decoding": 400, "listing": 220, "patching": 400, "schemas": 200, "selecting": 400}


@pytest.fixture(scope="module")
def plane() -> Iterator[Plane]:
    """One without controllers, in which pods need an account as they do on the embedded cluster."""
    try:
        find(lambda _line: None, build=False)
    except Unavailable as problem:
        pytest.skip(str(problem))
    with Plane(controllers=False, accounts=True) as started:
        yield started


@pytest.mark.real
@pytest.mark.parametrize("area", sorted(AREAS))
def test_answers_are_the_same(area: str, plane: Plane) -> None:
    async def tried() -> Found:
        async with opened(plane, area) as pair:
            return await run(pair, area, Wishes(SEED, STEPS[area]), lambda _text: None)

    found = asyncio.run(tried())

    assert not found.differences, found.differences[0]
    assert found.steps >= STEPS[area]
