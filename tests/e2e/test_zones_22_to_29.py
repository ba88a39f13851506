"""Acceptance scenarios 22 to 29 of the zone contract, by their numbers: what the webhooks say to downscales."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from fairlead.contracts.zones.kinds import NO_DOWNSCALE, PREPARE_DOWNSCALE
from fairlead.core.times import format_rfc3339, parse_rfc3339
from kubeloop import clock
from kubeloop.objects.apps import DEPLOYMENTS, REPLICASETS, STATEFULSETS
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH, patch
from tests.e2e.clusters import Site, everywhere
from tests.e2e.downscaling import (
    TRACKER,
    TRACKING,
    a_prepared_zone,
    ask,
    five_pods,
    last_downscale,
    prepared,
    scaled,
    stamps,
    tracked,
)
from tests.e2e.endpoints import Answer, endpoints
from tests.e2e.history import Tree
from tests.e2e.operators import Operator
from tests.e2e.scaling import replicas, shrunk
from tests.e2e.webhooks import MUTATING, VALIDATING, answering, install, rule, serve
from tests.e2e.zones import PREFIX, statefulset

LABELLED = {NO_DOWNSCALE: "true"}
RECENTLY = timedelta(minutes=5)


@everywhere(controllers=False)
@pytest.mark.parametrize(
    ("method", "subresource", "dry_run"),
    [
        pytest.param("PUT", "", False, id="PUT"),
        pytest.param("PATCH", "", False, id="PATCH"),
        pytest.param("PUT", "scale", False, id="PUT of scale"),
        pytest.param("PATCH", "scale", False, id="PATCH of scale"),
        pytest.param("PUT", "", True, id="dry run of PUT"),
        pytest.param("PATCH", "scale", True, id="dry run of PATCH of scale"),
    ],
)
async def test_22_no_downscale(site: Site, method: str, subresource: str, dry_run: bool) -> None:
    """Denied with 400 and the label in the text, however it is asked; the other direction is free."""
    await a_prepared_zone(site, "a", 2, labels={**LABELLED, PREPARE_DOWNSCALE: None})
    await prepared(site, "no-downscale")

    denied = await scaled(site, 1, method=method, subresource=subresource, dry_run=dry_run)

    assert denied.status == 400
    assert "grafana.com/no-downscale=true" in denied.text
    assert f"statefulsets/{PREFIX}a in namespace {site.namespace} from 2 to 1 replicas" in denied.text
    assert await replicas(site) == 2

    allowed = await scaled(site, 3, method=method, subresource=subresource, dry_run=dry_run)

    assert allowed == (200, "", "")
    assert await replicas(site) == (2 if dry_run else 3)


@everywhere(controllers=False)
@pytest.mark.parametrize("subresource", ["", "scale"])
@pytest.mark.parametrize(
    "label", [pytest.param(None, id="none"), pytest.param("True", id="True"), pytest.param("false", id="false")]
)
async def test_22_only_the_label_with_exactly_true_forbids(site: Site, subresource: str, label: str | None) -> None:
    await a_prepared_zone(site, "a", 2, labels={NO_DOWNSCALE: label, PREPARE_DOWNSCALE: None})
    await prepared(site, "no-downscale")

    assert await scaled(site, 1, subresource=subresource) == (200, "", "")
    assert await replicas(site) == 1


@everywhere(controllers=False)
@pytest.mark.parametrize("method", ["PATCH", "PUT"])
@pytest.mark.parametrize("subresource", ["", "scale"])
async def test_22_nothing_at_all_is_a_downscale_too(site: Site, method: str, subresource: str) -> None:
    """In a Scale the server leaves out a number of zero."""
    await a_prepared_zone(site, "a", 2, labels={**LABELLED, PREPARE_DOWNSCALE: None})
    await a_prepared_zone(site, "b", 0, labels={**LABELLED, PREPARE_DOWNSCALE: None})
    await prepared(site, "no-downscale")

    denied = await scaled(site, 0, "a", method=method, subresource=subresource)

    assert denied.status == 400
    assert f"statefulsets/{PREFIX}a in namespace {site.namespace} from 2 to 0 replicas" in denied.text
    assert await scaled(site, 2, "b", method=method, subresource=subresource) == (200, "", "")


@everywhere(controllers=False)
async def test_22_clusters_leave_out_a_number_of_zero_in_the_review_of_a_scale(site: Site) -> None:
    """The last reviews of a request count: a server whose cache lags first reviews what is old."""
    seen: list[Tree] = []
    specs: list[list[tuple[Tree, Tree]]] = []

    def note(request: Tree) -> Tree:
        seen.append(request)
        return {}

    await a_prepared_zone(site, "a", 1)
    config = await serve(site, answering(note))
    for resource in (MUTATING, VALIDATING):
        hook = {"clientConfig": config, "rules": [rule("UPDATE", "statefulsets/scale", "apps", "v1")]}
        await install(site, resource, f"noting-{site.namespace}", hook)

    for method, wanted in (("PATCH", 0), ("PATCH", 1), ("PUT", 0)):
        seen.clear()
        assert (await scaled(site, wanted, method=method)).status == 200
        specs.append([(request["oldObject"]["spec"], request["object"]["spec"]) for request in seen[-2:]])

    assert specs == [[({"replicas": 1}, {})] * 2, [({}, {"replicas": 1})] * 2, [({"replicas": 1}, {})] * 2]


@everywhere(controllers=False)
@pytest.mark.parametrize("subresource", ["", "scale"])
@pytest.mark.parametrize("resource", [DEPLOYMENTS, REPLICASETS], ids=lambda resource: resource.plural)
async def test_22_deployments_and_replicasets_are_denied_too(site: Site, resource: Resource, subresource: str) -> None:
    for letter, labels in (("a", LABELLED), ("b", {})):
        tree = statefulset(f"{PREFIX}{letter}", 2, labels=labels)
        spec = {key: value for key, value in tree["spec"].items() if key in ("replicas", "selector", "template")}
        await site.create(resource, {**tree, "spec": spec})
    await prepared(site, "no-downscale")

    denied = await scaled(site, 1, resource=resource, subresource=subresource)

    assert denied.status == 400
    assert "grafana.com/no-downscale=true" in denied.text
    assert f"{resource.plural}/{PREFIX}a in namespace {site.namespace} from 2 to 1 replicas" in denied.text
    for letter, wanted in (("a", 3), ("b", 1)):
        allowed = await scaled(site, wanted, letter, resource=resource, subresource=subresource)
        assert allowed == (200, "", "")


@everywhere(controllers=False)
@pytest.mark.parametrize("method", ["PATCH", "PUT"])
@pytest.mark.parametrize("subresource", ["", "scale"])
async def test_23_prepare_happy_path(site: Site, method: str, subresource: str) -> None:
    """The pods that go are told, and no others; the time is kept, and the request is allowed."""
    before = clock.now() - timedelta(seconds=1)
    _, pods = await five_pods(site, service="svc")

    allowed = await scaled(site, 3, method=method, subresource=subresource)
    if method == "PUT":  # with the version of what was read before the time was written
        assert allowed.status == 409
        allowed = await scaled(site, 3, method=method, subresource=subresource)

    assert allowed == (200, "", "")
    assert await replicas(site) == 3
    assert pods.called("POST") == ["a-3", "a-4"]
    assert {heard.method for heard in pods.heard} == {"POST"}
    for heard in pods.heard:
        assert heard.host == f"{PREFIX}{heard.pod}.svc.{site.namespace}.svc.cluster.local.:8080"
        assert heard.path == "/ingester/prepare-downscale"
        assert heard.headers["content-type"] == "application/json"
        assert heard.headers.get("content-length", "0") == "0"
        assert heard.headers["x-cluster"] == site.namespace
    stamp = await last_downscale(site)
    assert stamp is not None
    assert stamp.endswith("Z")
    assert before <= parse_rfc3339(stamp) <= clock.now()


@everywhere(controllers=False)
async def test_24_prepare_failure_and_undo(site: Site) -> None:
    """One pod that fails keeps them all, and each that was to go hears that it stays."""
    play, pods = await five_pods(site)
    pods.answer("a-3", "POST", Answer(500))

    denied = await scaled(site, 3)

    assert denied.status == 400
    assert f"statefulsets/{PREFIX}a in namespace {site.namespace} from 5 to 3 replicas" in denied.text
    assert f"{PREFIX}a-3" in denied.text
    assert "500" in denied.text
    assert pods.called("DELETE") == ["a-3", "a-4"]
    assert set(pods.called("POST")) <= {"a-3", "a-4"}
    assert await replicas(site) == 5
    assert await last_downscale(site) is None
    (failed,) = play.operator.records("error", "pod call failed")
    assert f"{PREFIX}a-3" in str(failed)

    pods.answer("a-3", "POST", None)

    assert (await scaled(site, 3)).status == 200
    assert await replicas(site) == 3


@everywhere(controllers=False)
async def test_25_prepare_spacing(site: Site) -> None:
    """After one zone the others wait as long as that one says; the zone itself may go on."""
    pods = await endpoints(site)
    await a_prepared_zone(site, "a", 3, pods=pods)
    await a_prepared_zone(site, "b", 3, pods=pods, min_time="12h", annotations=shrunk(minutes=1))
    await prepared(site)
    before = await last_downscale(site, "b")

    denied = await scaled(site, 2, "a")

    assert denied.status == 400
    assert f"statefulsets/{PREFIX}a in namespace {site.namespace} from 3 to 2 replicas" in denied.text
    assert f"{PREFIX}b was downscaled at {before}" in denied.text
    assert "12h" in denied.text
    assert "11h5" in denied.text, "how long to wait"
    assert (await replicas(site, "a"), pods.heard) == (3, [])

    assert (await scaled(site, 2, "b")).status == 200
    assert await replicas(site, "b") == 2
    assert pods.called("POST") == ["b-2"]
    stamp = await last_downscale(site, "b")
    assert stamp is not None
    assert clock.now() - parse_rfc3339(stamp) < RECENTLY


@everywhere(controllers=False)
async def test_25_zone_without_a_time_to_wait_holds_nobody_back(site: Site) -> None:
    """It is the other zone's own time that counts, and what is over is over."""
    pods = await endpoints(site)
    await a_prepared_zone(site, "a", 3, pods=pods, min_time="12h")
    await a_prepared_zone(site, "b", 3, pods=pods, annotations=shrunk(minutes=1))
    await a_prepared_zone(site, "c", 3, pods=pods, min_time="12h", annotations=shrunk(hours=13))
    await prepared(site)

    assert (await scaled(site, 2, "a")).status == 200


