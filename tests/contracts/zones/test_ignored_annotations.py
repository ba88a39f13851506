"""Soak, minReadySeconds, rotation, exclusion and health checks with the whole operator in virtual time."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from fairlead.contracts.zones.configuration_kinds import HEALTH_CHECKS
from fairlead.contracts.zones.install.definitions import definitions as zone_kinds
from fairlead.contracts.zones.kinds import EXCLUDE, HEALTH_CHECK, HEALTH_CHECK_STARTED, LEADER, ROTATE, ZONE_SOAK
from fairlead.contracts.zones.metrics import ZoneMetrics
from kubeloop import clock
from kubeloop.calls import Call, Reply
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import EVENTS, PODS
from kubeloop.objects.meta import Resource
from kubeloop.request import Request
from kubesim.faults import Fault
from tests.engine.world import World, play
from tests.invariants import Event, Witness

DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
QUERY = "sum(rate(errors{${targetMatchers}}[${range}]))"
MINUTE = 60.0


async def zones(world: World, *letters: str, **annotations: str) -> None:
    for letter in letters or ("a", "b"):
        await world.zone(f"zone-{letter}", "group")
        if annotations:
            await annotate(world, letter, **annotations)


async def annotate(world: World, letter: str, **annotations: str | None) -> None:
    keys = {"soak": ZONE_SOAK, "exclude": EXCLUDE, "check": HEALTH_CHECK, "leader": LEADER}
    given = {keys[name]: value for name, value in annotations.items()}
    await world.change(STATEFULSETS, "test", f"zone-{letter}", {"metadata": {"annotations": given}})


async def mark(world: World, *names: str) -> None:
    for name in names:
        await world.change(PODS, "test", name, {"metadata": {"labels": {ROTATE: "true"}}})


def rolled(world: World, *letters: str) -> bool:
    return all(world.is_rolled("test", f"zone-{letter}") for letter in letters)


def went(world: World, letter: str) -> list[float]:
    """When pods of the zone were deleted."""
    return [at for at, name in world.deletes if name.startswith(f"zone-{letter}")]


def judged(world: World) -> Witness:
    """Everything that has happened, seen by somebody who knows the promises."""
    start = clock.now().timestamp()
    return Witness(lambda by: by == "operator").see_all(
        Event(entry.resource.plural, entry.type, entry.new, entry.user, entry.at.timestamp() - start)
        for entry in world.cluster.history
    )


def gauge(world: World, name: str, zone: str, **labels: str) -> float | None:
    where = {"namespace": "test", "rollout_group": "group", "zone": zone, **labels}
    return world.metrics.registry.get_sample_value(name, where)


def told(world: World, reason: str) -> list[str]:
    events = [entry.new for entry in world.cluster.history if entry.resource.plural == EVENTS.plural]
    return sorted({str(event.get("note") or event.get("message")) for event in events if event["reason"] == reason})


def test_the_next_zone_starts_by_itself_when_the_soak_is_over() -> None:
    async def scenario(world: World) -> None:
        await zones(world, "a", "b", "c", soak="10m")
        async with world.operating():
            await world.roll("zone-a", "zone-b", "zone-c")
            await world.until(lambda: rolled(world, "a"))
            done = clock.monotonic()
            await world.until(lambda: rolled(world, "b", "c"), within=1500.0)

        assert world.deleted() == [f"zone-{letter}-{place}" for letter in "abc" for place in range(3)]
        # The time of a readiness has whole seconds.
        assert 10 * MINUTE - 1.5 <= went(world, "b")[0] - done <= 10 * MINUTE + 1
        assert went(world, "b")[2] - went(world, "b")[0] < 5
        assert went(world, "c")[0] - went(world, "b")[2] > 10 * MINUTE - 1.5
        assert judged(world).unfinished() == []

    play(scenario)


def test_a_group_at_rest_is_not_woken_by_its_soak() -> None:
    async def scenario(world: World) -> None:
        await zones(world, "a", "b", soak="10m")
        await asyncio.sleep(11 * MINUTE)
        async with world.operating():
            await world.roll("zone-b")
            await world.until(lambda: rolled(world, "b"))
            await asyncio.sleep(1)
            passes = world.metrics.of(ZoneMetrics).reconciles.labels("group")._value.get()
            await asyncio.sleep(250)

            assert world.metrics.of(ZoneMetrics).reconciles.labels("group")._value.get() == passes

    play(scenario)


def test_pods_have_to_be_ready_for_min_ready_seconds_before_the_next_goes() -> None:
    async def scenario(world: World) -> None:
        await zones(world)
        for letter in "ab":
            await world.change(STATEFULSETS, "test", f"zone-{letter}", {"spec": {"minReadySeconds": 60}})
        await asyncio.sleep(100)
        async with world.operating():
            await world.roll("zone-a", "zone-b")
            await world.until(lambda: rolled(world, "a", "b"), within=1000.0)

        times = [at for at, _ in world.deletes]
        assert len(times) == 6
        gaps = [later - earlier for earlier, later in pairwise(times)]
        assert all(MINUTE - 1 <= gap <= MINUTE + 2 for gap in gaps), gaps
        assert judged(world).unfinished() == []

    play(scenario)


def test_marked_pods_are_rotated_by_the_rules_of_a_rollout() -> None:
    async def scenario(world: World) -> None:
        await zones(world)
        async with world.operating():
            await mark(world, "zone-b-0", "zone-a-1", "zone-a-0")
            await world.until(lambda: len(world.deletes) == 3 and not judged(world).unfinished())
            await asyncio.sleep(400)

        # The first is gone before the others are marked.
        assert sorted(world.deleted()) == ["zone-a-0", "zone-a-1", "zone-b-0"]
        assert judged(world).deletions == world.deleted()

    play(scenario)


def test_a_template_that_marks_all_its_pods_rotates_none_for_ever() -> None:
    async def scenario(world: World) -> None:
        await zones(world)
        async with world.operating():
            labels = {"name": "zone-a", ROTATE: "true"}
            template = {"spec": {"template": {"metadata": {"labels": labels}}}}
            await world.change(STATEFULSETS, "test", "zone-a", template)
            await world.until(lambda: rolled(world, "a"))
            await asyncio.sleep(400)

        assert world.deleted() == ["zone-a-0", "zone-a-1", "zone-a-2"]
        (said,) = told(world, "InvalidAnnotation")
        assert ROTATE in said

    play(scenario)


def test_an_excluded_zone_is_neither_rolled_nor_counted_until_it_is_back() -> None:
    async def scenario(world: World) -> None:
        await zones(world, "a", "b")
        await annotate(world, "a", exclude="true")
        await world.change(STATEFULSETS, "test", "zone-a", {"spec": {"updateStrategy": {"type": "RollingUpdate"}}})
        async with world.operating():
            await world.roll("zone-b")
            await world.until(lambda: rolled(world, "b"))
            assert world.deleted() == ["zone-b-0", "zone-b-1", "zone-b-2"]
            assert gauge(world, "fairlead_zone_pods", "zone-a", state="updated") is None

            await world.change(STATEFULSETS, "test", "zone-a", {"spec": {"updateStrategy": {"type": "OnDelete"}}})
            await world.roll("zone-a")
            await asyncio.sleep(400)
            assert went(world, "a") == []
            await annotate(world, "a", exclude=None)
            await world.until(lambda: rolled(world, "a"))

        assert len(went(world, "a")) == 3
        assert judged(world).unfinished() == []

    play(scenario)


def test_an_excluded_leader_is_missing() -> None:
    async def scenario(world: World) -> None:
        await zones(world)
        await annotate(world, "b", leader="zone-a")
        await annotate(world, "a", exclude="true")
        async with world.operating():
            await world.change(STATEFULSETS, "test", "zone-a", {"spec": {"replicas": 5}})
            await asyncio.sleep(30)

        assert world.cluster.get(STATEFULSETS, "test", "zone-b")["spec"]["replicas"] == 3
        assert "zone-a" in told(world, "ScalingFailed")[0]

    play(scenario)


def test_gauges_show_how_far_each_zone_is_and_go_with_the_group() -> None:
    async def scenario(world: World) -> None:
        await zones(world, soak="10m")
        async with world.operating():
            await world.roll("zone-a", "zone-b")
            await world.until(lambda: rolled(world, "a"))
            await asyncio.sleep(5)

            states = ("outdated", "updated", "not_ready")
            shown = {
                letter: [gauge(world, "fairlead_zone_pods", f"zone-{letter}", state=state) for state in states]
                for letter in "ab"
            }
            assert shown == {"a": [0, 3, 0], "b": [3, 0, 0]}
            for letter in "ab":
                await world.regroup(f"zone-{letter}", "other")
            await asyncio.sleep(5)
            assert gauge(world, "fairlead_zone_pods", "zone-a", state="updated") is None

    play(scenario)


class Prometheus:
    """Answers as its fields say, and remembers the queries."""

    def __init__(self, world: World) -> None:
        self.success = "1"
        self.queries: list[tuple[str, str]] = []
        self.world = world
        world.cluster.network.serve("prometheus", self.answer)

    async def answer(self, call: Call) -> Reply:
        parts = urlsplit(call.url)
        given = parse_qs(parts.query)
        assert (call.method, parts.path) == ("GET", "/api/v1/query")
        self.queries.append((given["query"][0], given["time"][0]))
        value = "2.5" if "errors" in given["query"][0] else self.success
        result = {"resultType": "vector", "result": [{"metric": {}, "value": [1.0, value]}]}
        return Reply(200, msgspec.json.encode({"status": "success", "data": result}))


async def define(world: World) -> None:
    (tree,) = [each for each in zone_kinds() if each["spec"]["names"]["plural"] == HEALTH_CHECKS.plural]
    await world.create(DEFINITIONS, "", tree)
    await asyncio.sleep(1)


async def check(world: World, **more: Any) -> None:
    given = {"name": "errors", "query": QUERY, "successQuery": "${current} <= bool ${baseline}", **more}
    spec = {
        "selector": {"matchLabels": {"rollout-group": "group"}},
        "prometheusURL": "http://prometheus:9090",
        "checks": [given],
    }
    named = {"apiVersion": HEALTH_CHECKS.api_version, "kind": HEALTH_CHECKS.kind, "metadata": {"name": "health"}}
    await world.create(HEALTH_CHECKS, "test", {**named, "spec": spec})


async def a_check_that_fails(world: World) -> Prometheus:
    """Of zone-b, for as long as this Prometheus says so."""
    await define(world)
    await zones(world, check="health")
    await check(world)
    prometheus = Prometheus(world)
    prometheus.success = "0"
    return prometheus


def evaluations(world: World, result: str) -> float:
    return gauge(world, "rollout_operator_health_check_evaluations_total", "zone-b", result=result) or 0.0


def test_a_zone_starts_when_its_health_check_passes() -> None:
    async def scenario(world: World) -> None:
        prometheus = await a_check_that_fails(world)
        async with world.operating():
            begun = clock.monotonic()
            await world.roll("zone-a", "zone-b")
            await world.until(lambda: rolled(world, "a"))
            assert clock.monotonic() - begun < 5
            await asyncio.sleep(5 * MINUTE)

            assert went(world, "b") == []
            asked = len(prometheus.queries)
            assert 20 <= asked <= 40  # three for every half minute, whatever happens in between
            assert gauge(world, "rollout_operator_health_check_blocked", "zone-b") == 1
            assert 9 <= evaluations(world, "failed") <= 12
            assert len(told(world, "RolloutBlocked")) == 1

            prometheus.success = "1"
            await world.until(lambda: rolled(world, "b"))
            assert went(world, "b")[0] - begun < 7 * MINUTE
            assert gauge(world, "rollout_operator_health_check_blocked", "zone-b") == 0

        started = world.cluster.get(STATEFULSETS, "test", "zone-b")["metadata"]["annotations"][HEALTH_CHECK_STARTED]
        revision, _, time = started.partition("=")
        assert revision == world.cluster.get(STATEFULSETS, "test", "zone-b")["status"]["updateRevision"]
        baselines = {(query, at) for query, at in prometheus.queries if "zone-b" in query}
        assert baselines == {('sum(rate(errors{namespace="test",pod=~"zone-b-[0-9]+"}[10m]))', time)}
        assert judged(world).unfinished() == []
        seconds = world.metrics.registry.get_sample_value(
            "rollout_operator_health_check_query_duration_seconds_count", {"status_code": "200"}
        )
        assert seconds == len(prometheus.queries)

    play(scenario)


def test_a_prometheus_out_of_reach_holds_the_zone_and_is_tried_as_often_as_the_check_says() -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await zones(world, check="health")
        await check(world, queryRetries=1, queryTimeout="2s")
        async with world.operating():
            await world.roll("zone-a", "zone-b")
            await world.until(lambda: rolled(world, "a"))
            await asyncio.sleep(MINUTE)
            assert went(world, "b") == []
            assert evaluations(world, "unreachable") >= 2

            Prometheus(world)
            await world.until(lambda: rolled(world, "b"))

        failed = world.metrics.registry.get_sample_value(
            "rollout_operator_health_check_query_duration_seconds_count", {"status_code": "error"}
        )
        # Two measurements, each tried twice; the answer about the baseline may serve for two judgements.
        assert failed is not None
        assert 2 * evaluations(world, "unreachable") < failed <= 4 * evaluations(world, "unreachable")

    play(scenario)


@pytest.mark.parametrize("served", [True, False], ids=["no such object", "no such resource"])
def test_without_a_check_the_zone_starts_and_that_is_told_once(served: bool) -> None:
    async def scenario(world: World) -> None:
        if served:
            await define(world)
        await zones(world)
        await annotate(world, "b", check="health")
        async with world.operating():
            await world.roll("zone-a", "zone-b")
            await world.until(lambda: rolled(world, "a", "b"))
            await asyncio.sleep(400)

            assert len(told(world, "InvalidAnnotation")) == 1
            assert gauge(world, "rollout_operator_health_check_misconfigured", "zone-b") == 1
            assert gauge(world, "rollout_operator_health_check_misconfigured_total", "zone-b") == 1
            if not served:
                await define(world)
                await asyncio.sleep(MINUTE)
            await check(world)
            await asyncio.sleep(5)
            assert gauge(world, "rollout_operator_health_check_misconfigured", "zone-b") == 0

    play(scenario)


def test_an_invalid_version_of_a_check_leaves_the_valid_one_in_force() -> None:
    async def scenario(world: World) -> None:
        await a_check_that_fails(world)
        async with world.operating():
            wrong = {"spec": {"checks": [{"name": "errors", "query": "up", "successQuery": "1"}]}}
            await world.change(HEALTH_CHECKS, "test", "health", wrong)
            await world.roll("zone-a", "zone-b")
            await world.until(lambda: rolled(world, "a"))
            await asyncio.sleep(MINUTE)

        assert went(world, "b") == []
        assert "must contain ${targetMatchers}" in world.log.of("health check invalid")[0]["error"]
        observed = [
            world.metrics.registry.get_sample_value(
                "rollout_operator_health_check_configurations_observed_total", {"result": result}
            )
            for result in ("updated", "invalid", "deleted")
        ]
        assert observed == [1, 1, None]

    play(scenario)


@pytest.mark.parametrize("interval", [None, 5.0, 10.0])
def test_without_the_right_to_record_the_start_the_first_zone_still_rolls(interval: float | None) -> None:
    async def scenario(world: World) -> None:
        await define(world)
        await zones(world, check="health")
        await check(world, onNoData="Warn")
        Prometheus(world)

        def refuse(request: Request) -> Fault | None:
            patches = request.method == "PATCH" and request.path.endswith(("zone-a", "zone-b"))
            return Fault("status", status=403) if patches else None

        world.fault = refuse
        await world.roll("zone-a", "zone-b")
        async with world.operating(interval=interval):
            await world.until(lambda: rolled(world, "a", "b"))

        assert len(told(world, "HealthCheckFailing")) == 1
        assert judged(world).unfinished() == []

    play(scenario)
