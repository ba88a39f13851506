"""`python -m tests.fuzz [AREA...]`: compares the embedded cluster with a real one by random requests.

Seeds are drawn and printed unless one is given; the same seed asks the same. Ends with 1 when something differs.
"""

from __future__ import annotations

import argparse
import asyncio
import secrets
import sys
from collections.abc import Sequence

from fairlead.plane.build import Unavailable
from fairlead.plane.launch import Plane
from tests.fuzz.areas import AREAS, scenario
from tests.fuzz.playing import opened
from tests.fuzz.running import Wishes, run, told
from tests.fuzz.shrinking import shrunk


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("areas", nargs="*", metavar="AREA", choices=[[], *sorted(AREAS)], help=", ".join(sorted(AREAS)))
    parser.add_argument("--steps", type=int, default=2000, help="of all areas together")
    parser.add_argument("--seed", type=int, help="drawn unless given")
    parser.add_argument("--most", type=int, default=3, help="differences after which an area is left")
    parser.add_argument("--minutes", type=float, default=60.0, help="after which an area is left")
    parser.add_argument("--only", type=int, help="the number of a single scenario")
    wishes = parser.parse_args(arguments)
    seed = secrets.randbelow(2**32) if wishes.seed is None else wishes.seed
    areas = wishes.areas or sorted(AREAS)
    try:
        with Plane(controllers=False, accounts=True) as plane:
            if wishes.only is not None:
                return asyncio.run(_one(plane, areas[0], seed, wishes.only))
            each = Wishes(seed, -(-wishes.steps // len(areas)), wishes.most, wishes.minutes * 60)
            return asyncio.run(_all(plane, areas, each))
    except Unavailable as problem:
        sys.stderr.write(f"{problem}\n")
        return 1


async def _all(plane: Plane, areas: Sequence[str], wishes: Wishes) -> int:
    _say(f"seed {wishes.seed}")
    differ = False
    for area in areas:
        async with opened(plane, area) as pair:
            found = await run(pair, area, wishes, _say)
        _say(f"{area}: {found.steps} steps, {len(found.differences)} differences")
        differ |= bool(found.differences)
    return 1 if differ else 0


async def _one(plane: Plane, area: str, seed: int, number: int) -> int:
    async with opened(plane, area) as pair:
        await pair.define(AREAS[area].definitions)
        drawn = scenario(area, seed, number)
        difference = await pair.different(drawn)
        if difference is None:
            _say("no difference")
            return 0
        _say(told(area, seed, number, *await shrunk(pair, drawn, difference)))
        return 1


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
