"""Section 2.10 and B-11: under which names pods are called."""

from __future__ import annotations

from msgspec import structs

from fairlead.api.zones import Settings
from fairlead.decide.zones.addresses import pod_host
from tests.builders import a_zone


def test_a_pod_is_called_by_the_name_that_its_service_gives_it() -> None:
    zone = a_zone("a")
    zone = structs.replace(zone, spec=structs.replace(zone.spec, service_name="svc"))

    assert pod_host(zone, 4, Settings()) == "ingester-zone-a-4.svc.test.svc.cluster.local."
    assert pod_host(zone, 4, Settings(cluster_domain="example.org")) == "ingester-zone-a-4.svc.test.svc.example.org"
