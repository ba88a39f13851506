"""What is created, and what is refused already in the body."""

from __future__ import annotations

from tests.exchanges.case import Case, case, get, post
from tests.exchanges.cases.samples import (
    CORE,
    DEPLOYMENTS,
    MAPS,
    PODS,
    SECRETS,
    SERVICES,
    a_deployment,
    a_map,
    a_pod,
    a_service,
    an_object,
)

UID = "0b4d1b5a-0000-4000-8000-000000000000"
ONE = f"{MAPS}/one"

_CREATING = (
    case("an empty object", post(MAPS, {})),
    case("an object without a name", post(MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}})),
    case("an object without metadata", post(MAPS, {"apiVersion": "v1", "kind": "ConfigMap"})),
    case("an object without kind and version", post(MAPS, {"metadata": {"name": "one"}})),
    case("a name with capitals", post(MAPS, a_map("One_Two"))),
    case("a name that is too long", post(MAPS, a_map("a" * 254))),
    case("a name with a slash", post(MAPS, a_map("a/b"))),
    case("a service name that begins with a digit", post(SERVICES, a_service("1one"))),
    case("bad labels and annotations", post(MAPS, a_map(labels={"a b": "c d"}, annotations={"e f": "x"}))),
    case("a finalizer without a domain", post(MAPS, a_map(finalizers=["kept"]))),
    case("a name that is generated", post(MAPS, {"metadata": {"generateName": "made-"}, "data": {"a": "b"}})),
    case(
        "a generated name does not replace a given one",
        post(MAPS, a_map("given", generateName="made-")),
        get(f"{MAPS}/given"),
    ),
    case("a bad start of a generated name", post(MAPS, {"metadata": {"generateName": "Made_"}})),
    case("a resource version in what is created", post(MAPS, a_map(resourceVersion="5"))),
    case("what the server sets cannot be given", post(MAPS, a_map(uid=UID, generation=7, selfLink="/x"))),
    case("a time of deletion cannot be given", post(MAPS, a_map(deletionTimestamp="2026-01-02T03:04:05Z"))),
    case("another namespace in the object", post(MAPS, a_map(namespace="other"))),
    case("the namespace of the path in the object", post(MAPS, a_map(namespace="{ns}"))),
    case("a namespace that does not exist", post("/api/v1/namespaces/nowhere/configmaps", a_map())),
    case("creating at a name", post(ONE, a_map())),
    case("creating without a namespace", post("/api/v1/configmaps", a_map())),
    case("an owner without its fields", post(MAPS, a_map(ownerReferences=[{"name": "x"}]))),
    case(
        "two controlling owners",
        post(
            MAPS,
            a_map(
                ownerReferences=[
                    {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": name, "controller": True} for name in "ab"
                ]
            ),
        ),
    ),
    case("status is not created with the object", post(PODS, a_pod() | {"status": {"phase": "Running"}})),
    case("a dry creation", post(MAPS, a_map(), dryRun="All"), get(ONE)),
    case("a wrong dry run", post(MAPS, a_map(), dryRun="Some")),
    case("data and binary data with one key", post(MAPS, a_map(data={"a": "b"}) | {"binaryData": {"a": "Yg=="}})),
    case("a bad key of data", post(MAPS, a_map(data={"a/b": "c"}))),
    case("a manager of fields that is too long", post(MAPS, a_map(), fieldManager="m" * 129)),
    case("a manager of fields by name", post(MAPS, a_map(data={"a": "b"}), fieldManager="somebody")),
    case("managed fields given by hand", post(MAPS, a_map(managedFields=[{"manager": "x", "operation": "Nothing"}]))),
)

_BODIES = (
    case("a body that is not json", post(MAPS, "well, no")),
    case("a body that is an array", post(MAPS, "[1, 2]")),
    case("a body that is cut off", post(MAPS, '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"na')),
    case("a body with something after it", post(MAPS, '{"metadata": {"name": "one"}} and more')),
    case("a body that is null", post(MAPS, "null")),
    case("no body", post(MAPS, None)),
    case("another kind", post(MAPS, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "one"}})),
    case("an unknown kind", post(MAPS, {"apiVersion": "v1", "kind": "Nonsense", "metadata": {"name": "one"}})),
    case("an unknown version", post(MAPS, {"apiVersion": "v9", "kind": "ConfigMap", "metadata": {"name": "one"}})),
    case("another group", post(DEPLOYMENTS, a_deployment() | {"apiVersion": "extensions/v1beta1"})),
    case("another version", post(DEPLOYMENTS, a_deployment() | {"apiVersion": "apps/v1beta2"})),
    case("a version that never was", post(DEPLOYMENTS, a_deployment() | {"apiVersion": "apps/v7"})),
    case("an event of another group", post(f"{CORE}/events", an_object("events.k8s.io/v1", "Event"))),
    case("a bad Secret among maps", post(MAPS, an_object("v1", "Secret", data={"a": "?"}))),
    case("a generation below zero", post(MAPS, a_map(generation=-1))),
    case("metadata of a wrong type", post(MAPS, {"metadata": "name"})),
    case("data of a wrong type", post(MAPS, a_map() | {"data": ["a"]})),
    case("a value of a wrong type", post(MAPS, a_map() | {"data": {"a": 1}})),
    case("a number of a wrong type", post(DEPLOYMENTS, a_deployment(replicas="three"))),
    case("a number with a fraction", post(DEPLOYMENTS, a_deployment(replicas=1.5))),
    case("text that is not base64", post(SECRETS, an_object("v1", "Secret", data={"a": "?"}))),
    case("a quantity that is none", post(PODS, a_pod(spec={"overhead": {"cpu": "many"}}))),
    case(
        "yaml in the body", post(MAPS, "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n", "application/yaml")
    ),
    case("yaml that cannot be read", post(MAPS, "a: [", "application/yaml")),
    case("an unknown media type", post(MAPS, a_map(), "text/csv")),
    case("a media type with parameters", post(MAPS, a_map(), "application/json; charset=utf-8")),
    case(
        "an unknown field is warned of",
        post(MAPS, a_map() | {"bogus": 1, "metadata": {"name": "one", "colour": "red"}}),
    ),
    case("an unknown field is refused", post(MAPS, a_map() | {"bogus": 1}, fieldValidation="Strict")),
    case("an unknown field is ignored", post(MAPS, a_map() | {"bogus": 1}, fieldValidation="Ignore")),
    case(
        "an unknown field deep below",
        post(PODS, a_pod(spec={"containers": [{"name": "a", "image": "b", "imag": "c"}]})),
    ),
    case("a wrong mode of validation", post(MAPS, a_map(), fieldValidation="Sloppy")),
    case(
        "a field twice is warned of",
        post(
            MAPS,
            '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one","name":"one"},"data":{"a":"b","a":"c"}}',
        ),
    ),
    case(
        "a field twice is refused",
        post(
            MAPS,
            '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one","name":"one"}}',
            fieldValidation="Strict",
        ),
    ),
    case("a body that is too large", post(MAPS, b'{"data":{"a":"' + b"x" * (3 * 1024 * 1024) + b'"}}')),
    case("data that is too large", post(MAPS, a_map(data={"a": "x" * (1024 * 1024 + 1)}))),
)

CASES: tuple[Case, ...] = (*_CREATING, *_BODIES)
