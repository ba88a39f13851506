"""Whatever is read is told alike by the embedded cluster and by a real one: tables, selectors, pages, discovery."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any
from urllib.parse import parse_qsl, quote

import msgspec
import pytest
import yaml

from kubeloop.request import MERGE_PATCH, Request, Response, Transport, path_of
from kubesim.kinds.registry import AUTOSCALERS_V1, KINDS
from tests.e2e import reading_gadgets, reading_objects, readings
from tests.e2e.clusters import Site, everywhere
from tests.e2e.definitions import tree_of
from tests.e2e.reading_pods import Tree
from tests.e2e.readings import GROUPS, MAPS, PARTIAL, PARTIALS, PODS, TABLE
from tests.e2e.twins import Twins, twins

pytestmark = pytest.mark.fidelity

_AGE = re.compile(r"(<invalid>|\d+[smhdy](\d+[smhd])?)( ago\))?")
_OWN_TEXT = re.compile(r"current: \d+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OWN = ("uid", "resourceVersion", "managedFields", "description", "continue", "storageVersionHash")
_TIMES = ("creationTimestamp",)
# Groups and resources of the real server that the embedded one has not got.
_UNSERVED_GROUPS = (
    "apiregistration.k8s.io",
    "certificates.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "node.k8s.io",
    "resource.k8s.io",
)


def masked(value: Any) -> Any:
    """Without what is each cluster's own."""
    if isinstance(value, dict):
        made = {key: masked(each) for key, each in value.items() if key not in _OWN}
        return made | {key: "some" for key in _TIMES if key in made}
    if isinstance(value, list):
        return [masked(each) for each in value]
    if isinstance(value, str):
        return "some age" if _AGE.fullmatch(value) else _OWN_TEXT.sub("some", value)
    return value


def told(response: Response) -> Any:
    """Status, media type and content of an answer."""
    media = response.headers.get("content-type", "")
    if media == "application/yaml":
        return response.status, media, masked(yaml.safe_load(response.body))
    if media.startswith("application/json"):
        return response.status, media, masked(msgspec.json.decode(response.body))
    return response.status, media, response.body


def a_read(path: str, query: str = "", accept: str = "", method: str = "GET") -> Request:
    headers = (("Accept", accept),) if accept else ()
    place, _, more = path.partition("?")
    pairs = tuple(parse_qsl("&".join(filter(None, (more, query))), keep_blank_values=True))
    return Request(method, place, pairs, headers=headers)


async def filled(pair: Twins) -> Twins:
    """Both clusters with every example."""
    for said, tree, status in reading_objects.OBJECTS:
        resource = reading_objects.kind_named(said).resource
        made = reading_objects.in_namespace(tree, pair.namespace)
        body = msgspec.json.encode({"apiVersion": resource.api_version, "kind": resource.kind} | made)
        place = pair.namespace if resource.namespaced else ""
        for answer in await pair.send(Request("POST", path_of(resource, place), (), body, "application/json")):
            assert answer.status == 201, (said, answer.body)
        if status:
            path = path_of(resource, place, made["metadata"]["name"], "status")
            change = Request("PATCH", path, (), msgspec.json.encode({"status": status}), MERGE_PATCH)
            for answer in await pair.send(change):
                assert answer.status == 200, (said, answer.body)
    return pair


async def emptied(pair: Twins) -> None:
    """What lies in no namespace is left to nobody else."""
    for said, tree, _ in reading_objects.OBJECTS:
        resource = reading_objects.kind_named(said).resource
        if not resource.namespaced:
            name = reading_objects.in_namespace(tree["metadata"]["name"], pair.namespace)
            await pair.theirs.send(Request("DELETE", path_of(resource, name=name)))


Tell = Callable[[Transport, Request], Awaitable[Any]]


async def different(pair: Twins, requests: Iterable[Request], tell: Tell) -> list[Any]:
    """The requests that the two answer differently, with what both tell."""
    found: list[Any] = []
    for request in requests:
        asked = msgspec.structs.replace(request, path=_placed(request.path, pair))
        ours, theirs = await tell(pair.ours, asked), await tell(pair.theirs, asked)
        if ours != theirs:
            found.append((request.method, request.path, request.query, request.headers, ours, theirs))
    return found


async def sent(transport: Transport, request: Request) -> Any:
    return told(await transport.send(request))


async def listed(transport: Transport, request: Request) -> Any:
    """The same, but of the objects of a list only which they are."""
    status, media, content = await sent(transport, request)
    if isinstance(content, dict) and "items" in content:
        content["items"] = [each["metadata"]["name"] for each in content["items"]]
    return status, media, content


def _placed(text: str, pair: Twins) -> str:
    return text.replace("{ns}", pair.namespace)


def by_fields(pair: Twins, path: str, fields: Sequence[str]) -> list[Request]:
    return [a_read(path, f"fieldSelector={quote(_placed(each, pair))}") for each in fields]


