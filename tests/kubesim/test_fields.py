"""Unknown, repeated and mistyped fields in requests: the answers are a real server's, for each wish and each patch."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest

from kubeloop.request import Request, Response
from kubesim.cluster import Cluster
from kubesim.kinds.registry import CONFIG_MAPS, DEFINITIONS, DEPLOYMENTS, PODS
from kubesim.patches.patch import APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH
from tests.kubesim.hooks import HOST, a_hook, a_rule, answering, configure, decoded, message, on_a_cluster, patching
from tests.kubesim.trees import Tree, a_map, a_pod

JSON = "application/json"
SETTLED = 1.0
MAPS = "/api/v1/namespaces/default/configmaps"
POD = "/api/v1/namespaces/default/pods/web-0"
DEPLOYMENT = "/apis/apps/v1/namespaces/default/deployments/web"
TOKEN = "/api/v1/namespaces/default/serviceaccounts/default/token"
REVIEW = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
ITS = "/apis/example.com/v1/namespaces/default/its"
_LABELS = {"app": "web"}
A_DEPLOYMENT: Tree = {
    "metadata": {"name": "web"},
    "spec": {
        "replicas": 2,
        "selector": {"matchLabels": _LABELS},
        "template": {"metadata": {"labels": _LABELS}, "spec": {"containers": [{"name": "main", "image": "app:1"}]}},
    },
}
NUMBERS: Tree = {"type": "object", "properties": {"n": {"type": "integer"}}}
AN_IT: Tree = {"apiVersion": "example.com/v1", "kind": "It", "metadata": {"name": "one"}, "spec": {"n": 1}}
A_DEFINITION: Tree = {
    "metadata": {"name": "its.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "its", "singular": "it", "kind": "It", "listKind": "ItList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"scale": {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": NUMBERS, "status": NUMBERS}}},
            }
        ],
    },
}
_document = re.compile(r'Invalid value: "\{(?:[^"\\]|\\.)*"')


async def sent(
    cluster: Cluster, method: str, path: str, body: object, content_type: str = JSON, **query: str
) -> Response:
    """Bodies that are bytes go as they are."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return await cluster.transport().send(Request(method, path, tuple(query.items()), content, content_type))


def warnings(answer: Response) -> list[str]:
    found = re.findall(r'299 - "((?:[^"\\]|\\.)*)"', answer.headers.get("warning", ""))
    return [text.replace('\\"', '"') for text in found]


