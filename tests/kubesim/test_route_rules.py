"""Where the stand-in gateway sends a request, by routes of each kind."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.standins.route_rules import (
    HTTP_ROUTES,
    TRAFFIC_SPLITS,
    VIRTUAL_SERVICES,
    GatewayRequest,
    chosen,
)

Tree = dict[str, Any]


def a_route(**spec: Any) -> Tree:
    return {"metadata": {"namespace": "ns", "name": "shop"}, "spec": spec}


def http_rule(service: str, **match: Any) -> Tree:
    return {"matches": [match] if match else [], "backendRefs": [{"name": service}]}


def header(value: str, kind: str = "Exact") -> list[Tree]:
    return [{"type": kind, "name": "X-User", "value": value}]


def http_services(request: GatewayRequest, *rules: Tree, **spec: Any) -> list[str] | None:
    rule = chosen([(HTTP_ROUTES, a_route(rules=list(rules), **spec))], request)
    return None if rule is None else [name for _, name, _ in rule.backends]


@pytest.mark.parametrize(
    ("path", "service"),
    [
        ("/", "all"),
        ("/cart", "cart"),
        ("/cart/1", "cart"),
        ("/carton", "all"),
        ("/cart/pay", "exact"),
        ("/v2", "regex"),
    ],
)
def test_the_most_exact_path_of_an_http_route_wins(path: str, service: str) -> None:
    rules = (
        http_rule("all"),
        http_rule("cart", path={"type": "PathPrefix", "value": "/cart"}),
        http_rule("exact", path={"type": "Exact", "value": "/cart/pay"}),
        http_rule("regex", path={"type": "RegularExpression", "value": "/v[0-9]"}),
    )

    assert http_services(GatewayRequest(path=path), *rules) == [service]


@pytest.mark.parametrize(
    ("headers", "service"),
    [({}, "all"), ({"x-user": "ann"}, "ann"), ({"x-user": "bob"}, "b"), ({"x-user": "cy"}, "all")],
)
def test_more_headers_of_an_http_route_win(headers: dict[str, str], service: str) -> None:
    rules = (
        http_rule("all"),
        http_rule("ann", headers=header("ann")),
        http_rule("b", headers=header("b.*", "RegularExpression")),
    )

    assert http_services(GatewayRequest(headers=headers), *rules) == [service]


def test_methods_and_host_names_of_an_http_route_count() -> None:
    rule = http_rule("posted", method="POST")

    assert http_services(GatewayRequest(method="POST"), rule) == ["posted"]
    assert http_services(GatewayRequest(), rule) is None
    assert http_services(GatewayRequest("a.example", method="POST"), rule, hostnames=["*.example"]) == ["posted"]
    assert http_services(GatewayRequest("b.test", method="POST"), rule, hostnames=["*.example"]) is None


@pytest.mark.parametrize(
    ("headers", "service"),
    [({}, "rest"), ({"x-user": "ann"}, "exact"), ({"x-user": "bo"}, "prefix"), ({"x-user": "c9"}, "regex")],
)
def test_the_first_entry_of_a_virtual_service_wins(headers: dict[str, str], service: str) -> None:
    tests = {"exact": {"exact": "ann"}, "prefix": {"prefix": "b"}, "regex": {"regex": "c[0-9]"}}
    entries = [
        {"match": [{"headers": {"x-user": test}}], "route": [{"destination": {"host": name}}]}
        for name, test in tests.items()
    ]
    last = {"route": [{"destination": {"host": "rest.prod.svc"}, "weight": 30}, {"destination": {"host": "rest"}}]}
    tree = a_route(hosts=["shop"], http=[{"redirect": {}}, *entries, last])

    rule = chosen([(VIRTUAL_SERVICES, tree)], GatewayRequest("shop", headers=headers))

    assert rule is not None
    assert rule.backends[0] == (("prod", "rest", 30) if service == "rest" else ("ns", service, 100))


def test_a_traffic_split_is_about_its_service() -> None:
    tree = a_route(service="shop", backends=[{"service": "a", "weight": 80}, {"service": "b", "weight": 20}])

    rule = chosen([(TRAFFIC_SPLITS, tree)], GatewayRequest("shop"))

    assert rule is not None
    assert rule.backends == (("ns", "a", 80), ("ns", "b", 20))
    assert chosen([(TRAFFIC_SPLITS, tree)], GatewayRequest("cart")) is None
