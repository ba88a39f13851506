"""Server-side apply and the owners that every write of a request leaves behind, on the embedded cluster."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kubeloop.request import JSON_PATCH, Response
from kubesim.kinds.registry import CONFIG_MAPS, DEPLOYMENTS, ROLE_BINDINGS, ROLES
from kubesim.store.versions import Event
from tests.kubesim.desk import MAP, Desk, Tree, a_deployment, a_map, decoded, owners_in, played
from tests.kubesim.trees import a_binding, a_role, a_rule, a_user

MAPS = MAP.rpartition("/")[0]
SETS = "/apis/apps/v1/namespaces/default/deployments"


# Applying


def test_what_is_applied_is_created_and_owned() -> None:
    async def script(desk: Desk) -> Any:
        answer = await desk.apply(a_map({"a": "1"}, labels={"x": "1"}))
        return answer.status, decoded(answer), await desk.read()

    status, answered, stored = played(script)

    assert status == 201
    assert answered == stored
    assert stored["data"] == {"a": "1"}
    [entry] = stored["metadata"]["managedFields"]
    assert entry == {
        "manager": "one",
        "operation": "Apply",
        "apiVersion": "v1",
        "time": stored["metadata"]["creationTimestamp"],
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:a": {}}, "f:metadata": {"f:labels": {"f:x": {}}}},
    }


def test_defaults_belong_to_whoever_creates_and_to_nobody_who_applies() -> None:
    async def script(desk: Desk) -> Any:
        await desk.apply(a_deployment(), path=f"{SETS}/web")
        await desk.send("POST", SETS, a_deployment() | {"metadata": {"name": "made"}}, fieldManager="one")
        return await desk.owned(f"{SETS}/web"), await desk.owned(f"{SETS}/made")

    applied, made = played(script)

    assert applied["one Apply"]["f:spec"].keys() == {"f:selector", "f:template"}
    assert "f:progressDeadlineSeconds" in made["one Update"]["f:spec"]
    assert made["one Update"]["f:spec"]["f:strategy"]["f:rollingUpdate"].keys() == {
        ".",
        "f:maxSurge",
        "f:maxUnavailable",
    }


def test_somebody_elses_value_is_a_conflict() -> None:
    async def script(desk: Desk) -> Any:
        await desk.apply(a_map({"a": "1"}), "first")
        return await desk.apply(a_map({"a": "2"}), "second"), await desk.read()

    refused, stored = played(script)

    assert refused.status == 409
    assert decoded(refused)["reason"] == "Conflict"
    assert decoded(refused)["message"] == 'Apply failed with 1 conflict: conflict with "first": .data.a'
    assert decoded(refused)["details"]["causes"] == [
        {"reason": "FieldManagerConflict", "message": 'conflict with "first"', "field": ".data.a"}
    ]
    assert stored["data"] == {"a": "1"}


def test_conflicts_with_several_are_told_by_manager() -> None:
    async def script(desk: Desk) -> Any:
        await desk.apply(a_map({"a": "1"}), "first")
        await desk.merge({"data": {"b": "1", "c": "1"}}, "second")
        return await desk.apply(a_map({"a": "2", "b": "2", "c": "2"}), "third")

    assert decoded(played(script))["message"] == (
        "Apply failed with 3 conflicts: "
        'conflicts with "first":\n- .data.a\n'
        'conflicts with "second" using v1:\n- .data.b\n- .data.c'
    )


def test_force_takes_the_field() -> None:
    async def script(desk: Desk) -> Any:
        await desk.apply(a_map({"a": "1", "b": "1"}), "first")
        await desk.apply(a_map({"a": "2"}), "second", force="true")
        return await desk.read()

    stored = played(script)

    assert stored["data"] == {"a": "2", "b": "1"}
    assert owners_in(stored) == {"first Apply": {"f:data": {"f:b": {}}}, "second Apply": {"f:data": {"f:a": {}}}}


def test_the_same_value_is_shared() -> None:
    async def script(desk: Desk) -> Any:
        await desk.apply(a_map({"a": "1"}), "first")
        await desk.apply(a_map({"a": "1"}), "second")
        shared = await desk.owned()
        await desk.apply(a_map(), "first")
        return shared, await desk.read()

    shared, stored = played(script)

    assert shared == {"first Apply": {"f:data": {"f:a": {}}}, "second Apply": {"f:data": {"f:a": {}}}}
    assert stored["data"] == {"a": "1"}
    assert owners_in(stored) == {"second Apply": {"f:data": {"f:a": {}}}}


def test_what_is_no_longer_applied_goes_unless_somebody_else_has_it() -> None:
    async def script(desk: Desk) -> Any:
        await desk.apply(a_map({"a": "1", "b": "1"}))
        await desk.merge({"data": {"c": "1"}})
        await desk.apply(a_map({"b": "1"}))
        return await desk.read()

    assert played(script)["data"] == {"b": "1", "c": "1"}


def test_items_of_a_list_are_applied_one_by_one() -> None:
    async def script(desk: Desk) -> Any:
        path = f"{SETS}/web"
        await desk.apply(a_deployment(), "first", path)
        extra = a_deployment()
        extra["spec"]["template"]["spec"]["containers"] = [{"name": "side", "image": "side:1"}]
        added = await desk.apply(extra, "second", path)
        del extra["spec"]["template"]["spec"]["containers"]
        removed = await desk.apply(extra, "second", path)
        return [names(answer) for answer in (added, removed)]

    def names(answer: Response) -> list[str]:
        return [each["name"] for each in decoded(answer)["spec"]["template"]["spec"]["containers"]]

    assert played(script) == [["web", "side"], ["web"]]


def test_nothing_happens_when_nothing_changes() -> None:
    async def script(desk: Desk) -> Any:
        first = decoded(await desk.apply(a_map({"a": "1"})))
        events: list[Event] = []
        desk.cluster.store.listen(lambda _resource, event, _author: events.append(event))
        await asyncio.sleep(5)
        again = decoded(await desk.apply(a_map({"a": "1"})))
        return first, again, events

    first, again, events = played(script)

    assert again == first
    assert events == []


def test_to_become_an_owner_is_a_change() -> None:
    async def script(desk: Desk) -> Any:
        first = decoded(await desk.apply(a_map({"a": "1"}), "first"))
        return first, decoded(await desk.apply(a_map({"a": "1"}), "second"))

    first, second = played(script)

    assert first["metadata"]["resourceVersion"] != second["metadata"]["resourceVersion"]
    assert "second Apply" in owners_in(second)


def test_a_dry_run_stores_nothing() -> None:
    async def script(desk: Desk) -> Any:
        answer = await desk.apply(a_map({"a": "1"}), dryRun="All")
        return answer, await desk.send("GET", MAP)

    answer, found = played(script)

    assert answer.status == 201
    assert owners_in(decoded(answer)) == {"one Apply": {"f:data": {"f:a": {}}}}
    assert found.status == 404


def test_yaml_is_applied_too() -> None:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata:\n  since: 2030-01-01\n  on: 'yes'\n"

    async def script(desk: Desk) -> Any:
        return await desk.apply(text)

    assert decoded(played(script))["data"] == {"since": "2030-01-01", "true": "yes"}


REFUSED: dict[str, tuple[Tree | bytes, str, int, str]] = {
    "a manager is needed": (a_map(), "", 422, "fieldManager: Required value: is required for apply patch"),
    "entries are not applied": (a_map(managedFields=[]), "one", 400, "metadata.managedFields must be nil"),
    "another kind": (a_map() | {"kind": "Secret"}, "one", 400, "invalid object type: /v1, Kind=Secret"),
    "no kind": ({"metadata": {"name": "settings"}}, "one", 400, "invalid object type: /, Kind="),
    "a field that is not known": (
        a_map() | {"odd": 1},
        "one",
        500,
        "failed to create typed patch object (/settings; /v1, Kind=ConfigMap): .odd: field not declared in schema",
    ),
    "a uid of what is not there": (
        a_map(uid="u"),
        "one",
        409,
        "uid mismatch: the provided object specified uid u, and no existing object was found",
    ),
    "no YAML": (b"a: b: c", "one", 400, "error decoding YAML: error converting YAML to JSON: yaml: "),
    "no object": (
        b"[]",
        "one",
        400,
        "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]",
    ),
}


@pytest.mark.parametrize(("tree", "manager", "code", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_applied_is_refused(tree: Tree | bytes, manager: str, code: int, words: str) -> None:
    async def script(desk: Desk) -> Any:
        return await desk.apply(tree, manager), await desk.send("GET", MAP)

    refused, found = played(script)

    assert refused.status == code
    assert words in decoded(refused)["message"]
    assert found.status == 404


def test_keys_said_twice_are_warned_about_or_refused() -> None:
    twice = b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings"},"data":{"a":"1","a":"2"}}'

    async def script(desk: Desk) -> Any:
        strict = await desk.apply(twice, fieldValidation="Strict")
        return strict, await desk.apply(twice), await desk.apply(twice, fieldValidation="Ignore")

    strict, warned, ignored = played(script)

    assert strict.status == 400
    assert 'line 1: key "a" already set in map' in decoded(strict)["message"]
    assert warned.headers["warning"] == '299 - "line 1: key \\"a\\" already set in map"'
    assert decoded(warned)["data"] == {"a": "2"}
    assert "warning" not in ignored.headers


def test_an_old_version_is_refused() -> None:
    async def script(desk: Desk) -> Any:
        first = decoded(await desk.apply(a_map({"a": "1"})))["metadata"]["resourceVersion"]
        await desk.merge({"data": {"b": "1"}})
        return await desk.apply(a_map({"a": "2"}, resourceVersion=first))

    assert played(script).status == 409


def test_who_may_patch_but_not_create_creates_nothing() -> None:
    async def script(desk: Desk) -> Any:
        verbs = desk.cluster.verbs
        verbs.create(ROLES, "default", a_role(a_rule("patch get", "configmaps")), user="admin")
        verbs.create(ROLE_BINDINGS, "default", a_binding(a_user("ann")), user="admin")
        hers = Desk(desk.cluster, "ann")
        refused = await hers.apply(a_map({"a": "1"}))
        await desk.apply(a_map())
        return refused, await hers.apply(a_map({"a": "1"}))

    refused, allowed = played(script)

    assert refused.status == 403
    assert 'cannot create resource "configmaps"' in decoded(refused)["message"]
    assert allowed.status == 200


# Owners of other writes


def test_a_program_is_known_by_its_agent() -> None:
    async def script(desk: Desk) -> Any:
        await desk.send("POST", MAPS, a_map({"a": "1"}))
        return await desk.owned()

    assert played(script) == {"program Update": {"f:data": {".": {}, "f:a": {}}}}


def test_who_updates_takes_what_changes() -> None:
    async def script(desk: Desk) -> Any:
        await desk.apply(a_map({"a": "1", "b": "1"}))
        await desk.send("PUT", MAP, a_map({"a": "2"}), fieldManager="two")
        return await desk.owned()

    assert played(script) == {"two Update": {"f:data": {"f:a": {}}}}


def test_the_same_manager_is_another_in_a_subresource() -> None:
    async def script(desk: Desk) -> Any:
        path = f"{SETS}/web"
        await desk.apply(a_deployment(), path=path)
        await desk.merge({"status": {"replicas": 1}}, "one", f"{path}/status")
        return (await desk.read(path))["metadata"]["managedFields"]

    [applied, status] = played(script)

    assert "subresource" not in applied
    assert (status["manager"], status["subresource"]) == ("one", "status")
    assert status["fieldsV1"] == {"f:status": {"f:replicas": {}}}


def test_who_scales_takes_the_replicas() -> None:
    async def script(desk: Desk) -> Any:
        path = f"{SETS}/web"
        await desk.apply(a_deployment(replicas=2), path=path)
        await desk.merge({"spec": {"replicas": 3}}, "scaler", f"{path}/scale")
        return await desk.owned(path), await desk.apply(a_deployment(replicas=2), path=path)

    owned, refused = played(script)

    assert owned["scaler Update"] == {"f:spec": {"f:replicas": {}}}
    assert "f:replicas" not in owned["one Apply"]["f:spec"]
    assert decoded(refused)["details"]["causes"] == [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "scaler" with subresource "scale" using apps/v1',
            "field": ".spec.replicas",
        }
    ]


def test_controllers_leave_owners_as_they_are() -> None:
    async def script(desk: Desk) -> Any:
        await desk.apply(a_deployment(), path=f"{SETS}/web")
        before = await desk.owned(f"{SETS}/web")
        tree = desk.cluster.verbs.read(DEPLOYMENTS, "default", "web")
        tree["metadata"].pop("managedFields")
        tree["spec"]["paused"] = True
        desk.cluster.verbs.update(DEPLOYMENTS, "default", "web", tree, user="controller")
        return before, await desk.owned(f"{SETS}/web")

    before, after = played(script)

    assert after == before


def test_what_a_controller_makes_is_tracked_when_somebody_applies() -> None:
    async def script(desk: Desk) -> Any:
        desk.cluster.verbs.create(CONFIG_MAPS, "default", a_map({"a": "1"}), user="controller")
        await desk.merge({"data": {"b": "1"}})
        untracked = await desk.owned()
        await desk.apply(a_map({"c": "1"}))
        return untracked, await desk.owned()

    untracked, tracked = played(script)

    assert untracked == {}
    assert tracked == {
        "one Apply": {"f:data": {"f:c": {}}},
        "before-first-apply Update": {"f:data": {".": {}, "f:a": {}, "f:b": {}}},
    }


@pytest.mark.parametrize("by", ["somebody", "a controller"])
def test_what_is_empty_is_not_stored(by: str) -> None:
    async def script(desk: Desk) -> Any:
        if by == "a controller":
            desk.cluster.verbs.create(CONFIG_MAPS, "default", a_map({"a": "1"}), user="controller")
        else:
            await desk.send("POST", MAPS, a_map({"a": "1"}) | {"binaryData": {}})
        await desk.send("PUT", MAP, a_map({}, labels={}))
        return await desk.read()

    stored = played(script)

    assert {"data", "binaryData"} & stored.keys() == set()
    assert "labels" not in stored["metadata"]


def test_ownership_is_given_up() -> None:
    async def script(desk: Desk) -> Any:
        await desk.apply(a_map({"a": "1"}))
        await desk.merge({"metadata": {"managedFields": [{}]}})
        return await desk.read()

    assert "managedFields" not in played(script)["metadata"]


def test_kubectl_moves_its_entries_by_a_patch() -> None:
    entry = {
        "manager": "kubectl",
        "operation": "Apply",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": {"f:data": {"f:a": {}}},
    }

    async def script(desk: Desk) -> Any:
        made = decoded(await desk.send("POST", MAPS, a_map({"a": "1"}), fieldManager="kubectl-client-side-apply"))
        moved = [
            {"op": "replace", "path": "/metadata/managedFields", "value": [entry]},
            {"op": "replace", "path": "/metadata/resourceVersion", "value": made["metadata"]["resourceVersion"]},
        ]
        await desk.send("PATCH", MAP, moved, JSON_PATCH)
        return await desk.owned(), await desk.apply(a_map({"a": "2"}), "kubectl")

    owned, applied = played(script)

    assert owned == {"kubectl Apply": {"f:data": {"f:a": {}}}}
    assert applied.status == 200
