"""What a route gives two Services, read and written (section 3.11 and X-4); everything else stays as it is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairlead.contracts.plans.decide.traffic.dialects import GATEWAY_API, ISTIO, SMI
from fairlead.contracts.plans.decide.traffic.routes import Dialect, RouteFault, Services
from fairlead.contracts.plans.decide.traffic.split import Share, new_route, split_of, with_split
from fairlead.contracts.plans.kinds import TRAFFIC_COPIES, Json, TrafficMatch
from fairlead.core.json_patch import json_patch
from tests.contracts.plans.decide.traffic.routes import (
    DIALECTS,
    MATCHES,
    PAIR,
    anything,
    backend,
    destination,
    http_ref,
    http_route,
    http_rule,
    one_entry,
    routes,
    traffic_split,
    virtual_service,
)

each_kind = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda each: each.provider)
CANARY = TrafficMatch(header="X-Canary", exact="always")


def changed(dialect: Dialect, tree: Json, weight: int, **share: Any) -> Json:
    after = with_split(dialect, tree, PAIR, Share(weight, **share))
    assert isinstance(after, dict), after
    return after


def said(found: object) -> str:
    assert isinstance(found, RouteFault)
    return found.text


@each_kind
def test_r_32_a_missing_backend_is_cloned_from_the_other(dialect: Dialect) -> None:
    after = changed(dialect, one_entry(dialect, backend(dialect, "shop-v1", 100)), 20)

    assert after == one_entry(dialect, backend(dialect, "shop-v1", 80), backend(dialect, "shop-v2", 20))


@each_kind
def test_r_32_in_the_end_only_the_target_is_left(dialect: Dialect) -> None:
    both = one_entry(dialect, backend(dialect, "shop-v1", 20), backend(dialect, "shop-v2", 80))

    assert changed(dialect, both, 100) == one_entry(
        dialect, backend(dialect, "shop-v1", 0), backend(dialect, "shop-v2", 100)
    )
    assert changed(dialect, both, 100, is_final=True) == one_entry(dialect, backend(dialect, "shop-v2", 100))


def test_only_the_weights_are_patched() -> None:
    other = http_rule(http_ref("cart", 3), name="cart")
    tree = http_route(other, http_rule(http_ref("shop-v1", 80), http_ref("shop-v2", 20), timeouts={"request": "3s"}))

    after = changed(GATEWAY_API, tree, 60)

    assert json_patch(tree, after) == [
        {"op": "replace", "path": "/spec/rules/1/backendRefs/0/weight", "value": 40},
        {"op": "replace", "path": "/spec/rules/1/backendRefs/1/weight", "value": 60},
    ]


def test_every_entry_of_the_pair_is_changed_and_no_other() -> None:
    first, second = http_rule(http_ref("shop-v1")), http_rule(http_ref("shop-v1"), http_ref("shop-v2", 0))
    mirror = http_rule(http_ref("shop-v1", kind="Pod"), http_ref("shop-v1", namespace="prod"), http_ref("cart"))

    after = changed(GATEWAY_API, http_route(first, mirror, second), 30)

    assert [
        [(each["name"], each.get("weight")) for each in rule["backendRefs"]] for rule in after["spec"]["rules"]
    ] == [
        [("shop-v1", 70), ("shop-v2", 30)],
        [("shop-v1", None), ("shop-v1", None), ("cart", None)],
        [("shop-v1", 70), ("shop-v2", 30)],
    ]


def test_a_route_of_another_namespace_names_that_of_the_services() -> None:
    own = http_rule(http_ref("shop-v1"))
    ours = http_rule(http_ref("shop-v1", namespace="ns"))

    after = changed(GATEWAY_API, http_route(own, ours, namespace="edge"), 10)

    assert after["spec"]["rules"][0] == own
    assert after["spec"]["rules"][1]["backendRefs"][1] == http_ref("shop-v2", 10, namespace="ns")


def test_backends_with_another_port_are_somebody_elses() -> None:
    tree = http_route(http_rule(http_ref("shop-v1", port=8080)), http_rule(http_ref("shop-v1")))

    after = with_split(GATEWAY_API, tree, Services("ns", "shop-v1", "shop-v2", 80), Share(50))

    assert isinstance(after, dict)
    assert [len(each["backendRefs"]) for each in after["spec"]["rules"]] == [1, 2]


@pytest.mark.parametrize("domain", ["", ".ns", ".ns.svc", ".ns.svc.cluster.local"])
def test_hosts_of_istio_keep_their_domain_and_lose_their_subset(domain: str) -> None:
    tree = virtual_service({"route": [destination(f"shop-v1{domain}", subset="v1", port={"number": 80})]})

    after = changed(ISTIO, tree, 25)

    assert after["spec"]["http"][0]["route"] == [
        destination(f"shop-v1{domain}", 75, subset="v1", port={"number": 80}),
        destination(f"shop-v2{domain}", 25, port={"number": 80}),
    ]


@pytest.mark.parametrize("host", ["shop-v1.prod", "shop-v1.example.com", "shop-v1.ns.example.com"])
def test_hosts_of_elsewhere_are_not_those_of_the_rollout(host: str) -> None:
    found = split_of(ISTIO, virtual_service({"route": [destination(host)]}), PAIR)

    assert said(found) == "nothing of it sends requests to shop-v1 or shop-v2: add an entry that does"


def test_connections_of_istio_are_shared_like_requests_and_have_no_headers() -> None:
    tree = virtual_service(tcp=[{"route": [destination("shop-v1")]}])

    after = changed(ISTIO, tree, 40, matches=(CANARY,))

    assert after["spec"]["tcp"] == [{"route": [destination("shop-v1", 60), destination("shop-v2", 40)]}]
    assert after["metadata"] == tree["metadata"]


@each_kind
@pytest.mark.parametrize("weight", [0, 100])
def test_what_gets_everything_already_stays_as_it_is(dialect: Dialect, weight: int) -> None:
    tree = one_entry(dialect, backend(dialect, "shop-v2" if weight else "shop-v1", 100))

    assert changed(dialect, tree, weight, is_final=True) is not None
    assert json_patch(tree, changed(dialect, tree, weight, is_final=True)) == []


@pytest.mark.parametrize(
    ("tree", "sentence"),
    [
        pytest.param(
            http_route(http_rule(http_ref("shop-v1", 0), http_ref("shop-v2", 0))),
            "spec.rules[0] gives both Services no weight: give one of them some",
            id="no weight at all",
        ),
        pytest.param(
            http_route(http_rule(http_ref("shop-v1"), http_ref("shop-v1", port=81))),
            "spec.rules[0] names the Service shop-v1 2 times: name it once",
            id="the same Service twice",
        ),
        pytest.param(
            http_route(http_rule(http_ref("cart")), http_rule(http_ref("shop-v1"), http_ref("cart"))),
            "spec.rules[1] sends requests to others than shop-v1 and shop-v2: give those an entry of their own",
            id="others in the same entry",
        ),
        pytest.param(
            http_route(),
            "nothing of it sends requests to shop-v1 or shop-v2: add an entry that does",
            id="no entry",
        ),
        pytest.param(
            {"spec": None}, "nothing of it sends requests to shop-v1 or shop-v2: add an entry that does", id=""
        ),
        pytest.param(
            {"spec": {"rules": ["x", {"backendRefs": 3}]}},
            "nothing of it sends requests to shop-v1 or shop-v2: add an entry that does",
            id="garbage",
        ),
    ],
)
def test_r_32_a_route_that_cannot_be_shared_is_told(tree: Json, sentence: str) -> None:
    assert said(split_of(GATEWAY_API, tree, PAIR)) == sentence
    assert said(with_split(GATEWAY_API, tree, PAIR, Share(50))) == sentence


def test_entries_that_differ_have_no_one_weight() -> None:
    tree = http_route(http_rule(http_ref("shop-v1")), http_rule(http_ref("shop-v1"), http_ref("shop-v2")))

    assert said(split_of(GATEWAY_API, tree, PAIR)) == "its entries give shop-v2 0 and 50 of 100"


def test_a_traffic_split_is_made_for_the_service_of_its_name() -> None:
    made = new_route(SMI, "shop", PAIR, 20)

    assert made["spec"] == traffic_split(backend(SMI, "shop-v1", 80), backend(SMI, "shop-v2", 20))["spec"]


@pytest.mark.parametrize(
    ("match", "http", "istio"),
    [
        (
            TrafficMatch(header="X-User", exact="a.b"),
            {"type": "Exact", "name": "X-User", "value": "a.b"},
            {"x-user": {"exact": "a.b"}},
        ),
        (
            TrafficMatch(header="X-User", prefix="a.b"),
            {"type": "RegularExpression", "name": "X-User", "value": r"^a\.b.*"},
            {"x-user": {"prefix": "a.b"}},
        ),
        (
            TrafficMatch(header="X-User", regex="a.+"),
            {"type": "RegularExpression", "name": "X-User", "value": "a.+"},
            {"x-user": {"regex": "a.+"}},
        ),
    ],
    ids=["exact", "prefix", "regex"],
)
def test_x_4_a_copy_asks_for_the_header_and_sends_to_the_target_alone(
    match: TrafficMatch, http: Json, istio: Json
) -> None:
    rule = http_rule(http_ref("shop-v1"), name="front", filters=[{"type": "RequestMirror"}])
    entry = {"name": "front", "retries": {"attempts": 3}, "route": [destination("shop-v1")]}

    routed = changed(GATEWAY_API, http_route(rule), 0, matches=(match,))
    meshed = changed(ISTIO, virtual_service(entry), 0, matches=(match,))

    path = {"type": "PathPrefix", "value": "/"}
    copy = {
        "matches": [{"path": path, "headers": [http]}],
        "backendRefs": [http_ref("shop-v2", 100)],
        "filters": [{"type": "RequestMirror"}],
    }
    assert routed["spec"]["rules"] == [copy, rule]
    assert meshed["spec"]["http"] == [
        {"retries": {"attempts": 3}, "match": [{"headers": istio}], "route": [destination("shop-v2", 100)]},
        entry,
    ]


def test_x_4_copies_are_derived_again_and_go_when_they_are_not_wanted() -> None:
    first = http_route(http_rule(http_ref("cart")), http_rule(http_ref("shop-v1")))

    routed = changed(GATEWAY_API, first, 20, matches=(CANARY,))
    again = changed(GATEWAY_API, routed, 20, matches=(CANARY,))
    other = changed(GATEWAY_API, routed, 20, matches=(TrafficMatch(header="X-User", exact="1"),))
    left = changed(GATEWAY_API, other, 0)

    assert again == routed
    assert len(other["spec"]["rules"]) == 3
    assert other["spec"]["rules"][1]["matches"][0]["headers"][0]["name"] == "X-User"
    assert TRAFFIC_COPIES in other["metadata"]["annotations"]
    assert left == http_route(http_rule(http_ref("cart")), http_rule(http_ref("shop-v1", 100), http_ref("shop-v2", 0)))


def test_x_4_an_entry_of_somebody_else_that_looks_like_a_copy_stays() -> None:
    theirs = http_rule(http_ref("shop-v2", 100), timeouts={"request": "9s"})
    theirs["matches"] = [
        {**theirs["matches"][0], "headers": [{"type": "Exact", "name": "X-Canary", "value": "always"}]}
    ]
    first = http_route(theirs, http_rule(http_ref("shop-v2", 100)))

    routed = changed(GATEWAY_API, first, 100, matches=(CANARY,))
    left = changed(GATEWAY_API, routed, 100)

    assert len(routed["spec"]["rules"]) == 3
    assert left == first


def test_x_4_copies_of_another_pair_on_the_same_route_stay() -> None:
    others = Services("ns", "cart-v1", "cart-v2")
    first = http_route(http_rule(http_ref("cart-v1")), http_rule(http_ref("shop-v1")))
    both = with_split(GATEWAY_API, changed(GATEWAY_API, first, 0, matches=(CANARY,)), others, Share(0, (CANARY,)))
    assert isinstance(both, dict)

    left = changed(GATEWAY_API, both, 0)

    assert len(both["spec"]["rules"]) == 4
    assert left == with_split(GATEWAY_API, first, others, Share(0, (CANARY,)))


def test_x_4_copies_that_somebody_took_away_are_forgotten() -> None:
    first = http_route(http_rule(http_ref("shop-v1")))
    routed = changed(GATEWAY_API, first, 0, matches=(CANARY,))
    overwritten = {**routed, "spec": first["spec"]}

    again = changed(GATEWAY_API, overwritten, 0, matches=(CANARY,))

    assert again == routed
    assert changed(GATEWAY_API, again, 0) == first
    assert changed(GATEWAY_API, overwritten, 0) == first


def test_x_4_what_the_server_completes_in_a_copy_makes_it_nobody_elses() -> None:
    routed = changed(GATEWAY_API, http_route(http_rule(http_ref("shop-v1"))), 0, matches=(CANARY,))
    copy = {**routed["spec"]["rules"][0], "timeouts": {"request": "1s"}}
    completed = {**routed, "spec": {**routed["spec"], "rules": [copy, routed["spec"]["rules"][1]]}}

    assert changed(GATEWAY_API, completed, 0, matches=(CANARY,)) == routed


@given(st.data())
@each_kind
def test_what_is_set_is_read_and_nothing_else_changes(dialect: Dialect, data: st.DataObject) -> None:
    """The whole way: any weights and headers in turn, and in the end the first route but for its backends."""
    first = data.draw(routes(dialect))
    before = _bare(dialect, first)
    tree = first

    for _ in range(data.draw(st.integers(1, 3))):
        weight = data.draw(st.integers(0, 100))
        matches = tuple(data.draw(MATCHES)) if dialect is not SMI else ()
        tree = changed(dialect, tree, weight, matches=matches)
        assert split_of(dialect, tree, PAIR) == weight
        assert json_patch(tree, changed(dialect, tree, weight, matches=matches)) == []
    tree = changed(dialect, tree, 100, is_final=True)

    assert _bare(dialect, tree) == before
    assert split_of(dialect, tree, PAIR) == 100
    for _, _, entry in dialect.entries(tree):
        named = [dialect.read(each, "ns") for each in dialect.backends_of(entry)]
        assert "shop-v1" not in [each.service for each in named if each is not None]


@given(st.data(), st.integers(0, 100), st.booleans())
@each_kind
def test_any_tree_is_shared_or_told(dialect: Dialect, data: st.DataObject, weight: int, is_final: bool) -> None:
    tree = data.draw(anything(dialect))
    matches = tuple(data.draw(MATCHES)) if dialect is not SMI else ()

    after = with_split(dialect, tree, PAIR, Share(weight, matches, is_final))

    if isinstance(after, RouteFault):
        assert after.text
    else:
        assert split_of(dialect, after, PAIR) == weight


def _bare(dialect: Dialect, tree: Json) -> Json:
    """Without the backends of the pair's entries."""
    spec = tree["spec"]
    if not dialect.lists:
        return {**tree, "spec": {key: value for key, value in spec.items() if key != dialect.backends}}
    entries = [
        {key: value for key, value in entry.items() if key != dialect.backends or not _is_pairs(dialect, entry)}
        for entry in spec[dialect.copied_in]
    ]
    return {**tree, "spec": {**spec, dialect.copied_in: entries}}


def _is_pairs(dialect: Dialect, entry: Json) -> bool:
    named = [dialect.read(each, "ns") for each in dialect.backends_of(entry)]
    return any(each is not None and each.service.startswith("shop-") for each in named)
