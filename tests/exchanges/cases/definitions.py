"""Definitions of custom resources: their life, and what is wrong with them."""

from __future__ import annotations

from tests.exchanges.case import (
    JSON_PATCH,
    METADATA_LIST,
    TABLE,
    Case,
    case,
    delete,
    get,
    patch,
    post,
    put,
    quiet,
    ready,
    watch,
)
from tests.exchanges.cases.samples import DEFINITIONS, an_object
from tests.exchanges.cases.widgets import (
    GROUP,
    NAME,
    NUMBER,
    ONE,
    TEXT,
    WIDGETS,
    a_definition,
    a_version,
    a_widget,
    defined,
    on_widgets,
    refused,
    with_spec,
)

_COLUMN = {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}
_LIVES = (
    case(
        "life of a definition",
        post(DEFINITIONS, a_definition()),
        ready(get(f"{DEFINITIONS}/{NAME}"), containing='"Established","status":"True"'),
        get(f"{DEFINITIONS}/{NAME}"),
        post(DEFINITIONS, a_definition()),
        patch(f"{DEFINITIONS}/{NAME}", {"metadata": {"labels": {"a": "b"}}}),
        patch(
            f"{DEFINITIONS}/{NAME}",
            [{"op": "add", "path": "/spec/versions/0/additionalPrinterColumns", "value": [_COLUMN]}],
            JSON_PATCH,
        ),
        delete(f"{DEFINITIONS}/{NAME}"),
        ready(get(f"{DEFINITIONS}/{NAME}"), 404),
        get(f"{DEFINITIONS}/{NAME}"),
        get(WIDGETS),
    ),
    on_widgets(
        "life of a custom resource",
        post(WIDGETS, a_widget()),
        post(WIDGETS, a_widget()),
        get(ONE),
        put(
            ONE,
            a_widget(color="green")
            | {"metadata": {"name": "one", "resourceVersion": "<<2.metadata.resourceVersion>>"}},
        ),
        put(ONE, a_widget() | {"metadata": {"name": "one", "resourceVersion": "<<2.metadata.resourceVersion>>"}}),
        put(ONE, a_widget(color="red")),
        delete(ONE),
        get(ONE),
    ),
    on_widgets(
        "custom resources in a list",
        *[quiet(post(WIDGETS, a_widget(name))) for name in "ba"],
        get(WIDGETS),
        get(WIDGETS, METADATA_LIST),
        get(WIDGETS, TABLE),
    ),
    on_widgets(
        "custom resources in a watch", watch(WIDGETS, 2, post(WIDGETS, a_widget()), patch(ONE, {"spec": {"size": 2}}))
    ),
    on_widgets(
        "deleting all custom resources",
        *[quiet(post(WIDGETS, a_widget(name))) for name in "ba"],
        delete(WIDGETS),
        get(WIDGETS),
    ),
    case(
        "a resource at cluster scope",
        *defined(a_definition(a_version(schema=with_spec(a=TEXT)), scope="Cluster")),
        post(f"/apis/{GROUP}/v1/widgets", a_widget(size=None)),
        get(f"/apis/{GROUP}/v1/widgets/one"),
        get(WIDGETS),
    ),
    case(
        "the group of a definition",
        *defined(
            a_definition(
                names={
                    "plural": "widgets",
                    "kind": "Widget",
                    "shortNames": ["wi"],
                    "categories": ["goods"],
                    "singular": "widget",
                    "listKind": "Widgets",
                }
            )
        ),
        get(f"/apis/{GROUP}"),
        get(f"/apis/{GROUP}/v1"),
        get(WIDGETS),
    ),
    case(
        "names that are taken",
        *defined(a_definition()),
        post(DEFINITIONS, a_definition(plural="gizmos")),
        ready(get(f"{DEFINITIONS}/gizmos.{GROUP}"), containing='"NamesAccepted","status":"False"'),
        get(f"{DEFINITIONS}/gizmos.{GROUP}"),
    ),
)

