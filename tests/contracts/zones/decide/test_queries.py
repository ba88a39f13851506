"""What is sent to Prometheus."""

from __future__ import annotations

from fairlead.contracts.zones.decide.groups import group_of
from fairlead.contracts.zones.decide.healthchecks.healthcheck import outdated, updated
from fairlead.contracts.zones.decide.healthchecks.queries import matchers, measurement
from fairlead.core.ask import Http
from tests.builders import NOW, a_pod, a_zone, pods_of, seen
from tests.contracts.zones.decide.checking import a_check

A, B = a_zone("a"), a_zone("b")


def test_whole_zones_are_named_by_one_expression_and_parts_of_zones_pod_by_pod() -> None:
    group = group_of(seen(A, B, pods_of(A, "new"), pods_of(B, _2="ready new")), NOW)

    assert matchers("test", group.zones, updated) == 'namespace="test",pod=~"ingester-zone-a-[0-9]+|ingester-zone-b-2"'
    assert matchers("test", group.zones, outdated) == 'namespace="test",pod=~"ingester-zone-b-0|ingester-zone-b-1"'


def test_a_pod_whose_name_has_no_ordinal_is_named() -> None:
    group = group_of(seen(A, pods_of(A), a_pod(A, name="a.debug", owner="")), NOW)

    expected = "a\\\\.debug|ingester-zone-a-0|ingester-zone-a-1|ingester-zone-a-2"
    assert matchers("test", group.zones, outdated) == f'namespace="test",pod=~"{expected}"'


def test_no_pods_give_no_matchers() -> None:
    group = group_of(seen(A, pods_of(A)), NOW)

    assert matchers("test", group.zones, updated) == ""


def test_a_query_may_be_answered_where_prometheus_points_to() -> None:
    of = a_check()

    asked = measurement(of.checks[0], of, 'pod="a"', "5m", NOW)

    assert isinstance(asked.to, Http)
    assert (asked.to.method, asked.to.follows, asked.to.sign_in, asked.effect) == ("GET", True, None, False)
