"""Cluster validation (B-10): which requests are checked, what they must say, and what they are told."""

from __future__ import annotations

import msgspec
import pytest

from fairlead.engine.serving.cluster_label import ClusterLabel
from fairlead.engine.serving.routes import dispatching, route_name, text
from kubeloop.calls import Call


def asked(path: str = "/other", *labels: str, agent: str = "curl/8") -> Call:
    headers = (("User-Agent", agent), *(("x-cluster", label) for label in labels))
    return Call(method="GET", url=path, headers=headers)


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        (asked("/other", "ns"), None),
        (asked("/other"), ""),
        (asked("/other", ""), ""),
        (asked("/other", "else"), "else"),
        (asked("/other", "NS"), "NS"),
        (asked("/other", "ns", "ns"), ""),
        (asked("/other", "ns", "else"), ""),
        (asked("/metrics"), None),
        (asked("/prefix/metrics"), None),
        (asked("/ready", "else"), None),
        (asked("/debug/pprof/heap"), None),
        (asked("/other?path=/metrics"), ""),
        (asked("/metric"), ""),
        (asked("/admission/no-downscale"), None),
        (asked("/admission/prepare-downscale"), None),
        (asked("/admission/pod-eviction"), None),
        (asked("/admission/zpdb-validation"), None),
        (asked("/pods/eviction"), None),
        (asked("/admission/phased-deployment"), None),
        (asked("/admissions"), ""),
    ],
    ids=lambda value: value.url if isinstance(value, Call) else repr(value),
)
def test_which_requests_are_wrong(call: Call, wrong: str | None) -> None:
    assert ClusterLabel("ns").wrong(call) == wrong


def test_given_paths_replace_those_of_the_webhooks_and_never_those_of_probes() -> None:
    """H-12."""
    cluster = ClusterLabel("ns", unchecked_paths=("mine",))

    assert cluster.wrong(asked("/mine")) is None
    assert cluster.wrong(asked("/very/mine/too")) is None
    assert cluster.wrong(asked("/admission/no-downscale")) == ""
    assert cluster.wrong(asked("/ready")) is None


def test_user_agents_are_found_by_regular_expressions() -> None:
    cluster = ClusterLabel("ns", unchecked_agents=("^kube-probe/", "scr?aper"))

    assert cluster.wrong(asked(agent="kube-probe/1.36")) is None
    assert cluster.wrong(asked(agent="the scaper")) is None
    assert cluster.wrong(asked(agent="not kube-probe/1.36")) == ""


def test_a_refusal_is_511_with_what_was_said_and_the_route() -> None:
    cluster = ClusterLabel("ns")

    reply = cluster.refusal("else", "admission_x")

    assert (reply.status, reply.headers) == (511, (("Content-Type", "application/json"),))
    said = msgspec.json.decode(reply.body)
    assert said["route"] == "admission_x"
    assert 'wrong cluster validation label "else"' in said["cluster_validation_error_message"]
    assert 'should be "ns"' in said["cluster_validation_error_message"]
    assert b"no cluster validation label" in cluster.refusal("", "x").body


def test_routes_have_names_that_metrics_can_show() -> None:
    routes = dict.fromkeys(("/admission/no-downscale", "/debug/pprof/", "/ready"), dispatching({}))

    assert route_name("/admission/no-downscale", routes) == "admission_no_downscale"
    assert route_name("/debug/pprof/", routes) == "debug_pprof"
    assert route_name("/ready/", routes) == "other"
    assert text(400, "no").body == b"no\n"
