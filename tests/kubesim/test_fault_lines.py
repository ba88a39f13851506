"""Lines of faults: which calls they mean, how often and when, and what they say when they make no sense."""

from __future__ import annotations

import asyncio
import math

import msgspec
import pytest

from kubeloop import request as requests
from kubeloop.clock import monotonic
from kubeloop.objects.core import LEASES, PODS
from kubeloop.request import Request
from kubesim.fault_lines import Fault, FaultRule, planned
from kubesim.time import run
from tests.kubeloop.scripted import pod_ref

GET = requests.get(pod_ref("a"))
WATCH = requests.watch(PODS, "ns")
DELETE = requests.delete(pod_ref("web-1"))
CREATE = requests.create(LEASES, "ns", msgspec.json.encode({"metadata": {"name": "zones"}}))


@pytest.mark.parametrize(
    ("line", "request_", "strikes"),
    [
        ("delete pods ns/web-1: drop", DELETE, True),
        ("delete pods ns/web-2: drop", DELETE, False),
        ("delete pods other/web-1: drop", DELETE, False),
        ("delete pods */web-*: drop", DELETE, True),
        ("delete pods ns/*: drop", DELETE, True),
        ("delete * ns/web-1: drop", DELETE, True),
        ("create leases ns/zones: drop", CREATE, True),
        ("create leases ns/other: drop", CREATE, False),
        ("create leases.coordination.k8s.io: drop", CREATE, True),
        ("create leases.apps: drop", CREATE, False),
        ("watch pods ns/*: drop", WATCH, True),
        ("deletecollection pods: drop", Request("DELETE", "/api/v1/namespaces/ns/pods"), True),
        ("deletecollection pods: drop", DELETE, False),
    ],
)
def test_a_line_may_mean_one_namespace_or_name(line: str, request_: Request, strikes: bool) -> None:
    assert (FaultRule(line).struck(request_) is not None) == strikes


@pytest.mark.parametrize(
    ("line", "struck"),
    [
        ("get pods after 3s: drop", "00011111"),
        ("get pods 2s-4s: drop", "00110000"),
        ("get pods at 3s: drop", "00010000"),
        ("get pods #2-3 after 3s: drop", "00001100"),
        ("get pods after 3s #2: drop", "00001000"),
        ("get pods at 2500ms: drop", "00010000"),
        ("get pods 1s-1m #1: drop", "01000000"),
    ],
)
def test_calls_outside_of_the_moment_do_not_count(line: str, struck: str) -> None:
    rule = FaultRule(line)

    assert "".join("1" if rule.struck(GET, at) else "0" for at in range(8)) == struck


def test_what_bends_a_watch_is_opened_before() -> None:
    span, once, late = (
        FaultRule("watch pods 2s-4s: freeze"),
        FaultRule("watch pods at 3s: end"),
        FaultRule("watch pods after 3s: 410"),
    )

    assert "".join("1" if span.struck(WATCH, at) else "0" for at in range(8)) == "11110000"
    assert "".join("1" if once.struck(WATCH, at) else "0" for at in range(8)) == "11100000"
    assert "".join("1" if late.struck(WATCH, at) else "0" for at in range(8)) == "11111111"
    assert (span.fault, once.fault) == (Fault("freeze", since=2, until=4), Fault("end", since=3, until=3))
    assert late.fault == Fault("status", 0, 410, since=3, until=math.inf)


def strokes(line: str, seed: int, calls: int = 400) -> str:
    rule = FaultRule(line, seed=seed)
    return "".join("1" if rule.struck(GET) else "0" for _ in range(calls))


def test_a_share_is_struck_as_the_seed_says() -> None:
    struck = strokes("get pods 25%: 500", seed=1)

    assert 70 < struck.count("1") < 130
    assert struck == strokes("get pods 25%: 500", seed=1)
    assert struck != strokes("get pods 25%: 500", seed=2)
    assert struck != strokes("get pods 25%: 409", seed=1), "lines with the same calls do not strike the same ones"


def test_a_share_is_one_of_those_that_the_numbers_mean() -> None:
    struck = strokes("get pods #101-200 50%: 500", seed=1)

    assert 30 < struck.count("1") < 70
    assert struck.strip("0") in struck[100:200]


def test_the_first_line_that_strikes_counts_and_every_line_that_bends() -> None:
    async def watched() -> tuple[Fault, ...]:
        plan = planned("watch pods: lag 1s\nwatch: delay 2s\nwatch pods: 500\nwatch pods after 9s: end")
        await asyncio.sleep(100)
        plan.start(monotonic())
        await asyncio.sleep(1)
        return plan(WATCH, 1)

    assert run(watched()) == (Fault("lag", 1), Fault("delay", 2), Fault("end", since=109))


LIKE = "write it like 'delete pods #3: lost-answer'"
FREEZE = "needs a time or a span: 'watch pods: freeze 5s' or 'watch pods 30s-60s: freeze'"


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("", f"is not a fault: {LIKE}"),
        ("delete pods:", f"is not a fault: {LIKE}"),
        ("delete pods web-1: drop", f"is not a fault, 'web-1' means nothing there: {LIKE}"),
        ("delete pods after: drop", f"is not a fault, 'after' means nothing there: {LIKE}"),
        ("delete pods: 429 2s 3s", f"is not a fault, '3s' means nothing there: {LIKE}"),
        ("delete pods #0: drop", "counts wrongly with #0: calls are counted from #1, as in #2-4"),
        ("delete pods #4-2: drop", "counts wrongly with #4-2: calls are counted from #1, as in #2-4"),
        ("delete pods 0%: drop", "means 0% of the calls: write more than 0% and at most 100%"),
        ("delete pods 60s-30s: drop", "ends before it begins: write the earlier time of 60s-30s first"),
        (
            "delete pods after 30: drop",
            'has a wrong time, the duration "30" has no unit: write a duration such as 30s',
        ),
        ("delete pods after -3s: drop", "has a time before the beginning: write 3s"),
        ("delete pods: drop 3s", "has a time that drop does not take: leave out 3s"),
        ("delete pods: 200", "answers with 200: write a status of a failure, from 400 to 599"),
        ("delete pods: end", "does not begin with watch, and end is for watches only"),
        ("watch pods: freeze", FREEZE),
        ("watch pods 1s-9s: freeze 2s", FREEZE),
        ("watch pods at 3s: lag 2s", "has one moment, and lag needs a span: 'watch pods 30s-60s: lag ...'"),
    ],
)
def test_a_line_that_makes_no_sense_says_what_would(line: str, sentence: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  the whole text is compared
        FaultRule(line)

    assert str(caught.value) == f"{line!r} {sentence}"
