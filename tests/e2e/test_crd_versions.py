"""Custom resources in two versions with a conversion webhook, on both clusters."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager

import pytest

from kubeloop.http_transport import HttpTransport
from kubeloop.objects.meta import Resource
from kubeloop.request import Request, Response, path_of
from tests.e2e.clusters import CUSTOM_RESOURCES, Site, everywhere
from tests.e2e.conversions import (
    NAME,
    V1,
    V2,
    Factory,
    Spoil,
    a_factory,
    a_gadget,
    spoiling,
    spoiling_objects,
    versions,
)
from tests.e2e.definitions import MERGE, Tree, tree_of

pytestmark = pytest.mark.fidelity

DEFINITION = path_of(CUSTOM_RESOURCES, name=NAME)
FROM_V1 = "conversion webhook for shop.example.com/v1, Kind=Gadget"


def failure(answer: Response) -> tuple[int, str, str]:
    status = tree_of(answer)
    return answer.status, status.get("reason", ""), status["message"]


def warning(headers: Mapping[str, str]) -> str:
    return next((value for name, value in headers.items() if name.lower() == "warning"), "")


# Reading and writing


@everywhere(controllers=False)
async def test_objects_are_read_and_written_in_both_versions(site: Site) -> None:
    async with a_factory(site) as factory:
        await factory.create(a_gadget("old", colour="red", size=1))
        made = await factory.create(a_gadget("new", "v2", paint={"colour": "blue"}, size=2))
        seen = await factory.get(V2, "old")
        seen["spec"]["paint"]["colour"] = "green"
        changed = tree_of(await factory.send("PUT", factory.at(V2, "old"), seen))
        patched = await factory.send("PATCH", factory.at(V1, "new"), {"spec": {"colour": "pink"}}, kind=MERGE)
        lists = [tree_of(await factory.send("GET", factory.at(resource))) for resource in (V1, V2)]

    assert (made["apiVersion"], made["spec"]["paint"]) == (V2.api_version, {"colour": "blue"})
    assert (changed["spec"]["paint"], changed["metadata"]["generation"]) == ({"colour": "green"}, 2)
    assert tree_of(patched)["spec"]["colour"] == "pink"
    assert [each["apiVersion"] for each in lists] == [V1.api_version, V2.api_version]
    colours = [[each["spec"].get("colour") for each in lists[0]["items"]]]
    colours.append([each["spec"]["paint"]["colour"] for each in lists[1]["items"]])
    assert colours == [["pink", "green"], ["pink", "green"]]
    assert {each["apiVersion"] for each in lists[1]["items"]} == {V2.api_version}


@everywhere(controllers=False)
async def test_defaults_are_those_of_the_written_version_and_of_the_stored_one(site: Site) -> None:
    async with a_factory(site) as factory:
        await factory.create(a_gadget("old"))
        await factory.create(a_gadget("new", "v2"))
        specs = {name: [(await factory.get(each, name))["spec"] for each in (V1, V2)] for name in ("old", "new")}

    assert specs["old"] == [{"grade": "one"}, {"grade": "one"}]
    assert specs["new"] == [{"grade": "two", "size": 5}, {"grade": "two", "size": 5}]


@everywhere(controllers=False)
async def test_what_a_version_cannot_hold_is_gone_after_a_write_in_it(site: Site) -> None:
    def adding(tree: Tree) -> None:
        tree["odd"] = 1
        tree["spec"]["odd"] = {"deep": 1}

    async with a_factory(site) as factory:
        made = await factory.create(a_gadget("one", "v2", paint={"colour": "red", "finish": "matt"}))
        factory.webhook.spoil = spoiling_objects(adding)
        seen = await factory.get(V2)

    assert made["spec"]["paint"] == {"colour": "red"}
    assert "odd" not in seen
    assert seen["spec"] == {"grade": "two", "size": 5, "paint": {"colour": "red"}}


@everywhere(controllers=False)
async def test_status_is_written_alone_in_either_version(site: Site) -> None:
    async with a_factory(site) as factory:
        await factory.create(a_gadget("one", colour="red"))
        for resource, status in ((V1, {"phase": "Good"}), (V2, {"count": 3})):
            change = {"status": status, "spec": {"size": 9}}
            answer = await factory.send("PATCH", factory.at(resource, "one", "status"), change, kind=MERGE)
            assert answer.status == 200
        seen = await factory.get(V2)

    assert (seen["status"], seen["metadata"]["generation"]) == ({"phase": "Good", "count": 3}, 1)
    assert "size" not in seen["spec"]


@everywhere(controllers=False)
async def test_a_deletion_in_either_version_waits_for_finalizers(site: Site) -> None:
    async with a_factory(site) as factory:
        for name in ("one", "two"):
            tree = a_gadget(name, colour="red")
            tree["metadata"]["finalizers"] = ["example.com/hold"]
            await factory.create(tree)
        marked = tree_of(await factory.send("DELETE", factory.at(V2, "one")))
        freed = {"metadata": {"finalizers": None}}
        await factory.send("PATCH", factory.at(V2, "one"), freed, kind=MERGE)
        gone = await factory.send("GET", factory.at(V1, "one"))
        await factory.send("PATCH", factory.at(V2, "two"), freed, kind=MERGE)
        deleted = await factory.send("DELETE", factory.at(V2, "two"))

    assert marked["apiVersion"] == V2.api_version
    assert (marked["spec"]["paint"], marked["metadata"]["finalizers"]) == ({"colour": "red"}, ["example.com/hold"])
    assert gone.status == 404
    assert tree_of(deleted)["status"] == "Success"


@everywhere(controllers=False)
async def test_webhooks_see_the_stored_object_and_the_version_that_is_wanted(site: Site) -> None:
    async with a_factory(site, reviews=("v2", "v1beta1", "v1")) as factory:
        made = await factory.create(a_gadget("one", colour="red"))
        seen = await factory.get(V2)

    wanted = [each for each in factory.webhook.requests if each["desiredAPIVersion"] == V2.api_version]
    [sent] = wanted[0]["objects"]
    assert (sent["apiVersion"], sent["kind"], sent["spec"]) == (V1.api_version, "Gadget", made["spec"])
    assert sent["metadata"]["uid"] == made["metadata"]["uid"]
    assert "resourceVersion" not in sent["metadata"]
    assert seen["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


# Watching


@asynccontextmanager
async def watched(site: Site, path: str) -> AsyncIterator[tuple[str, AsyncIterator[Tree]]]:
    """The warning of an open watch, and its events."""
    transport = site.ground.transport("admin")
    try:
        async with transport.stream(Request("GET", path, (("watch", "true"),))) as stream:
            assert stream.status == 200

            async def events() -> AsyncIterator[Tree]:
                async for line in stream:
                    yield json.loads(line)

            yield warning(stream.headers), events()
    finally:
        if isinstance(transport, HttpTransport):
            await transport.close()


async def first_events(factory: Factory, resource: Resource, count: int, opened: asyncio.Event) -> list[Tree]:
    """The first events of a watch; the real server refuses one while it still reads what there is."""
    path = factory.at(resource)

    async def is_ready() -> bool:
        return (await factory.send("GET", path, watch="true", timeoutSeconds="1")).status == 200

    if factory.site.real:
        await factory.site.until(is_ready, every=0.1)
    found: list[Tree] = []
    async with watched(factory.site, path) as (_, events):
        opened.set()
        async for event in events:
            found.append(event)
            if len(found) == count:
                break
    return found


@everywhere(controllers=False)
async def test_watches_show_every_event_in_order_in_their_own_version(site: Site) -> None:
    async with a_factory(site) as factory, asyncio.TaskGroup() as group:
        opened = [asyncio.Event(), asyncio.Event()]
        tasks = [
            group.create_task(first_events(factory, resource, 4, event))
            for resource, event in zip((V1, V2), opened, strict=True)
        ]
        for event in opened:
            await event.wait()
        await factory.create(a_gadget("one", colour="red"))
        for resource, spec in ((V1, {"colour": "green"}), (V2, {"paint": {"colour": "blue"}})):
            await factory.send("PATCH", factory.at(resource, "one"), {"spec": spec}, kind=MERGE)
        await factory.send("DELETE", factory.at(V1, "one"))
        found = [await task for task in tasks]

    for resource, events in zip((V1, V2), found, strict=True):
        assert [each["type"] for each in events] == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]
        assert {each["object"]["apiVersion"] for each in events} == {resource.api_version}
    assert [each["object"]["spec"]["colour"] for each in found[0]] == ["red", "green", "blue", "blue"]
    assert [each["object"]["spec"]["paint"]["colour"] for each in found[1]] == ["red", "green", "blue", "blue"]
    versions_seen = [[each["object"]["metadata"]["resourceVersion"] for each in events] for events in found]
    assert versions_seen[0] == versions_seen[1]


# Faults


BAD_ANSWERS: dict[str, tuple[Spoil, str]] = {
    "the message of a failure": (
        spoiling(result={"status": "Failure", "message": "not today"}, convertedObjects=[]),
        "failed: not today",
    ),
    "a failure without words": (
        spoiling(result={"status": "Failure"}),
        "failed: response.result.status was 'Failure', not 'Success'",
    ),
    "no result": (spoiling(result=None), "failed: response.result.status was '', not 'Success'"),
    "too few objects": (spoiling(convertedObjects=[]), "returned 0 objects, expected 1"),
    "no response": (
        lambda review: {key: review[key] for key in ("apiVersion", "kind")},
        "failed: no response provided",
    ),
    "no review": (
        lambda review: {},
        "failed: expected webhook response of apiextensions.k8s.io/v1, Kind=ConversionReview, got /, Kind=",
    ),
    "a review of another version": (
        lambda review: review | {"apiVersion": "apiextensions.k8s.io/v1beta1"},
        "failed: converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion",
    ),
    "another version": (
        spoiling_objects(lambda tree: tree.update(apiVersion="shop.example.com/v3")),
        (
            "returned invalid object at index 0: invalid groupVersion "
            "(expected shop.example.com/v2, received shop.example.com/v3)"
        ),
    ),
    "another kind": (
        spoiling_objects(lambda tree: tree.update(kind="Widget")),
        "returned invalid object at index 0: invalid kind (expected Gadget, received Widget)",
    ),
    "another name": (
        spoiling_objects(lambda tree: tree["metadata"].update(name="two")),
        "returned invalid object: must have the same name: one != two",
    ),
    "another UID": (
        spoiling_objects(lambda tree: tree["metadata"].update(uid=None)),
        "returned invalid object: must have the same UID: UID != ",
    ),
    "another namespace": (
        spoiling_objects(lambda tree: tree["metadata"].update(namespace="far")),
        "returned invalid object: must have the same namespace: NAMESPACE != far",
    ),
    "labels that are no text": (
        spoiling_objects(lambda tree: tree["metadata"].update(labels={"a": 1})),
        "returned invalid metadata: metadata.labels[a] must be a string, but is int64 in converted object",
    ),
    "labels that are no map": (
        spoiling_objects(lambda tree: tree["metadata"].update(labels=["a"])),
        "returned invalid metadata: invalid metadata.labels of type []interface {} in converted object",
    ),
    "annotations that are too long": (
        spoiling_objects(lambda tree: tree["metadata"].update(annotations={"a": "b" * 262144})),
        "returned invalid metadata: metadata.annotation: Too long: may not be more than 262144 bytes",
    ),
}


@everywhere(controllers=False)
async def test_wrong_answers_of_a_webhook_are_told_in_the_servers_words(site: Site) -> None:
    async with a_factory(site) as factory:
        made = await factory.create(a_gadget("one", colour="red"))
        told = {}
        for case, (spoil, _) in BAD_ANSWERS.items():
            factory.webhook.spoil = spoil
            told[case] = failure(await factory.send("GET", factory.at(V2, "one")))
        factory.webhook.spoil = spoiling(uid="another")
        wrong_uid = failure(await factory.send("GET", factory.at(V2, "one")))

    facts = {"UID": made["metadata"]["uid"], "NAMESPACE": site.namespace}
    expected = {}
    for case, (_, text) in BAD_ANSWERS.items():
        told_as = re.sub(": (UID|NAMESPACE) !=", lambda word: f": {facts[word[1]]} !=", text)
        expected[case] = (500, "", f"{FROM_V1} {told_as}")
    assert told == expected
    assert wrong_uid[2].startswith(f'{FROM_V1} failed: expected response.uid="')
    assert wrong_uid[2].endswith('", got "another"')


@everywhere(controllers=False)
async def test_without_its_webhook_the_stored_version_alone_works(site: Site) -> None:
    async with a_factory(site) as factory:
        await factory.create(a_gadget("one", colour="red"))
        factory.webhook.status = 503
        read = await factory.send("GET", factory.at(V1, "one"))
        patched = await factory.send("PATCH", factory.at(V1, "one"), {"spec": {"size": 3}}, kind=MERGE)
        made = await factory.send("POST", factory.at(V1), a_gadget("two"))
        refused = [
            failure(await factory.send("GET", factory.at(V2, "one"))),
            failure(await factory.send("DELETE", factory.at(V2, "one"))),
            failure(await factory.send("GET", factory.at(V2))),
        ]
        refused_new = failure(await factory.send("POST", factory.at(V2), a_gadget("three", "v2")))
        deleted = await factory.send("DELETE", factory.at(V1, "two"))

    assert [each.status for each in (read, patched, made, deleted)] == [200, 200, 201, 200]
    why = "failed: the server is currently unable to handle the request"
    assert set(refused) == {(500, "", f"{FROM_V1} {why}")}
    assert refused_new == (500, "", f"{FROM_V1.replace('/v1', '/v2')} {why}")


@everywhere(controllers=False)
async def test_only_labels_and_annotations_of_the_metadata_are_the_webhooks_to_change(site: Site) -> None:
    def meddling(tree: Tree) -> None:
        tree["metadata"] |= {"labels": {"new": "label"}, "finalizers": ["a.example.com/b"], "generation": 9, "odd": 1}
        tree["metadata"].pop("annotations")

    async with a_factory(site) as factory:
        tree = a_gadget("one")
        tree["metadata"] |= {"labels": {"old": "label"}, "annotations": {"old": "annotation"}}
        before = (await factory.create(tree))["metadata"]
        factory.webhook.spoil = spoiling_objects(meddling)
        after = (await factory.get(V2))["metadata"]

    assert after.pop("labels") == {"new": "label"}
    del before["labels"], before["annotations"]
    assert after == before


# Stored versions


async def stored_in(factory: Factory, resource: Resource, name: str) -> bool:
    """Whether an object is stored in a version: that is the one which nobody has to convert."""
    factory.webhook.status = 500
    answer = await factory.send("GET", factory.at(resource, name))
    factory.webhook.status = 200
    return answer.status == 200


async def rewritten(factory: Factory, resource: Resource, name: str) -> list[str]:
    """Resource versions of an object that is written unchanged until that changes something, and once more."""
    found = [(await factory.get(resource, name))["metadata"]["resourceVersion"]]

    async def written() -> bool:
        tree = await factory.get(resource, name)
        answer = tree_of(await factory.send("PUT", factory.at(resource, name), tree))
        found.append(answer["metadata"]["resourceVersion"])
        return bool(found[-1] != found[0])

    await factory.site.until(written, every=0.1)
    await written()
    return found


@everywhere(controllers=False)
async def test_objects_stay_in_the_version_they_were_stored_in_until_they_are_written(site: Site) -> None:
    async with a_factory(site) as factory:
        await factory.create(a_gadget("one", colour="red", size=1))
        await factory.create(a_gadget("two", colour="blue", size=2))
        await factory.redefine({"versions": versions(storage="v2")})
        found = await rewritten(factory, V2, "one")
        places = {name: [await stored_in(factory, resource, name) for resource in (V1, V2)] for name in ("one", "two")}
        seen = [(await factory.get(resource, "two"))["spec"] for resource in (V1, V2)]
        again = await rewritten(factory, V1, "two")
        moved = await stored_in(factory, V2, "two")
        stored = (await factory.definition())["status"]["storedVersions"]

    assert (found[0] != found[-2], found[-2] == found[-1]) == (True, True)
    assert places == {"one": [False, True], "two": [True, False]}
    assert [each.pop("paint", None) or each.pop("colour") for each in seen] == ["blue", {"colour": "blue"}]
    assert seen == [{"size": 2, "grade": "one"}] * 2
    assert (again[0] != again[-2], again[-2] == again[-1], moved) == (True, True, True)
    assert stored == ["v1", "v2"]


@everywhere(controllers=False)
async def test_a_version_may_go_when_nothing_says_it_is_stored(site: Site) -> None:
    async with a_factory(site) as factory:
        await factory.redefine({"versions": versions(storage="v2")})
        only = {"spec": {"versions": versions(storage="v2")[1:]}}
        refused = failure(await factory.send("PATCH", DEFINITION, only, kind=MERGE))
        empty: Tree = {"status": {"storedVersions": []}}
        emptied = tree_of(await factory.send("PATCH", f"{DEFINITION}/status", empty, kind=MERGE))
        removed = await factory.send("PATCH", DEFINITION, only, kind=MERGE)

        async def is_gone() -> bool:
            return (await factory.send("GET", factory.at(V1))).status == 404

        await site.until(is_gone, every=0.1)

    assert refused[:2] == (422, "Invalid")
    assert refused[2] == (
        f'CustomResourceDefinition.apiextensions.k8s.io "{NAME}" is invalid: status.storedVersions[0]: '
        'Invalid value: "v1": missing from spec.versions; v1 was previously a storage version, and must remain in '
        "spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from "
        "status.storedVersions"
    )
    assert emptied["status"]["storedVersions"] == ["v2"]
    assert removed.status == 200


@everywhere(controllers=False)
async def test_a_version_that_is_not_served_is_still_converted_from(site: Site) -> None:
    async with a_factory(site) as factory:
        await factory.create(a_gadget("one", colour="red"))
        await factory.redefine({"versions": versions(storage="v2", v1={"served": False})})

        async def is_unserved() -> bool:
            return (await factory.send("GET", factory.at(V1, "one"))).status == 404

        await site.until(is_unserved, every=0.1)
        seen = await factory.get(V2)

    assert seen["spec"] == {"paint": {"colour": "red"}, "grade": "one"}


@everywhere(controllers=False)
async def test_users_of_a_deprecated_version_are_warned(site: Site) -> None:
    async with a_factory(site, *versions(v1={"deprecated": True})) as factory:
        made = await factory.send("POST", factory.at(V1), a_gadget())
        answers = [made, await factory.send("GET", factory.at(V1)), await factory.send("GET", factory.at(V2, "one"))]
        missing = await factory.send("GET", f"{factory.at(V1, 'one')}/scale")
        async with watched(site, factory.at(V1)) as (watch_warning, events), aclosing(events):  # type: ignore[type-var]
            pass
        own = versions(v1={"deprecated": True, "deprecationWarning": 'use "v2"'})
        await factory.redefine({"versions": own})

        async def is_told() -> bool:
            return "use" in warning((await factory.send("GET", factory.at(V1, "one"))).headers)[:12]

        await site.until(is_told, every=0.1)
        told = await factory.send("GET", factory.at(V1, "one"))

    usual = '299 - "shop.example.com/v1 Gadget is deprecated; use shop.example.com/v2 Gadget"'
    assert [warning(each.headers) for each in answers] == [usual, usual, ""]
    assert (missing.status, warning(missing.headers)) == (404, usual)
    assert watch_warning == usual
    assert warning(told.headers) == '299 - "use \\"v2\\""'
