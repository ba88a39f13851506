from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec
import pytest

from kubeloop import request as requests
from kubeloop.client import Client
from kubeloop.clock import monotonic
from kubeloop.errors import Conflict, KubeError, NotFound, ServerError, Throttled, TransportError, error_of_event
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH, Request
from kubesim.faults import Fault, FaultRule, Faulty, Hook
from kubesim.time import run
from tests.kubeloop.scripted import Scripted, a_pod, pod_ref

T = TypeVar("T")
SETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
SET = Ref(SETS, "ns", "cart")
GET = requests.get(pod_ref("a"))
LIST = requests.list_page(PODS)
WATCH = requests.watch(PODS, "ns", resource_version="0")
DELETE = requests.delete(pod_ref("a"))
PATCH = requests.patch(pod_ref("a"), MERGE_PATCH, b'{"metadata":{"labels":{"seen":"yes"}}}')


class World:
    """A server with pods a, b and c behind a fault layer."""

    def __init__(self, plan: str | list[str] | Hook) -> None:
        self.server = Scripted()
        for name in "abc":
            self.server.put(a_pod(name))
        self.faulty = Faulty(self.server, plan)
        self.client = Client(self.faulty, timeout=30)

    @property
    def pods(self) -> str:
        return "".join(sorted(path.rsplit("/", 1)[1] for path in self.server.objects))

    async def outcome(self, request: Request) -> str:
        """The status of the answer, or the name of the error."""
        try:
            return str((await self.client.call(request)).status)
        except KubeError as error:
            return type(error).__name__

    async def watched(self, seconds: float, *, lines: int = 99) -> list[tuple[float, str]]:
        """When each line of a new watch came, and about which pod, while it lasted or so long."""
        start = monotonic()
        seen: list[tuple[float, str]] = []
        try:
            async with asyncio.timeout(seconds), self.client.stream(WATCH) as opened:
                async for line in opened:
                    name = msgspec.json.decode(line)["object"]["metadata"]["name"]
                    seen.append((round(monotonic() - start, 3), name))
                    if len(seen) == lines:
                        break
        except TimeoutError:
            return seen
        except TransportError:
            return [*seen, (round(monotonic() - start, 3), "broke")]
        return [*seen, (round(monotonic() - start, 3), "ended")] if len(seen) < lines else seen


def within(plan: str | list[str] | Hook, work: Callable[[World], Awaitable[T]]) -> T:
    async def scenario() -> T:
        return await work(World(plan))

    return run(scenario())


@pytest.mark.parametrize(
    ("line", "request_", "strikes"),
    [
        ("delete pods: drop", DELETE, True),
        ("delete statefulsets: drop", DELETE, False),
        ("delete: drop", DELETE, True),
        ("delete *: drop", DELETE, True),
        ("any: drop", WATCH, True),
        ("write pods: drop", PATCH, True),
        ("write: drop", GET, False),
        ("get pods: drop", GET, True),
        ("get pods: drop", LIST, True),
        ("get pods: drop", WATCH, False),
        ("list pods: drop", LIST, True),
        ("list pods: drop", GET, False),
        ("watch pods: drop", WATCH, True),
        ("put statefulsets/status: 409", requests.replace(SET, b"", "status"), True),
        ("update statefulsets/status: 409", requests.replace(SET, b"", "status"), True),
        ("put statefulsets: 409", requests.replace(SET, b"", "status"), False),
        ("put statefulsets/*: 409", requests.replace(SET, b"", "scale"), True),
        ("put statefulsets/*: 409", requests.replace(SET, b""), False),
        ("put */status: 409", requests.replace(SET, b"", "status"), True),
        ("post pods: 500", requests.create(PODS, "ns", b""), True),
        ("create pods: 500", requests.create(PODS, "ns", b""), True),
    ],
)
def test_a_line_means_the_calls_it_names(line: str, request_: Request, strikes: bool) -> None:
    assert (FaultRule(line).struck(request_) is not None) == strikes


