from __future__ import annotations

import msgspec
import pytest

from kubeloop import request as requests
from kubeloop.objects.core import LEASES, PODS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH, Request, ResourcePath, path_of, place_of

SETS = Resource("apps", "v1", "statefulsets", "StatefulSet")
NODES = Resource("", "v1", "nodes", "Node", namespaced=False)
NAMESPACES = Resource("", "v1", "namespaces", "Namespace", namespaced=False)
POD = Ref(PODS, "shop", "cart-0", "u1")


@pytest.mark.parametrize(
    ("resource", "namespace", "name", "subresource", "path"),
    [
        (PODS, "", "", "", "/api/v1/pods"),
        (PODS, "shop", "", "", "/api/v1/namespaces/shop/pods"),
        (PODS, "shop", "cart-0", "eviction", "/api/v1/namespaces/shop/pods/cart-0/eviction"),
        (SETS, "shop", "cart", "status", "/apis/apps/v1/namespaces/shop/statefulsets/cart/status"),
        (NODES, "ignored", "n1", "", "/api/v1/nodes/n1"),
        (NAMESPACES, "", "shop", "", "/api/v1/namespaces/shop"),
        (NAMESPACES, "", "shop", "finalize", "/api/v1/namespaces/shop/finalize"),
        (LEASES, "shop", "a/b c", "", "/apis/coordination.k8s.io/v1/namespaces/shop/leases/a%2Fb%20c"),
    ],
)
def test_a_path_and_what_it_names_are_inverse(
    resource: Resource, namespace: str, name: str, subresource: str, path: str
) -> None:
    made = path_of(resource, namespace, name, subresource)
    place = place_of(path)

    assert made == path
    shown = namespace if resource.namespaced else ""
    assert place == ResourcePath(resource.group, resource.version, shown, resource.plural, name, subresource)


def test_a_path_outside_the_resources_names_nothing() -> None:
    assert place_of("/healthz") == ResourcePath()
    assert place_of("/apis") == ResourcePath()
    assert place_of("/") == ResourcePath()


@pytest.mark.parametrize(
    ("request_", "verb", "doing"),
    [
        (requests.get(POD), "get", "get pods/cart-0 in namespace shop"),
        (requests.list_page(PODS), "list", "list pods"),
        (requests.watch(PODS, "shop"), "watch", "watch pods in namespace shop"),
        (requests.create(PODS, "shop", b"{}"), "create", "create pods in namespace shop"),
        (requests.create(PODS, "shop", b'{"metadata":{"name":"x"}}'), "create", "create pods/x in namespace shop"),
        (requests.replace(POD, b"{}", "status"), "update", "update status of pods/cart-0 in namespace shop"),
        (requests.patch(POD, MERGE_PATCH, b"{}"), "patch", "patch pods/cart-0 in namespace shop"),
        (requests.apply(POD, b"{}", "me"), "patch", "apply pods/cart-0 in namespace shop"),
        (requests.delete(POD), "delete", "delete pods/cart-0 in namespace shop"),
        (Request("DELETE", path_of(PODS, "shop")), "deletecollection", "deletecollection pods in namespace shop"),
        (Request("GET", "/version"), "list", "GET /version"),
    ],
)
def test_a_request_says_what_it_does(request_: Request, verb: str, doing: str) -> None:
    assert request_.verb == verb
    assert request_.doing == doing


def test_the_first_page_and_the_next_differ_in_their_token() -> None:
    first = requests.list_page(PODS, "shop", "app=cart", "spec.nodeName=n1", limit=500)
    second = requests.list_page(PODS, "shop", limit=500, token="t", resource_version="7")

    assert first.target == (
        "/api/v1/namespaces/shop/pods?labelSelector=app%3Dcart&fieldSelector=spec.nodeName%3Dn1&limit=500"
    )
    # A token carries its own version; the API server refuses both together.
    assert second.query == (("limit", "500"), ("continue", "t"))


def test_a_list_may_be_answered_from_the_cache_at_a_version() -> None:
    page = requests.list_page(PODS, resource_version="0")

    assert page.query == (("resourceVersion", "0"), ("resourceVersionMatch", "NotOlderThan"))


def test_a_watch_resumes_with_bookmarks_and_an_end() -> None:
    watch = requests.watch(PODS, "shop", "app=cart", "", "42", timeout_seconds=300)

    assert watch.query == (
        ("watch", "true"),
        ("labelSelector", "app=cart"),
        ("resourceVersion", "42"),
        ("allowWatchBookmarks", "true"),
        ("timeoutSeconds", "300"),
    )


def test_a_watch_without_bookmarks_asks_for_none() -> None:
    assert "allowWatchBookmarks" not in dict(requests.watch(PODS, bookmarks=False).query)


def test_server_side_apply_names_its_manager_and_whether_it_forces() -> None:
    apply = requests.apply(POD, b"{}", "fairlead-zones", force=True, subresource="status")

    assert (apply.method, apply.content_type) == ("PATCH", "application/apply-patch+yaml")
    assert apply.query == (("fieldManager", "fairlead-zones"), ("force", "true"))
    assert apply.path.endswith("/pods/cart-0/status")


def test_a_delete_is_bound_to_one_incarnation() -> None:
    bound = requests.delete(POD, resource_version="9", propagation="Foreground")
    free = requests.delete(Ref(PODS, "shop", "cart-0"))

    assert msgspec.json.decode(bound.body) == {
        "kind": "DeleteOptions",
        "apiVersion": "v1",
        "preconditions": {"uid": "u1", "resourceVersion": "9"},
        "propagationPolicy": "Foreground",
    }
    assert "preconditions" not in msgspec.json.decode(free.body)
