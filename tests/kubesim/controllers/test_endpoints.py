"""Services with selectors get Endpoints and EndpointSlices as from kube-controller-manager 1.36.4."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest

from kubeloop.objects.core import PODS, SERVICES
from kubeloop.objects.meta import Meta, OwnerReference
from kubeloop.request import MERGE_PATCH, Request, path_of
from kubesim.controllers.endpoint_plan import Target
from kubesim.controllers.endpoints import Address, Port, Subset, place_of, subsets_of, truncated
from kubesim.controllers.endpointslice_plan import (
    LARGEST,
    Conditions,
    Endpoint,
    Slice,
    SliceMeta,
    plan,
    ports_of,
    slice_labels,
)
from kubesim.controllers.selected_pods import Address as PodAddress
from kubesim.controllers.selected_pods import Pod, PodStatus, Service, ServiceMeta, ServicePort, ServiceSpec
from kubesim.kinds.registry import CORE_EVENTS, ENDPOINT_SLICES, ENDPOINTS, NODES
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.kubesim.controllers.world import NAMESPACE, World, play

pytestmark = pytest.mark.fidelity

TRANSITION = "2026-01-01T00:00:00Z"
LABELS = {"app": "a"}
SLICE_LABELS = {"endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io", "team": "x"}


def a_service(name: str, **spec: Any) -> Tree:
    return {"metadata": {"name": name, "labels": {"team": "x"}}, "spec": {"selector": LABELS, **spec}}


def a_pod(name: str, node: str, **spec: Any) -> Tree:
    container = {"name": "c", "image": "i", "ports": [{"name": "web", "containerPort": 8080}]}
    return {"metadata": {"name": name, "labels": LABELS}, "spec": {"nodeName": node, "containers": [container], **spec}}


def a_status(ip: str, *, ready: bool) -> Tree:
    condition = {"type": "Ready", "status": str(ready), "lastTransitionTime": TRANSITION}
    return {"phase": "Running", "podIP": ip, "podIPs": [{"ip": ip}], "conditions": [condition]}


def slice_of(site: Site, service: str) -> Tree:
    """The only one of a Service."""
    found = [
        tree
        for tree in site.history.objects(ENDPOINT_SLICES).values()
        if tree["metadata"]["labels"]["kubernetes.io/service-name"] == service
    ]
    (only,) = found
    return only


def states(site: Site, service: str) -> list[str]:
    """Each endpoint as `IP ready/serving/terminating`."""
    return [
        f"{','.join(each['addresses'])} " + "/".join(str(value).lower() for value in each["conditions"].values())
        for each in slice_of(site, service).get("endpoints") or []
    ]


def subsets(site: Site, service: str) -> list[str]:
    """Each subset as `ready | not ready | ports`."""
    return [
        " | ".join(
            (
                " ".join(each["ip"] for each in subset.get("addresses", [])),
                " ".join(each["ip"] for each in subset.get("notReadyAddresses", [])),
                " ".join(f"{each.get('name', '')}:{each['port']}" for each in subset.get("ports", [])),
            )
        )
        for subset in site.history.objects(ENDPOINTS)[service].get("subsets", [])
    ]


async def begin(site: Site) -> str:
    """Four Services, a node and a pod that is ready, another that is not, and one without an address."""
    node = f"{site.namespace}-node"
    await site.create(NODES, {"metadata": {"name": node, "labels": {"topology.kubernetes.io/zone": "z1"}}})
    named = [{"name": "http", "port": 80, "targetPort": "web"}, {"name": "two", "port": 81, "targetPort": 9000}]
    await site.create(SERVICES, a_service("plain", ports=named))
    await site.create(SERVICES, a_service("headless", clusterIP="None", ports=[{"port": 80}]))
    await site.create(
        SERVICES, a_service("eager", clusterIP="None", ports=[{"port": 80}], publishNotReadyAddresses=True)
    )
    await site.create(SERVICES, a_service("bare", clusterIP="None"))
    await site.create(SERVICES, {"metadata": {"name": "by-hand"}, "spec": {"ports": [{"port": 80}]}})
    await site.until(lambda: len(site.history.objects(ENDPOINT_SLICES)) == 4, following=[ENDPOINT_SLICES])
    await site.until(lambda: len(site.history.objects(ENDPOINTS)) == 4, following=[ENDPOINTS])
    await site.create(PODS, a_pod("p0", node, hostname="first", subdomain="headless"))
    for name in ("p1", "p2"):
        await site.create(PODS, a_pod(name, node))
    return node


@everywhere()
async def test_services_say_where_their_pods_are_reached(site: Site) -> None:
    node = await begin(site)
    empty = slice_of(site, "plain")
    assert empty["addressType"] == "IPv4"
    assert not empty.get("endpoints")
    assert not empty.get("ports")
    service = await site.get(SERVICES, "plain")
    assert service is not None
    assert empty["metadata"]["annotations"] == {
        "endpoints.kubernetes.io/last-change-trigger-time": service["metadata"]["creationTimestamp"]
    }
    assert empty["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "name": "plain",
            "uid": service["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert empty["metadata"]["generateName"] == "plain-"
    assert empty["metadata"]["labels"] == SLICE_LABELS | {"kubernetes.io/service-name": "plain"}
    assert slice_of(site, "headless")["metadata"]["labels"] == SLICE_LABELS | {
        "kubernetes.io/service-name": "headless",
        "service.kubernetes.io/headless": "",
    }
    assert subsets(site, "plain") == []
    assert site.history.objects(ENDPOINTS)["headless"]["metadata"]["labels"] == {
        "team": "x",
        "endpoints.kubernetes.io/managed-by": "endpoint-controller",
        "service.kubernetes.io/headless": "",
    }

    await site.write_status(PODS, "p0", a_status("10.9.0.10", ready=True))
    # A slice that gets both at once may have them in any order.
    await site.until(lambda: all(len(states(site, name)) == 1 for name in ("plain", "headless", "bare", "eager")))
    await site.write_status(PODS, "p1", a_status("10.9.0.2", ready=False))
    both = ["10.9.0.10 true/true/false", "10.9.0.2 false/false/false"]
    await site.until(lambda: all(states(site, name) == both for name in ("plain", "headless", "bare")))
    await site.until(lambda: states(site, "eager") == ["10.9.0.10 true/true/false", "10.9.0.2 true/false/false"])
    pod = site.history.objects(PODS)["p0"]
    assert (slice_of(site, "headless")["endpoints"] or [])[0] == {
        "addresses": ["10.9.0.10"],
        "conditions": {"ready": True, "serving": True, "terminating": False},
        "hostname": "first",
        "targetRef": {"kind": "Pod", "namespace": site.namespace, "name": "p0", "uid": pod["metadata"]["uid"]},
        "nodeName": node,
        "zone": "z1",
    }
    assert slice_of(site, "headless")["ports"] == [{"name": "", "protocol": "TCP", "port": 80}]
    assert slice_of(site, "plain")["ports"] == [
        {"name": "http", "protocol": "TCP", "port": 8080},
        {"name": "two", "protocol": "TCP", "port": 9000},
    ]
    await site.until(lambda: subsets(site, "plain") == ["10.9.0.10 | 10.9.0.2 | http:8080 two:9000"])
    await site.until(lambda: subsets(site, "headless") == ["10.9.0.10 | 10.9.0.2 | :80"])
    await site.until(lambda: subsets(site, "bare") == ["10.9.0.10 | 10.9.0.2 | "])
    await site.until(lambda: subsets(site, "eager") == ["10.9.0.10 10.9.0.2 |  | :80"])
    assert site.history.objects(ENDPOINTS)["headless"]["subsets"][0]["addresses"] == [
        {
            "ip": "10.9.0.10",
            "hostname": "first",
            "nodeName": node,
            "targetRef": {"kind": "Pod", "namespace": site.namespace, "name": "p0", "uid": pod["metadata"]["uid"]},
        }
    ]

    await site.client.call(Request("DELETE", path_of(PODS, site.namespace, "p0")))
    await site.until(lambda: states(site, "headless") == ["10.9.0.10 false/true/true", "10.9.0.2 false/false/false"])
    await site.until(lambda: states(site, "eager")[0] == "10.9.0.10 true/true/true")
    await site.until(lambda: subsets(site, "headless") == [" | 10.9.0.2 | :80"])
    await site.until(lambda: subsets(site, "eager") == ["10.9.0.10 10.9.0.2 |  | :80"])
    assert "annotations" not in slice_of(site, "headless")["metadata"]

    await site.client.call(Request("DELETE", path_of(PODS, site.namespace, "p0"), query=(("gracePeriodSeconds", "0"),)))
    await site.until(lambda: states(site, "headless") == ["10.9.0.2 false/false/false"])
    await site.client.call(Request("DELETE", path_of(SERVICES, site.namespace, "headless")))
    await site.until(lambda: "headless" not in site.history.objects(ENDPOINTS))
    await site.until(lambda: len(site.history.objects(ENDPOINT_SLICES)) == 3)
    assert "by-hand" not in site.history.objects(ENDPOINTS)
    await site.client.call(Request("DELETE", path_of(NODES, name=node)))


@everywhere()
async def test_a_pod_on_a_node_that_is_not_there_is_left_out_and_told_about(site: Site) -> None:
    await site.create(SERVICES, a_service("plain", ports=[{"port": 80}]))
    await site.create(PODS, a_pod("p0", "nowhere"))
    await site.write_status(PODS, "p0", a_status("10.9.0.10", ready=True))

    await site.history.follow(CORE_EVENTS)
    place = f"{site.namespace}/plain"
    text = (
        f"Error updating Endpoint Slices for Service {place}: skipping Pod p0 for Service {place}: "
        "Node nowhere Not Found"
    )
    told = await site.until(
        lambda: [each for each in site.history.objects(CORE_EVENTS).values() if each["message"] == text]
    )
    assert (told[0]["reason"], told[0]["type"]) == ("FailedToUpdateEndpointSlices", "Warning")
    assert told[0]["source"] == {"component": "endpoint-slice-controller"}
    await site.until(lambda: slice_of(site, "plain"), following=[ENDPOINT_SLICES])
    assert not slice_of(site, "plain").get("endpoints")


@everywhere()
async def test_an_address_that_is_refused_is_told_about_until_the_pod_has_another(site: Site) -> None:
    node = f"{site.namespace}-node"
    await site.create(NODES, {"metadata": {"name": node}})
    await site.create(SERVICES, a_service("plain", ports=[{"port": 80}]))
    await site.until(lambda: "plain" in site.history.objects(ENDPOINTS), following=[ENDPOINTS, CORE_EVENTS])
    await site.create(PODS, a_pod("p0", node))

    await site.write_status(PODS, "p0", a_status("127.0.0.9", ready=True))

    def told() -> dict[str, str]:
        return {each["reason"]: each["message"] for each in site.history.objects(CORE_EVENTS).values()}

    await site.until(lambda: told().keys() >= {"FailedToUpdateEndpoint", "FailedToUpdateEndpointSlices"})
    assert all('Invalid value: "127.0.0.9"' in text for reason, text in told().items() if reason.startswith("FailedTo"))
    await site.write_status(PODS, "p0", a_status("10.9.0.10", ready=True))
    await site.until(lambda: subsets(site, "plain") == ["10.9.0.10 |  | :80"])
    await site.until(lambda: states(site, "plain") == ["10.9.0.10 true/true/false"], following=[ENDPOINT_SLICES])
    await site.client.call(Request("DELETE", path_of(NODES, name=node)))


def test_slices_are_tried_again_after_one_second_and_then_twice_as_long_each_time() -> None:
    async def scenario(world: World) -> None:
        world.create(SERVICES, a_service("plain", ports=[{"port": 80}]))
        await world.settle()
        world.create(PODS, a_pod("p0", "nowhere"))
        world.patch(PODS, "p0", {"status": a_status("10.9.0.10", ready=True)}, "status")
        failed = []
        for _ in range(8):
            await world.settle()
            failed.append(sum(count for told, count in world.events().items() if "Endpoint Slices" in told))

        assert [after - before for before, after in itertools.pairwise(failed)] == [1, 0, 1, 0, 0, 0, 1]

    play(scenario)


def test_a_slice_that_somebody_deletes_is_made_again() -> None:
    async def scenario(world: World) -> None:
        world.create(SERVICES, a_service("plain", ports=[{"port": 80}]))
        await world.settle()
        for resource in (ENDPOINT_SLICES, ENDPOINTS):
            (only,) = world.verbs.list(resource)
            world.delete(resource, only["metadata"]["name"])
        await world.settle()

        assert [len(world.verbs.list(resource)) for resource in (ENDPOINT_SLICES, ENDPOINTS)] == [1, 1]

    play(scenario)


def test_a_condition_without_a_time_is_read_like_any_other() -> None:
    async def scenario(world: World) -> None:
        world.create(SERVICES, a_service("plain", ports=[{"port": 80}]))
        world.create(PODS, a_pod("a", "n"))
        change = {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}
        path = path_of(PODS, NAMESPACE, "a", "status")
        request = Request("PATCH", path, body=msgspec.json.encode(change), content_type=MERGE_PATCH)
        answer = await world.cluster.transport().send(request)
        await world.settle()

        assert b'"lastTransitionTime":null' in answer.body
        assert len(world.verbs.list(ENDPOINT_SLICES)) == 1

    play(scenario)


def test_many_pods_that_change_at_once_are_few_writes() -> None:
    async def scenario(world: World) -> None:
        world.create(NODES, {"metadata": {"name": "n"}})
        world.create(SERVICES, a_service("plain", ports=[{"port": 80}]))
        await world.settle()
        for number in range(150):
            world.create(PODS, a_pod(f"p{number}", "n"))
            world.patch(PODS, f"p{number}", {"status": a_status(f"10.9.0.{number}", ready=True)}, "status")
        await world.settle()

        slices = world.verbs.list(ENDPOINT_SLICES)
        assert sorted(len(each["endpoints"]) for each in slices) == [50, 100]
        assert len(world.verbs.list(ENDPOINTS)[0]["subsets"][0]["addresses"]) == 150
        written = [event for resource, event, _ in world.writes if resource == ENDPOINT_SLICES]
        assert len(written) < 30

    play(scenario)


# Plans


def the_service(**spec: Any) -> Service:
    meta = ServiceMeta("web", "service-uid", "1", "ns", labels={"team": "x"})
    return Service(meta, ServiceSpec(**({"selector": LABELS, "cluster_ip": "10.96.0.1"} | spec)))


def an_endpoint(number: int, *, ready: bool = True) -> Endpoint:
    target = Target("Pod", "ns", f"p{number}", f"uid-{number}")
    return Endpoint((f"10.0.{number // 250}.{number % 250}",), Conditions(ready, ready, False), target_ref=target)


def a_slice(name: str, *endpoints: Endpoint, owner: str = "service-uid") -> Slice:
    owners = (OwnerReference("Service", "web", owner, "v1", controller=True),)
    meta = SliceMeta(name, f"uid-{name}", "1", "ns", labels=slice_labels(the_service()), owner_references=owners)
    return Slice(meta, "IPv4", endpoints, ())


def planned(count: int, *existing: Slice, first: int = 0) -> tuple[list[int], dict[str, int], list[str]]:
    """Sizes of new slices, of changed ones by name, and the names of those that go."""
    wanted: dict[object, Endpoint] = {each.identity: each for each in map(an_endpoint, range(first, first + count))}
    todo = plan(the_service(), "IPv4", {(): wanted} if count else {}, existing)
    changed = {each.old.metadata.name: len(each.endpoints) for each in todo.update if each.old is not None}
    return [len(each.endpoints) for each in todo.create], changed, [each.metadata.name for each in todo.delete]


def filled(name: str, first: int, count: int) -> Slice:
    return a_slice(name, *map(an_endpoint, range(first, first + count)))


@pytest.mark.parametrize(
    ("count", "existing", "expected"),
    [
        pytest.param(0, (), ([0], {}, []), id="without endpoints there is one empty slice"),
        pytest.param(0, (a_slice("s"),), ([], {}, []), id="which stays"),
        pytest.param(3, (), ([3], {}, []), id="a first slice"),
        pytest.param(250, (), ([100, 100, 50], {}, []), id="no slice has more than a hundred"),
        pytest.param(3, (filled("s", 0, 3),), ([], {}, []), id="nothing to do"),
        pytest.param(5, (filled("s", 0, 3),), ([], {"s": 5}, []), id="room in the only slice"),
        pytest.param(120, (filled("s", 0, 100),), ([20], {}, []), id="a full slice is left alone"),
        pytest.param(
            130, (filled("s", 0, 60), filled("t", 60, 50)), ([], {"s": 80}, []), id="the slice that gets fullest"
        ),
        pytest.param(
            180, (filled("s", 0, 60), filled("t", 60, 50)), ([70], {}, []), id="no slice has room for all that is new"
        ),
        pytest.param(1, (filled("s", 0, 1), filled("t", 1, 1)), ([], {}, ["t"]), id="a slice whose pods are gone"),
        pytest.param(0, (filled("s", 0, 2),), ([], {"s": 0}, []), id="the last slice becomes the empty one"),
        pytest.param(
            2, (a_slice("s", *map(an_endpoint, range(2)), owner="x"),), ([2], {}, ["s"]), id="another's slice"
        ),
    ],
)
def test_endpoints_are_spread_with_few_changes(
    count: int, existing: tuple[Slice, ...], expected: tuple[list[int], dict[str, int], list[str]]
) -> None:
    assert planned(count, *existing) == expected
    assert LARGEST == 100


def test_ports_are_in_the_order_of_the_real_controllers() -> None:
    """As recorded: by the hash of what Go prints of a port."""
    ports = tuple(
        ServicePort(name, protocol, number, number, application)
        for name, number, protocol, application in (
            ("a", 80, "TCP", None),
            ("b", 81, "UDP", None),
            ("c", 82, "TCP", "http"),
            ("d", 83, "TCP", None),
            ("e", 84, "TCP", "grpc"),
        )
    )
    service = the_service(ports=ports)
    status = PodStatus("Running", "10.0.0.1", (PodAddress("10.0.0.1"),))
    pod = Pod(Meta("p", "u", "1", "ns"), status=status)

    (subset,) = subsets_of(service, [(pod, place_of(service, pod))])

    assert [each.name for each in ports_of(service, pod)] == ["e", "d", "b", "a", "c"]
    assert [each.name for each in subset.ports] == ["c", "a", "d", "e", "b"]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        (((600, 400),), ((600, 400),)),
        (((900, 300),), ((900, 100),)),
        (((1200, 5),), ((1000, 0),)),
        (((600, 1), (600, 1)), ((500, 0), (500, 0))),
        (((400, 300), (300, 300)), ((400, 150), (300, 150))),
    ],
)
def test_endpoints_with_too_many_addresses_keep_ready_ones(
    sizes: tuple[tuple[int, int], ...], expected: tuple[tuple[int, int], ...]
) -> None:
    def addresses(count: int) -> tuple[Address, ...]:
        return tuple(Address(f"10.0.{number // 250}.{number % 250}") for number in range(count))

    given = [Subset(addresses(ready), addresses(others), (Port(80),)) for ready, others in sizes]

    assert tuple((len(each.addresses), len(each.not_ready_addresses)) for each in truncated(given)) == expected


def test_subsets_are_written_without_what_is_empty() -> None:
    body = msgspec.json.encode(Subset((Address("10.0.0.1"),), (), (Port(80, protocol="TCP"),)))

    assert msgspec.json.decode(body) == {
        "addresses": [{"ip": "10.0.0.1"}],
        "ports": [{"port": 80, "protocol": "TCP"}],
    }
