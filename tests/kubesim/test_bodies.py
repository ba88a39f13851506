"""What the server makes of bodies, good and bad; the sentences are those of the real one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kubeloop.request import JSON, JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Response
from kubesim.bodies import go_json
from kubesim.bodies.decoding import LARGEST, PROTOBUF, YAML
from tests.kubesim.desk import MAP, Desk, a_deployment, a_map, decoded, played

Tree = dict[str, Any]
MAPS = MAP.rpartition("/")[0]
HEAD = r'struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }'
SCHEME = 'in scheme "pkg/runtime/scheme.go:111"'
UNREAD = "couldn't get version/kind; json parse error:"
UNMARSHAL = "json: cannot unmarshal"
NOT_A_MAP = "cannot be handled as a ConfigMap:"
OPERATION = "handlers.jsonPatchOp"
NAMES = zip("abcdefgh", "bcdefghi", strict=True)
BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n" for old, new in NAMES)


def sent(body: object, kind: str = JSON, method: str = "POST", path: str = MAPS, **query: str) -> Response:
    """The answer to one request; a ConfigMap `settings` and a Deployment `web` are there."""

    async def script(desk: Desk) -> Response:
        await desk.send("POST", MAPS, a_map({"a": "1"}))
        await desk.send("POST", "/apis/apps/v1/namespaces/default/deployments", a_deployment(replicas=0))
        return await desk.send(method, path, body, kind, **query)

    answer: Response = played(script)
    return answer


def refused(answer: Response) -> tuple[int, str]:
    return answer.status, decoded(answer)["message"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "unexpected end of JSON input"),
        ("{", "unexpected end of JSON input"),
        ("[", "unexpected end of JSON input"),
        ('{"a":"b', "unexpected end of JSON input"),
        ('{"a":tru', "invalid character ' ' in literal true (expecting 'e')"),
        ('{"a":-', "invalid character '-' looking for beginning of value"),
        ('{"a":NaN}', "invalid character 'N' looking for beginning of value"),
        ("hello", "invalid character 'h' looking for beginning of value"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        ("{'a':1}", "invalid character '\\'' looking for beginning of object key string"),
        ('{"a":nope}', "invalid character 'o' in literal null (expecting 'u')"),
        ('{"a":01}', "invalid character '1' after object key:value pair"),
        ('{"a":1.}', "invalid character '.' after object key:value pair"),
        ('{"a":["[",1e]}', "invalid character 'e' after array element"),
        ('{"a":"\\x"}', "invalid character 'x' in string escape code"),
        ('{"a":"\\u12g4"}', "invalid character 'g' in \\u hexadecimal character escape"),
        ('{"a":"b\nc"}', "invalid character '\\n' in string literal"),
        ("{} more", "invalid character 'm' after top-level value"),
        ('{"a":[1,]}', "invalid character ']' looking for beginning of value"),
        ('{"a":[1 2]}', "invalid character '2' after array element"),
        ("\x00", "invalid character '\\x00' looking for beginning of value"),
        ("\x7f", "invalid character '\\x7f' looking for beginning of value"),
        ("[" * 10001, "invalid character '[' exceeded max depth"),
        ('{"a":[{},[],"\\u00e9\\n",-1.5e+3,true,null]}', ""),
        (" [ ] ", ""),
    ],
)
def test_mistakes_in_json_are_told_as_go_tells_them(text: str, why: str) -> None:
    assert go_json.problem(text.encode()) == why


def test_a_byte_that_is_no_text_is_told_as_a_sign() -> None:
    assert go_json.problem(b"\xff{}") == "invalid character 'ÿ' looking for beginning of value"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", f"{UNREAD} unexpected end of JSON input (<empty>)"),
        (b"[]", f"{UNREAD} {UNMARSHAL} array into Go value of type {HEAD} (5b5d)"),
        (
            b'{"apiVersion": 1, "kind": "ConfigMap"}',
            (
                f"{UNREAD} {UNMARSHAL} number into Go struct field .apiVersion of type string "
                """({"apiVersion": 1, "kind": "Con ...)"""
            ),
        ),
        (b'{"apiVersion":"a/b/c"}', 'unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c"})'),
        (b"[" * 20000, f"{UNREAD} invalid character '[' exceeded max depth ({'5b' * 30} ...)"),
    ],
)
def test_a_body_that_cannot_be_read_is_shown_in_part(body: bytes, why: str) -> None:
    message = f"the object provided is unrecognized (must be of type ConfigMap): {why}"

    assert refused(sent(body)) == (400, message)
    assert refused(sent(body, method="PUT", path=MAP)) == (400, message)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (
            {"kind": "Pod"},
            f'Pod in version "v1" {NOT_A_MAP} converting (v1.Pod) to (core.ConfigMap): unknown conversion',
        ),
        ({"kind": "Odd"}, f'Odd in version "v1" {NOT_A_MAP} no kind "Odd" is registered for version "v1" {SCHEME}'),
        (
            {"apiVersion": "v7"},
            f'ConfigMap in version "v7" {NOT_A_MAP} no kind "ConfigMap" is registered for version "v7" {SCHEME}',
        ),
        (
            {"apiVersion": "apps/v1"},
            f'ConfigMap in version "v1" {NOT_A_MAP} no kind "ConfigMap" is registered for version "apps/v1" {SCHEME}',
        ),
    ],
)
def test_a_body_of_another_kind_is_named(said: Tree, why: str) -> None:
    assert refused(sent(a_map() | said)) == (400, why)


