"""Requests that are wrong in their options or their paths, and deletions that are wrong in either."""

from __future__ import annotations

from collections.abc import Iterator

from kubeloop.request import JSON, MERGE_PATCH
from tests.e2e.bad_bodies import DEPLOYMENTS, MAPS, SERVICES, TEXTS, THERE, WIDGETS, Case, Tree, a_map, case

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE")
NAMESPACE = "/api/v1/namespaces/NS"
PATHS = (
    "/api/v1",
    "/version",
    "/healthz",
    "/none",
    "/api/v7/pods",
    "/api/v1/none",
    "/apis/none.example.com/v1/things",
    "/apis/apps/v7/deployments",
    "/apis/apps/v1/none",
    "/api/v1/namespaces/NS/none",
    "/api/v1/namespaces/NS/configmaps/there/none",
    "/api/v1/namespaces/NS/configmaps/there/status",
    "/api/v1/namespaces/NS/configmaps/there/a/b",
    "/api/v1/namespaces/NS/nodes",
    "/api/v1/configmaps",
    "/api/v1/configmaps/there",
    "/api/v1/nodes/none/none",
    "/apis/shop.example.com/v1/widgets/there",
    "/apis/shop.example.com/v1/widgets",
    "/apis/shop.example.com/v7/namespaces/NS/widgets",
    f"{WIDGETS}/there/none",
    f"{WIDGETS}/there/status/more",
    "/api/v1/namespaces/NS/status",
    "/api/v1/namespaces/NS/finalize",
    "/api/v1/namespaces/NS/pods/none/eviction",
    "/api/v1/namespaces/NS/pods/none/binding",
    "/api/v1/namespaces/NS/serviceaccounts/default/token",
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews/x",
    "/api/v1/namespaces/NS/pods/none/log",
    "/api/v1/namespaces/NS/pods/none/ephemeralcontainers",
    "/api/v1/namespaces/NS/pods/none/resize",
)
ANSWERED = {
    "/version": ("GET",),
    "/api/v1": ("GET",),
    "/api/v1/configmaps": ("GET", "DELETE"),
    "/apis/shop.example.com/v1/widgets": ("GET", "DELETE"),
    f"{NAMESPACE}/serviceaccounts/default/token": ("POST",),
    f"{NAMESPACE}/status": ("GET", "DELETE", "PATCH"),
    f"{NAMESPACE}/finalize": ("GET", "DELETE", "PATCH"),
}
"""Methods that these paths have, whose answers are no subject here."""
SPELT = (
    f"{THERE}/",
    "/api/v1/namespaces//configmaps/there",
    "//api/v1/namespaces/NS/configmaps/there",
    "/api/v1/namespaces/NS/configmaps//there",
    "/api/v1/namespaces/NS/config%6Daps/there",
    "/api/v1/namespaces/NS/configmaps/th%65re",
    "/api/v1/namespaces/NS/configmaps/the%2Fre",
    "/api/v1/namespaces/NS/configmaps/..",
    "/api/v1/namespaces/NS/configmaps/.",
    "/api/v1/namespaces/NS/configmaps/%2e%2e",
    "/api/v1/namespaces/NS/configmaps/a%20b",
    "/api/v1/namespaces/NS/configmaps/%zz",
    "/healthz/",
    "/readyz/none",
    "/API/v1",
    "/api/v1/namespaces/NS/ConfigMaps/there",
)


