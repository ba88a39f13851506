"""Objects as rows of tables."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from kubeloop import clock
from kubeloop.request import JSON, Request, Response
from kubesim.cluster import Cluster
from kubesim.kinds.registry import CONFIG_MAPS, KINDS, PODS, Registry
from kubesim.requests.tables import printer_of
from kubesim.store.versions import Tree
from kubesim.tables.jsonpath import compiled
from kubesim.tables.printing import duration, selector, since
from kubesim.time import run
from tests.kubesim.trees import a_map

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
PARTIALS = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
MAPS = "/api/v1/namespaces/default/configmaps"
RUNNING = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}


def cells_of(kind: str, tree: Tree) -> list[Any]:
    """The cells of an object, at the beginning of virtual time."""

    async def main() -> list[Any]:
        printer = printer_of(next(each for each in KINDS if each.resource.kind == kind), "")
        return printer.cells(tree)

    found: list[Any] = run(main())
    return found


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (303, "5m3s"),
        (600, "10m"),
        (10_799, "179m"),
        (10_800, "3h"),
        (11_400, "3h10m"),
        (28_800, "8h"),
        (172_799, "47h"),
        (172_800, "2d"),
        (176_400, "2d1h"),
        (691_200, "8d"),
        (63_071_999, "729d"),
        (63_072_000, "2y"),
        (63_763_200, "2y8d"),
        (252_288_000, "8y"),
    ],
)
def test_durations_have_two_or_three_digits(seconds: int, shown: str) -> None:
    assert duration(timedelta(seconds=seconds)) == shown


def test_ages_are_told_by_the_clock_of_the_loop() -> None:
    async def main() -> tuple[str, str]:
        born = clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
        await asyncio.sleep(303)
        return since(born), since(None)

    assert run(main()) == ("5m3s", "<unknown>")


def test_selectors_are_shown_by_their_keys() -> None:
    expressions = [
        {"key": "d", "operator": "In", "values": ["z", "y"]},
        {"key": "b", "operator": "Exists"},
        {"key": "c", "operator": "DoesNotExist"},
        {"key": "e", "operator": "NotIn", "values": ["x"]},
    ]

    assert selector({"matchLabels": {"a": "1"}, "matchExpressions": expressions}) == "a=1,b,!c,d in (y,z),e notin (x)"


@pytest.mark.parametrize(
    ("status", "ready", "shown", "restarts"),
    [
        ({"phase": "Pending"}, "0/1", "Pending", "0"),
        ({"phase": "Failed", "reason": "Evicted"}, "0/1", "Evicted", "0"),
        (
            {"phase": "Running", "containerStatuses": [{"ready": True, "restartCount": 0, "state": RUNNING}]},
            "1/1",
            "Running",
            "0",
        ),
        (
            {"containerStatuses": [{"restartCount": 2, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]},
            "0/1",
            "CrashLoopBackOff",
            "2",
        ),
        ({"containerStatuses": [{"state": {"terminated": {"exitCode": 3}}}]}, "0/1", "ExitCode:3", "0"),
        ({"containerStatuses": [{"state": {"terminated": {"exitCode": 137, "signal": 9}}}]}, "0/1", "Signal:9", "0"),
        ({"initContainerStatuses": [{"state": {"waiting": {}}}]}, "0/1", "Init:0/0", "0"),
        (
            {"initContainerStatuses": [{"restartCount": 4, "state": {"terminated": {"exitCode": 2}}}]},
            "0/1",
            "Init:ExitCode:2",
            "4",
        ),
        (
            {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]},
            "0/1",
            "SchedulingGated",
            "0",
        ),
    ],
)
def test_the_status_of_a_pod_is_one_word(status: Tree, ready: str, shown: str, restarts: str) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "main"}]}, "status": status}

    assert cells_of("Pod", pod) == [
        *("p", ready, shown, restarts, "<unknown>"),
        *("<none>", "<none>", "<none>", "<none>"),
    ]


def test_a_pod_that_is_being_deleted_says_so() -> None:
    pod = {"metadata": {"name": "p", "deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {"phase": "Running"}}

    assert cells_of("Pod", pod)[2] == "Terminating"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if not kind.answered], ids=lambda kind: kind.resource.plural)
def test_every_kind_has_a_cell_for_each_column_even_of_a_bookmark(kind: Any) -> None:
    async def main() -> int:
        return len(printer_of(kind, "").cells({"metadata": {"resourceVersion": "1"}}))

    assert run(main()) == len(printer_of(kind, "").columns)


OBJECT = {
    "metadata": {"name": "one"},
    "spec": {
        "n": 3,
        "f": 1.5,
        "on": True,
        "tags": ["p", "q"],
        "map": {"a.b": "dot", "c": "d"},
        "conditions": [{"type": "Foo", "status": "False"}, {"type": "Ready", "status": "True"}],
    },
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.n", [3]),
        (".spec.none", []),
        (".spec.n.deeper", []),
        (".spec.tags", [["p", "q"]]),
        (".spec.tags[0]", ["p"]),
        (".spec.tags[-1]", ["q"]),
        (".spec.tags[-1:]", ["q"]),
        (".spec.tags[0:2]", ["p", "q"]),
        (".spec.tags[5]", []),
        (".spec.tags[*]", ["p", "q"]),
        (".spec.tags[0,1]", ["p", "q"]),
        (".spec.map['c']", ["d"]),
        (".spec.map['a.b']", []),
        (r".spec.map.a\.b", ["dot"]),
        ('.spec.conditions[?(@.type=="Ready")].status', ["True"]),
        ("$.spec.conditions[?(@.type=='Nope')].status", []),
        (".spec.conditions[?(@.status)].type", ["Foo", "Ready"]),
        (".spec.n[0]", []),
        ("..type", ["Foo", "Ready"]),
        (".spec.tags[nonsense]", []),
    ],
)
def test_paths_of_columns(path: str, found: list[Any]) -> None:
    assert compiled(path.removeprefix("$"))(OBJECT) == found


async def asked(cluster: Cluster, path: str, accept: str, method: str = "GET", body: Tree | None = None) -> Response:
    place, _, query = path.partition("?")
    pairs = tuple((key, value) for key, _, value in (pair.partition("=") for pair in filter(None, query.split("&"))))
    sent = b"" if body is None else msgspec.json.encode(body)
    request = Request(method, place, pairs, sent, JSON if sent else "", headers=(("Accept", accept),))
    return await cluster.transport().send(request)


def shown(path: str, accept: str, method: str = "GET", body: Tree | None = None) -> tuple[int, str, Any]:
    """The answer of a cluster with two maps."""

    async def main() -> tuple[int, str, Any]:
        cluster = Cluster()
        for name in ("a", "b"):
            cluster.verbs.create(CONFIG_MAPS, "default", a_map(name), user="me")
        answer = await asked(cluster, path, accept, method, body)
        media = answer.headers["content-type"]
        return answer.status, media, msgspec.json.decode(answer.body) if media == JSON else answer.body.decode()

    found: tuple[int, str, Any] = run(main())
    return found


def test_a_list_becomes_a_table_with_the_metadata_of_its_objects() -> None:
    status, media, table = shown(MAPS, TABLE)

    assert (status, media, table["kind"], table["apiVersion"]) == (200, JSON, "Table", "meta.k8s.io/v1")
    assert [(each["name"], each["type"], each["format"]) for each in table["columnDefinitions"]] == [
        ("Name", "string", "name"),
        ("Data", "string", ""),
        ("Age", "string", ""),
    ]
    assert [row["cells"] for row in table["rows"]] == [["a", 1, "0s"], ["b", 1, "0s"]]
    assert [row["object"]["kind"] for row in table["rows"]] == ["PartialObjectMetadata"] * 2


@pytest.mark.parametrize(
    ("wish", "kind"), [("None", None), ("Object", "ConfigMap"), ("Metadata", "PartialObjectMetadata")]
)
def test_rows_carry_what_is_asked_for_of_their_objects(wish: str, kind: str | None) -> None:
    _, _, table = shown(f"{MAPS}?includeObject={wish}", TABLE)

    assert [each["object"] and each["object"]["kind"] for each in table["rows"]] == [kind, kind]


def test_a_wish_that_nobody_knows_is_refused() -> None:
    status, _, answer = shown(f"{MAPS}?includeObject=All", TABLE)

    assert status == 400
    assert answer["message"] == (
        'Unable to convert to Table as requested: includeObject: Invalid value: "All": '
        "must be 'Metadata', 'Object', 'None', or empty"
    )


@pytest.mark.parametrize(
    ("path", "accept", "why"),
    [
        (
            MAPS,
            "text/html",
            (
                "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, "
                "application/vnd.kubernetes.protobuf, application/json;stream=watch, "
                "application/vnd.kubernetes.protobuf;stream=watch"
            ),
        ),
        (
            f"{MAPS}/a",
            "application/*",
            (
                "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, "
                "application/vnd.kubernetes.protobuf"
            ),
        ),
        (
            MAPS,
            "application/json;as=Table;v=v2;g=meta.k8s.io",
            (
                "only the following media types are accepted: application/json, application/yaml, "
                "application/vnd.kubernetes.protobuf"
            ),
        ),
        (
            MAPS,
            PARTIAL,
            "you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)",
        ),
        (
            f"{MAPS}/a",
            PARTIALS,
            "you requested PartialObjectMetadataList, but the requested object is not a list (*core.ConfigMap)",
        ),
    ],
)
def test_what_cannot_be_shown_is_refused(path: str, accept: str, why: str) -> None:
    status, _, answer = shown(path, accept)

    assert (status, answer["reason"], answer["message"]) == (406, "NotAcceptable", why)


def test_writes_are_answered_in_the_form_that_is_accepted() -> None:
    made = shown(MAPS, PARTIAL, "POST", a_map("c"))
    gone = shown(f"{MAPS}/a", TABLE, "DELETE")

    assert (made[0], made[2]["kind"], made[2]["metadata"]["name"]) == (201, "PartialObjectMetadata", "c")
    assert (gone[0], gone[2]["kind"], gone[2]["status"]) == (200, "Status", "Success")


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("application/yaml", "application/yaml"),
        ("application/json;q=0.5,application/yaml;q=0.9", "application/yaml"),
        ("application/vnd.kubernetes.protobuf,application/json", JSON),
        ("application/vnd.kubernetes.protobuf", JSON),
        (f"{TABLE},application/json", JSON),
        ("application/json;as=Foo;v=v1;g=meta.k8s.io,application/json", JSON),
        ("*/*", JSON),
    ],
)
def test_the_best_media_type_that_can_be_written_is_taken(accept: str, media: str) -> None:
    assert shown(f"{MAPS}/a", accept)[:2] == (200, media)


def test_failures_are_written_in_yaml_for_who_reads_nothing_else() -> None:
    status, media, text = shown(f"{MAPS}/none", "application/yaml")

    assert (status, media) == (404, "application/yaml")
    assert 'message: configmaps "none" not found' in text


def test_an_empty_list_of_metadata_has_no_items() -> None:
    assert shown(f"{MAPS}?labelSelector=none", PARTIALS)[2]["items"] is None


def test_a_watch_tells_the_columns_of_its_tables_once() -> None:
    async def main() -> list[Any]:
        cluster = Cluster()
        for name in ("a", "b"):
            cluster.verbs.create(CONFIG_MAPS, "default", a_map(name), user="me")
        query = (
            ("watch", "true"),
            ("sendInitialEvents", "true"),
            ("resourceVersionMatch", "NotOlderThan"),
            ("allowWatchBookmarks", "true"),
            ("includeObject", "None"),
            ("timeoutSeconds", "1"),
        )
        request = Request("GET", MAPS, query, headers=(("Accept", TABLE),))
        async with cluster.transport().stream(request) as stream:
            return [msgspec.json.decode(line) async for line in stream]

    lines = run(main())

    assert [line["object"]["columnDefinitions"] is None for line in lines] == [False, True, True]
    assert [line["object"]["rows"][0]["cells"] for line in lines] == [
        ["a", 1, "0s"],
        ["b", 1, "0s"],
        ["", 0, "<unknown>"],
    ]
    assert [line["object"]["rows"][0]["object"] is None for line in lines] == [True, True, False]
    assert lines[-1]["type"] == "BOOKMARK"


def test_a_watch_of_metadata_shows_nothing_else() -> None:
    async def main() -> Any:
        cluster = Cluster()
        cluster.verbs.create(CONFIG_MAPS, "default", a_map("a"), user="me")
        request = Request("GET", MAPS, (("watch", "true"), ("timeoutSeconds", "1")), headers=(("Accept", PARTIAL),))
        async with cluster.transport().stream(request) as stream:
            return [msgspec.json.decode(line) async for line in stream]

    [line] = run(main())

    assert (line["object"]["kind"], sorted(line["object"])) == (
        "PartialObjectMetadata",
        ["apiVersion", "kind", "metadata"],
    )


def test_completed_pods_say_so_on_their_row() -> None:
    printer = printer_of(Registry().kind(PODS), "")

    assert printer.conditions is not None
    assert [each["reason"] for each in printer.conditions({"status": {"phase": "Succeeded"}})] == ["Succeeded"]
    assert printer.conditions({"status": {"phase": "Running"}}) == []
