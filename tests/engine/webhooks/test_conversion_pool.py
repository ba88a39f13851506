"""Reviews under terms: turns, a queue with an end, rules that change, rules that are data, several processes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
import pytest

from fairlead.engine.conversion.pool import Pool
from fairlead.engine.conversion.review import USUAL_MANNER, ConversionAnswer, Made, Manner, Rules, answer
from fairlead.engine.conversion.webhook import MOST_WAITING, ConversionHandler, InForce, ReviewTerms
from fairlead.engine.conversion.worker import RuleData, TooSlow, Worker, WorkerDied
from kubeloop.calls import Reply
from kubesim.time import run
from tests.engine.webhooks.conversions import NEW, OLD, RULES, a_review, a_widget, call
from tests.engine.world import Log

PLAIN = Manner(in_words=True, tallies=True)
MAKER = f"{__name__}:made"
SMALL = a_review(a_widget())
LONG = 180.0
PATIENCE = 90.0
"""Seconds for one review: a process may be slow to start beside other work."""


def made(data: bytes) -> Rules:
    """Rules that stamp the data on whatever they convert."""
    (rule,) = RULES
    stamp = data.decode()

    def convert(tree: dict[str, Any], desired: str) -> dict[str, Any]:
        if tree["spec"].get("do") == "die":
            return rule.convert(tree, desired)  # type: ignore[return-value]
        return {**tree, "apiVersion": desired, "stamp": stamp}

    return (msgspec.structs.replace(rule, convert=convert, name="widgets"),)


def reversed_bytes(data: bytes) -> bytes:
    return data[::-1]


def played(scenario: Callable[[], Coroutine[Any, Any, None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(LONG):
            await scenario()

    asyncio.run(bounded())


def stamps(converted: ConversionAnswer) -> list[str]:
    return [each["stamp"] for each in msgspec.json.decode(converted.body)["response"]["convertedObjects"]]


def test_processes_make_their_rules_from_data_and_change_them_when_others_are_in_force() -> None:
    async def scenario() -> None:
        pool = Pool(2, PLAIN, PATIENCE)
        try:
            one, other = pool.by(RuleData(MAKER, b"one")), pool.by(RuleData(MAKER, b"other"))
            first = await asyncio.gather(*[one.convert(SMALL) for _ in range(4)])
            second = await asyncio.gather(one.convert(SMALL), other.convert(SMALL), other.convert(SMALL))
        finally:
            await pool.close()

        assert [stamps(each) for each in first] == [["one"]] * 4
        assert [stamps(each) for each in second] == [["one"], ["other"], ["other"]]
        (tally,) = first[0].tallies
        assert (tally.name, tally.source, tally.good, sum(tally.seconds.counts)) == ("widgets", "v1", 1, 1)

    played(scenario)


def test_a_process_that_has_died_is_given_its_rules_anew() -> None:
    async def scenario() -> None:
        pool = Pool(1, USUAL_MANNER, PATIENCE)
        try:
            by = pool.by(RuleData(MAKER, b"one"))
            await by.convert(SMALL)
            with pytest.raises(WorkerDied):
                await by.convert(a_review(a_widget(do="die")))
            after = await by.convert(SMALL)
        finally:
            await pool.close()

        assert stamps(after) == ["one"]

    played(scenario)


def test_a_function_is_called_in_the_process_between_reviews() -> None:
    async def scenario() -> None:
        worker = Worker()
        try:
            assert await worker.call(f"{__name__}:reversed_bytes", b"abc") == b"cba"
            assert stamps(await worker.convert(SMALL, RuleData(MAKER, b"x"))) == ["x"]
            assert await worker.call(f"{__name__}:reversed_bytes", b"") == b""
        finally:
            await worker.close()

    played(scenario)


class Gate:
    """Converts when it is opened."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.most = self.now = 0

    async def convert(self, body: bytes) -> ConversionAnswer:
        self.now += 1
        self.most = max(self.most, self.now)
        await self.opened.wait()
        self.now -= 1
        return answer(body, RULES, PLAIN)


def test_so_many_are_converted_at_once_so_many_wait_and_the_next_is_told_to_come_again() -> None:
    async def scenario() -> None:
        gate, counted = Gate(), list[ConversionAnswer]()
        terms = ReviewTerms(at_once=2, longest=20.0, manner=PLAIN)
        handler = ConversionHandler(
            lambda: InForce(RULES, gate, small=0), Log().logger(), terms=terms, counted=counted.append
        )
        asked = [asyncio.create_task(handler(call(SMALL))) for _ in range(2 + MOST_WAITING)]
        await asyncio.sleep(1)
        late = await handler(call(SMALL))
        gate.opened.set()
        answered = await asyncio.gather(*asked)

        assert (late.status, dict(late.headers)["Retry-After"]) == (503, "1")
        assert [each.status for each in answered] == [200] * len(asked)
        assert gate.most == 2
        assert [each.status for each in counted].count(503) == 1

    run(scenario(), seed=0)


