"""Definitions in the embedded cluster: when they are served, what a change of them does, what goes with them."""

from __future__ import annotations

import asyncio
import copy
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kubeloop.clock import monotonic
from kubeloop.objects.meta import Resource
from kubeloop.request import Request, Response, path_of
from kubesim.api.verbs import Verbs
from kubesim.cluster import Cluster
from kubesim.controllers.service_accounts import CERTIFICATES
from kubesim.errors import StatusError
from kubesim.kinds.registry import CONFIG_MAPS, DEFINITIONS
from kubesim.patches.patch import MERGE_PATCH
from kubesim.time import run
from tests.kubesim.trees import Tree, a_map

GROUP = "shop.example.com"
NAME = f"widgets.{GROUP}"
V1 = Resource(GROUP, "v1", "widgets", "Widget")
V2 = Resource(GROUP, "v2", "widgets", "Widget")
SETTLED = 1.0
"""Seconds after which nothing is left to do."""


def an_object(**properties: Tree) -> Tree:
    return {"type": "object", "properties": properties}


def a_version(name: str = "v1", *, storage: bool = True, spec: Tree | None = None, **fields: Any) -> Tree:
    schema = an_object(spec=spec or an_object(size={"type": "integer"}), status=an_object(phase={"type": "string"}))
    version: Tree = {"name": name, "served": True, "storage": storage, "schema": {"openAPIV3Schema": schema}}
    return version | fields


def a_definition(*versions: Tree, kind: str = "Widget", **spec: Any) -> Tree:
    plural = f"{kind.lower()}s"
    return {
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": list(versions) or [a_version()],
        }
        | spec,
    }


def a_widget(name: str = "one", **spec: Any) -> Tree:
    return {"metadata": {"name": name}, "spec": {"size": 1} | spec}


def with_widgets(script: Callable[[Cluster], Awaitable[Any]], *versions: Tree) -> Any:
    """The answer of a script on a cluster in which widgets are defined."""

    async def main() -> Any:
        cluster = Cluster()
        cluster.verbs.create(DEFINITIONS, "", a_definition(*versions), user="me")
        await asyncio.sleep(SETTLED)
        return await script(cluster)

    return run(main())


def change(verbs: Verbs, resource: Resource, name: str, patch: Tree) -> Tree:
    namespace = "default" if resource.namespaced else ""
    return verbs.patch(resource, namespace, name, MERGE_PATCH, json.dumps(patch).encode(), user="me")


def refused(call: Callable[[], object]) -> StatusError:
    with pytest.raises(StatusError) as caught:
        call()
    return caught.value


def causes_of(error: StatusError) -> list[Any]:
    causes = error.details["causes"]
    assert isinstance(causes, list)
    return causes


def test_a_resource_is_served_a_moment_after_its_definition_is_made() -> None:
    """Each step is a write of its own: names first, then the rest."""

    async def main() -> tuple[StatusError, list[list[tuple[str, str]]], list[Tree]]:
        cluster = Cluster()
        watcher = cluster.verbs.watch(DEFINITIONS)
        cluster.verbs.create(DEFINITIONS, "", a_definition(), user="me")
        at_once = refused(lambda: cluster.verbs.list(V1))
        steps = []
        for _ in range(3):
            event = await watcher.next()
            assert event is not None
            conditions = event.tree()["status"]["conditions"] or []
            steps.append([(each["type"], each["status"]) for each in conditions])
        watcher.close()
        return at_once, steps, cluster.verbs.list(V1)

    at_once, steps, widgets = run(main())

    assert at_once.code == 404
    assert steps == [
        [],
        [("NamesAccepted", "True"), ("Established", "False")],
        [("NamesAccepted", "True"), ("Established", "True")],
    ]
    assert widgets == []


def test_each_fault_of_a_schema_is_told_where_it_is() -> None:
    """Schemas that differ between versions are told of by version."""
    bad = an_object(tags={"type": "array"}, any={}, once={"type": "string", "pattern": "("})

    async def main() -> StatusError:
        definition = a_definition(a_version(), a_version("v2", storage=False, spec=bad))
        return refused(lambda: Cluster().verbs.create(DEFINITIONS, "", definition, user="me"))

    error = run(main())

    at = "spec.versions[1].schema.openAPIV3Schema.properties[spec].properties"
    assert [cause["field"] for cause in causes_of(error)] == [
        f"{at}[any].type",
        f"{at}[once].pattern",
        f"{at}[tags].items",
    ]