def answered(method: str, path: str, body: object, content_type: str = JSON, **query: str) -> Response:
    """The answer of a cluster with a map, a pod, a Deployment, and a custom resource."""

    async def script(cluster: Cluster) -> Response:
        verbs = cluster.verbs
        verbs.create(CONFIG_MAPS, "default", a_map("settings") | {"data": {"a": "b"}}, user="me")
        verbs.create(PODS, "default", a_pod(), user="me")
        verbs.create(DEPLOYMENTS, "default", A_DEPLOYMENT, user="me")
        verbs.create(DEFINITIONS, "", A_DEFINITION, user="me")
        await asyncio.sleep(SETTLED)
        assert (await sent(cluster, "POST", ITS, AN_IT)).status == 201
        await sent(cluster, "POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})
        return await sent(cluster, method, path, body, content_type, **query)

    answer: Response = on_a_cluster(script)
    return answer


def refusal(answer: Response) -> tuple[int, str]:
    """The code and the message; the server prints a patched object in an order of its own."""
    return answer.status, _document.sub("Invalid value: ...", message(answer))


# Bodies

ODD = b'{"metadata":{"name":"new","labels":{"a":"1","a":"2"}},"data":{"b":"c"},"odd":1}'
STRICT = 'strict decoding error: duplicate field "metadata.labels.a", unknown field "odd"'


def test_strict_requests_are_refused() -> None:
    answer = answered("POST", MAPS, ODD, fieldValidation="Strict")

    assert refusal(answer) == (400, f'ConfigMap in version "v1" cannot be handled as a ConfigMap: {STRICT}')


@pytest.mark.parametrize("wish", [{}, {"fieldValidation": "Warn"}])
def test_requests_are_warned_by_default(wish: Tree) -> None:
    answer = answered("POST", MAPS, ODD, **wish)

    assert answer.status == 201
    assert warnings(answer) == ['duplicate field "metadata.labels.a"', 'unknown field "odd"']
    assert "odd" not in decoded(answer)


def test_requests_may_be_passed_over_in_silence() -> None:
    answer = answered("POST", MAPS, ODD, fieldValidation="Ignore")

    assert (answer.status, warnings(answer)) == (201, [])
    assert "odd" not in decoded(answer)


def test_a_wish_that_there_is_none_of_is_refused() -> None:
    assert answered("POST", MAPS, ODD, fieldValidation="Maybe").status == 422


def test_a_body_that_replaces_is_looked_at_too() -> None:
    body = {"metadata": {"name": "settings"}, "data": {"a": "1"}, "odd": 1}

    strict = answered("PUT", f"{MAPS}/settings", body, fieldValidation="Strict")
    warned = answered("PUT", f"{MAPS}/settings", body)

    why = 'strict decoding error: unknown field "odd"'
    assert refusal(strict) == (400, f'ConfigMap in version "v1" cannot be handled as a ConfigMap: {why}')
    assert (warned.status, warnings(warned)) == (200, ['unknown field "odd"'])


def test_nulls_are_zero_or_absent_except_in_data_that_the_server_does_not_read() -> None:
    revisions = "/apis/apps/v1/namespaces/default/controllerrevisions"
    revision = {"metadata": {"name": "r", "annotations": None}, "revision": 1, "data": {"spec": None}}
    sent_map = {"metadata": {"name": "m", "labels": {"a": None}}, "data": {"b": None}, "binaryData": None}

    made, settings = decoded(answered("POST", revisions, revision)), decoded(answered("POST", MAPS, sent_map))

    assert made["data"] == {"spec": None}
    assert "annotations" not in made["metadata"]
    assert (settings["metadata"]["labels"], settings["data"]) == ({"a": ""}, {"b": ""})
    assert "binaryData" not in settings


@pytest.mark.parametrize(
    ("path", "body", "why"),
    [
        (
            f"{POD}/eviction",
            {"metadata": {"name": "web-0"}, "deleteOptions": {"gracePeriodSeconds": "x"}},
            (
                'Eviction in version "v1" cannot be handled as a Eviction: json: cannot unmarshal string into Go '
                "struct field DeleteOptions.deleteOptions.gracePeriodSeconds of type int64"
            ),
        ),
        (
            f"{POD}/eviction",
            {"metadata": {"name": "web-0"}, "odd": 1},
            'Eviction in version "v1" cannot be handled as a Eviction: strict decoding error: unknown field "odd"',
        ),
        (
            f"{POD}/binding",
            {"metadata": {"name": "web-0"}, "target": 1},
            (
                'Binding in version "v1" cannot be handled as a Binding: json: cannot unmarshal number into Go struct '
                "field Binding.target of type v1.ObjectReference"
            ),
        ),
        (
            f"{POD}/binding",
            {"metadata": {"name": "web-0"}, "target": {"name": "n", "odd": 1}},
            'Binding in version "v1" cannot be handled as a Binding: strict decoding error: unknown field "target.odd"',
        ),
        (
            TOKEN,
            {"spec": {"audiences": "a"}},
            (
                'TokenRequest in version "v1" cannot be handled as a TokenRequest: json: cannot unmarshal string into '
                "Go struct field TokenRequestSpec.spec.audiences of type []string"
            ),
        ),
        (
            REVIEW,
            {"spec": {"resourceAttributes": {"verb": "get", "odd": 1}}},
            (
                'SelfSubjectAccessReview in version "v1" cannot be handled as a SelfSubjectAccessReview: strict '
                'decoding error: unknown field "spec.resourceAttributes.odd"'
            ),
        ),
        (
            REVIEW,
            {"spec": {"resourceAttributes": {"verb": 1}}},
            (
                'SelfSubjectAccessReview in version "v1" cannot be handled as a SelfSubjectAccessReview: json: cannot '
                "unmarshal number into Go struct field ResourceAttributes.spec.resourceAttributes.verb of type string"
            ),
        ),
    ],
)
def test_what_is_posted_besides_objects_is_decoded_too(path: str, body: Tree, why: str) -> None:
    assert refusal(answered("POST", path, body, fieldValidation="Strict")) == (400, why)


# Patches

PATCH_WORDS = [
    (MERGE_PATCH, {"odd": 1, "metadata": {"zoo": 1, "bar": 2}}, "..."),
    (STRATEGIC_PATCH, {"odd": 1, "metadata": {"zoo": 1, "bar": 2}}, '"map[metadata:map[bar:2 zoo:1] odd:1]"'),
]
UNKNOWN = ['unknown field "metadata.bar"', 'unknown field "metadata.zoo"', 'unknown field "odd"']


@pytest.mark.parametrize(("content_type", "body", "printed"), PATCH_WORDS)
def test_what_a_patch_adds_that_is_unknown(content_type: str, body: Tree, printed: str) -> None:
    strict = answered("PATCH", f"{MAPS}/settings", body, content_type, fieldValidation="Strict")
    warned = answered("PATCH", f"{MAPS}/settings", body, content_type)
    ignored = answered("PATCH", f"{MAPS}/settings", body, content_type, fieldValidation="Ignore")

    why = f"strict decoding error: {', '.join(UNKNOWN)}"
    assert refusal(strict) == (422, f' "" is invalid: patch: Invalid value: {printed}: {why}')
    assert (warned.status, warnings(warned)) == (200, UNKNOWN)
    assert (ignored.status, warnings(ignored)) == (200, [])
    assert "odd" not in decoded(ignored)


@pytest.mark.parametrize(
    ("content_type", "body", "told", "printed"),
    [
        (MERGE_PATCH, b'{"data":{"b":"1","b":"2"}}', 'duplicate field "data.b"', "..."),
        (STRATEGIC_PATCH, b'{"data":{"b":"1","b":"2"}}', 'duplicate field "data.b"', '"map[data:map[b:2]]"'),
        (
            JSON_PATCH,
            b'[{"op":"add","op":"add","path":"/data/b","value":"1"}]',
            'json patch duplicate field "[0].op"',
            "...",
        ),
        (
            JSON_PATCH,
            b'[{"op":"add","path":"/data/b","value":"1","bar":2}]',
            'json patch unknown field "[0].bar"',
            "...",
        ),
    ],
)
def test_what_a_patch_says_twice_or_too_much(content_type: str, body: bytes, told: str, printed: str) -> None:
    strict = answered("PATCH", f"{MAPS}/settings", body, content_type, fieldValidation="Strict")
    warned = answered("PATCH", f"{MAPS}/settings", body, content_type)
    ignored = answered("PATCH", f"{MAPS}/settings", body, content_type, fieldValidation="Ignore")

    why = f' "" is invalid: patch: Invalid value: {printed}: strict decoding error: {told}'
    assert refusal(strict) == (422, why)
    assert (warned.status, warnings(warned)) == (200, [told])
    assert (ignored.status, warnings(ignored)) == (200, [])


@pytest.mark.parametrize(
    ("path", "content_type", "body", "code", "why"),
    [
        (
            f"{MAPS}/settings",
            MERGE_PATCH,
            {"data": {"a": 1}},
            422,
            (
                ' "" is invalid: patch: Invalid value: ...: json: cannot unmarshal number into Go struct field '
                "ConfigMap.data of type string"
            ),
        ),
        (
            f"{MAPS}/settings",
            JSON_PATCH,
            [{"op": "add", "path": "/data/x", "value": 1}],
            422,
            (
                ' "" is invalid: patch: Invalid value: ...: json: cannot unmarshal number into Go struct field '
                "ConfigMap.data of type string"
            ),
        ),
        (
            f"{MAPS}/settings",
            STRATEGIC_PATCH,
            {"data": {"b": 1}},
            422,
            ' "" is invalid: patch: Invalid value: "map[data:map[b:1]]": cannot convert int64 to string',
        ),
        (
            f"{DEPLOYMENT}/scale",
            MERGE_PATCH,
            {"spec": {"replicas": "2"}},
            422,
            (
                ' "" is invalid: patch: Invalid value: ...: json: cannot unmarshal string into Go struct field '
                "ScaleSpec.spec.replicas of type int32"
            ),
        ),
        (
            f"{DEPLOYMENT}/scale",
            STRATEGIC_PATCH,
            {"spec": {"replicas": "2"}},
            422,
            ' "" is invalid: patch: Invalid value: "map[spec:map[replicas:2]]": unrecognized type: int32',
        ),
        (
            f"{DEPLOYMENT}/status",
            STRATEGIC_PATCH,
            {"status": {"replicas": "2"}},
            422,
            ' "" is invalid: patch: Invalid value: "map[status:map[replicas:2]]": unrecognized type: int32',
        ),
        (
            DEPLOYMENT,
            STRATEGIC_PATCH,
            {"spec": {"replicas": 3000000000}},
            422,
            (
                'Deployment.apps "web" is invalid: spec.replicas: Invalid value: -1294967296: must be greater than or '
                "equal to 0"
            ),
        ),
    ],
)
def test_a_patch_that_makes_something_of_another_type(
    path: str, content_type: str, body: object, code: int, why: str
) -> None:
    assert refusal(answered("PATCH", path, body, content_type)) == (code, why)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (
            {"strategy": {"rollingUpdate": {"maxSurge": True}}},
            "json: cannot unmarshal bool into Go value of type int32",
        ),
        ({"replicas": 1.5}, "cannot convert float64 to int32"),
    ],
)
def test_a_configuration_that_makes_something_of_another_type(change: Tree, why: str) -> None:
    config = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": change}

    answer = answered("PATCH", DEPLOYMENT, config, APPLY_PATCH, fieldManager="me", force="true")

    typed = "apps/v1, Kind=Deployment"
    assert refusal(answer) == (
        500,
        (
            f"failed to convert new object (/web; {typed}) to proper version: unable to convert unstructured object to "
            f"{typed}: {why}"
        ),
    )