def test_a_review_fails_when_its_time_is_over_be_it_in_the_queue() -> None:
    async def scenario() -> None:
        terms = ReviewTerms(at_once=1, longest=20.0, manner=PLAIN)
        handler = ConversionHandler(lambda: InForce(RULES, Gate(), small=0), Log().logger(), terms=terms)

        answered = await asyncio.gather(*[handler(call(SMALL)) for _ in range(2)])

        for each in answered:
            result = msgspec.json.decode(each.body)["response"]
            assert (result["uid"], result["result"]["status"]) == ("uid-1", "Failure")
            assert "took 20 seconds" in result["result"]["message"]
        assert asyncio.get_running_loop().time() == pytest.approx(20.0)

    run(scenario(), seed=0)


def test_what_is_not_ready_is_told_to_come_again() -> None:
    async def scenario() -> None:
        obstacles = ["the rules are not loaded", ""]
        terms = ReviewTerms(obstacle=lambda: obstacles.pop(0), manner=PLAIN)
        handler = ConversionHandler(RULES, Log().logger(), terms=terms)

        first, second = await handler(call(SMALL)), await handler(call(SMALL))

        assert (first.status, dict(first.headers)["Retry-After"]) == (503, "1")
        assert first.body == b"the rules are not loaded; try again in 1 s\n"
        assert second.status == 200

    run(scenario(), seed=0)


def an_object_with_a_new_field(*renewed: frozenset[str]) -> tuple[Reply, int]:
    """`renewed`: what is known of groups whose rules are tried anew, look after look; and how often it is looked."""

    async def scenario() -> tuple[Reply, int]:
        learned: list[str] = []
        (rule,) = RULES
        beyond = msgspec.structs.replace(
            rule, convert=lambda tree, to: Made({**tree, "apiVersion": to}, is_beyond=True)
        )

        async def learn(group: str) -> None:
            learned.append(group)

        def in_force() -> InForce:
            of = renewed[min(len(learned), len(renewed) - 1)]
            return InForce((beyond,) if of or not learned else RULES, renewed=of)

        handler = ConversionHandler(in_force, Log().logger(), terms=ReviewTerms(manner=PLAIN, learn=learn))
        return await handler(call(SMALL)), len(learned)

    return run(scenario(), seed=0)


def test_an_object_with_a_field_that_is_new_is_converted_by_the_definition_that_has_it() -> None:
    reply, looks = an_object_with_a_new_field(frozenset(), frozenset())

    assert (reply.status, looks) == (200, 1)
    assert msgspec.json.decode(reply.body)["response"]["convertedObjects"][0]["apiVersion"] == NEW


def test_who_sends_it_before_rules_have_been_tried_with_that_definition_is_told_to_come_again() -> None:
    reply, looks = an_object_with_a_new_field(frozenset({"shop.example.com"}))

    assert (reply.status, dict(reply.headers)["Retry-After"], looks) == (503, "1", 1)


def asked_for_a_new_version(
    knows_after: bool, awaited: frozenset[str] = frozenset(), is_complete: bool = True
) -> tuple[Reply, list[str]]:
    async def scenario() -> tuple[Reply, list[str]]:
        learned: list[str] = []

        async def learn(group: str) -> None:
            learned.append(group)

        def in_force() -> InForce:
            (rule,) = RULES
            known = RULES if learned and knows_after else (msgspec.structs.replace(rule, versions=(OLD,)),)
            return InForce(known, awaited=awaited, is_complete=is_complete)

        handler = ConversionHandler(in_force, Log().logger(), terms=ReviewTerms(manner=PLAIN, learn=learn))
        return await handler(call(SMALL)), learned

    return run(scenario(), seed=0)


def test_a_version_that_nobody_knows_is_looked_for_once() -> None:
    found, looked = asked_for_a_new_version(knows_after=True)
    missed, looked_in_vain = asked_for_a_new_version(knows_after=False)

    assert looked == looked_in_vain == ["shop.example.com"]
    assert msgspec.json.decode(found.body)["response"]["convertedObjects"][0]["apiVersion"] == NEW
    assert OLD in msgspec.json.decode(missed.body)["response"]["result"]["message"]


def test_who_asks_for_rules_that_are_being_loaded_is_told_to_come_again() -> None:
    reply, _ = asked_for_a_new_version(knows_after=False, awaited=frozenset({"shop.example.com"}))

    assert (reply.status, dict(reply.headers)["Retry-After"]) == (503, "1")


def test_who_asks_before_it_is_known_which_rules_there_are_is_told_to_come_again() -> None:
    """A replica is ready before it has read rules that are not its own: it must refuse nobody for that."""
    reply, _ = asked_for_a_new_version(knows_after=False, is_complete=False)

    assert (reply.status, dict(reply.headers)["Retry-After"]) == (503, "1")


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"kind":"Pod"}', a_review(uid=""), a_review(desired="")])
def test_what_is_no_review_is_a_bad_request_in_words(body: bytes) -> None:
    made = answer(body, RULES, PLAIN)

    assert (made.status, made.is_review) == (400, False)
    assert made.body.endswith(b"\n")


def test_one_that_takes_too_long_says_how_long_it_had() -> None:
    class Slow(Worker):
        async def _exchange(self, body: bytes) -> ConversionAnswer:
            await asyncio.sleep(9.0)
            return ConversionAnswer(200, body)

    async def scenario() -> None:
        with pytest.raises(TooSlow, match="longer than 5 seconds"):
            await Slow(seconds=5.0).convert(b"")

    run(scenario(), seed=0)