def test_a_change_of_the_schema_shows_in_objects_that_are_there() -> None:
    """Defaults are filled in and fields pruned when old objects are read; nothing is written."""
    richer = an_object(size={"type": "integer"}, color={"type": "string", "default": "red"})
    poorer = an_object(color={"type": "string", "default": "red"})

    async def script(cluster: Cluster) -> tuple[list[Any], list[str], str]:
        made = cluster.verbs.create(V1, "default", a_widget(), user="me")
        seen = []
        for spec in (richer, poorer):
            definition = cluster.verbs.read(DEFINITIONS, "", NAME)
            definition["spec"]["versions"] = [a_version(spec=spec)]
            cluster.verbs.update(DEFINITIONS, "", NAME, definition, user="me")
            await asyncio.sleep(SETTLED)
            answer = await cluster.transport().send(Request("GET", path_of(V1, "default", "one")))
            shown = json.loads(answer.body)
            assert shown == cluster.verbs.read(V1, "default", "one")
            seen.append(shown["spec"])
        after = cluster.verbs.read(V1, "default", "one")["metadata"]["resourceVersion"]
        return seen, [made["metadata"]["resourceVersion"], after], ""

    seen, versions, _ = with_widgets(script)

    assert seen == [{"size": 1, "color": "red"}, {"color": "red"}]
    assert versions[0] == versions[1]


def test_a_change_of_the_schema_ends_watches() -> None:
    """Who watches must not go on to get objects in a form that is no longer served."""

    async def script(cluster: Cluster) -> bool:
        watcher = cluster.verbs.watch(V1)
        change(cluster.verbs, DEFINITIONS, NAME, {"spec": {"versions": [a_version(), a_version("v2", storage=False)]}})
        await asyncio.sleep(SETTLED)
        return watcher.closed

    assert with_widgets(script) is True


def test_labels_of_a_definition_do_not_end_watches() -> None:
    async def script(cluster: Cluster) -> bool:
        watcher = cluster.verbs.watch(V1)
        change(cluster.verbs, DEFINITIONS, NAME, {"metadata": {"labels": {"a": "b"}}})
        await asyncio.sleep(SETTLED)
        closed = watcher.closed
        watcher.close()
        return closed

    assert with_widgets(script) is False


def test_objects_outlive_a_move_of_the_storage_version() -> None:
    """An object stays in its old form until it is written again; the definition remembers both versions."""

    async def script(cluster: Cluster) -> tuple[Tree, list[str], list[str], list[str]]:
        cluster.verbs.create(V1, "default", a_widget(), user="me")
        moved = [a_version(storage=False), a_version("v2")]
        definition = change(cluster.verbs, DEFINITIONS, NAME, {"spec": {"versions": moved}})
        await asyncio.sleep(SETTLED)
        shown = [cluster.verbs.read(each, "default", "one")["apiVersion"] for each in (V1, V2)]
        kept = [version.tree()["apiVersion"] for version in cluster.store.table(V1).live.values()]
        change(cluster.verbs, V1, "one", {"spec": {"size": 2}})
        rewritten = [version.tree()["apiVersion"] for version in cluster.store.table(V1).live.values()]
        return definition, shown, kept, rewritten

    definition, shown, kept, rewritten = with_widgets(script)

    assert definition["status"]["storedVersions"] == ["v1", "v2"]
    assert shown == [f"{GROUP}/v1", f"{GROUP}/v2"]
    assert (kept, rewritten) == ([f"{GROUP}/v1"], [f"{GROUP}/v2"])


def test_a_version_that_objects_may_be_kept_in_cannot_go() -> None:
    async def script(cluster: Cluster) -> StatusError:
        gone = {"spec": {"versions": [a_version("v2")]}}
        return refused(lambda: change(cluster.verbs, DEFINITIONS, NAME, gone))

    error = with_widgets(script)

    assert [cause["field"] for cause in causes_of(error)] == ["status.storedVersions[0]"]


@pytest.mark.parametrize(
    ("patch", "field"),
    [
        pytest.param({"scope": "Cluster"}, "spec.scope", id="scope"),
        pytest.param({"names": {"kind": "Gadget"}}, "spec.names.kind", id="kind"),
        pytest.param({"names": {"plural": "gadgets"}}, "spec.names.plural", id="plural"),
        pytest.param({"group": "other.example.com"}, "spec.group", id="group"),
    ],
)
def test_what_a_served_definition_may_not_change(patch: Tree, field: str) -> None:
    async def script(cluster: Cluster) -> StatusError:
        return refused(lambda: change(cluster.verbs, DEFINITIONS, NAME, {"spec": patch}))

    assert field in [cause["field"] for cause in causes_of(with_widgets(script))]