@everywhere(controllers=False)
async def test_26_prepare_during_rollout(site: Site) -> None:
    """A zone of which not all is updated and ready holds the others back and not itself."""
    pods = await endpoints(site)
    await a_prepared_zone(site, "a", 3, pods=pods)
    b = await a_prepared_zone(site, "b", 3, pods=pods, updated=2)
    await prepared(site)

    denied = await scaled(site, 2, "a")

    assert denied.status == 400
    assert f"statefulsets/{PREFIX}a in namespace {site.namespace} from 3 to 2 replicas" in denied.text
    assert f"{PREFIX}b has 1 non-updated and 0 non-ready replicas" in denied.text
    assert (await replicas(site, "a"), pods.heard) == (3, [])

    await b.write_status(updatedReplicas=3)
    await b.set_pod(1, "notReady")
    denied = await scaled(site, 2, "a")

    assert denied.status == 400
    assert f"{PREFIX}b has 0 non-updated and 1 non-ready replicas" in denied.text

    assert (await scaled(site, 2, "b")).status == 200
    assert pods.called("POST") == ["b-2"]


@everywhere(controllers=False)
@pytest.mark.parametrize("subresource", ["", "scale"])
async def test_27_dry_run(site: Site, subresource: str) -> None:
    """Allowed without a trace, also where the real request would be denied."""
    play, pods = await five_pods(site)
    before = await site.get(STATEFULSETS, f"{PREFIX}a")

    allowed = await scaled(site, 3, subresource=subresource, dry_run=True)
    await play.operator.at_rest()

    assert allowed == (200, "", "")
    assert pods.heard == []
    assert await site.get(STATEFULSETS, f"{PREFIX}a") == before
    assert await last_downscale(site) is None