def test_what_is_applied_is_written_as_anything_else() -> None:
    limits = {"cpu": "1000m", "memory": "1024Mi"}
    spec = {"template": {"spec": {"containers": [{"name": "main", "resources": {"limits": limits}}]}}}
    config = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": spec}

    answer = answered("PATCH", DEPLOYMENT, config, APPLY_PATCH, fieldManager="me", force="true")

    assert decoded(answer)["spec"]["template"]["spec"]["containers"][0]["resources"] == {
        "limits": {"cpu": "1", "memory": "1Gi"}
    }


# Scales


@pytest.mark.parametrize(
    ("replicas", "why"),
    [("2", "json: cannot unmarshal string into Go struct field ScaleSpec.spec.replicas of type int32")],
)
def test_a_scale_is_decoded_like_an_object(replicas: Any, why: str) -> None:
    body = {"metadata": {"name": "web", "namespace": "default"}, "spec": {"replicas": replicas}}

    answer = answered("PUT", f"{DEPLOYMENT}/scale", body)
    warned = answered("PUT", f"{DEPLOYMENT}/scale", body | {"spec": {"replicas": 1, "odd": 1}})

    assert refusal(answer) == (400, f'Scale in version "v1" cannot be handled as a Scale: {why}')
    assert (warned.status, warnings(warned)) == (200, ['unknown field "spec.odd"'])


