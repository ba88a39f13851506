"""Owners and webhooks: what reviewers see and leave of them, and owners in versions that a webhook converts."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec

from kubeloop.calls import Call, Reply
from kubeloop.request import path_of
from kubesim.cluster import Cluster
from kubesim.kinds.registry import DEFINITIONS
from kubesim.time import run
from tests.kubesim.desk import MAP, Desk, Tree, a_map, decoded, owners_in, played
from tests.kubesim.hooks import HOST, a_hook, a_rule, answering, configure, patching

GROUP = "shop.example.com"
BOX = f"/apis/{GROUP}/v1/namespaces/default/boxes/one"
OLD_BOX = BOX.replace("/v1/", "/v1beta1/")
CONVERTER = "converter.default.svc"


def a_box(version: str = "v1", **spec: Any) -> Tree:
    return {"apiVersion": f"{GROUP}/{version}", "kind": "Box", "metadata": {"name": "one"}, "spec": spec}


def a_definition() -> Tree:
    """In v1 a box has a `size`, which v1beta1 calls `count`."""

    def version(name: str, field: str) -> Tree:
        fields = {field: {"type": "integer"}, "note": {"type": "string"}}
        spec = {"type": "object", "properties": fields}
        schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
        return {"name": name, "served": True, "storage": name == "v1", "schema": schema}

    service = {"namespace": "default", "name": CONVERTER.partition(".")[0], "path": "/convert"}
    webhook = {"clientConfig": {"service": service}, "conversionReviewVersions": ["v1"]}
    return {
        "apiVersion": DEFINITIONS.api_version,
        "kind": DEFINITIONS.kind,
        "metadata": {"name": f"boxes.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": "boxes", "kind": "Box"},
            "versions": [version("v1", "size"), version("v1beta1", "count")],
            "conversion": {"strategy": "Webhook", "webhook": webhook},
        },
    }


class Converter:
    """Renames the field; while it is broken, it fails."""

    def __init__(self) -> None:
        self.broken = False

    async def __call__(self, call: Call) -> Reply:
        request = msgspec.json.decode(call.body, type=Tree)["request"]
        response: Tree = {"uid": request["uid"]}
        if self.broken:
            response["result"] = {"status": "Failure", "message": "out of order"}
        else:
            response["result"] = {"status": "Success"}
            response["convertedObjects"] = [
                self._converted(each, request["desiredAPIVersion"]) for each in request["objects"]
            ]
        review = {"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1", "response": response}
        return Reply(200, msgspec.json.encode(review), (("Content-Type", "application/json"),))

    @staticmethod
    def _converted(tree: Tree, desired: str) -> Tree:
        names = {"size": "count", "count": "size"}
        spec = {names.get(key, key): value for key, value in (tree.get("spec") or {}).items()}
        return tree | {"apiVersion": desired, "spec": spec}


async def boxes(cluster: Cluster) -> tuple[Desk, Converter]:
    converter = Converter()
    cluster.network.serve(CONVERTER, converter)
    desk = Desk(cluster)
    made = await desk.send("POST", path_of(DEFINITIONS), a_definition())
    assert made.status == 201, made.body
    await asyncio.sleep(1)
    return desk, converter


def test_reviewers_see_who_will_own_what() -> None:
    seen: list[Tree] = []

    def review(request: Tree) -> Tree:
        seen.append(request["object"])
        return {}

    async def script(desk: Desk) -> Any:
        desk.cluster.network.serve(HOST, answering(review))
        await configure(desk.cluster, "mutating", "m", a_hook("one", a_rule()))
        await desk.apply(a_map({"a": "1"}))
        await desk.merge({"data": {"b": "1"}})

    played(script)

    assert [sorted(owners_in(tree)) for tree in seen] == [["one Apply"], ["one Apply", "other Update"]]


def test_what_a_reviewer_adds_belongs_to_nobody() -> None:
    def review(_request: Tree) -> Tree:
        return patching({"op": "add", "path": "/data/added", "value": "1"})

    async def script(desk: Desk) -> Any:
        desk.cluster.network.serve(HOST, answering(review))
        await configure(desk.cluster, "mutating", "m", a_hook("one", a_rule()))
        await desk.apply(a_map({"a": "1"}))
        return await desk.read()

    stored = played(script)

    assert stored["data"] == {"a": "1", "added": "1"}
    assert owners_in(stored) == {"one Apply": {"f:data": {"f:a": {}}}}


def test_entries_that_a_reviewer_spoils_are_put_back_with_a_warning() -> None:
    def review(_request: Tree) -> Tree:
        return patching({"op": "replace", "path": "/metadata/managedFields/0/operation", "value": "Odd"})

    async def script(desk: Desk) -> Any:
        desk.cluster.network.serve(HOST, answering(review))
        await configure(desk.cluster, "mutating", "m", a_hook("one", a_rule()))
        answer = await desk.apply(a_map({"a": "1"}))
        return answer, await desk.owned(MAP)

    answer, owned = played(script)

    assert owned == {"one Apply": {"f:data": {"f:a": {}}}}
    assert "managedFields was in an invalid state after admission" in answer.headers["warning"]
    assert "operation must be `Apply` or `Update`" in answer.headers["warning"]


def test_owners_are_asked_in_the_version_they_wrote_in() -> None:
    async def script() -> Any:
        desk, _ = await boxes(Cluster())
        await desk.apply(a_box(size=1), "first", BOX)
        refused = await desk.apply(a_box("v1beta1", count=2), "second", OLD_BOX)
        forced = await desk.apply(a_box("v1beta1", count=2), "second", OLD_BOX, force="true")
        return refused, forced, await desk.read(BOX)

    refused, forced, stored = run(script())

    assert decoded(refused)["message"] == 'Apply failed with 1 conflict: conflict with "first": .spec.size'
    assert forced.status == 200
    assert stored["spec"] == {"size": 2}
    [entry] = stored["metadata"]["managedFields"]
    assert (entry["manager"], entry["apiVersion"]) == ("second", f"{GROUP}/v1beta1")
    assert entry["fieldsV1"] == {"f:spec": {"f:count": {}}}


def test_who_applies_in_another_version_loses_what_the_old_configuration_had() -> None:
    async def script() -> Any:
        desk, _ = await boxes(Cluster())
        await desk.apply(a_box("v1beta1", count=1, note="x"), "first", OLD_BOX)
        await desk.apply(a_box(size=1), "first", BOX)
        return await desk.read(BOX)

    stored = run(script())

    assert stored["spec"] == {"size": 1}
    assert owners_in(stored) == {"first Apply": {"f:spec": {"f:size": {}}}}


def test_an_update_in_another_version_takes_the_field() -> None:
    async def script() -> Any:
        desk, _ = await boxes(Cluster())
        await desk.apply(a_box(size=1, note="x"), "first", BOX)
        await desk.merge({"spec": {"count": 2}}, "second", OLD_BOX)
        return await desk.read(BOX)

    assert owners_in(run(script())) == {
        "first Apply": {"f:spec": {"f:note": {}}},
        "second Update": {"f:spec": {"f:count": {}}},
    }


def test_owners_are_forgotten_when_nobody_can_convert_for_them() -> None:
    """An update goes on without them; applying does not."""

    async def script() -> Any:
        desk, converter = await boxes(Cluster())
        await desk.apply(a_box("v1beta1", count=1), "first", OLD_BOX)
        converter.broken = True
        applied = await desk.apply(a_box(note="x"), "second", BOX)
        merged = await desk.merge({"spec": {"note": "y"}}, "second", BOX)
        return applied, merged

    applied, merged = run(script())

    assert applied.status == 500
    assert "out of order" in decoded(applied)["message"]
    assert merged.status == 200
    assert owners_in(decoded(merged)) == {}
