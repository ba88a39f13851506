"""How long writes may take where answers are slow."""

from __future__ import annotations

import asyncio

from fairlead.engine.driver.slow_writes import REMEMBERED_SECONDS, SlowWrites
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref
from kubesim.time import run

ONE, OTHER = (Ref(PODS, "test", name, "1") for name in ("one", "other"))
SET = Ref(STATEFULSETS, "test", "set", "1")


def test_after_each_time_that_it_was_given_up_a_write_may_take_twice_as_long() -> None:
    async def scenario() -> None:
        slow = SlowWrites(4.0, 30.0)

        found = []
        for _ in range(5):
            found.append(slow.seconds(ONE))
            slow.given_up(ONE, found[-1])

        assert found == [4.0, 8.0, 16.0, 30.0, 30.0]
        assert slow.seconds(OTHER) == 4.0

    run(scenario())


def test_where_answers_are_slow_all_writes_of_the_resource_may_take_longer() -> None:
    async def scenario() -> None:
        slow = SlowWrites(4.0, 30.0)
        slow.given_up(ONE, 4.0)

        slow.answered(ONE, 6.0)

        assert (slow.seconds(ONE), slow.seconds(OTHER), slow.seconds(SET)) == (12.0, 12.0, 4.0)

    run(scenario())


def test_a_quick_answer_does_not_hide_that_others_are_slow() -> None:
    async def scenario() -> None:
        slow = SlowWrites(4.0, 30.0)
        slow.answered(ONE, 6.0)

        slow.answered(OTHER, 0.1)

        assert slow.seconds(ONE) == 12.0

    run(scenario())


def test_an_answer_ends_what_was_given_up() -> None:
    """A lost answer says nothing about the next write."""

    async def scenario() -> None:
        slow = SlowWrites(4.0, 30.0)
        slow.given_up(ONE, 4.0)

        slow.answered(ONE, 0.1)

        assert slow.seconds(ONE) == 4.0

    run(scenario())


def test_slowness_is_forgotten_after_a_while() -> None:
    async def scenario() -> None:
        slow = SlowWrites(4.0, 30.0)
        slow.answered(ONE, 6.0)
        slow.given_up(SET, 4.0)

        await asyncio.sleep(REMEMBERED_SECONDS + 1)

        assert (slow.seconds(ONE), slow.seconds(SET)) == (4.0, 4.0)

    run(scenario())