@everywhere(controllers=False, on=("real",))
async def test_tables_metadata_and_selectors_are_the_same(site: Site) -> None:
    async with twins(site) as pair:
        await filled(pair)
        collections = [
            (path_of(kind.resource, site.namespace), kind)
            for kind in KINDS
            if kind.resource.namespaced and not kind.answered and kind.resource != AUTOSCALERS_V1
        ]
        objects = [
            path_of(resource, site.namespace if resource.namespaced else "", _placed(tree["metadata"]["name"], pair))
            for resource, tree in (
                (reading_objects.kind_named(said).resource, tree) for said, tree, _ in reading_objects.OBJECTS
            )
        ]
        requests = [
            *(a_read(path, accept=accept) for path, _ in collections for accept in (TABLE, PARTIALS)),
            *(a_read(path, accept=accept) for path in objects for accept in (TABLE, PARTIAL)),
            *(a_read(f"{MAPS}/full", f"includeObject={each}", TABLE) for each in ("None", "Object", "Metadata", "Foo")),
            *(a_read(path, accept=each) for path in (MAPS, f"{MAPS}/full") for each in readings.ACCEPTED),
            *(a_read(f"{MAPS}/none", accept=each) for each in (TABLE, PARTIAL, "application/yaml", "text/html")),
            a_read(f"/apis/apps/v1/namespaces/{site.namespace}/deployments/rolled/scale", accept=TABLE),
            a_read(f"/apis/apps/v1/namespaces/{site.namespace}/deployments/rolled/status", accept=PARTIAL),
            *(a_read(path) for path in readings.PATHS),
            *(
                a_read(f"/apis/autoscaling/{version}/namespaces/{{ns}}/horizontalpodautoscalers/{name}")
                for version, name in reading_objects.AUTOSCALERS
            ),
            a_read(MAPS, "labelSelector=none", PARTIALS, "DELETE"),
            a_read(MAPS, "labelSelector=none", "", "DELETE"),
        ]
        lists = [
            *(a_read(MAPS, f"labelSelector={quote(each)}") for each in readings.LABEL_SELECTORS),
            *by_fields(pair, MAPS, readings.FIELD_SELECTORS),
            *by_fields(pair, PODS, readings.POD_FIELDS),
            *(request for path, each in readings.OTHER_FIELDS for request in by_fields(pair, path, [each])),
            *(a_read(path, "fieldSelector=spec.foo%3Dx") for path, _ in collections),
            *(a_read(MAPS, each) for each in readings.LIST_OPTIONS),
            *(a_read(f"{MAPS}/full", each) for each in ("watch=1", "resourceVersion=99999999", "resourceVersion=x")),
        ]

        found = [*await different(pair, requests, sent), *await different(pair, lists, listed)]

        await emptied(pair)
    assert found == []


async def streamed(transport: Transport, request: Request) -> Any:
    """Status and lines of a watch that ends by itself."""
    request = msgspec.structs.replace(request, query=(*request.query, ("timeoutSeconds", "1")))
    async with transport.stream(request) as stream:
        lines = [line async for line in stream]
        body = b"\n".join(lines)
        if stream.status != 200:
            return told(Response(stream.status, body, stream.headers))
        return stream.status, [masked(msgspec.json.decode(line)) for line in body.splitlines() if line.strip()]


@everywhere(controllers=False, on=("real",))
async def test_watches_open_and_refuse_alike(site: Site) -> None:
    async with twins(site) as pair:
        await filled(pair)
        old = "/api/v1/watch/namespaces/{ns}/configmaps"
        requests = [
            *(a_read(MAPS, f"watch=1&{each}") for each in readings.WATCH_OPTIONS),
            *(a_read(MAPS, "watch=1", accept) for accept in (TABLE, PARTIAL, PARTIALS, "text/html")),
            *(a_read(MAPS, f"watch=1&{readings.WATCH_OPTIONS[9]}", accept) for accept in (TABLE, PARTIAL)),
            a_read(PODS, f"watch=1&{readings.WATCH_OPTIONS[9]}&includeObject=None", TABLE),
            *(a_read(MAPS, each) for each in ("watch=x", "watch=", "watch=2")),
            *(a_read(path) for path in (old, f"{old}/full", "/api/v1/watch/namespaces/{ns}")),
        ]
        found = await different(pair, requests, streamed)

        await emptied(pair)
    assert found == []


def served_by_both(document: Tree) -> Tree:
    """What a document of groups or resources says of those that the embedded cluster has."""
    names = {kind.resource.plural for kind in KINDS}
    if "groups" in document:
        return document | {"groups": [each for each in document["groups"] if each["name"] not in _UNSERVED_GROUPS]}
    if "resources" in document:
        kept = [each for each in document["resources"] if each["name"].partition("/")[0] in names]
        return document | {"resources": [each for each in kept if "/" not in each["name"]]}
    groups = [each for each in document["items"] if each["metadata"].get("name") not in _UNSERVED_GROUPS]
    for version in (version for group in groups for version in group["versions"]):
        version["resources"] = [each for each in version["resources"] if each["resource"] in names]
        for resource in version["resources"]:
            resource.pop("subresources", None)
    return document | {"items": groups}


