"""Runs scenarios of an area until enough steps are done or enough differences are found."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

from msgspec import Struct

from tests.exchanges.case import Step
from tests.fuzz.areas import AREAS, scenario
from tests.fuzz.playing import Difference, Pair, Scenario
from tests.fuzz.shrinking import shrunk


class Wishes(Struct, frozen=True):
    seed: int
    steps: int
    """Of each area."""
    most: int = 1
    """Differences after which an area is left."""
    seconds: float = 3600.0
    """After which an area is left."""


class Found(Struct):
    """What came of an area."""

    steps: int = 0
    differences: list[str] = []


async def run(pair: Pair, area: str, wishes: Wishes, tell: Callable[[str], None]) -> Found:
    """Plays scenarios one after the other."""
    found, number, until = Found(), 0, time.monotonic() + wishes.seconds
    await pair.define(AREAS[area].definitions)
    while found.steps < wishes.steps and len(found.differences) < wishes.most and time.monotonic() < until:
        drawn = scenario(area, wishes.seed, number)
        difference = await pair.different(drawn)
        found.steps += len(drawn.steps)
        if difference is not None:
            text = told(area, wishes.seed, number, *await shrunk(pair, drawn, difference))
            found.differences.append(text)
            tell(text)
        number += 1
    return found


def told(area: str, seed: int, number: int, small: Scenario, difference: Difference) -> str:
    """A difference for people: how to draw it again, the steps that are needed, and what differs."""
    again = f"python -m tests.fuzz {area} --seed {seed} --only {number}"
    lines = [f"{area}: scenario {number} of seed {seed} ({again})"]
    lines += [f"  define {json.dumps(each)}" for each in small.definitions]
    lines += [f"  {_line(step)}" for step in small.steps]
    return "\n".join([*lines, difference.text])


def _line(step: Step) -> str:
    body = "" if step.body is None else step.body if isinstance(step.body, str) else json.dumps(step.body, default=repr)
    kind = f" [{step.content_type}]" if step.content_type else ""
    return f"{step.request}{kind} {body}".rstrip()