def test_a_scale_of_a_custom_resource_is_refused_in_words_of_its_own() -> None:
    body = {"metadata": {"name": "one", "namespace": "default"}, "spec": {"replicas": "1"}}

    answer = answered("PUT", f"{ITS}/one/scale", body)

    assert refusal(answer) == (400, 'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"')


# Custom resources

TWICE = (
    b'{"apiVersion":"example.com/v1","kind":"It","metadata":{"name":"two","odd":1},"zoo":1,'
    b'"spec":{"n":1,"n":2,"odd":1}}'
)
TOLD = ['duplicate field "spec.n"', 'unknown field "metadata.odd"', 'unknown field "spec.odd"', 'unknown field "zoo"']


def test_a_custom_resource_that_says_something_twice() -> None:
    strict = answered("POST", ITS, TWICE, fieldValidation="Strict")
    warned = answered("POST", ITS, TWICE)

    why = f"strict decoding error: {', '.join(TOLD)}"
    assert refusal(strict) == (400, f'It in version "v1" cannot be handled as a It: {why}')
    assert (warned.status, warnings(warned)) == (201, TOLD)
    assert decoded(warned)["spec"] == {"n": 2}


@pytest.mark.parametrize(
    ("content_type", "body", "told"),
    [
        (MERGE_PATCH, b'{"spec":{"n":1,"n":2,"odd":1}}', ['duplicate field "spec.n"', 'unknown field "spec.odd"']),
        (
            JSON_PATCH,
            b'[{"op":"add","path":"/spec/odd","value":1,"x":1}]',
            ['json patch unknown field "[0].x"', 'unknown field "spec.odd"'],
        ),
    ],
)
def test_a_patch_of_a_custom_resource(content_type: str, body: bytes, told: list[str]) -> None:
    strict = answered("PATCH", f"{ITS}/one", body, content_type, fieldValidation="Strict")
    warned = answered("PATCH", f"{ITS}/one", body, content_type)

    why = f"strict decoding error: {', '.join(told)}"
    assert refusal(strict) == (422, f' "" is invalid: patch: Invalid value: ...: {why}')
    assert (warned.status, warnings(warned)) == (200, told)


# Admission


async def _reviewed(cluster: Cluster, value: Any) -> Response:
    change = patching(
        {"op": "add", "path": "/spec/replicas", "value": value}, {"op": "add", "path": "/odd", "value": 1}
    )
    cluster.network.serve(HOST, answering(lambda _: change))
    await configure(cluster, "mutating", "m", a_hook("one", a_rule("CREATE", "deployments", apiGroups=["apps"])))
    return await sent(cluster, "POST", DEPLOYMENT.removesuffix("/web"), A_DEPLOYMENT, fieldValidation="Strict")


def test_what_a_webhook_answers_is_decoded() -> None:
    answer = on_a_cluster(lambda cluster: _reviewed(cluster, 5))

    assert (answer.status, warnings(answer)) == (201, [])
    assert decoded(answer)["spec"]["replicas"] == 5
    assert "odd" not in decoded(answer)


def test_a_webhook_that_answers_something_of_another_type_fails_the_request() -> None:
    answer = on_a_cluster(lambda cluster: _reviewed(cluster, "5"))

    why = "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"
    assert refusal(answer) == (500, f"Internal error occurred: {why}")