@pytest.mark.parametrize("body", [b"null", b"{}", b'{"apiVersion":"","kind":null}'])
def test_a_body_may_leave_out_what_it_is(body: bytes) -> None:
    status, message = refused(sent(body))

    assert status == 422
    assert message == 'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required'


def test_text_that_is_no_unicode_is_replaced() -> None:
    """Half of a pair of surrogates, and a byte that stands for nothing, become the sign for that."""
    body = b'{"metadata":{"name":"odd"},"data":{"a":"x\xff","b":"\\ud800y"}}'

    assert decoded(sent(body))["data"] == {"a": "x\ufffd", "b": "\ufffdy"}


def test_yaml_is_taken_like_json() -> None:
    made = decoded(sent(b"metadata:\n  name: new\ndata: {day: 2030-01-01, true: 'yes'}\n", YAML))

    assert made["data"] == {"day": "2030-01-01", "true": "yes"}


@pytest.mark.parametrize(
    ("spelled", "key"),
    [
        *((word, "true") for word in ("y", "Y", "yes", "on", "True")),
        *((word, "false") for word in ("n", "N", "no", "off")),
        ("1.5", "1.5"),
        ("1e3", "1000"),
        ("0x10", "16"),
        ("010", "8"),
        ("0o10", "8"),
        ("0b11", "3"),
        ("1_000", "1000"),
        (".5", "0.5"),
        (".inf", ".inf"),
        ("2020-01-01", "2020-01-01"),
        ("'y'", "y"),
    ],
)
def test_a_key_in_yaml_is_what_it_means(spelled: str, key: str) -> None:
    made = decoded(sent(f"metadata: {{name: new}}\ndata: {{{spelled}: v}}\n".encode(), YAML))

    assert made["data"] == {key: "v"}


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("bool", ("y", "n", "yes", "no", "on", "off", "Yes", "ON")),
        ("number", ("1", "1e3", "0x10", "010", "0o10", "0b11", "1_000", ".5", "1.", "+1", "-0x1")),
    ],
)
def test_a_word_in_yaml_is_what_it_means(kind: str, words: tuple[str, ...]) -> None:
    why = f'ConfigMap in version "v1" {NOT_A_MAP} {UNMARSHAL} {kind} into Go struct field ConfigMap.data of type string'
    for word in words:
        answer = sent(f"metadata: {{name: new}}\ndata: {{a: {word}}}\n".encode(), YAML)
        assert (word, *refused(answer)) == (word, 400, why)


