"""Reading, updating and deleting, and what is refused: versions, preconditions, paths, methods."""

from __future__ import annotations

from typing import Any

from tests.exchanges.case import METADATA, Case, Step, case, delete, get, patch, post, put
from tests.exchanges.cases.samples import (
    CORE,
    DEPLOYMENTS,
    MAPS,
    PODS,
    SETS,
    a_deployment,
    a_map,
    a_pod,
    a_set,
    an_object,
)

UID = "0b4d1b5a-0000-4000-8000-000000000000"
ONE = f"{MAPS}/one"
_KEPT = a_map(finalizers=["example.com/kept"])
_OPTIONS = {"apiVersion": "v1", "kind": "DeleteOptions"}


def _options(**fields: Any) -> dict[str, Any]:
    return _OPTIONS | fields


_READING = (
    case("reading what is not there", get(f"{MAPS}/missing"), get("/api/v1/namespaces/nowhere/configmaps/missing")),
    case("reading a node that is not there", get("/api/v1/nodes/missing")),
    case("an unknown resource", get(f"{CORE}/nonsense"), get(f"{CORE}/nonsense/one"), post(f"{CORE}/nonsense", {})),
    case("an unknown group", get("/apis/none.example.com/v1/things"), get("/apis/none.example.com")),
    case("an unknown version of a group", get("/apis/apps/v9/deployments"), get("/api/v9/pods")),
    case("an unknown path", get("/nonsense"), get("/apis/apps/v1/namespaces"), get("/api/v1/namespaces/{ns}/")),
    case("a subresource that a kind has not", get(f"{ONE}/status"), get(f"{DEPLOYMENTS}/one/nonsense")),
    case("a method that is not allowed", put(MAPS, a_map()), patch(MAPS, {}), Step(method="POST", path=f"{ONE}/x")),
    case("a namespaced kind at cluster scope", get("/api/v1/configmaps/one"), get("/api/v1/namespaces/{ns}/nodes")),
    case("metadata alone", post(MAPS, a_map(data={"a": "b"}, labels={"x": "y"})), get(ONE, METADATA)),
    case("an answer that nobody can give", get(MAPS, "text/csv"), get(ONE, "application/xml")),
    case("a choice of answers", post(MAPS, a_map()), get(ONE, "text/csv, application/json;q=0.5")),
    case("an answer in yaml", get(f"{MAPS}/missing", "application/yaml")),
)

_UPDATING = (
    case("updating what is not there", put(ONE, a_map())),
    case("updating another name", post(MAPS, a_map()), put(ONE, a_map("two"))),
    case("updating without a name", post(MAPS, a_map()), put(ONE, {"apiVersion": "v1", "kind": "ConfigMap"})),
    case("updating another namespace", post(MAPS, a_map()), put(ONE, a_map(namespace="other"))),
    case("updating without a version", post(MAPS, a_map()), put(ONE, a_map(data={"a": "b"}))),
    case("updating with a version that is none", post(MAPS, a_map()), put(ONE, a_map(resourceVersion="abc"))),
    case("updating with another uid", post(MAPS, a_map()), put(ONE, a_map(uid=UID))),
    case("updating nothing", post(MAPS, a_map(data={"a": "b"})), put(ONE, a_map(data={"a": "b"})), get(ONE)),
    case("a dry update", post(MAPS, a_map()), put(ONE, a_map(data={"a": "b"}), dryRun="All"), get(ONE)),
    case(
        "what an update may not change",
        post(MAPS, a_map()),
        put(ONE, a_map(creationTimestamp="2026-01-02T03:04:05Z", generation=9, deletionGracePeriodSeconds=3)),
    ),
    case(
        "a deletion that an update begins",
        post(MAPS, a_map()),
        put(ONE, a_map(deletionTimestamp="2026-01-02T03:04:05Z")),
        patch(ONE, {"metadata": {"deletionTimestamp": "2026-01-02T03:04:05Z", "deletionGracePeriodSeconds": 4}}),
    ),
    case(
        "a deletion that an update changes",
        post(MAPS, a_map(finalizers=["example.com/kept"])),
        delete(ONE),
        put(ONE, a_map(finalizers=["example.com/kept"], deletionGracePeriodSeconds=4)),
        put(ONE, a_map(finalizers=["example.com/kept"], deletionTimestamp="2026-01-02T03:04:05Z")),
    ),
    case(
        "an update in another version",
        post(DEPLOYMENTS, a_deployment()),
        put(f"{DEPLOYMENTS}/one", a_deployment() | {"apiVersion": "apps/v1beta1"}),
        patch(f"{DEPLOYMENTS}/one", {"apiVersion": "apps/v1beta2"}),
        patch(f"{DEPLOYMENTS}/one", {"apiVersion": "apps/v7"}),
    ),
    case(
        "an immutable map", post(MAPS, a_map(data={"a": "b"}) | {"immutable": True}), put(ONE, a_map(data={"a": "c"}))
    ),
    case(
        "the selector of a deployment is fixed",
        post(DEPLOYMENTS, a_deployment()),
        put(
            f"{DEPLOYMENTS}/one",
            a_deployment(
                selector={"matchLabels": {"app": "b"}},
                template={"metadata": {"labels": {"app": "b"}}, "spec": a_pod()["spec"]},
            ),
        ),
    ),
    case(
        "most of a stateful set is fixed",
        post(SETS, a_set()),
        put(f"{SETS}/one", a_set(serviceName="two", podManagementPolicy="Parallel")),
    ),
    case("a pod may change its image alone", post(PODS, a_pod()), put(f"{PODS}/one", a_pod(spec={"hostname": "h"}))),
    case(
        "generation counts changes of the spec",
        post(DEPLOYMENTS, a_deployment()),
        patch(f"{DEPLOYMENTS}/one", {"spec": {"replicas": 3}}),
        patch(f"{DEPLOYMENTS}/one", {"metadata": {"labels": {"a": "b"}}}),
        patch(f"{DEPLOYMENTS}/one/status", {"status": {"observedGeneration": 2}, "spec": {"replicas": 9}}),
        patch(f"{DEPLOYMENTS}/one", {"status": {"observedGeneration": 5}}),
    ),
    case(
        "a lease cannot be overwritten blindly",
        *[
            post("/apis/coordination.k8s.io/v1/namespaces/{ns}/leases", an_object("coordination.k8s.io/v1", "Lease")),
            put(
                "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/one", an_object("coordination.k8s.io/v1", "Lease")
            ),
        ],
    ),
    case(
        "an update that creates",
        put(
            "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases/new",
            an_object("coordination.k8s.io/v1", "Lease", "new"),
        ),
    ),
)

