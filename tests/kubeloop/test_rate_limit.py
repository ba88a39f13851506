"""Calls are limited by API group (zones B-12): who waits, who is refused, and who does not count."""

from __future__ import annotations

import asyncio

import pytest

from kubeloop.clock import monotonic
from kubeloop.errors import RateLimited
from kubeloop.objects.core import LEASES, PODS
from kubeloop.objects.meta import Resource
from kubeloop.rate_limit import Limiter, group_of
from kubeloop.request import list_page
from kubesim.time import run

FOREVER = 1e9


@pytest.mark.parametrize(
    ("path", "group"),
    [
        ("/api/v1/pods", "core"),
        ("/api", "core"),
        ("/apis/apps/v1/statefulsets", "apps"),
        ("/apis/coordination.k8s.io/v1/namespaces/x/leases", "coordination.k8s.io"),
        ("/version", "/version"),
        ("/openapi/v3", "/openapi"),
        ("/apis", "/apis"),
    ],
)
def test_a_request_counts_under_its_api_group(path: str, group: str) -> None:
    assert group_of(path) == group


async def times_of(limiter: Limiter, resources: list[Resource]) -> list[float]:
    start = monotonic()
    times: list[float] = []
    for resource in resources:
        await limiter.take(list_page(resource), FOREVER)
        times.append(round(monotonic() - start, 3))
    return times


def test_a_burst_passes_at_once_and_the_rest_at_the_rate() -> None:
    times = run(times_of(Limiter(2, 3), [PODS] * 6))

    assert times == [0, 0, 0, 0.5, 1.0, 1.5]


def test_groups_do_not_slow_one_another() -> None:
    times = run(times_of(Limiter(1, 1), [PODS, LEASES, PODS, LEASES]))

    assert times == [0, 0, 1, 1]


def test_tokens_come_back_up_to_the_burst_and_no_further() -> None:
    async def scenario() -> list[float]:
        limiter = Limiter(10, 2)
        await times_of(limiter, [PODS] * 2)
        await asyncio.sleep(60)
        return await times_of(limiter, [PODS] * 3)

    times = run(scenario())

    assert times == [0, 0, 0.1]


@pytest.mark.parametrize(("qps", "burst"), [(0, 10), (-1, 10), (10, 0), (10, -1)])
def test_without_a_rate_or_a_burst_there_is_no_limit(qps: float, burst: int) -> None:
    times = run(times_of(Limiter(qps, burst), [PODS] * 50))

    assert set(times) == {0}


def test_a_request_that_would_wait_past_its_deadline_is_refused_at_once_and_counted() -> None:
    async def scenario() -> tuple[str, list[str], float, list[float]]:
        refused: list[str] = []
        limiter = Limiter(1, 1, refused.append)
        start = monotonic()
        await limiter.take(list_page(PODS), start + 5)
        with pytest.raises(RateLimited) as caught:
            await limiter.take(list_page(PODS, "shop"), start + 0.9)
        waited = monotonic() - start
        # The refused one took no token: the next still gets the first that comes.
        return str(caught.value), refused, waited, await times_of(limiter, [PODS])

    text, refused, waited, times = run(scenario())

    assert text.startswith("list pods in namespace shop: not sent, the client-side limit of 1 requests per second")
    assert "API group core" in text
    assert refused == ["core"]
    assert waited == 0
    assert times == [1]


def test_those_who_wait_are_served_in_the_order_of_asking() -> None:
    async def scenario() -> list[tuple[str, float]]:
        limiter = Limiter(1, 1)
        served: list[tuple[str, float]] = []

        async def ask(name: str, after: float) -> None:
            await asyncio.sleep(after)
            await limiter.take(list_page(PODS), FOREVER)
            served.append((name, round(monotonic(), 3)))

        start = monotonic()
        async with asyncio.TaskGroup() as group:
            for name, after in (("c", 0.3), ("a", 0.1), ("b", 0.2)):
                group.create_task(ask(name, after))
        return [(name, round(at - start, 3)) for name, at in served]

    served = run(scenario())

    assert served == [("a", 0.1), ("b", 1.1), ("c", 2.1)]
