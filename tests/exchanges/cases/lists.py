"""Lists, pages, selectors, tables, metadata alone, watches, and what resources there are."""

from __future__ import annotations

from typing import Any

from tests.exchanges.case import (
    METADATA,
    METADATA_LIST,
    TABLE,
    Case,
    Step,
    case,
    delete,
    get,
    patch,
    post,
    put,
    quiet,
    watch,
)
from tests.exchanges.cases.samples import (
    APPS,
    CORE,
    DEPLOYMENTS,
    MAPS,
    PODS,
    SAMPLES,
    SECRETS,
    a_map,
    a_pod,
)

FIRST = "<<1.metadata.resourceVersion>>"


def _three(path: str = MAPS) -> list[Step]:
    """Objects a, b and c, in the shelves x, x and y; c is light."""
    labels = {"a": {"shelf": "x"}, "b": {"shelf": "x", "heavy": "yes"}, "c": {"shelf": "y", "light": ""}}
    return [quiet(post(path, a_map(name, {"key": name}, labels=labels[name]))) for name in "abc"]


def _selected(*selectors: str, field: bool = False) -> list[Step]:
    """Lists as metadata alone, which is short."""
    name = "fieldSelector" if field else "labelSelector"
    return [get(MAPS, METADATA_LIST, **{name: selector}) for selector in selectors]