@pytest.mark.parametrize(
    ("line", "struck"),
    [("any: drop", "11111"), ("any #3: drop", "00100"), ("any #2-4: drop", "01110"), ("any #1: drop", "10000")],
)
def test_a_number_means_the_nth_matching_call(line: str, struck: str) -> None:
    rule = FaultRule(line)
    others = [FaultRule("delete statefulsets #1: drop").struck(GET)]

    assert "".join("1" if rule.struck(GET) else "0" for _ in range(5)) == struck
    assert others == [None]


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("patch *: delay 2s", Fault("delay", 2)),
        ("watch pods: lag 0.5s", Fault("lag", 0.5)),
        ("any #5: 500", Fault("status", 0, 500)),
        ("any : 429 2s", Fault("status", 2, 429)),
        ("  delete pods #3: lost-answer ", Fault("lost-answer")),
        ("watch pods: end", Fault("end")),
    ],
)
def test_a_line_tells_its_fault(line: str, fault: Fault) -> None:
    assert FaultRule(line).fault == fault


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("delete pods", "is not a fault: write it like"),
        ("delete pods #x: drop", "is not a fault"),
        ("remove pods: drop", "begins with no verb"),
        ("delete pods: explode", "names no fault of lost-answer, unanswered, drop"),
        ("delete pods: delay", "needs a time"),
        ("delete pods: freeze 5s", "is for watches only"),
        ("delete pods: status", "names no fault"),
    ],
)
def test_a_line_that_makes_no_sense_says_why(line: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        Faulty(Scripted(), [line])


def test_without_a_plan_nothing_happens() -> None:
    async def work(world: World) -> tuple[str, str]:
        return await world.outcome(DELETE), world.pods

    assert within("", work) == ("200", "bc")


def test_a_plan_may_be_a_text_and_its_first_striking_line_counts() -> None:
    async def work(world: World) -> list[str]:
        return [await world.outcome(PATCH) for _ in range(3)]

    plan = """
        patch pods #2: 409
        write #2-3: 500
    """

    assert within(plan, work) == ["200", "Conflict", "ServerError"]


def test_a_lost_answer_hides_that_the_deed_is_done() -> None:
    async def work(world: World) -> tuple[str, str]:
        return await world.outcome(DELETE), world.pods

    assert within("delete pods #1: lost-answer", work) == ("TransportError", "bc")


def test_a_dropped_request_does_nothing() -> None:
    async def work(world: World) -> tuple[str, str, int]:
        return await world.outcome(DELETE), world.pods, len(world.server.requests)

    assert within("delete pods: drop", work) == ("TransportError", "abc", 0)


def test_a_timeout_lasts_as_long_as_the_caller_waits() -> None:
    async def work(world: World) -> tuple[str, float, str]:
        start = monotonic()
        return await world.outcome(DELETE), monotonic() - start, world.pods

    assert within("delete pods: timeout", work) == ("TransportError", 30, "abc")


def test_an_unanswered_call_is_carried_out_and_waited_for() -> None:
    async def work(world: World) -> tuple[str, float, str]:
        start = monotonic()
        return await world.outcome(DELETE), monotonic() - start, world.pods

    assert within("delete pods: unanswered", work) == ("TransportError", 30, "bc")


def test_a_duplicate_is_carried_out_twice() -> None:
    async def work(world: World) -> tuple[str, int]:
        return await world.outcome(DELETE), len(world.server.requests)

    # The second finds nothing, and that is the answer that comes last.
    assert within("delete pods: duplicate", work) == ("NotFound", 2)


def test_a_delay_comes_before_the_deed() -> None:
    async def work(world: World) -> tuple[str, str, float]:
        start = monotonic()
        call = asyncio.create_task(world.outcome(DELETE))
        await asyncio.sleep(1.9)
        before = world.pods
        await call
        return before, world.pods, monotonic() - start

    assert within("delete pods: delay 2s", work) == ("abc", "bc", 2)


@pytest.mark.parametrize(
    ("status", "error"), [(404, NotFound), (409, Conflict), (429, Throttled), (500, ServerError), (503, ServerError)]
)
def test_a_status_is_answered_without_the_deed(status: int, error: type[KubeError]) -> None:
    async def work(world: World) -> tuple[str, str]:
        return await world.outcome(DELETE), world.pods

    assert within(f"delete pods: {status}", work) == (error.__name__, "abc")


@pytest.mark.parametrize("line", ["get pods: 500", "get pods: 429 2s"])
def test_a_status_says_that_it_is_json_as_clients_expect(line: str) -> None:
    async def work(world: World) -> str:
        answer = await world.faulty.send(requests.get(pod_ref("a")))
        return answer.headers["content-type"]

    assert within(line, work) == "application/json"


def test_a_status_may_ask_to_come_back() -> None:
    async def work(world: World) -> tuple[str, float]:
        start = monotonic()
        return await world.outcome(DELETE), monotonic() - start

    assert within("delete pods #1: 429 2.5s", work) == ("200", 2.5)


def test_a_plan_may_be_a_function_of_the_request_and_its_number() -> None:
    def hook(request: Request, number: int) -> Fault | None:
        return Fault("status", 0, 500) if number == 2 and request.method == "PATCH" else None

    async def work(world: World) -> list[str]:
        return [await world.outcome(PATCH) for _ in range(3)]

    assert within(hook, work) == ["200", "ServerError", "200"]


class Crash(BaseException):
    """The operator's end, as a test arranges it."""


@pytest.mark.parametrize(("moment", "left"), [("before", "abc"), ("after", "bc")])
def test_a_test_may_crash_the_operator_around_the_nth_write(moment: str, left: str) -> None:
    async def work(world: World) -> tuple[list[int], str]:
        numbers: list[int] = []

        def crash(_request: Request, number: int) -> None:
            numbers.append(number)
            if number == 2:
                raise Crash

        world.faulty.on_send(**{moment: crash})
        await world.client.call(GET)
        await world.client.call(PATCH)
        with pytest.raises(Crash):
            await world.client.call(DELETE)
        return numbers, world.pods

    assert within("", work) == ([1, 2], left)


async def with_changes(world: World, seconds: float) -> list[tuple[float, str]]:
    """Watches while pod d comes after 1 second and pod e after 2."""

    async def change() -> None:
        for name in "de":
            await asyncio.sleep(1)
            world.server.put(a_pod(name))

    changing = asyncio.create_task(change())
    seen = await world.watched(seconds)
    await changing
    return seen


@pytest.mark.parametrize(
    ("plan", "seen"),
    [
        ("", [(0, "a"), (0, "b"), (0, "c"), (1, "d"), (2, "e")]),
        ("watch pods: lag 0.5s", [(0.5, "a"), (0.5, "b"), (0.5, "c"), (1.5, "d"), (2.5, "e")]),
        ("watch pods: freeze 1.5s", [(1.5, "a"), (1.5, "b"), (1.5, "c"), (1.5, "d"), (2, "e")]),
        ("watch pods: end 1.5s", [(0, "a"), (0, "b"), (0, "c"), (1, "d"), (1.5, "ended")]),
        ("watch pods: break 1.5s", [(0, "a"), (0, "b"), (0, "c"), (1, "d"), (1.5, "broke")]),
        ("watch pods: end", [(0, "ended")]),
        ("watch pods: break", [(0, "broke")]),
        ("watch pods: drop", [(0, "broke")]),
        ("watch pods: delay 1.5s", [(1.5, "a"), (1.5, "b"), (1.5, "c"), (1.5, "d"), (2, "e")]),
        ("watch statefulsets: end", [(0, "a"), (0, "b"), (0, "c"), (1, "d"), (2, "e")]),
        ("watch pods 0.5s-1.5s: freeze", [(0, "a"), (0, "b"), (0, "c"), (1.5, "d"), (2, "e")]),
        ("watch pods after 0.5s: freeze", [(0, "a"), (0, "b"), (0, "c")]),
        ("watch pods 0.5s-1.5s: lag 3s", [(0, "a"), (0, "b"), (0, "c"), (4, "d"), (4, "e")]),
        ("watch pods at 1.5s: end", [(0, "a"), (0, "b"), (0, "c"), (1, "d"), (1.5, "ended")]),
        ("watch pods after 1.5s: break", [(0, "a"), (0, "b"), (0, "c"), (1, "d"), (1.5, "broke")]),
        ("watch pods 1s-2s: end 500ms", [(0, "a"), (0, "b"), (0, "c"), (1, "d"), (1.5, "ended")]),
        ("watch pods: lag 0.5s\nwatch pods: end 2s", [(0.5, "a"), (0.5, "b"), (0.5, "c"), (1.5, "d"), (2, "ended")]),
        ("watch pods: delay 0.5s\nwatch pods: end 1s", [(0.5, "a"), (0.5, "b"), (0.5, "c"), (1, "d"), (1.5, "ended")]),
    ],
)
def test_a_watch_is_bent_as_planned(plan: str, seen: list[tuple[float, str]]) -> None:
    assert within(plan, lambda world: with_changes(world, 10)) == seen


def test_a_watch_that_never_opens_is_given_up_by_the_caller() -> None:
    async def work(world: World) -> tuple[list[tuple[float, str]], int]:
        return await world.watched(60), len(world.server.requests)

    assert within("watch pods: timeout", work) == ([(30, "broke")], 0)


def test_too_old_a_version_is_told_in_the_first_event() -> None:
    async def work(world: World) -> tuple[str, list[str]]:
        async with world.client.stream(WATCH) as opened:
            lines = [msgspec.json.decode(line) async for line in opened]
        error = error_of_event(msgspec.json.encode(lines[0]["object"]), "watch pods")
        return type(error).__name__, [line["type"] for line in lines]

    assert within("watch pods: 410", work) == ("Gone", ["ERROR"])


def test_open_watches_are_told_that_their_version_is_too_old() -> None:
    async def work(world: World) -> tuple[list[str], float, list[tuple[float, str]]]:
        async with world.client.stream(WATCH) as opened:
            types = [msgspec.json.decode(line)["type"] async for line in opened]
        return types, monotonic(), await world.watched(5)

    again = [(0, "a"), (0, "b"), (0, "c")]
    assert within("watch pods at 30s: 410", work) == (["ADDED"] * 3 + ["ERROR"], 30, again)


@pytest.mark.parametrize(
    ("line", "outcomes"),
    [
        ("patch pods after 2s: 500", "200 200 ServerError ServerError ServerError"),
        ("patch pods 1s-3s: 500", "200 ServerError ServerError 200 200"),
        ("patch pods at 1500ms: 500", "200 200 ServerError 200 200"),
        ("patch pods #2 after 2s: 500", "200 200 200 ServerError 200"),
        ("patch pods after 2s 100%: 500", "200 200 ServerError ServerError ServerError"),
    ],
)
def test_a_moment_counts_from_the_first_call(line: str, outcomes: str) -> None:
    async def work(world: World) -> list[str]:
        await asyncio.sleep(100)
        outcome = []
        for _ in range(5):
            outcome.append(await world.outcome(PATCH))
            await asyncio.sleep(1)
        return outcome

    assert within(line, work) == outcomes.split()


def test_another_status_refuses_the_watch() -> None:
    async def work(world: World) -> float | None:
        with pytest.raises(Throttled) as caught:
            async with world.client.stream(WATCH):
                pass
        return caught.value.retry_after

    assert within("watch pods: 429 3s", work) == 3


def test_the_end_of_a_lagging_watch_comes_after_its_lines() -> None:
    async def work(world: World) -> list[tuple[float, str]]:
        watching = asyncio.create_task(world.watched(10))
        await asyncio.sleep(0.1)
        world.server.end_watches()
        return await watching

    assert within("watch pods: lag 1s", work) == [(1, "a"), (1, "b"), (1, "c"), (1.1, "ended")]


def test_a_break_behind_the_layer_is_passed_on() -> None:
    async def work(world: World) -> list[tuple[float, str]]:
        watching = asyncio.create_task(world.watched(10))
        await asyncio.sleep(2)
        world.server.break_watches()
        return await watching

    assert within("", work)[-1] == (2, "broke")


def test_open_watches_can_be_frozen_and_thawed_by_hand() -> None:
    async def work(world: World) -> list[tuple[float, str]]:
        watching = asyncio.create_task(world.watched(10))
        await asyncio.sleep(1)
        world.faulty.freeze("pods")
        world.server.put(a_pod("d"))
        await asyncio.sleep(5)
        world.faulty.thaw("pods")
        world.faulty.thaw("pods")
        return await watching

    assert within("", work)[3:] == [(6, "d")]


def test_a_watch_that_is_left_leaves_nothing_running() -> None:
    async def work(world: World) -> tuple[int, int]:
        await world.watched(10, lines=1)
        return world.server.open_watches, len(asyncio.all_tasks())

    assert within("watch pods: lag 1s", work) == (0, 1)
