"""Definitions of custom resources, and the objects they define, on both clusters to the word."""

from __future__ import annotations

import msgspec
import pytest

from kubeloop.request import Request, path_of
from tests.e2e.bad_definitions import BAD_DEFINITIONS, BAD_WIDGETS, INVALID
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.definitions import (
    GROUP,
    MERGE,
    NAME,
    SPEC,
    WIDGETS,
    WIDGETS_BETA,
    Tree,
    a_definition,
    a_schema,
    a_shop,
    a_version,
    a_widget,
    an_empty_shop,
    refusal,
    tree_of,
)

pytestmark = pytest.mark.fidelity


@everywhere(controllers=False)
async def test_every_broken_rule_of_a_schema_is_told_in_the_servers_words(site: Site) -> None:
    async with a_shop(site) as shop:
        refused = {
            case: refusal(await shop.send("POST", shop.at(), a_widget("bad", **spec)))
            for case, (spec, _) in BAD_WIDGETS.items()
        }

    assert refused == {case: (422, "Invalid", sorted(causes)) for case, (_, causes) in BAD_WIDGETS.items()}


@everywhere(controllers=False)
async def test_objects_come_in_pruned_and_with_defaults(site: Site) -> None:
    sent = a_widget(
        unknown=1,
        note=None,
        color=None,
        on=None,
        parts=[{"name": "a", "x": 1}, {"name": "b", "count": 5}],
        free={"any": {"thing": 1}, "n": 3},
        template={"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "nope": 1}, "more": 1},
        limit="50%",
        since="2030-01-01T00:00:00Z",
    )
    sent["extra"] = {}

    async with a_shop(site) as shop:
        made = tree_of(await shop.send("POST", shop.at(), sent))

    assert "extra" not in made
    assert made["spec"] == {
        "size": 1,
        "replicas": 1,
        "color": "red",
        "note": None,
        "parts": [{"name": "a", "count": 2}, {"name": "b", "count": 5}],
        "free": {"any": {"thing": 1}, "n": 3},
        "template": {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}},
        "limit": "50%",
        "since": "2030-01-01T00:00:00Z",
    }


@everywhere(controllers=False)
async def test_strict_validation_refuses_unknown_fields(site: Site) -> None:
    sent = a_widget(unknown=1, parts=[{"name": "a", "x": 1}])
    sent["metadata"]["odd"] = 1

    async with a_shop(site) as shop:
        refused = await shop.send("POST", shop.at(), sent, fieldValidation="Strict")
        taken = await shop.send("POST", shop.at(), sent, fieldValidation="Ignore")
        change = {"spec": {"other": 1}}
        patched = await shop.send("PATCH", shop.at("one"), change, kind=MERGE, fieldValidation="Strict")

    assert (refused.status, tree_of(refused)["reason"]) == (400, "BadRequest")
    assert tree_of(refused)["message"] == (
        'Widget in version "v1" cannot be handled as a Widget: strict decoding error: '
        'unknown field "metadata.odd", unknown field "spec.parts[0].x", unknown field "spec.unknown"'
    )
    assert taken.status == 201
    assert (patched.status, tree_of(patched)["reason"]) == (422, "Invalid")
    assert 'strict decoding error: unknown field "spec.other"' in tree_of(patched)["message"]


@everywhere(controllers=False)
async def test_generation_counts_changes_of_all_but_metadata_and_status(site: Site) -> None:
    async def generation(change: Tree, subresource: str = "") -> tuple[int, int]:
        answer = await shop.send("PATCH", shop.at("one", subresource), change, kind=MERGE)
        return answer.status, tree_of(answer)["metadata"]["generation"]

    async with a_shop(site) as shop:
        await shop.send("POST", shop.at(), a_widget())

        counted = [
            await generation({"metadata": {"labels": {"a": "b"}}}),
            await generation({"status": {"phase": "Good"}}),
            await generation({"status": {"phase": "Good"}, "spec": {"size": 9}}, "status"),
            await generation({"spec": {"size": 2}}),
            await generation({"spec": {"size": 2}}),
        ]
        found = tree_of(await shop.send("GET", shop.at("one")))

    assert counted == [(200, 1), (200, 1), (200, 1), (200, 2), (200, 2)]
    assert (found["spec"]["size"], found["status"]) == (2, {"phase": "Good"})


