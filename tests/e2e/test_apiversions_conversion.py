"""Conversion through the API server: scenarios A1 to A7, A30 and A35, on both clusters."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

import msgspec
import pytest

from fairlead.contracts.apiversions.decide.convert import Annotations
from fairlead.contracts.apiversions.kinds import CARRY_PREFIX
from fairlead.contracts.apiversions.settings import ApiVersionsSettings
from fairlead.engine.decide.registration import Tree
from kubeloop.errors import ApiError, NotFound
from kubeloop.objects.meta import Ref
from kubeloop.request import JSON, Request, apply, path_of, path_to
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.converting_operator import MERGE, ConvertingOperator, rules_in_a_map
from tests.e2e.widgets import Widgets, tree_of, widgets


class Stage:
    """Widgets that an operator converts."""

    def __init__(self, operator: ConvertingOperator, kind: Widgets) -> None:
        self.operator = operator
        self.kind = kind

    async def put(self, tree: Tree, version: str) -> Tree:
        path = path_to(Ref(self.kind.resource(version), self.kind.site.namespace, tree["metadata"]["name"]))
        sent = Request("PUT", path, body=msgspec.json.encode(tree), content_type=JSON)
        return tree_of((await self.kind.site.client.call(sent)).body)

    async def apply(self, version: str, manager: str, name: str, spec: Tree) -> Tree:
        ref = Ref(self.kind.resource(version), self.kind.site.namespace, name)
        head = {"apiVersion": ref.resource.api_version, "kind": "Widget", "metadata": {"name": name}}
        sent = apply(ref, msgspec.json.encode({**head, "spec": spec}), manager)
        return tree_of((await self.kind.site.client.call(sent)).body)

    def review(self, name: str, version: str = "v1", **spec: Any) -> Tree:
        metadata = {"name": name, "namespace": "a", "uid": f"uid-{name}"}
        return {"apiVersion": f"{self.kind.group}/{version}", "kind": "Widget", "metadata": metadata, "spec": spec}


@asynccontextmanager
async def staged(site: Site, rules: Tree | None = None, schemas: Mapping[str, Tree] = {}) -> AsyncIterator[Stage]:
    """Version 2 is stored; the API server has everything else converted."""
    kind, operator = widgets(site), ConvertingOperator(site)
    site.start_operator(operator)
    await rules_in_a_map(site, rules or kind.rules())
    await kind.define("v1", "v2", storage="v2", more=schemas)
    await operator.stands(kind.name, "loaded")
    await operator.attach(kind.name)
    stage = Stage(operator, kind)

    async def converts() -> bool:
        """The API server learns of a definition a little later."""
        try:
            await kind.make("probe", size=1, colour="grey")
            return bool((await kind.live("probe", "v2"))["spec"].get("paint") == {"colour": "grey"})
        except ApiError:
            return False
        finally:
            await kind.delete("probe", "v2")

    await site.until(converts, every=0.05)
    yield stage


def carried(tree: Tree) -> list[str]:
    return [key for key in tree["metadata"].get("annotations") or {} if key.startswith(CARRY_PREFIX)]


def content(tree: Tree) -> Tree:
    """Body, labels and annotations."""
    body = {key: value for key, value in tree.items() if key not in ("metadata", "apiVersion", "kind")}
    return body | {key: tree["metadata"].get(key) for key in ("labels", "annotations", "generation")}


async def _gets_notes(kind: Widgets) -> None:
    """Both versions have one from now on."""
    versions = kind.definition("v1", "v2", storage="v2")["spec"]["versions"]
    for version in versions:
        properties = version["schema"]["openAPIV3Schema"]["properties"]
        note = {"note": {"type": "string"}}
        properties["spec"] = {**properties["spec"], "properties": properties["spec"]["properties"] | note}
    body = msgspec.json.encode({"spec": {"versions": versions}})
    await kind.site.client.call(
        Request("PATCH", path_of(CUSTOM_RESOURCES, name=kind.name), body=body, content_type=MERGE)
    )


PARTS = [{"name": "wheel", "weight": 3}, {"name": "axle", "weight": 4}]


@everywhere(controllers=False, on=("sim", "real", "older"))
async def test_a1_what_the_old_version_cannot_hold_survives_a_write_through_it(site: Site) -> None:
    async with staged(site) as stage:
        kind = stage.kind
        metadata = {"name": "w", "labels": {"a": "b"}, "annotations": {"note": "x"}}
        spec = {"size": 3, "paint": {"colour": "red", "finish": "matt"}, "parts": PARTS}
        await site.create(kind.resource("v2"), {"metadata": metadata, "spec": spec})
        before = await kind.live("w", "v2")

        old = await kind.live("w", "v1")
        await stage.put(old, "v1")
        after = await kind.live("w", "v2")

        assert old["spec"] == {"size": 3, "colour": "red"}
        assert len(carried(old)) >= 3
        assert carried(before) == carried(after) == []
        assert content(after) == content(before)


@everywhere(controllers=False, on=("sim", "real", "older"))
async def test_a2_and_the_other_way_round(site: Site) -> None:
    async with staged(site) as stage:
        await stage.kind.make("w", size=1, colour="red", legacyMode=True)
        before = await stage.kind.live("w")

        new = await stage.kind.live("w", "v2")
        await stage.put(new, "v2")
        after = await stage.kind.live("w")

        assert before["spec"]["legacyMode"] is True
        assert new["spec"] == {"size": 1, "paint": {"colour": "red"}}
        assert content(after) == content(before)


@everywhere(controllers=False)
async def test_a3_a4_a5_reviews_are_answered_in_order_all_or_none(site: Site) -> None:
    async with staged(site) as stage:
        old, new = (f"{stage.kind.group}/{each}" for each in ("v1", "v2"))
        first, there = stage.review("a", size=1, colour="red"), stage.review("b", "v2", paint={"finish": "matt"})
        last = stage.review("c", size=3, colour="secret")

        made = await stage.operator.ask(first, there, last, desired=new)
        empty = await stage.operator.ask(desired=new, uid="u-2")
        strange = stage.review("b", "v9", colour="secret")
        failed = await stage.operator.ask(first, strange, last, desired=new, version="v1beta1")
        nowhere = await stage.operator.ask(first, desired=f"{stage.kind.group}/v7")

        assert (made["uid"], made["result"]) == ("u-1", {"status": "Success"})
        assert [each["metadata"]["name"] for each in made["convertedObjects"]] == ["a", "b", "c"]
        assert made["convertedObjects"][1] == there
        assert made["convertedObjects"][0]["spec"] == {"size": 1, "paint": {"colour": "red"}}
        assert empty == {"uid": "u-2", "result": {"status": "Success"}, "convertedObjects": []}
        assert (failed["result"]["status"], failed["convertedObjects"]) == ("Failure", [])
        said = failed["result"]["message"]
        assert "object 1 (a/b)" in said
        assert all(each in said for each in (old, new, f"{stage.kind.group}/v9"))
        assert "secret" not in said
        assert all(each in nowhere["result"]["message"] for each in (old, new, "v7"))
        assert stage.operator.sample(
            "fairlead_conversion_reviews_total", crd=stage.kind.name, to="v2", result="success"
        )


class Picky:
    """Rules in code: they raise for one name."""

    @staticmethod
    def to_hub(body: Tree, annotations: Annotations) -> Tree:
        if annotations.get("name") == "bad":
            raise RuntimeError("the colour is secret")
        return body

    @staticmethod
    def from_hub(body: Tree, annotations: Annotations) -> Tree:
        return Picky.to_hub(body, annotations)


@everywhere(controllers=False)
async def test_a6_a_list_fails_for_one_object_and_the_others_can_be_read_by_name(
    site: Site, tmp_path_factory: pytest.TempPathFactory
) -> None:
    kind = widgets(site)
    rules = {**kind.rules(), "spokes": [{"version": "v1"}], "python": f"{__name__}:Picky"}
    path = tmp_path_factory.mktemp("rules") / "rules.json"
    path.write_bytes(msgspec.json.encode(rules))
    operator = ConvertingOperator(site, ApiVersionsSettings(rules=(str(path),)))
    site.start_operator(operator)
    await kind.define("v1", "v2", storage="v2")
    await operator.stands(kind.name, "loaded")
    for name in ("good", "bad"):
        metadata = {"name": name, "annotations": {"name": name}}
        await site.create(kind.resource("v2"), {"metadata": metadata, "spec": {"size": 1}})
    await operator.attach(kind.name)

    async def fails() -> str:
        try:
            await kind.all("v1")
        except ApiError as error:
            return str(error)
        return ""

    said = await site.until(fails, every=0.05)

    assert "conversion webhook for" in said
    assert "/bad) from" in said
    assert "secret" not in said
    assert (await kind.live("good", "v1"))["spec"] == {"size": 1}
    assert operator.sample("fairlead_conversion_panics_total")


@everywhere(controllers=False)
async def test_a7_finalizers_labels_and_owners_are_the_same_in_every_version(site: Site) -> None:
    async with staged(site) as stage:
        owner = await stage.kind.make("owner")
        reference = {
            "apiVersion": f"{stage.kind.group}/v1",
            "kind": "Widget",
            "name": "owner",
            "uid": owner["metadata"]["uid"],
        }
        metadata = {
            "name": "w",
            "labels": {"a": "b"},
            "finalizers": ["example.test/hold"],
            "ownerReferences": [reference],
        }
        await site.create(stage.kind.resource("v1"), {"metadata": metadata, "spec": {"size": 1, "legacyMode": True}})

        old, new = await stage.kind.live("w"), await stage.kind.live("w", "v2")
        await stage.kind.change("w", {"metadata": {"finalizers": None}})

        for each in (old, new):
            assert {key: each["metadata"][key] for key in ("labels", "finalizers", "ownerReferences")} == {
                key: metadata[key] for key in ("labels", "finalizers", "ownerReferences")
            }
        assert old["metadata"]["uid"] == new["metadata"]["uid"]


@everywhere(controllers=False, on=("sim", "real", "older"))
async def test_a30_a_manager_moves_to_the_new_version_and_owns_what_it_sends(site: Site) -> None:
    async with staged(site) as stage:
        await stage.apply("v1", "a", "w", {"size": 1, "colour": "red", "legacyMode": True})
        await stage.kind.change("w", {"status": {"phase": "Ready"}}, "v2", "status")

        made = await stage.apply("v2", "a", "w", {"size": 2, "paint": {"colour": "red"}})

        owned = [each for each in made["metadata"]["managedFields"] if each["manager"] == "a"]
        assert [(each["apiVersion"], each["fieldsV1"]) for each in owned] == [
            (f"{stage.kind.group}/v2", {"f:spec": {"f:size": {}, "f:paint": {"f:colour": {}}}})
        ]
        assert made["spec"] == {"size": 2, "paint": {"colour": "red"}}
        assert made["status"] == {"phase": "Ready"}
        assert "legacyMode" not in (await stage.kind.live("w"))["spec"]


@everywhere(controllers=False)
async def test_managers_of_two_versions_apply_again_and_again_beside_a_field_that_is_nobodys(site: Site) -> None:
    """The finish is carried below the paint, which the old version holds by a default alone."""
    default = {"v1": {"colour": {"type": "string", "default": "grey"}}}
    async with staged(site, schemas=default) as stage:
        await stage.apply("v1", "a", "w", {"size": 1})

        for _ in range(2):
            await stage.apply("v2", "b", "w", {"paint": {"finish": "matt"}})
            new = await stage.kind.live("w", "v2")
            assert new["spec"] == {"size": 1, "paint": {"colour": "grey", "finish": "matt"}}
            await stage.apply("v1", "a", "w", {"size": 1})
            assert (await stage.kind.live("w", "v2"))["spec"] == new["spec"]


@everywhere(controllers=False)
async def test_a_field_that_is_new_in_an_object_of_defaults_is_applied_again_and_again(site: Site) -> None:
    def tuned(**fields: Tree) -> Tree:
        level = {"level": {"type": "integer", "default": 5}}
        return {"tuning": {"type": "object", "default": {}, "properties": {**level, **fields}}}

    async with staged(site, schemas={"v1": tuned(), "v2": tuned(mode={"type": "string"})}) as stage:
        await stage.apply("v1", "a", "w", {"size": 1})

        for _ in range(2):
            await stage.apply("v2", "b", "w", {"tuning": {"mode": "fast"}})
            new = await stage.kind.live("w", "v2")
            assert new["spec"] == {"size": 1, "tuning": {"level": 5, "mode": "fast"}}
            await stage.apply("v1", "a", "w", {"size": 1})
            assert (await stage.kind.live("w", "v2"))["spec"] == new["spec"]


@everywhere(controllers=False)
async def test_a35_hidden_fields_of_items_survive_a_change_of_one_item(site: Site) -> None:
    number, text = {"type": "integer"}, {"type": "string"}

    def listed(**fields: Tree) -> Tree:
        return {"slots": {"type": "array", "items": {"type": "object", "properties": fields}}}

    schemas = {"v1": listed(name=text, count=number), "v2": listed(name=text, count=number, hidden=text)}
    kind = widgets(site)
    rules = kind.rules()
    rules["spokes"][0]["keys"] = {"/spec/slots": ["name"]}
    async with staged(site, rules, schemas) as stage:
        slots = [{"name": "a", "count": 1, "hidden": "x"}, {"name": "b", "count": 2, "hidden": "y"}]
        await stage.kind.make("w", "v2", size=1, slots=slots)
        old = await stage.kind.live("w")

        old["spec"]["slots"][1]["count"] = 7
        await stage.put(old, "v1")

        new = await stage.kind.live("w", "v2")
        assert new["spec"]["slots"] == [slots[0], {"name": "b", "count": 7, "hidden": "y"}]
        assert carried(new) == []


@everywhere(controllers=False)
async def test_a_field_that_is_new_is_seen_in_both_versions_of_the_first_object_that_has_it(site: Site) -> None:
    """A definition and an object with its new field are often applied together; what was carried for want of the field
    would be hidden from whoever works in the other version."""
    async with staged(site) as stage:
        kind = stage.kind
        await _gets_notes(kind)

        async def is_kept() -> bool:
            """The API server prunes the field until it has heard of the definition itself."""
            with suppress(NotFound):
                await kind.delete("w", "v2")
            await kind.make("w", size=1, colour="red", note="new")
            return "note" in (await kind.live("w"))["spec"]

        await site.until(is_kept, every=0.01)
        found = await kind.live("w", "v2")

        assert found["spec"] == {"size": 1, "paint": {"colour": "red"}, "note": "new"}
        assert carried(found) == carried(await kind.live("w")) == []