@pytest.mark.parametrize(("word", "value"), [("1:30", "1:30"), ("2020-01-01", "2020-01-01"), ("=", "="), ("~", "")])
def test_a_word_in_yaml_may_be_text(word: str, value: str) -> None:
    made = decoded(sent(f"metadata: {{name: new}}\ndata: {{a: {word}}}\n".encode(), YAML))

    assert made["data"] == {"a": value}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("data: {a: .inf}", "json: unsupported value: +Inf"),
        ('data: {~: "v"}', 'unsupported map key of type: %!s(<nil>), key: <nil>, value: "v"'),
        ("a: &a [*a]", "yaml: anchor 'a' value contains itself"),
        (
            BOMB,
            "yaml: document contains excessive aliasing",
        ),
    ],
    ids=["infinite", "null key", "itself", "bomb"],
)
def test_yaml_that_json_cannot_say_is_refused(text: str, why: str) -> None:
    status, message = refused(sent(text.encode(), YAML))

    assert status == 400
    assert message.startswith(f"the object provided is unrecognized (must be of type ConfigMap): {why} (")


def test_an_alias_stands_for_what_it_names() -> None:
    made = decoded(sent(b"metadata: {name: &name new}\ndata: {a: *name, b: *name}\n", YAML))

    assert made["data"] == {"a": "new", "b": "new"}


def test_yaml_that_is_none_is_told_with_its_line() -> None:
    message = "the object provided is unrecognized (must be of type ConfigMap): yaml: line 1:"
    why = "did not find expected ',' or ']'"

    assert refused(sent(b"a: [1", YAML)) == (400, f"{message} {why} (613a205b31)")


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/xml",
        "application",
        "application/json;odd",
        "application/json, text/plain",
        MERGE_PATCH,
    ],
)
def test_types_that_no_body_has(kind: str) -> None:
    types = "application/json, application/yaml, application/vnd.kubernetes.protobuf"

    message = f"the body of the request was in an unknown format - accepted media types include: {types}"
    assert refused(sent(a_map(), kind)) == (415, message)


@pytest.mark.parametrize("kind", ["", "application/JSON", "application/json; charset=utf-8"])
def test_types_that_are_json(kind: str) -> None:
    async def script(desk: Desk) -> int:
        return (await desk.send("POST", MAPS, a_map({"a": "b"}), kind)).status

    assert played(script) == 201


@pytest.mark.parametrize(
    ("method", "path", "kind"),
    [("POST", MAPS, JSON), ("PUT", MAP, JSON), ("PATCH", MAP, MERGE_PATCH), ("DELETE", MAP, JSON)],
)
def test_a_body_that_is_too_large(method: str, path: str, kind: str) -> None:
    body = b'{"a":"' + b"x" * LARGEST

    assert refused(sent(body, kind, method, path)) == (413, f"Request entity too large: limit is {LARGEST}")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"{}", "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({})"),
        (b"k8s\x00", "empty body (6b387300)"),
        (b"k8s\x00\x0a\x20", "unexpected EOF (6b3873000a20)"),
    ],
)
def test_protobuf_that_is_none(body: bytes, why: str) -> None:
    message = f"the object provided is unrecognized (must be of type ConfigMap): {why}"

    assert refused(sent(body, PROTOBUF)) == (400, message)


@pytest.mark.parametrize("wish", ["Some", ""])
def test_options_are_looked_at_before_the_body(wish: str) -> None:
    status, message = refused(sent(b"nonsense", dryRun=wish))

    assert status == 422
    assert message.startswith(f'CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["{wish}"]')


# Patches


