"""Bad requests are refused alike by the embedded cluster and by a real one, and protobuf is read as it is written."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from kubeloop.request import Request, Response
from kubesim.bodies import wire
from kubesim.bodies.decoding import PROTOBUF
from tests.e2e import bad_bodies, bad_paths
from tests.e2e.bad_bodies import OBJECTS, Case
from tests.e2e.clusters import Site, everywhere
from tests.e2e.definitions import MERGE, a_definition, a_version
from tests.e2e.twins import Twins, twins

pytestmark = pytest.mark.fidelity

CASES = (*bad_bodies.CASES, *bad_paths.CASES)
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"20\d\d-\d\d-\d\dT[\d:]+Z")
_PATCHED = re.compile(r"Invalid value: \"\{.*\}\":")
_RECORDED = re.compile(r"in record \(\d+\)")
_OWN = ("uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "managedFields")
_KINDS = (
    "/api/v1/namespaces",
    "/api/v1/serviceaccounts",
    "/api/v1/configmaps",
    "/api/v1/services",
    "/apis/apps/v1/deployments",
    "/apis/discovery.k8s.io/v1/endpointslices",
    "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "/apis/scheduling.k8s.io/v1/priorityclasses",
    "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas",
    "/apis/coordination.k8s.io/v1/leases",
)


@pytest.mark.filterwarnings("ignore:Sending a large body")  # three megabytes, some of them
@everywhere(controllers=False, on=("real",))
async def test_bad_requests_get_the_same_answers(site: Site) -> None:
    different: list[Any] = []
    async with twins(site, a_definition(a_version())) as pair:
        for method, path, tree in OBJECTS:
            body = msgspec.json.encode(tree)
            for answer in await pair.send(Request(method, placed(path, site), (), body, "application/json")):
                assert answer.status == 201, answer.body
        for case in CASES:
            ours, theirs = (told(case, answer) for answer in await asked(pair, case, site))
            if ours != theirs:
                different.append((case.name, ours, theirs))
        for _, path, _ in OBJECTS:  # whose finalizers would be in the way of whoever deletes their kind next
            free = Request("PATCH", f"{placed(path, site)}/there", (), b'{"metadata":{"finalizers":null}}', MERGE)
            await pair.send(free)

    assert different == []


@everywhere(controllers=False, on=("real",))
async def test_what_the_server_writes_as_protobuf_is_what_it_writes_as_json(site: Site) -> None:
    different: list[Any] = []
    async with twins(site) as pair:

        async def read(path: str, media: str) -> bytes:
            return (await pair.theirs.send(Request("GET", path, headers=(("Accept", media),)))).body

        for kind in _KINDS:
            listed = msgspec.json.decode(await read(kind, "application/json"))
            for item in listed["items"][:10]:
                path = path_to(kind, item["metadata"])
                found = wire.opened(await read(path, PROTOBUF))
                tree = wire.object_of(found.api_version, found.kind, found.raw)
                expected = without_nulls(msgspec.json.decode(await read(path, "application/json")))
                if tree != expected and version_of(tree) == version_of(expected):
                    different.append((path, tree, expected))

    assert different == []


def version_of(tree: dict[str, Any]) -> Any:
    return tree["metadata"]["resourceVersion"]


def path_to(collection: str, metadata: dict[str, Any]) -> str:
    name = metadata["name"].replace(":", "%3A")
    prefix, _, plural = collection.rpartition("/")
    namespace = metadata.get("namespace")
    return f"{prefix}/namespaces/{namespace}/{plural}/{name}" if namespace else f"{collection}/{name}"


def placed(path: str, site: Site) -> str:
    return path.replace("NS", site.namespace)


async def asked(pair: Twins, case: Case, site: Site) -> tuple[Response, Response]:
    request = Request(case.method, placed(case.path, site), case.query, case.body, case.content_type)
    return await pair.send(request)


def told(case: Case, answer: Response) -> Any:
    """Status, and what the answer says without what is each cluster's own."""
    text = answer.body.decode(errors="replace")
    if case.method == "HEAD" or not text.startswith("{"):
        return answer.status, "" if case.method == "HEAD" else text.strip()
    tree = msgspec.json.decode(_TIME.sub("TIME", text))  # conditions of the two may be of different seconds
    if tree.get("kind") != "Status":
        metadata = {key: value for key, value in tree.get("metadata", {}).items() if key not in _OWN}
        return answer.status, tree | {"metadata": metadata}, answer.headers.get("warning")
    details = tree.get("details") or {}
    causes = sorted(masked(msgspec.json.encode(each, order="sorted").decode()) for each in details.get("causes") or ())
    named = {key: value for key, value in details.items() if key not in ("causes", "uid")}
    return answer.status, tree.get("reason"), masked(tree.get("message", "")), named, causes


def masked(text: str) -> str:
    plain = text.replace('\\"', '"')
    for pattern, instead in ((_UID, "UID"), (_TIME, "TIME"), (_PATCHED, "JSON:"), (_RECORDED, "in record (N)")):
        plain = pattern.sub(instead, plain)
    return plain


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    return [without_nulls(each) for each in value] if isinstance(value, list) else value