@everywhere(controllers=False)
async def test_without_the_status_subresource_every_change_but_of_metadata_counts(site: Site) -> None:
    async with a_shop(site, a_version(subresources={})) as shop:
        made = tree_of(await shop.send("POST", shop.at(), a_widget() | {"status": {"phase": "Good"}}))
        changed = tree_of(await shop.send("PATCH", shop.at("one"), {"status": {"phase": "Bad"}}, kind=MERGE))
        labelled = {"metadata": {"labels": {"a": "b"}}}
        after = tree_of(await shop.send("PATCH", shop.at("one"), labelled, kind=MERGE))
        absent = await shop.send("GET", shop.at("one", "status"))

    assert made["status"] == {"phase": "Good"}
    assert [each["metadata"]["generation"] for each in (made, changed, after)] == [1, 2, 2]
    assert absent.status == 404


@everywhere(controllers=False)
async def test_status_is_written_alone_and_checked(site: Site) -> None:
    async with a_shop(site) as shop:
        await shop.send("POST", shop.at(), a_widget() | {"status": {"phase": "Good"}})
        change = {"metadata": {"labels": {"x": "y"}}, "spec": {"size": 7}, "status": {"phase": "Bad", "odd": 1}}
        written = tree_of(await shop.send("PATCH", shop.at("one", "status"), change, kind=MERGE))
        wrong = {"status": {"phase": "Odd", "replicas": -1}}
        refused = await shop.send("PATCH", shop.at("one", "status"), wrong, kind=MERGE)

    assert written["status"] == {"phase": "Bad"}
    assert written["spec"]["size"] == 1
    assert "labels" not in written["metadata"]
    assert refusal(refused) == (
        422,
        "Invalid",
        [
            (".status.replicas", INVALID, "Invalid value: -1: should be a non-negative integer"),
            ("status.phase", "FieldValueNotSupported", 'Unsupported value: "Odd": supported values: "Good", "Bad"'),
            ("status.replicas", INVALID, "Invalid value: -1: replicas in body should be greater than or equal to 0"),
        ],
    )