@pytest.mark.parametrize(
    ("kind", "body", "why"),
    [
        (JSON_PATCH, b"", "error decoding patch: unexpected end of JSON input"),
        (MERGE_PATCH, b"x", "error decoding patch: invalid character 'x' looking for beginning of value"),
        (STRATEGIC_MERGE_PATCH, b"x", "invalid character 'x' looking for beginning of value"),
        (JSON_PATCH, b'"x"', f"error decoding patch: {UNMARSHAL} string into Go value of type []{OPERATION}"),
        (JSON_PATCH, b'["x"]', f"error decoding patch: {UNMARSHAL} string into Go value of type {OPERATION}"),
        (
            JSON_PATCH,
            b'[{"op":1}]',
            f"error decoding patch: {UNMARSHAL} number into Go struct field jsonPatchOp.op of type string",
        ),
        (
            MERGE_PATCH,
            b"[]",
            f"error decoding patch: {UNMARSHAL} array into Go value of type map[string]interface {{}}",
        ),
        (STRATEGIC_MERGE_PATCH, b"[]", f"{UNMARSHAL} array into Go value of type map[string]interface {{}}"),
        (MERGE_PATCH, b"null", "Invalid JSON Patch"),
    ],
)
def test_patches_that_are_none(kind: str, body: bytes, why: str) -> None:
    assert refused(sent(body, kind, "PATCH", MAP)) == (400, why)


@pytest.mark.parametrize("kind", [JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH])
def test_the_object_is_looked_for_before_the_patch(kind: str) -> None:
    assert refused(sent(b"x", kind, "PATCH", f"{MAPS}/none")) == (404, 'configmaps "none" not found')


def test_a_patch_cannot_make_something_else_of_an_object() -> None:
    status, message = refused(sent({"kind": "Pod"}, MERGE_PATCH, "PATCH", MAP))

    assert status == 422
    assert message.startswith(' "" is invalid: patch: Invalid value: "{')
    assert message.endswith('": converting (v1.Pod) to (core.ConfigMap): unknown conversion')


def test_a_strategic_patch_does_not_touch_what_an_object_is() -> None:
    made = decoded(sent({"kind": "Pod", "apiVersion": "v7", "data": {"b": "2"}}, STRATEGIC_MERGE_PATCH, "PATCH", MAP))

    assert (made["apiVersion"], made["kind"], made["data"]) == ("v1", "ConfigMap", {"a": "1", "b": "2"})


def test_too_many_steps() -> None:
    steps = [{"op": "test", "path": "/data/a", "value": "1"}] * 10001

    most = "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001"
    assert refused(sent(steps, JSON_PATCH, "PATCH", MAP)) == (413, most)


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ({"$patch": "fly"}, "unknown patch type: fly in map: map[$patch:fly]"),
        ({"metadata": {"$setElementOrder/finalizers": "x"}}, "expected a []interface {}, but received a string"),
        (
            {"metadata": {"$setElementOrder/finalizers": ["a/b"], "finalizers": ["c/d"]}},
            "The order in patch list:\n[c/d]\n doesn't match $setElementOrder list:\n[a/b]\n",
        ),
    ],
)
def test_strategic_patches_with_wrong_directives(patch: Tree, why: str) -> None:
    assert refused(sent(patch, STRATEGIC_MERGE_PATCH, "PATCH", MAP)) == (500, why)


# Scales

SCALE = "/apis/apps/v1/namespaces/default/deployments/web/scale"


@pytest.mark.parametrize(
    ("metadata", "status", "why"),
    [
        ({}, 400, "the name of the object (web based on URL) was undeterminable: name must be provided"),
        ({"name": "other"}, 400, "the name of the object (other) does not match the name on the URL (web)"),
        (
            {"name": "web", "namespace": "other"},
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
    ],
)
def test_a_scale_says_of_whom_it_is(metadata: Tree, status: int, why: str) -> None:
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": metadata, "spec": {"replicas": 1}}

    assert refused(sent(scale, JSON, "PUT", SCALE)) == (status, why)


def test_a_scale_of_another_incarnation_is_a_conflict() -> None:
    scale = {"metadata": {"name": "web", "uid": "other"}, "spec": {"replicas": 1}}

    status, message = refused(sent(scale, JSON, "PUT", SCALE))

    assert status == 409
    assert "Key: /registry/deployments/default/web, ResourceVersion: 0" in message


def test_a_deployment_is_scaled_by_yaml() -> None:
    made = sent(b"metadata: {name: web}\nspec: {replicas: 2}\n", YAML, "PUT", SCALE)

    assert json.loads(made.body)["spec"] == {"replicas": 2}