def _deletions() -> Iterator[Case]:
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "dryRun": ["All"]}
    for name, body in TEXTS[1:]:
        yield case(f"deletion with {name}", "DELETE", f"{MAPS}/none", body)
    for name, body in TEXTS[1::5]:
        yield case(f"deletion of a widget with {name}", "DELETE", f"{WIDGETS}/none", body)
        yield case(f"deletion of maps with {name}", "DELETE", MAPS, body, labelSelector="a=none")
    wishes: dict[str, Tree] = {
        "an unknown policy": {"propagationPolicy": "Sometimes"},
        "an empty policy": {"propagationPolicy": ""},
        "a policy that is a number": {"propagationPolicy": 1},
        "both policies": {"propagationPolicy": "Orphan", "orphanDependents": True},
        "orphans that are text": {"orphanDependents": "yes"},
        "a grace that is text": {"gracePeriodSeconds": "soon"},
        "a grace that is a fraction": {"gracePeriodSeconds": 1.5},
        "an unknown dry run": {"dryRun": ["Some"]},
        "a dry run that is text": {"dryRun": "All"},
        "two dry runs": {"dryRun": ["All", "All"]},
        "another uid": {"preconditions": {"uid": "11111111-1111-1111-1111-111111111111"}},
        "another version": {"preconditions": {"resourceVersion": "1"}},
        "preconditions that are text": {"preconditions": "x"},
        "an unknown key": {"odd": 1},
        "another kind": {"kind": "Pod"},
        "an unknown kind": {"kind": "Unknown"},
        "no kind": {"kind": ""},
        "an unknown group": {"apiVersion": "none.example.com/v1"},
        "the group of others": {"apiVersion": "apps/v1"},
        "the group of policies": {"apiVersion": "policy/v1"},
        "the group of metadata": {"apiVersion": "meta.k8s.io/v1"},
        "an unknown version": {"apiVersion": "v7"},
        "unsafe reading": {"ignoreStoreReadErrorWithClusterBreakingPotential": True},
        "unsafe reading and a grace": {
            "ignoreStoreReadErrorWithClusterBreakingPotential": True,
            "gracePeriodSeconds": 1,
        },
    }
    for name, wish in wishes.items():
        yield case(f"deletion asking for {name}", "DELETE", THERE, options | wish)
        yield case(f"deletion of a widget asking for {name}", "DELETE", f"{WIDGETS}/there", options | wish)
    queries: dict[str, dict[str, str]] = {
        "an unknown policy": {"propagationPolicy": "Sometimes"},
        "both policies": {"propagationPolicy": "Orphan", "orphanDependents": "true"},
        "orphans that are text": {"orphanDependents": "maybe", "dryRun": "All"},
        "a grace that is text": {"gracePeriodSeconds": "soon"},
        "an unknown dry run": {"dryRun": "Some"},
        "an unknown key": {"odd": "1", "dryRun": "All"},
        "another version": {"resourceVersion": "1", "dryRun": "All"},
        "another uid": {"uid": "x", "dryRun": "All"},
    }
    for name, query in queries.items():
        yield case(f"deletion with a query for {name}", "DELETE", THERE, **query)
        if "another" not in name and "dryRun" not in query:  # of which the last answers with a list
            yield case(f"deletion of widgets with a query for {name}", "DELETE", WIDGETS, **query)
    yield case("deletion whose body hides its query", "DELETE", f"{MAPS}/none", options, propagationPolicy="Sometimes")
    yield case("deletion of nothing", "DELETE", f"{MAPS}/none")
    yield case("deletion of nothing at a version", "DELETE", f"{MAPS}/none", options | {"preconditions": {"uid": "x"}})
    yield case("dry deletion", "DELETE", THERE, dryRun="All")
    yield case("dry deletion of a widget in the background", "DELETE", f"{WIDGETS}/there", options)
    yield case("deletion of services", "DELETE", SERVICES, options, labelSelector="a=none")
    yield case("deletion by a bad selector", "DELETE", MAPS, labelSelector="a=!b")
    yield case("deletion by an unknown field", "DELETE", MAPS, fieldSelector="odd=1")
    yield case("deletion of a status", "DELETE", f"{DEPLOYMENTS}/there/status")


def _methods() -> Iterator[Case]:
    for path in PATHS:
        for method in METHODS:
            if method not in ANSWERED.get(path, ()):
                body = b"{}" if method in ("POST", "PUT", "PATCH") else b""
                kind = MERGE_PATCH if method == "PATCH" else JSON
                yield case(f"{method} {path}", method, path, body, kind, dryRun="All")
    for method in ("PUT", "PATCH"):
        for path in (MAPS, WIDGETS):
            yield case(f"{method} {path}", method, path, b"{}", MERGE_PATCH if method == "PATCH" else JSON)
    yield case("DELETE /api/v1/namespaces", "DELETE", "/api/v1/namespaces", labelSelector="a=none")


def _spelt() -> Iterator[Case]:
    for path in SPELT:
        yield case(f"GET {path}", "GET", path)
    for path in (THERE, f"{MAPS}/none", "/none", "/healthz"):
        yield case(f"HEAD {path}", "HEAD", path)


def _options() -> Iterator[Case]:
    yield case("creation with an unknown dry run", "POST", MAPS, a_map("new"), dryRun="Some")
    yield case("creation with an unknown query", "POST", MAPS, a_map("new"), odd="1", dryRun="All")
    yield case("replacement with an unknown dry run", "PUT", THERE, a_map(), dryRun="Some")
    yield case("patch with an unknown dry run", "PATCH", THERE, {}, MERGE_PATCH, dryRun="Some")
    yield case("patch with force", "PATCH", THERE, {}, MERGE_PATCH, force="true")
    yield case("creation with an unknown validation", "POST", MAPS, a_map("new"), fieldValidation="Some")
    yield case("creation at a name", "POST", THERE, a_map())


CASES = (*_deletions(), *_methods(), *_spelt(), *_options())
