"""Bodies with random mistakes are decoded alike by the embedded cluster and by a real one.

Compared is what decoding makes of them: refusals, warnings, and the objects that come back. Where the real server
understands an object and then finds a rule broken, the embedded cluster has to understand it too.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from kubeloop.errors import TransportError
from kubeloop.http_transport import HttpTransport
from kubeloop.request import Request, Response, Transport
from kubesim.cluster import Cluster
from tests.e2e.clusters import Site, everywhere
from tests.e2e.typed_objects import Mistake, Tree, a_mistake, objects

pytestmark = pytest.mark.fidelity

STEPS = 200
JSON = "application/json"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"
STEPWISE, APPLY = "application/json-patch+json", "application/apply-patch+yaml"
WISHES = ("", "", "Strict", "Ignore")
_SERVERS = ("uid", "creationTimestamp", "managedFields", "resourceVersion", "generation")
_document = re.compile(r'patch: Invalid value: "\{(?:[^"\\]|\\.)*"')
_warnings = re.compile(r'299 - "((?:[^"\\]|\\.)*)"')


def verdict(response: Response) -> tuple[int, Any, list[str]]:
    """The code, the message or the object, and what was warned of, without what clusters decide by themselves."""
    tree: Tree = json.loads(response.body)
    headers = {name.lower(): value for name, value in response.headers.items()}
    strict = [text for text in _warnings.findall(headers.get("warning", "")) if " field " in text]
    if response.status >= 300:
        # The server prints fields of what it did not touch in an order of its own.
        return response.status, _document.sub("patch: Invalid value: ...", tree["message"]), strict
    for key in _SERVERS:
        tree["metadata"].pop(key, None)
    for key in ("clusterIP", "clusterIPs"):
        (tree.get("spec") or {}).pop(key, None)
    for condition in (tree.get("status") or {}).get("conditions") or ():
        condition.pop("lastTransitionTime", None)  # each has its own clock
    if tree["kind"] == "Node":  # marked by the server until somebody says that it is ready
        taints = [each for each in tree["spec"].get("taints") or [] if each["key"] != "node.kubernetes.io/not-ready"]
        tree["spec"]["taints"] = taints
    return response.status, tree, strict


def is_decoded(found: tuple[int, Any, list[str]]) -> bool:
    """Whether the object was understood, whatever came then; a configuration is checked before it is decoded."""
    code, said, _ = found
    return code < 300 or (code == 422 and " patch: " not in said) or code in (403, 409) or " typed patch " in said


def differences(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Where the two differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        pairs = [(f"{path}.{key}", ours.get(key, ...), theirs.get(key, ...)) for key in {**ours, **theirs}]
    elif isinstance(ours, list | tuple) and isinstance(theirs, list | tuple) and len(ours) == len(theirs):
        pairs = [(f"{path}[{index}]", *pair) for index, pair in enumerate(zip(ours, theirs, strict=True))]
    else:
        return [f"{path}: {ours!r} instead of {theirs!r}"]
    return [each for place, one, other in pairs if one != other for each in differences(one, other, place)]


class Both:
    """The same requests to two clusters; nothing is stored but what is made first."""

    def __init__(self, embedded: Transport, real: Transport) -> None:
        self._clusters = embedded, real
        self._made: list[str] = []
        self.different: list[str] = []
        self.compared = 0

    async def make(self, path: str, tree: Tree) -> None:
        request = Request("POST", path, (), json.dumps(tree).encode(), JSON)
        assert [(await each.send(request)).status for each in self._clusters] == [201, 201], tree["kind"]
        self._made.append(f"{path}/{tree['metadata']['name']}")

    async def clear(self) -> None:
        for path in self._made:
            await self._clusters[1].send(Request("DELETE", path))

    async def compare(self, said: str, request: Request) -> None:
        embedded, real = self._clusters
        ours = verdict(await embedded.send(request))
        try:
            theirs = verdict(await real.send(request))
        except TransportError:  # it breaks off where the key of an item to merge is no scalar
            return
        if is_decoded(theirs) and theirs[0] >= 300:
            if not is_decoded(ours):
                self.different += [said, *differences(ours, theirs)]
            return
        if ours[0] >= 300 and is_decoded(ours):
            return
        self.compared += 1
        if ours != theirs:
            self.different += [said, *differences(ours, theirs)]


@asynccontextmanager
async def both_of(site: Site) -> AsyncIterator[Both]:
    real = HttpTransport(site.plane.config())
    both = Both(Cluster(namespaces=[site.namespace]).transport(), real)
    try:
        yield both
    finally:
        await both.clear()
        await real.close()


def _query(draw: random.Random, *more: tuple[str, str]) -> tuple[tuple[str, str], ...]:
    wish = draw.choice(WISHES)
    return (("dryRun", "All"), *more, *((("fieldValidation", wish),) if wish else ()))


@pytest.mark.parametrize("seed", [20300101, 20300102])
@everywhere(controllers=False, on=("real",))
async def test_new_objects_are_decoded_alike(site: Site, seed: int) -> None:
    draw = random.Random(seed)
    sound = objects(site.namespace)

    async with both_of(site) as both:
        for step in range(STEPS):
            path, tree = sound[step % len(sound)]
            mistake = a_mistake(draw, tree)
            request = Request("POST", path, _query(draw), mistake.body, JSON)
            await both.compare(f"{tree['kind']}: {mistake.said}", request)

    assert not both.different, "\n".join(both.different)
    assert both.compared > STEPS / 2


@pytest.mark.parametrize("content_type", [JSON, MERGE, STRATEGIC, STEPWISE, APPLY])
@everywhere(controllers=False, on=("real",))
async def test_changes_are_decoded_alike(site: Site, content_type: str) -> None:
    draw = random.Random(20300103)
    stored = objects(site.namespace)
    more = (("fieldManager", "me"), ("force", "true")) if content_type == APPLY else ()

    async with both_of(site) as both:
        for path, tree in stored:
            await both.make(path, tree)
        for _ in range(STEPS):
            path, tree = draw.choice(stored)
            mistake = a_mistake(draw, tree)
            if content_type in (MERGE, STRATEGIC) and b"null" in mistake.body:  # it removes, and is not decoded
                continue
            body = _steps(tree, mistake) if content_type == STEPWISE else mistake.body
            where = f"{path}/{tree['metadata']['name']}"
            method = "PUT" if content_type == JSON else "PATCH"
            request = Request(method, where, _query(draw, *more), body, content_type)
            await both.compare(f"{tree['kind']}: {mistake.said}", request)

    assert not both.different, "\n".join(both.different)
    assert both.compared > STEPS / 4


def _steps(tree: Tree, mistake: Mistake) -> bytes:
    """The change as a JSON patch."""
    changed = [key for key in mistake.tree if mistake.tree[key] != tree.get(key)]
    return json.dumps([{"op": "add", "path": f"/{key}", "value": mistake.tree[key]} for key in changed]).encode()