def _pods() -> list[Step]:
    return [
        post(PODS, a_pod("a", {"nodeName": "n", "restartPolicy": "Never"})),
        post(PODS, a_pod("b", {"schedulerName": "mine"})),
        patch(
            f"{PODS}/a/status", {"status": {"phase": "Running", "podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}]}}
        ),
    ]


_LISTS = (
    case("an empty list", get(MAPS), get("/api/v1/namespaces/nowhere/configmaps"), get(DEPLOYMENTS)),
    case(
        "a list in the order of names",
        *[post(MAPS, a_map(name)) for name in ("b", "a", "a-a", "a.b", "10", "2")],
        get(MAPS, METADATA_LIST),
    ),
    case("a list whole", *_three(), get(MAPS)),
    case(
        "a list of all namespaces",
        post(SECRETS, {"metadata": {"name": "one", "labels": {"only": "{ns}"}}}),
        get("/api/v1/secrets", labelSelector="only={ns}"),
    ),
    case("a list of metadata", *_three(), get(MAPS, METADATA_LIST, limit=2)),
    case("a wrong form of a list", *_three(), get(MAPS, METADATA)),
    case(
        "pages",
        *_three(),
        get(MAPS, METADATA_LIST, limit=1),
        get(MAPS, METADATA_LIST, **{"limit": 1, "continue": "<<4.metadata.continue>>"}),
        get(MAPS, METADATA_LIST, **{"limit": 5, "continue": "<<5.metadata.continue>>"}),
    ),
    case(
        "pages are of one moment",
        *_three(),
        get(MAPS, METADATA_LIST, limit=1),
        delete(f"{MAPS}/b"),
        post(MAPS, a_map("d")),
        get(MAPS, METADATA_LIST, **{"continue": "<<4.metadata.continue>>"}),
    ),
    case(
        "pages of a selection",
        *_three(),
        get(MAPS, METADATA_LIST, limit=1, labelSelector="shelf=x"),
        get(MAPS, METADATA_LIST, **{"limit": 1, "labelSelector": "shelf=x", "continue": "<<4.metadata.continue>>"}),
    ),
    case("a page as large as the list", *_three(), get(MAPS, METADATA_LIST, limit=3)),
    case("a page of nonsense", get(MAPS, **{"continue": "nonsense"}), get(MAPS, limit="x"), get(MAPS, limit=-1)),
    case(
        "a page of another list",
        *_three(),
        get(MAPS, METADATA_LIST, limit=1),
        get(SECRETS, **{"continue": "<<4.metadata.continue>>"}),
    ),
    case(
        "a page with a version",
        *_three(),
        get(MAPS, METADATA_LIST, limit=1),
        get(MAPS, **{"continue": "<<4.metadata.continue>>", "resourceVersion": "5"}),
    ),
)

_VERSIONS = (
    case(
        "a list not older than",
        *_three(),
        get(MAPS, METADATA_LIST, resourceVersion=FIRST, resourceVersionMatch="NotOlderThan"),
    ),
    case(
        "a list of exactly a version",
        *_three(),
        get(MAPS, METADATA_LIST, resourceVersion=FIRST, resourceVersionMatch="Exact"),
    ),
    case(
        "a list of any version",
        post(MAPS, a_map()),
        get(MAPS, METADATA_LIST, resourceVersion="0", labelSelector="none=none"),
    ),
    case("a match without a version", get(MAPS, resourceVersionMatch="Exact")),
    case("a match that is none", get(MAPS, resourceVersion="1", resourceVersionMatch="Roughly")),
    case("exactly no version", get(MAPS, resourceVersion="0", resourceVersionMatch="Exact")),
    case("a version that is none", get(MAPS, resourceVersion="abc"), watch(MAPS, resourceVersion="abc")),
    case("initial events of a list", get(MAPS, sendInitialEvents="true")),
    case(
        "reading with a version",
        post(MAPS, a_map()),
        get(f"{MAPS}/one", METADATA, resourceVersion=FIRST),
        get(f"{MAPS}/one", METADATA, resourceVersion="0"),
    ),
    case("a list from the future", get(MAPS, resourceVersion="999999999999", resourceVersionMatch="NotOlderThan")),
)

_SELECTORS = (
    case("labels that are equal", *_three(), *_selected("shelf=x", "shelf==y", "shelf=x,heavy=yes", "shelf=z")),
    case("labels that differ", *_three(), *_selected("shelf!=x", "heavy!=yes")),
    case("labels that are there", *_three(), *_selected("heavy", "!heavy", "light", "light=")),
    case(
        "labels of a set",
        *_three(),
        *_selected("shelf in (x, y)", "shelf notin (x)", "heavy in (yes),shelf in (x)", "shelf in ()"),
    ),
    case(
        "labels compared as numbers",
        *[post(MAPS, a_map(name, labels={"n": str(n)})) for name, n in (("a", 1), ("b", 10))],
        *_selected("n>5", "n<5", "n>x"),
    ),
    case(
        "labels that cannot be read",
        *_selected("a=b=c", "a in b", "(a)", "a,", "=x", "a b", "a in (x", "!", "a!b", "a notin"),
    ),
    case("labels with bad values", *_selected("a b=c", "a=b c", "-a=b", "a=-", "x/y/z=1", f"a={'v' * 64}")),
    case(
        "fields of any kind",
        *_three(),
        *_selected(
            "metadata.name=a",
            "metadata.name!=a",
            "metadata.namespace={ns}",
            "metadata.name=a,metadata.name=b",
            field=True,
        ),
    ),
    case(
        "fields that cannot be selected",
        *_selected(
            "data.key=a", "metadata.labels=x", "nonsense", "metadata.name in (a)", "metadata.name=a,", field=True
        ),
    ),
    case(
        "fields of pods",
        *_pods(),
        *[
            get(PODS, METADATA_LIST, fieldSelector=each)
            for each in (
                "spec.nodeName=n",
                "spec.nodeName=",
                "status.phase!=Running",
                "spec.restartPolicy=Never",
                "spec.schedulerName=mine",
                "status.podIP=10.1.2.3",
                "spec.serviceAccountName=default",
                "spec.hostname=x",
            )
        ],
    ),
    case(
        "fields of secrets",
        post(SECRETS, {"metadata": {"name": "a"}}),
        post(SECRETS, {"metadata": {"name": "b"}, "type": "mine"}),
        get(SECRETS, METADATA_LIST, fieldSelector="type=mine"),
        get(SECRETS, METADATA_LIST, fieldSelector="type=Opaque"),
    ),
    case(
        "fields of other kinds",
        *[
            get(f"{APPS}/{kind}", METADATA_LIST, fieldSelector="status.replicas=0")
            for kind in ("replicasets", "deployments", "statefulsets")
        ],
        get(f"{CORE}/events", METADATA_LIST, fieldSelector="involvedObject.name=x,reason=y,type=Normal,source=z"),
        get("/apis/batch/v1/namespaces/{ns}/jobs", METADATA_LIST, fieldSelector="status.successful=1"),
        get("/api/v1/nodes", METADATA_LIST, fieldSelector="spec.unschedulable=true"),
        get("/api/v1/nodes", METADATA_LIST, fieldSelector="status.phase=x"),
    ),
    case(
        "labels and fields together",
        *_three(),
        get(MAPS, METADATA_LIST, labelSelector="shelf=x", fieldSelector="metadata.name!=a"),
    ),
)


def _table(plural: str) -> Case:
    sample = SAMPLES[plural]
    of = get(f"{sample.path}/{sample.name}", TABLE, includeObject="None")
    return case(f"a table of {plural}", quiet(post(sample.path, sample.object)), of)


_TABLED = (
    "configmaps",
    "events",
    "pods",
    "secrets",
    "serviceaccounts",
    "services",
    "nodes",
    "daemonsets",
    "deployments",
    "replicasets",
    "statefulsets",
    "controllerrevisions",
    "jobs",
    "cronjobs",
    "leases",
    "endpointslices",
    "ingresses",
    "networkpolicies",
    "poddisruptionbudgets",
    "roles",
    "rolebindings",
    "horizontalpodautoscalers",
    "priorityclasses",
    "storageclasses",
    "persistentvolumeclaims",
    "persistentvolumes",
    "resourcequotas",
    "validatingwebhookconfigurations",
    "validatingadmissionpolicies",
    "customresourcedefinitions",
)
_TABLES = (
    *map(_table, (plural for plural in _TABLED if len(plural) < 36)),
    case("a table of a list", *_three(), get(MAPS, TABLE, limit=2)),
    case("a table with whole objects", post(MAPS, a_map(data={"a": "b"})), get(MAPS, TABLE, includeObject="Object")),
    case(
        "a table with nonsense",
        get(MAPS, TABLE, includeObject="Some"),
        get(MAPS, "application/json;as=Table;v=v9;g=meta.k8s.io"),
        get(MAPS, f"{TABLE},application/json"),
    ),
    case("an empty table", get(PODS, TABLE)),
    case(
        "a table of a running pod",
        *_pods(),
        patch(
            f"{PODS}/a/status",
            {
                "status": {
                    "containerStatuses": [
                        {
                            "name": "main",
                            "ready": True,
                            "restartCount": 3,
                            "image": "i",
                            "imageID": "",
                            "state": {"running": {}},
                        }
                    ],
                    "conditions": [{"type": "Ready", "status": "True"}],
                }
            },
        ),
        patch(
            f"{PODS}/b/status",
            {
                "status": {
                    "containerStatuses": [
                        {
                            "name": "main",
                            "ready": False,
                            "restartCount": 0,
                            "image": "i",
                            "imageID": "",
                            "state": {"waiting": {"reason": "ImagePullBackOff"}},
                        }
                    ]
                }
            },
        ),
        get(PODS, TABLE, includeObject="None"),
    ),
    case("a table of what is refused", get(f"{MAPS}/missing", TABLE)),
)

_LIVE = [
    post(MAPS, a_map("new", labels={"shelf": "x"})),
    patch(f"{MAPS}/new", {"metadata": {"labels": {"shelf": "y"}}}),
    delete(f"{MAPS}/new"),
]


def _from_first(**query: Any) -> dict[str, Any]:
    return {"resourceVersion": FIRST} | query


_WATCHES = (
    case("a watch from now on", watch(MAPS, 3, *_LIVE)),
    case("a watch from a version", *_three(), delete(f"{MAPS}/b"), watch(MAPS, 3, **_from_first())),
    case("a watch of what is there", *_three(), watch(MAPS, 3, resourceVersion="0")),
    case("a watch that ends", post(MAPS, a_map()), watch(MAPS, **_from_first())),
    case(
        "a watch of a selection",
        post(MAPS, a_map("before")),
        watch(MAPS, 2, *_LIVE, labelSelector="shelf=x", resourceVersion=FIRST),
    ),
    case(
        "a watch of one name",
        *_three(),
        put(f"{MAPS}/b", a_map("b")),
        watch(MAPS, 2, fieldSelector="metadata.name=b", **_from_first()),
    ),
    case("a watch at a name", *_three(), watch(f"{MAPS}/b", 1, **_from_first())),
    case(
        "a watch with initial events",
        *_three(),
        watch(MAPS, 4, sendInitialEvents="true", allowWatchBookmarks="true", resourceVersionMatch="NotOlderThan"),
    ),
    case("initial events without a match", watch(MAPS, sendInitialEvents="true")),
    case(
        "initial events without bookmarks",
        *_three(),
        watch(MAPS, 3, sendInitialEvents="true", resourceVersionMatch="NotOlderThan"),
    ),
    case("a match on a watch", watch(MAPS, resourceVersion="1", resourceVersionMatch="Exact")),
    case("a watch of metadata", post(MAPS, a_map()), watch(MAPS, 1, accept=METADATA, resourceVersion="0")),
    case("a watch of tables", *_three(), watch(MAPS, 2, accept=TABLE, resourceVersion="0", includeObject="None")),
    case("a watch of a bad selector", watch(MAPS, labelSelector="a=b=c"), watch(MAPS, fieldSelector="data=x")),
    case("a watch of nothing that exists", watch(f"{CORE}/nonsense"), watch("/api/v1/namespaces/nowhere/configmaps")),
    case(
        "a watch at the old path",
        *_three(),
        Step(
            method="GET",
            path="/api/v1/watch/namespaces/{ns}/configmaps",
            query=(("resourceVersion", FIRST), ("timeoutSeconds", "10")),
            lines=2,
        ),
    ),
    case("a watch from the future", watch(MAPS, resourceVersion="999999999999")),
    case(
        "a watch of a finalizer",
        post(MAPS, a_map("kept", finalizers=["example.com/kept"])),
        delete(f"{MAPS}/kept"),
        patch(f"{MAPS}/kept", {"metadata": {"finalizers": None}}),
        watch(MAPS, 2, **_from_first()),
    ),
    case(
        "nothing is told of what changes nothing",
        post(MAPS, a_map()),
        put(f"{MAPS}/one", a_map()),
        watch(MAPS, **_from_first()),
    ),
    case(
        "nothing is told of dry runs",
        post(MAPS, a_map()),
        put(f"{MAPS}/one", a_map(data={"a": "b"}), dryRun="All"),
        watch(MAPS, **_from_first()),
    ),
)

_DISCOVERY = (
    *(
        case(f"what there is in {group}", get(f"/apis/{group}"), get(f"/apis/{group}/{version}"))
        for group, version in (
            ("apps", "v1"),
            ("autoscaling", "v2"),
            ("batch", "v1"),
            ("coordination.k8s.io", "v1"),
            ("discovery.k8s.io", "v1"),
            ("events.k8s.io", "v1"),
            ("policy", "v1"),
            ("rbac.authorization.k8s.io", "v1"),
            ("scheduling.k8s.io", "v1"),
        )
    ),
    case("health", get("/healthz"), get("/livez"), get("/readyz"), get("/readyz/ping"), get("/livez/nonsense")),
)

CASES: tuple[Case, ...] = (*_LISTS, *_VERSIONS, *_SELECTORS, *_TABLES, *_WATCHES, *_DISCOVERY)