_BAD = (
    refused("a definition without anything", an_object("apiextensions.k8s.io/v1", "CustomResourceDefinition")),
    refused("a definition of another name", a_definition() | {"metadata": {"name": "other"}}),
    refused("a definition without a schema", a_definition({"name": "v1", "served": True, "storage": True})),
    refused("a definition with two storage versions", a_definition(a_version(), a_version("v2"))),
    refused("a definition with none to store", a_definition(a_version(storage=False))),
    refused("a definition with one version twice", a_definition(a_version(), a_version(storage=False))),
    refused("a definition with a bad version", a_definition(a_version("V1"))),
    refused("a definition with a bad scope", a_definition(scope="Everywhere")),
    refused(
        "a definition in a protected group",
        a_definition()
        | {"metadata": {"name": "widgets.my.k8s.io"}, "spec": a_definition()["spec"] | {"group": "my.k8s.io"}},
    ),
    refused(
        "a schema that is not structural", a_definition(a_version(schema=with_spec(a={"properties": {"b": TEXT}})))
    ),
    refused("a schema with a type that is none", a_definition(a_version(schema=with_spec(a={"type": "text"})))),
    refused("a schema with a bad default", a_definition(a_version(schema=with_spec(a=NUMBER | {"default": "x"})))),
    refused("a schema with a bad pattern", a_definition(a_version(schema=with_spec(a=TEXT | {"pattern": "("})))),
    refused("a schema with a reference", a_definition(a_version(schema=with_spec(a={"$ref": "#/definitions/x"})))),
    refused(
        "a schema with a list without keys",
        a_definition(
            a_version(
                schema=with_spec(a={"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"})
            )
        ),
    ),
    refused(
        "a schema with unique items",
        a_definition(a_version(schema=with_spec(a={"type": "array", "items": TEXT, "uniqueItems": True}))),
    ),
    refused(
        "a schema that restricts metadata",
        a_definition(
            a_version(
                schema={
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}},
                    }
                }
            )
        ),
    ),
    refused("a schema that is no object", a_definition(a_version(schema={"openAPIV3Schema": {"type": "string"}}))),
    refused(
        "bad printer columns",
        a_definition(
            a_version(
                additionalPrinterColumns=[
                    {"name": "", "type": "text", "jsonPath": "spec"},
                    {"name": "A", "type": "string", "jsonPath": ".spec["},
                ]
            )
        ),
    ),
    refused(
        "bad subresources",
        a_definition(
            a_version(
                subresources={"scale": {"specReplicasPath": "spec.replicas", "statusReplicasPath": ".spec.replicas"}}
            )
        ),
    ),
    refused(
        "bad selectable fields",
        a_definition(
            a_version(selectableFields=[{"jsonPath": ".spec.none"}, {"jsonPath": ".spec.tags"}, {"jsonPath": "spec"}])
        ),
    ),
    refused(
        "bad conversions",
        a_definition(conversion={"strategy": "Magic"}),
        a_definition(conversion={"strategy": "Webhook"}),
        a_definition(conversion={"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}}),
    ),
    refused("preserving unknown fields everywhere", a_definition(preserveUnknownFields=True)),
    case(
        "a definition keeps its scope and names",
        *defined(a_definition()),
        patch(f"{DEFINITIONS}/{NAME}", {"spec": {"scope": "Cluster"}}),
        patch(f"{DEFINITIONS}/{NAME}", {"spec": {"names": {"plural": "gizmos"}}}),
        patch(f"{DEFINITIONS}/{NAME}", {"spec": {"group": "other.example.com"}}),
    ),
    case(
        "a version that is stored cannot go",
        *defined(a_definition()),
        patch(f"{DEFINITIONS}/{NAME}", {"spec": {"versions": [a_version("v2")]}}),
    ),
)

CASES: tuple[Case, ...] = (*_LIVES, *_BAD)