_DELETING = (
    case("deleting what is not there", delete(ONE)),
    case("deleting with the wrong uid", post(MAPS, a_map()), delete(ONE, _options(preconditions={"uid": UID}))),
    case(
        "deleting with the right uid",
        post(MAPS, a_map()),
        delete(ONE, _options(preconditions={"uid": "<<1.metadata.uid>>"})),
    ),
    case(
        "deleting another version", post(MAPS, a_map()), delete(ONE, _options(preconditions={"resourceVersion": "1"}))
    ),
    case("deleting with an unknown policy", post(MAPS, a_map()), delete(ONE, propagationPolicy="Sometimes")),
    case(
        "deleting with two policies",
        post(MAPS, a_map()),
        delete(ONE, _options(orphanDependents=True, propagationPolicy="Background")),
    ),
    case("deleting with a negative grace", post(MAPS, a_map()), delete(ONE, gracePeriodSeconds=-1)),
    case("deleting with options of another kind", post(MAPS, a_map()), delete(ONE, a_map())),
    case("deleting with options that are none", post(MAPS, a_map()), delete(ONE, "{nonsense")),
    case(
        "a finalizer keeps an object",
        post(MAPS, _KEPT),
        delete(ONE),
        get(ONE),
        delete(ONE),
        patch(ONE, {"metadata": {"finalizers": ["example.com/kept", "example.com/more"]}}),
        patch(ONE, {"data": {"a": "b"}}),
        patch(ONE, {"metadata": {"finalizers": None}}),
        get(ONE),
    ),
    case("deleting in the foreground", post(MAPS, a_map()), delete(ONE, propagationPolicy="Foreground"), get(ONE)),
    case("deleting and orphaning", post(MAPS, a_map()), delete(ONE, _options(propagationPolicy="Orphan")), get(ONE)),
    case(
        "background removes the marks of other policies",
        post(MAPS, a_map(finalizers=["foregroundDeletion", "example.com/kept"])),
        delete(ONE, propagationPolicy="Background"),
    ),
    case("a pod without a node goes at once", post(PODS, a_pod()), delete(f"{PODS}/one"), get(f"{PODS}/one")),
    case(
        "a pod on a node is given time",
        post(PODS, a_pod(spec={"nodeName": "n"})),
        delete(f"{PODS}/one"),
        delete(f"{PODS}/one", gracePeriodSeconds=5),
        delete(f"{PODS}/one", _options(gracePeriodSeconds=0)),
        get(f"{PODS}/one"),
    ),
    case("a dry deletion", post(MAPS, a_map()), delete(ONE, _options(dryRun=["All"])), get(ONE)),
    case(
        "deleting several",
        *[post(MAPS, a_map(name, labels={"in": label})) for name, label in (("a", "x"), ("b", "x"), ("c", "y"))],
        delete(MAPS, labelSelector="in=x"),
        get(MAPS),
        delete(MAPS, dryRun="All"),
        delete(f"{CORE}/services"),
    ),
    case(
        "deleting a namespace",
        delete("/api/v1/namespaces/{ns}"),
        post(MAPS, a_map()),
        delete("/api/v1/namespaces/{ns}"),
    ),
    case(
        "deleting another namespace of that name",
        delete("/api/v1/namespaces/{ns}", _options(preconditions={"uid": "0b4d1b5a-0000-4000-8000-000000000000"})),
        delete("/api/v1/namespaces/default", _options(preconditions={"uid": "0b4d1b5a-0000-4000-8000-000000000000"})),
    ),
    case("namespaces cannot be deleted at once", delete("/api/v1/namespaces", labelSelector="none=none")),
    case(
        "a namespace that must stay",
        delete("/api/v1/namespaces/default", dryRun="All"),
        delete("/api/v1/namespaces/kube-system"),
        delete("/api/v1/namespaces/kube-public", dryRun="All"),
    ),
)

CASES: tuple[Case, ...] = (*_READING, *_UPDATING, *_DELETING)