def test_watches_show_objects_in_their_own_version() -> None:
    async def script(cluster: Cluster) -> list[tuple[str, str]]:
        lines = []
        async with cluster.transport().stream(
            Request("GET", path_of(V2, "default"), query=(("watch", "1"), ("resourceVersion", "1")))
        ) as stream:
            cluster.verbs.create(V1, "default", a_widget(), user="me")
            change(cluster.verbs, V1, "one", {"spec": {"size": 2}})
            async for line in stream:
                event = json.loads(line)
                lines.append((event["type"], event["object"]["apiVersion"]))
                if len(lines) == 2:
                    break
        return lines

    lines = with_widgets(script, a_version(), a_version("v2", storage=False))

    assert lines == [("ADDED", f"{GROUP}/v2"), ("MODIFIED", f"{GROUP}/v2")]


def test_versions_keep_only_what_both_know() -> None:
    """Conversion changes the version alone, so what the store's schema does not know is lost."""
    wide = an_object(size={"type": "integer"}, extra={"type": "string"})

    async def script(cluster: Cluster) -> tuple[Tree, Tree]:
        made = cluster.verbs.create(V2, "default", a_widget(extra="x"), user="me")
        return made, cluster.verbs.read(V1, "default", "one")

    made, stored = with_widgets(script, a_version(), a_version("v2", storage=False, spec=wide))

    assert (made["spec"], stored["spec"]) == ({"size": 1}, {"size": 1})


def test_a_custom_kind_may_be_named_like_a_built_in_one() -> None:
    """Defaults and rules of the namesake do not touch it."""
    service = Resource(GROUP, "v1", "services", "Service")

    async def main() -> Tree:
        cluster = Cluster()
        cluster.verbs.create(DEFINITIONS, "", a_definition(kind="Service"), user="me")
        await asyncio.sleep(SETTLED)
        return cluster.verbs.create(service, "default", {"metadata": {"name": "a.b"}, "spec": {"size": 1}}, user="me")

    made = run(main())

    assert made["spec"] == {"size": 1}
    assert "status" not in made


def test_a_definition_waits_for_its_last_object() -> None:
    """Nothing polls: the definition goes when the last finalizer is taken off, however late."""

    async def script(cluster: Cluster) -> tuple[list[Tree], list[Tree]]:
        held = a_widget()
        held["metadata"]["finalizers"] = ["example.com/hold"]
        cluster.verbs.create(V1, "default", held, user="me")
        cluster.verbs.delete(DEFINITIONS, "", NAME, user="me")
        await asyncio.sleep(3600)
        waiting = cluster.verbs.list(DEFINITIONS)
        change(cluster.verbs, V1, "one", {"metadata": {"finalizers": None}})
        await asyncio.sleep(SETTLED)
        return waiting, cluster.verbs.list(DEFINITIONS)

    waiting, left = with_widgets(script)

    conditions = {each["type"]: each["reason"] for each in waiting[0]["status"]["conditions"]}
    assert conditions["Terminating"] == "InstanceDeletionInProgress"
    assert left == []


def test_who_watches_late_is_told_what_a_definition_takes_along() -> None:
    """The watch ends after that, however late its events are."""

    async def script(cluster: Cluster) -> tuple[list[str], float]:
        cluster.verbs.create(V1, "default", a_widget(), user="me")
        watcher = cluster.verbs.watch(V1, lag=(30.0, 30.0))
        cluster.verbs.delete(DEFINITIONS, "", NAME, user="me")
        begun = monotonic()
        return [f"{event.type} {event.new.head.name}" async for event in watcher], monotonic() - begun

    told, seconds = with_widgets(script)

    assert told == ["ADDED one", "DELETED one"]
    assert seconds == pytest.approx(30, abs=0.1)


def test_a_deleted_definition_and_its_successor_share_nothing() -> None:
    async def script(cluster: Cluster) -> tuple[StatusError, list[Tree]]:
        cluster.verbs.create(V1, "default", a_widget(), user="me")
        cluster.verbs.delete(DEFINITIONS, "", NAME, user="me")
        await asyncio.sleep(SETTLED)
        absent = refused(lambda: cluster.verbs.read(V1, "default", "one"))
        cluster.verbs.create(DEFINITIONS, "", a_definition(), user="me")
        await asyncio.sleep(SETTLED)
        return absent, cluster.verbs.list(V1)

    absent, widgets = with_widgets(script)

    assert absent.code == 404
    assert widgets == []