@everywhere(controllers=False)
async def test_27_dry_run_leaves_no_tracker(site: Site) -> None:
    _, pods = await five_pods(site, operator=Operator(site, settings=TRACKING), min_time="1h")

    assert (await scaled(site, 3, dry_run=True)).status == 200
    assert await site.get(CONFIGMAPS, TRACKER) is None
    assert pods.heard == []


@everywhere(controllers=False)
async def test_28_zone_tracker(site: Site) -> None:
    """The first downscale begins the count for all zones; two hours later one passes, and only its entry moves."""
    pods = await endpoints(site)
    for letter in "abc":
        await a_prepared_zone(site, letter, 3, pods=pods, min_time="1h")
    await prepared(site, operator=Operator(site, settings=TRACKING))

    denied = await scaled(site, 2, "a")

    assert denied.status == 400
    assert f"{PREFIX}b was downscaled at" in denied.text
    assert (await replicas(site), pods.heard) == (3, [])
    begun = await tracked(site)
    assert sorted(begun) == ["a", "b", "c"]
    assert all(clock.now() - parse_rfc3339(time) < RECENTLY for time in begun.values())

    past = format_rfc3339((clock.now() - timedelta(hours=2)).replace(microsecond=0))
    entry = msgspec.json.encode({"lastDownscaled": past}).decode()
    await mend(site, {"data": {f"{PREFIX}{letter}": entry for letter in "abc"}})

    assert (await scaled(site, 2, "a")).status == 200
    assert await replicas(site) == 2
    assert pods.called("POST") == ["a-2"]
    moved = await tracked(site)
    assert moved == {"a": moved["a"], "b": past, "c": past}
    assert clock.now() - parse_rfc3339(moved["a"]) < RECENTLY
    assert [await last_downscale(site, letter) for letter in "abc"] == [None] * 3

    denied = await scaled(site, 2, "b")

    assert denied.status == 400
    assert f"{PREFIX}a was downscaled at {moved['a']}" in denied.text


@everywhere(controllers=False)
@pytest.mark.parametrize("delay", [0.0, 1.1], ids=["pods that are quick", "pods that take more than a second"])
async def test_29_hpa_style_put(site: Site, delay: float) -> None:
    """The time that admission writes makes the version old that the client read; the client's one retry succeeds."""
    _, pods = await five_pods(site, min_time="12h")
    pods.answer("a-4", "POST", Answer(delay=delay))

    first = await scaled(site, 3, method="PUT")
    again = await scaled(site, 3, method="PUT")

    assert first.status == 409
    assert "the object has been modified" in first.text
    assert again == (200, "", "")
    assert await replicas(site) == 3
    assert pods.called("POST") == ["a-3", "a-4"]
    assert pods.called("DELETE") == []
    assert len(stamps(site)) == 1


async def mend(site: Site, tree: Tree) -> None:
    """Changes the zone tracker by hand."""
    ref = Ref(CONFIGMAPS, site.namespace, TRACKER)
    assert (await ask(site.client, patch(ref, MERGE_PATCH, msgspec.json.encode(tree)))).status == 200
