"""What is tried: each area draws scenarios of its own."""

from __future__ import annotations

import random
from collections.abc import Callable

from msgspec import Struct

from tests.fuzz.areas import applying, decoding, listing, patching, schemas, selecting
from tests.fuzz.playing import Scenario, Tree


class Area(Struct, frozen=True):
    draw: Callable[[random.Random], Scenario]
    definitions: tuple[Tree, ...] = ()
    """Of custom resources that all its scenarios use."""


AREAS = {
    "applying": Area(applying.a_scenario, applying.DEFINITIONS),
    "decoding": Area(decoding.a_scenario),
    "listing": Area(listing.a_scenario),
    "patching": Area(patching.a_scenario, patching.DEFINITIONS),
    "schemas": Area(schemas.a_scenario),
    "selecting": Area(selecting.a_scenario, selecting.DEFINITIONS),
}


def scenario(area: str, seed: int, number: int) -> Scenario:
    """The scenario of that number; the same for the same seed."""
    return AREAS[area].draw(random.Random(f"{seed}/{area}/{number}"))
