"""Services get addresses and node ports that nobody else has, keep them, and leave them to others when they go."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.cluster import Cluster
from kubesim.errors import StatusError
from kubesim.kinds.registry import SERVICES
from kubesim.strategies.service_addresses import PORTS, RANGE
from tests.kubesim.scripts import merge, on_a_cluster, refused
from tests.kubesim.trees import Tree


def a_service(name: str = "web", *ports: Tree, **spec: Any) -> Tree:
    return {
        "metadata": {"name": name},
        "spec": {"ports": list(ports) or [{"port": 80}], "selector": {"a": "b"}, **spec},
    }


def made(cluster: Cluster, *services: Tree) -> list[Tree]:
    return [cluster.verbs.create(SERVICES, "default", each, user="me")["spec"] for each in services]


def causes(error: StatusError) -> list[tuple[str, str]]:
    found: Any = error.details["causes"]
    return [(each["field"], each["message"]) for each in found]


def test_no_two_services_have_the_same_address_or_port() -> None:
    def script(cluster: Cluster) -> list[Tree]:
        return made(cluster, *(a_service(f"s{number}", type="NodePort") for number in range(300)))

    specs = on_a_cluster(script)

    assert len({spec["clusterIP"] for spec in specs}) == 300
    assert len({spec["ports"][0]["nodePort"] for spec in specs}) == 300
    assert all(spec["ports"][0]["nodePort"] in PORTS for spec in specs)


def test_an_address_that_somebody_has_is_refused_until_it_is_free() -> None:
    def script(cluster: Cluster) -> tuple[str, StatusError, Tree]:
        (first,) = made(cluster, a_service("first"))
        wish = a_service("second", clusterIP=first["clusterIP"])
        error = refused(lambda: made(cluster, wish))
        cluster.verbs.delete(SERVICES, "default", "first", user="me")
        return first["clusterIP"], error, made(cluster, wish)[0]

    address, error, second = on_a_cluster(script)

    text = f'Invalid value: ["{address}"]: failed to allocate IP {address}: provided IP is already allocated'
    assert causes(error) == [("spec.clusterIPs", text)]
    assert second["clusterIP"] == address


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        (
            {"clusterIP": "192.0.2.1"},
            "spec.clusterIPs",
            (
                'Invalid value: ["192.0.2.1"]: failed to allocate IP 192.0.2.1: the provided network does not match '
                "the current range"
            ),
        ),
        (
            {"type": "NodePort", "ports": [{"port": 1, "nodePort": 80}]},
            "spec.ports[0].nodePort",
            "Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-32767",
        ),
        (
            {"type": "NodePort", "ports": [{"port": 1, "nodePort": 30080}]},
            "spec.ports[0].nodePort",
            "Invalid value: 30080: provided port is already allocated",
        ),
    ],
)
def test_what_cannot_be_had_is_refused(spec: Tree, field: str, message: str) -> None:
    def script(cluster: Cluster) -> StatusError:
        made(cluster, a_service("other", {"port": 1, "nodePort": 30080}, type="NodePort"))
        return refused(lambda: made(cluster, a_service(**spec)))

    assert causes(on_a_cluster(script)) == [(field, message)]


def test_a_failed_or_dry_creation_takes_nothing() -> None:
    def script(cluster: Cluster) -> Tree:
        wish = a_service("web", {"port": 1, "nodePort": 30080}, type="NodePort")
        refused(lambda: made(cluster, wish | {"metadata": {"name": "A"}}))
        cluster.verbs.create(SERVICES, "default", wish, user="me", dry_run=True)
        return made(cluster, wish)[0]

    assert on_a_cluster(script)["ports"][0]["nodePort"] == 30080


def test_where_nothing_is_stored_only_the_range_counts() -> None:
    def script(cluster: Cluster) -> StatusError:
        (first,) = made(cluster, a_service("first"))
        same = a_service("second", clusterIP=first["clusterIP"])
        cluster.verbs.create(SERVICES, "default", same, user="me", dry_run=True)
        wish = a_service("second", clusterIP="192.0.2.1")
        return refused(lambda: cluster.verbs.create(SERVICES, "default", wish, user="me", dry_run=True))

    [(_, message)] = causes(on_a_cluster(script))

    assert message.endswith(f"(192.0.2.1) is not in the valid range. The range of valid IPs is {RANGE}")


def test_ports_come_and_go_with_the_type() -> None:
    def script(cluster: Cluster) -> list[Tree]:
        (plain,) = made(cluster, a_service())
        changes = ({"type": "NodePort"}, {"ports": [{"port": 81}]}, {"type": "ClusterIP"})
        return [plain, *(merge(cluster.verbs, SERVICES, "web", {"spec": change})["spec"] for change in changes)]

    plain, outward, moved, inward = on_a_cluster(script)

    assert "nodePort" not in plain["ports"][0]
    assert outward["ports"][0]["nodePort"] in PORTS
    assert moved["ports"][0] == {**outward["ports"][0], "port": 81, "targetPort": 81}
    assert "nodePort" not in inward["ports"][0]
    assert "externalTrafficPolicy" not in inward
    assert {spec["clusterIP"] for spec in (plain, outward, moved, inward)} == {plain["clusterIP"]}


def test_a_balancer_for_local_traffic_has_a_port_for_its_health() -> None:
    def script(cluster: Cluster) -> list[Tree]:
        (first,) = made(cluster, a_service(type="LoadBalancer", externalTrafficPolicy="Local"))
        later = merge(cluster.verbs, SERVICES, "web", {"spec": {"externalTrafficPolicy": "Cluster"}})["spec"]
        return [first, later]

    first, later = on_a_cluster(script)

    assert first["healthCheckNodePort"] in PORTS
    assert first["healthCheckNodePort"] != first["ports"][0]["nodePort"]
    assert "healthCheckNodePort" not in later


def test_an_alias_gives_its_address_back() -> None:
    def script(cluster: Cluster) -> tuple[Tree, Tree, Tree]:
        (before,) = made(cluster, a_service())
        change = {"spec": {"type": "ExternalName", "externalName": "example.com"}}
        alias = merge(cluster.verbs, SERVICES, "web", change)["spec"]
        return before, alias, made(cluster, a_service("heir", clusterIP=before["clusterIP"]))[0]

    before, alias, heir = on_a_cluster(script)

    assert not {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} & set(alias)
    assert heir["clusterIP"] == before["clusterIP"]


def test_the_same_seed_gives_the_same_addresses() -> None:
    def script(cluster: Cluster) -> list[Tree]:
        return made(cluster, a_service("a", type="NodePort"), a_service("b"))

    assert on_a_cluster(script, seed=3) == on_a_cluster(script, seed=3)
    assert on_a_cluster(script, seed=3) != on_a_cluster(script, seed=4)
