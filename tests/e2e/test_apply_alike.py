"""Random writes by several managers leave the same objects and owners on the embedded cluster and on a real one."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest

from kubeloop.objects.meta import Resource
from kubeloop.request import Request, Response, path_of
from tests.e2e.apply_examples import EXAMPLES, NAME, Ask, a_crate_definition
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.configurations import BOXES, Step, Steps, Tree, a_box, a_box_definition
from tests.e2e.definitions import tree_of
from tests.e2e.twins import Twins, masked, twins

pytestmark = pytest.mark.fidelity

STEPS = 400
STEPS_EACH = 10


class Life:
    """One object on both clusters."""

    def __init__(self, pair: Twins, steps: Steps, resource: Resource, name: str) -> None:
        self._pair = pair
        self._steps = steps
        self._resource = resource
        self._name = name
        self._live: tuple[Tree, Tree] | None = None
        self.done = 0

    async def different(self) -> list[Any]:
        """What the first step that is not answered alike did; empty when all were."""
        for _ in range(STEPS_EACH):
            step = self._next()
            self.done += 1
            ours, theirs = await self._pair.each(*(self._request(step, own) for own in self._live or (None, None)))
            if masked(ours) != masked(theirs):
                return [step, masked(ours), masked(theirs)]
            if theirs.status < 400:
                ours, theirs = await self._pair.send(Request("GET", self._path()))
                if masked(ours) != masked(theirs):
                    return [step, masked(ours), masked(theirs)]
                self._live = tree_of(ours), tree_of(theirs)
            elif self._live is None:
                return []
        return []

    def _path(self) -> str:
        return path_of(self._resource, self._pair.namespace, self._name)

    def _next(self) -> Step:
        if self._live is None:
            return self._steps.first(self._resource, self._name)
        return self._steps.next(self._resource, self._name, self._live[0])

    @staticmethod
    def _request(step: Step, own: Tree | None) -> Request:
        """To one of the clusters, which has versions of its own."""
        tree = step.tree
        if step.method == "PUT" and own is not None:
            metadata = tree["metadata"] | {"resourceVersion": own["metadata"]["resourceVersion"]}
            tree = tree | {"metadata": metadata}
        return Request(step.method, step.path, step.query, msgspec.json.encode(tree), step.content_type)


@everywhere(controllers=False, on=("real",))
async def test_random_writes_leave_the_same_owners(site: Site) -> None:
    draw = random.Random(20300101)  # the same writes each time
    steps, done, different = Steps(draw, site.namespace), 0, []

    async with twins(site, a_box_definition()) as pair:
        while done < STEPS:
            life = Life(pair, steps, steps.resource(), f"o{done}")
            if found := await life.different():
                different.append(found)
            done += life.done

    assert different == []


@everywhere(controllers=False, on=("real",))
async def test_examples_are_answered_in_the_same_words(site: Site) -> None:
    different: list[Any] = []

    async with twins(site, a_box_definition(), a_crate_definition()) as pair:
        for number, (title, asks) in enumerate(EXAMPLES.items()):
            for index, ask in enumerate(asks):
                ours, theirs = await pair.send(_asked(ask, site.namespace, f"e{number}"))
                if _told(ours) != _told(theirs):
                    different.append((title, index, _told(ours), _told(theirs)))

    assert different == []


def _asked(ask: Ask, namespace: str, name: str) -> Request:
    text = ask.tree if isinstance(ask.tree, str) else msgspec.json.encode(ask.tree).decode()
    body = "" if ask.tree is None else text.replace(NAME, name)
    path = ask.path.replace("NAMESPACE", namespace).replace(NAME, name)
    return Request(ask.method, path, tuple(ask.query.items()), body.encode(), ask.content_type)


def _told(response: Response) -> Any:
    return masked(response), response.headers.get("warning")


@everywhere(controllers=False, on=("real",))
async def test_owners_of_parts_own_the_whole_when_a_schema_makes_it_one(site: Site) -> None:
    definition = a_box_definition()
    box = a_box("one", named=[{"name": "a", "value": 1}], plain={"x": 1})
    path = path_of(BOXES, site.namespace, "one")

    async with twins(site, definition) as pair:
        for manager in ("first", "second"):
            query = (("fieldManager", manager),)
            await pair.send(Request("PATCH", path, query, msgspec.json.encode(box), "application/apply-patch+yaml"))
        await _make_atomic(site, pair, definition["metadata"]["name"])
        body = b'{"metadata":{"labels":{"l":"1"}}}'
        ours, theirs = await pair.send(Request("PATCH", path, (), body, "application/merge-patch+json"))

    assert masked(ours) == masked(theirs)
    owned = [entry["fieldsV1"]["f:spec"] for entry in tree_of(ours)["metadata"]["managedFields"][:2]]
    assert owned == [{"f:named": {}, "f:plain": {}}] * 2


async def _make_atomic(site: Site, pair: Twins, name: str) -> None:
    """Changes the schemas of all versions, and waits until the real server goes by them."""
    spec = "/schema/openAPIV3Schema/properties/spec/properties"
    operations = [
        {"op": "add", "path": f"/spec/versions/{version}{spec}{place}", "value": "atomic"}
        for version in (0, 1)
        for place in ("/named/x-kubernetes-list-type", "/plain/x-kubernetes-map-type")
    ]
    operations += [
        {"op": "remove", "path": f"/spec/versions/{version}{spec}/named/x-kubernetes-list-map-keys"}
        for version in (0, 1)
    ]
    body = msgspec.json.encode(operations)
    for answer in await pair.send(
        Request("PATCH", path_of(CUSTOM_RESOURCES, name=name), (), body, "application/json-patch+json")
    ):
        assert answer.status == 200, answer.body

    async def goes_by_it() -> bool:
        """Whether an item twice is fine, as it is in a list that is owned as a whole."""
        twice = a_box("probe", named=[{"name": "a"}, {"name": "a"}])
        query = (("fieldManager", "probe"), ("dryRun", "All"))
        path = path_of(BOXES, site.namespace, "probe")
        body = msgspec.json.encode(twice)
        answer = await pair.theirs.send(Request("PATCH", path, query, body, "application/apply-patch+yaml"))
        return answer.status == 201

    await site.until(goes_by_it, every=0.05)