def test_the_names_of_a_deleted_definition_are_free_for_one_that_waits() -> None:
    rival = a_definition(kind="Gadget")
    rival["spec"]["names"]["listKind"] = "WidgetList"

    async def script(cluster: Cluster) -> list[str]:
        def established() -> str:
            status = cluster.verbs.read(DEFINITIONS, "", rival["metadata"]["name"])["status"]
            found: str = next(each["status"] for each in status["conditions"] if each["type"] == "Established")
            return found

        cluster.verbs.create(DEFINITIONS, "", rival, user="me")
        await asyncio.sleep(SETTLED)
        before = established()
        cluster.verbs.delete(DEFINITIONS, "", NAME, user="me")
        await asyncio.sleep(SETTLED)
        return [before, established()]

    assert with_widgets(script) == ["False", "True"]


def test_what_a_custom_resource_owns_is_collected_with_it() -> None:
    """The collector started before there was such a resource."""

    async def main() -> list[str]:
        cluster = Cluster()
        running = asyncio.create_task(cluster.run())
        await asyncio.sleep(SETTLED)
        cluster.verbs.create(DEFINITIONS, "", a_definition(), user="me")
        await asyncio.sleep(SETTLED)
        owner = cluster.verbs.create(V1, "default", a_widget(), user="me")["metadata"]
        reference = {"apiVersion": V1.api_version, "kind": "Widget", "name": "one", "uid": owner["uid"]}
        for name, owners in (("owned", [reference]), ("free", [])):
            tree = copy.deepcopy(a_map(name))
            tree["metadata"]["ownerReferences"] = owners
            cluster.verbs.create(CONFIG_MAPS, "default", tree, user="me")
        await asyncio.sleep(SETTLED)
        cluster.verbs.delete(V1, "default", "one", user="me")
        await asyncio.sleep(60)
        running.cancel()
        await asyncio.wait([running])
        return [each["metadata"]["name"] for each in cluster.verbs.list(CONFIG_MAPS, "default")]

    assert run(main()) == ["free", CERTIFICATES]


def test_unknown_fields_are_warned_about_unless_the_request_says_otherwise() -> None:
    async def script(cluster: Cluster) -> list[str | None]:
        async def create(name: str, *query: tuple[str, str]) -> Response:
            tree = {"apiVersion": V1.api_version, "kind": "Widget", **a_widget(name, odd=1)}
            path = path_of(V1, "default")
            request = Request("POST", path, query, json.dumps(tree).encode(), "application/json")
            return await cluster.transport().send(request)

        answers = [await create("a"), await create("b", ("fieldValidation", "Ignore"))]
        assert [answer.status for answer in answers] == [201, 201]
        return [answer.headers.get("warning") for answer in answers]

    assert with_widgets(script) == ['299 - "unknown field \\"spec.odd\\""', None]


def test_discovery_puts_the_most_settled_version_first() -> None:
    names = ("v1alpha1", "v2", "odd", "v10", "v1beta2", "v1beta1")

    async def script(cluster: Cluster) -> Tree:
        answer = await cluster.transport().send(Request("GET", f"/apis/{GROUP}"))
        found: Tree = json.loads(answer.body)
        return found

    group = with_widgets(script, *(a_version(name, storage=name == "v2") for name in names))

    assert [each["version"] for each in group["versions"]] == ["v10", "v2", "v1beta2", "v1beta1", "v1alpha1", "odd"]
    assert group["preferredVersion"]["version"] == "v10"


def test_discovery_offers_no_way_to_make_what_is_going() -> None:
    async def script(cluster: Cluster) -> list[list[str]]:
        async def verbs() -> list[str]:
            answer = await cluster.transport().send(Request("GET", f"/apis/{GROUP}/v1"))
            shown: list[str] = json.loads(answer.body)["resources"][0]["verbs"]
            return shown

        held = a_widget()
        held["metadata"]["finalizers"] = ["example.com/hold"]
        cluster.verbs.create(V1, "default", held, user="me")
        before = await verbs()
        cluster.verbs.delete(DEFINITIONS, "", NAME, user="me")
        return [before, await verbs()]

    before, after = with_widgets(script)

    assert {"create", "update", "patch"} <= set(before)
    assert sorted(after) == ["delete", "deletecollection", "get", "list", "watch"]