@everywhere(controllers=False)
async def test_scale_is_read_and_written_at_the_paths_of_the_definition(site: Site) -> None:
    async with a_shop(site) as shop:
        await shop.send("POST", shop.at(), a_widget(replicas=3))
        status = {"status": {"replicas": 2, "selector": "app=one"}}
        await shop.send("PATCH", shop.at("one", "status"), status, kind=MERGE)
        before = tree_of(await shop.send("GET", shop.at("one", "scale")))
        scaled = tree_of(await shop.send("PATCH", shop.at("one", "scale"), {"spec": {"replicas": 5}}, kind=MERGE))
        after = tree_of(await shop.send("GET", shop.at("one")))
        stale = await shop.send("PUT", shop.at("one", "scale"), before | {"spec": {"replicas": 9}})
        negative = await shop.send("PATCH", shop.at("one", "scale"), {"spec": {"replicas": -1}}, kind=MERGE)

    assert (before["kind"], before["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert (before["spec"], before["status"]) == ({"replicas": 3}, {"replicas": 2, "selector": "app=one"})
    assert scaled["spec"] == {"replicas": 5}
    assert (after["spec"]["replicas"], after["metadata"]["generation"]) == (5, 2)
    assert stale.status == 409
    assert refusal(negative)[:2] == (422, "Invalid")


@everywhere(controllers=False)
async def test_an_object_without_replicas_has_no_scale(site: Site) -> None:
    schema = a_schema(spec=SPEC | {"properties": {**SPEC["properties"], "replicas": {"type": "integer"}}})

    async with a_shop(site, a_version(schema=schema)) as shop:
        await shop.send("POST", shop.at(), a_widget())
        answer = await shop.send("GET", shop.at("one", "scale"))
        set_first = await shop.send("PATCH", shop.at("one", "scale"), {"spec": {"replicas": 2}}, kind=MERGE)

    assert (answer.status, tree_of(answer)["reason"]) == (500, "InternalError")
    assert 'the spec replicas field ".spec.replicas" does not exist' in tree_of(answer)["message"]
    assert tree_of(set_first)["spec"] == {"replicas": 2}


@everywhere(controllers=False)
async def test_all_served_versions_show_the_same_objects(site: Site) -> None:
    async with a_shop(site) as shop:
        await shop.send("POST", shop.at(), a_widget("new"))
        old = a_widget("old") | {"apiVersion": WIDGETS_BETA.api_version}
        made = tree_of(await shop.send("POST", shop.at(resource=WIDGETS_BETA), old))
        beta = tree_of(await shop.send("GET", shop.at(resource=WIDGETS_BETA)))
        stable = tree_of(await shop.send("GET", shop.at("old")))
        change = {"spec": {"size": 4}}
        changed = tree_of(await shop.send("PATCH", shop.at("old", "", WIDGETS_BETA), change, kind=MERGE))

    assert made["apiVersion"] == f"{GROUP}/v1beta1"
    assert (beta["kind"], beta["apiVersion"]) == ("WidgetList", f"{GROUP}/v1beta1")
    assert [each["metadata"]["name"] for each in beta["items"]] == ["new", "old"]
    assert {each["apiVersion"] for each in beta["items"]} == {f"{GROUP}/v1beta1"}
    assert (stable["apiVersion"], stable["metadata"]["uid"]) == (f"{GROUP}/v1", made["metadata"]["uid"])
    assert (changed["apiVersion"], changed["spec"]["size"]) == (f"{GROUP}/v1beta1", 4)


@everywhere(controllers=False)
async def test_patches_that_custom_resources_take(site: Site) -> None:
    async with a_shop(site) as shop:
        await shop.send("POST", shop.at(), a_widget())
        steps = [{"op": "replace", "path": "/spec/size", "value": 3}]
        stepped = await shop.send("PATCH", shop.at("one"), steps, kind="application/json-patch+json")
        strategic = "application/strategic-merge-patch+json"
        refused = await shop.send("PATCH", shop.at("one"), {"spec": {"size": 4}}, kind=strategic)

    assert tree_of(stepped)["spec"]["size"] == 3
    assert (refused.status, tree_of(refused)["reason"]) == (415, "UnsupportedMediaType")


@everywhere(controllers=False)
async def test_a_put_must_name_the_version_it_is_based_on(site: Site) -> None:
    async with a_shop(site) as shop:
        made = tree_of(await shop.send("POST", shop.at(), a_widget()))
        blind = await shop.send("PUT", shop.at("one"), a_widget(size=5))
        based = await shop.send("PUT", shop.at("one"), made | {"spec": {"size": 5}})

    assert refusal(blind)[:2] == (422, "Invalid")
    assert [field for field, _, _ in refusal(blind)[2]] == ["metadata.resourceVersion"]
    assert tree_of(based)["spec"]["size"] == 5


@everywhere(controllers=False)
async def test_selectors_find_custom_resources(site: Site) -> None:
    version = a_version(selectableFields=[{"jsonPath": ".spec.color"}])

    async with a_shop(site, version) as shop:
        for name, color in (("a", "red"), ("b", "green")):
            sent = a_widget(name, color=color)
            sent["metadata"]["labels"] = {"name": name}
            await shop.send("POST", shop.at(), sent)
        by_label = tree_of(await shop.send("GET", shop.at(), labelSelector="name=b"))
        by_field = tree_of(await shop.send("GET", shop.at(), fieldSelector="spec.color=red"))
        refused = await shop.send("GET", shop.at(), fieldSelector="spec.size=1")

    assert [each["metadata"]["name"] for each in by_label["items"]] == ["b"]
    assert [each["metadata"]["name"] for each in by_field["items"]] == ["a"]
    assert (refused.status, tree_of(refused)["message"]) == (400, "field label not supported: spec.size")


@everywhere(controllers=False)
async def test_discovery_shows_what_a_definition_says(site: Site) -> None:
    async with a_shop(site) as shop:

        async def is_discovered() -> bool:
            return (await shop.send("GET", f"/apis/{GROUP}/v1beta1")).status == 200

        await site.until(is_discovered, every=0.1)
        group = tree_of(await shop.send("GET", f"/apis/{GROUP}"))
        resources = tree_of(await shop.send("GET", f"/apis/{GROUP}/v1"))["resources"]

    assert [each["version"] for each in group["versions"]] == ["v1", "v1beta1"]
    assert group["preferredVersion"]["version"] == "v1"
    shown = {each["name"]: each for each in resources}
    assert sorted(shown) == ["widgets", "widgets/scale", "widgets/status"]
    widgets = shown["widgets"]
    assert (widgets["kind"], widgets["singularName"], widgets["namespaced"]) == ("Widget", "widget", True)
    assert (widgets["shortNames"], widgets["categories"]) == (["wi"], ["goods"])
    assert {"create", "watch", "deletecollection"} <= set(widgets["verbs"])
    scale = shown["widgets/scale"]
    assert (scale["group"], scale["version"], scale["kind"]) == ("autoscaling", "v1", "Scale")


@everywhere(controllers=False)
async def test_a_definition_says_what_became_of_it(site: Site) -> None:
    async with a_shop(site) as shop:
        found = tree_of(await shop.send("GET", path_of(CUSTOM_RESOURCES, name=NAME)))

    conditions = {each["type"]: (each["status"], each["reason"]) for each in found["status"]["conditions"]}
    assert conditions == {"NamesAccepted": ("True", "NoConflicts"), "Established": ("True", "InitialNamesAccepted")}
    assert found["status"]["acceptedNames"] == {
        "plural": "widgets",
        "singular": "widget",
        "kind": "Widget",
        "listKind": "WidgetList",
        "shortNames": ["wi"],
        "categories": ["goods"],
    }
    assert found["status"]["storedVersions"] == ["v1"]
    assert found["spec"]["conversion"] == {"strategy": "None"}
    assert found["metadata"]["generation"] == 1


@everywhere(controllers=False)
async def test_a_deleted_definition_takes_its_objects_and_its_resource_along(site: Site) -> None:
    async with a_shop(site) as shop:
        held = a_widget("held")
        held["metadata"]["finalizers"] = ["example.com/hold"]
        for tree in (a_widget(), held):
            await shop.send("POST", shop.at(), tree)
        gone: list[str] = []
        site.start(_record_deletions(site, gone))
        answer = tree_of(await shop.send("DELETE", path_of(CUSTOM_RESOURCES, name=NAME)))

        async def only_the_held_one_is_left() -> bool:
            items = tree_of(await shop.send("GET", shop.at()))["items"]
            return [each["metadata"]["name"] for each in items] == ["held"]

        await site.until(only_the_held_one_is_left, every=0.1)
        refused = await shop.send("POST", shop.at(), a_widget("late"))
        freed = await shop.send("PATCH", shop.at("held"), {"metadata": {"finalizers": None}}, kind=MERGE)
        assert freed.status == 200, freed.body
        await site.until(lambda: NAME not in site.history.objects(CUSTOM_RESOURCES))

        async def is_gone() -> bool:
            return (await shop.send("GET", shop.at())).status == 404

        await site.until(is_gone, every=0.1)
        await site.until(lambda: len(gone) == 2, every=0.1)

    assert gone == ["one", "held"]
    assert answer["kind"] == "CustomResourceDefinition"
    assert answer["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    assert (refused.status, tree_of(refused)["reason"]) == (403, "Forbidden")
    assert "create not allowed while custom resource definition is terminating" in tree_of(refused)["message"]


async def _record_deletions(site: Site, gone: list[str]) -> None:
    """Of widgets, as a watch tells them until it ends."""
    watch = Request("GET", path_of(WIDGETS, site.namespace), query=(("watch", "true"),))
    async with site.client.stream(watch) as lines:
        async for line in lines:
            event = msgspec.json.decode(line)
            if event["type"] == "DELETED":
                gone.append(event["object"]["metadata"]["name"])


@everywhere(controllers=False)
async def test_a_stricter_schema_does_not_hold_up_changes_elsewhere(site: Site) -> None:
    strict = {
        **SPEC["properties"],
        "size": {"type": "integer", "maximum": 3},
        "late": {"type": "string", "default": "x"},
    }
    versions = [a_version(schema=a_schema(spec=SPEC | {"properties": strict}), name=name) for name in ("v1", "v2")]

    async with a_shop(site) as shop:
        await shop.send("POST", shop.at(), a_widget(size=5, code="ab"))
        spec = {"spec": {"versions": [versions[0] | {"storage": False}, versions[1]]}}
        kept = [*spec["spec"]["versions"], a_version("v1beta1", storage=False)]
        await shop.send("PATCH", path_of(CUSTOM_RESOURCES, name=NAME), {"spec": {"versions": kept}}, kind=MERGE)

        async def shows_the_default() -> Tree | None:
            found = tree_of(await shop.send("GET", shop.at("one")))
            return found if "late" in found["spec"] else None

        seen = await site.until(shows_the_default, every=0.1) or {}
        touched = tree_of(await shop.send("PATCH", shop.at("one"), {}, kind=MERGE))
        again = tree_of(await shop.send("PATCH", shop.at("one"), {}, kind=MERGE))
        elsewhere = await shop.send("PATCH", shop.at("one"), {"spec": {"code": "cd"}}, kind=MERGE)
        itself = await shop.send("PATCH", shop.at("one"), {"spec": {"size": 6}}, kind=MERGE)
        definition = tree_of(await shop.send("GET", path_of(CUSTOM_RESOURCES, name=NAME)))

    assert (seen["apiVersion"], seen["spec"]["late"], seen["metadata"]["generation"]) == (f"{GROUP}/v1", "x", 1)
    # A write of nothing brings the object into its new form, once, and is no change of it.
    versions_of = [each["metadata"]["resourceVersion"] for each in (seen, touched, again)]
    assert versions_of[0] != versions_of[1] == versions_of[2]
    assert touched["metadata"]["generation"] == 1
    assert (elsewhere.status, tree_of(elsewhere)["spec"]["code"]) == (200, "cd")
    assert [field for field, _, _ in refusal(itself)[2]] == ["spec.size"]
    assert definition["status"]["storedVersions"] == ["v1", "v2"]
    assert definition["metadata"]["generation"] == 2


@everywhere(controllers=False)
async def test_names_of_another_definition_are_not_accepted(site: Site) -> None:
    rival = a_definition(a_version(), plural="gadgets", kind="Widget")

    async with a_shop(site) as shop:
        await shop.send("POST", path_of(CUSTOM_RESOURCES), rival)
        name = rival["metadata"]["name"]
        status = await site.until(lambda: status_with_conditions(site, name)) or {}
        absent = await shop.send("GET", f"/apis/{GROUP}/v1/gadgets")

    conditions = {each["type"]: (each["status"], each["reason"], each["message"]) for each in status["conditions"]}
    assert conditions["NamesAccepted"] == ("False", "ListKindConflict", '"WidgetList" is already in use')
    assert conditions["Established"][:2] == ("False", "NotAccepted")
    assert absent.status == 404


def status_with_conditions(site: Site, name: str) -> Tree | None:
    status: Tree = site.history.objects(CUSTOM_RESOURCES).get(name, {}).get("status") or {}
    return status if status.get("conditions") else None


@everywhere(controllers=False)
async def test_a_definition_that_cannot_be_served_is_refused(site: Site) -> None:
    async with an_empty_shop(site) as shop:
        refused = {
            case: refusal(await shop.send("POST", path_of(CUSTOM_RESOURCES), definition))
            for case, (definition, _) in BAD_DEFINITIONS.items()
        }

    assert {answer[:2] for answer in refused.values()} == {(422, "Invalid")}
    told = {case: sorted({field for field, _, _ in causes}) for case, (_, _, causes) in refused.items()}
    assert told == {case: fields for case, (_, fields) in BAD_DEFINITIONS.items()}
