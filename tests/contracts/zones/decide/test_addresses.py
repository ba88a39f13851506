"""Section 2.10 and B-11: under which names pods are called."""

from __future__ import annotations

import pytest
from msgspec import structs

from fairlead.contracts.zones.decide.addresses import pod_host, unaddressable
from fairlead.contracts.zones.settings import Settings
from tests.builders import a_zone


def test_a_pod_is_called_by_the_name_that_its_service_gives_it() -> None:
    zone = a_zone("a")
    zone = structs.replace(zone, spec=structs.replace(zone.spec, service_name="svc"))

    assert pod_host(zone, 4, Settings()) == "ingester-zone-a-4.svc.test.svc.cluster.local."
    assert pod_host(zone, 4, Settings(cluster_domain="example.org")) == "ingester-zone-a-4.svc.test.svc.example.org"


@pytest.mark.parametrize("service", ["ingester", "a.b", "0", "x" * 253])
def test_names_in_dns_can_be_called(service: str) -> None:
    zone = a_zone("a")

    assert not unaddressable(structs.replace(zone, spec=structs.replace(zone.spec, service_name=service)))


@pytest.mark.parametrize("service", ["", "a/b", "a@b", "a:1", "[::1]", "a?", "a#", "a.", "-a", "a\n", "A", "x" * 254])
def test_whatever_else_a_service_is_called_is_part_of_no_address(service: str) -> None:
    zone = a_zone("a")

    assert "spec.serviceName" in unaddressable(
        structs.replace(zone, spec=structs.replace(zone.spec, service_name=service))
    )