@everywhere(controllers=False, on=("real",))
async def test_discovery_says_the_same_of_what_both_serve(site: Site) -> None:
    async with twins(site) as pair:
        versions = {f"/apis/{kind.resource.api_version}" for kind in KINDS if kind.resource.group}
        requests = [
            *(a_read(path) for path in ("/apis", "/api/v1", *sorted(versions))),
            *(a_read(path, accept=GROUPS) for path in ("/api", "/apis")),
        ]
        found = await different(pair, requests, described)

    assert found == []


async def described(transport: Transport, request: Request) -> Any:
    return masked(served_by_both(tree_of(await transport.send(request))))


@everywhere(controllers=False, on=("real",))
async def test_custom_resources_are_read_alike(site: Site) -> None:
    async with twins(site, reading_gadgets.DEFINITION) as pair:
        for name, spec in reading_gadgets.GADGET_SPECS.items():
            tree = {"apiVersion": "reading.example.com/v1", "kind": "Gadget", "metadata": {"name": name}, "spec": spec}
            sent_body = msgspec.json.encode(tree)
            place = _placed(reading_gadgets.GADGETS, pair)
            for answer in await pair.send(Request("POST", place, (), sent_body, "application/json")):
                assert answer.status == 201, answer.body
        status = msgspec.json.encode({"status": reading_gadgets.GADGET_STATUS})
        await pair.send(Request("PATCH", f"{place}/one/status", (), status, MERGE_PATCH))
        requests = [
            *(a_read(reading_gadgets.GADGETS, accept=each) for each in readings.ACCEPTED),
            *(a_read(f"{reading_gadgets.GADGETS}/one", accept=each) for each in readings.ACCEPTED),
            a_read(reading_gadgets.OLDER_GADGETS, accept=TABLE),
            a_read(f"{reading_gadgets.GADGETS}/one/scale", accept=TABLE),
            *(a_read(path) for path in ("/apis/reading.example.com", "/apis/reading.example.com/v1")),
            *(a_read(path) for path in ("/apis/reading.example.com/v2", "/apis/reading.example.com/v1beta1")),
        ]
        lists = [
            *by_fields(pair, reading_gadgets.GADGETS, reading_gadgets.GADGET_FIELDS),
            *by_fields(pair, reading_gadgets.OLDER_GADGETS, ["spec.s=x", "foo=x"]),
            *(
                a_read(reading_gadgets.GADGETS, each)
                for each in ("limit=1", "resourceVersion=x", "labelSelector=a%20b")
            ),
        ]
        watches = [
            *(
                a_read(reading_gadgets.GADGETS, f"watch=1&{readings.WATCH_OPTIONS[9]}", each)
                for each in ("", TABLE, PARTIAL)
            ),
            a_read("/apis/reading.example.com/v1/watch/namespaces/{ns}/gadgets"),
        ]

        found = [
            *await different(pair, requests, sent),
            *await different(pair, lists, listed),
            *await different(pair, watches, streamed),
        ]

    assert found == []


def outlined(document: Tree) -> Any:
    """What a document says of requests and fields, without words and without what the embedded cluster leaves out."""
    operations = {
        (path, method): (
            said["x-kubernetes-action"],
            said["x-kubernetes-group-version-kind"],
            sorted({each["name"] for each in said.get("parameters", ())} - _UNSAID),
        )
        for path, methods in document["paths"].items()
        for method, said in methods.items()
        if method != "parameters" and "x-kubernetes-action" in said and not _is_old(path)
    }
    fields = {
        name: {key: _reference(each) for key, each in schema.get("properties", {}).items()}
        for name, schema in document["components"]["schemas"].items()
        if not name.startswith("io.k8s.apimachinery")
    }
    return operations, fields


_UNSAID = {"shardSelector", "ignoreStoreReadErrorWithClusterBreakingPotential"}


def _is_old(path: str) -> bool:
    return "/watch/" in path


def _reference(schema: Tree) -> Any:
    """The type of a field: its name, or what it is made of."""
    inner = schema.get("allOf", [schema])[0]
    return inner.get("$ref") or (inner.get("type"), _reference(inner["items"]) if "items" in inner else None)


async def written(transport: Transport, request: Request) -> Any:
    return outlined(tree_of(await transport.send(request)))


@everywhere(controllers=False, on=("real",))
async def test_openapi_outlines_the_same_requests_and_fields(site: Site) -> None:
    async with twins(site, reading_gadgets.DEFINITION) as pair:
        await site.until(lambda: _is_published(pair), every=0.1)
        names = ("apps/v1", "autoscaling/v2", "policy/v1", "coordination.k8s.io/v1", "reading.example.com/v1")

        found = await different(pair, [a_read(f"/openapi/v3/apis/{name}") for name in names], written)

    assert found == []


async def _is_published(pair: Twins) -> bool:
    answer = await pair.theirs.send(a_read("/openapi/v3"))
    return "apis/reading.example.com/v1" in tree_of(answer)["paths"]
