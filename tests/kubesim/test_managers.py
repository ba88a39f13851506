"""Who writes, as a request says, and what it applies."""

from __future__ import annotations

from typing import Any

import pytest

from kubeloop.request import APPLY, JSON, MERGE_PATCH, Request
from kubesim.errors import StatusError
from kubesim.patches.managers import complain, configuration_of, manager_of


def a_request(method: str = "POST", kind: str = JSON, agent: str = "", **query: str) -> Request:
    headers = (("user-agent", agent),) if agent else ()
    return Request(method, "/api/v1/namespaces/default/configmaps", tuple(query.items()), b"", kind, headers=headers)


@pytest.mark.parametrize(
    ("request_", "name"),
    [
        (a_request(fieldManager="me", agent="kubectl/v1"), "me"),
        (a_request(agent="kubectl/v1.36 (linux/amd64)"), "kubectl"),
        (a_request(agent="Mozilla 5.0"), "Mozilla 5.0"),
        (a_request(agent="a\tb\u200bc/1"), "abc"),
        (a_request(agent="m" * 200), "m" * 128),
        (a_request(agent="ü" * 100), "ü" * 64),
        (a_request(), ""),
    ],
    ids=["named", "the first word", "without a slash", "what cannot be printed", "cut", "cut by bytes", "nobody"],
)
def test_who_writes(request_: Request, name: str) -> None:
    assert manager_of(request_, []).name == name


@pytest.mark.parametrize(
    ("text", "forced"), [("true", True), ("1", True), ("yes", True), ("false", False), ("0", False)]
)
def test_force_is_anything_that_is_not_false(text: str, forced: bool) -> None:
    request = a_request("PATCH", APPLY, fieldManager="me", force=text)

    assert manager_of(request, []).force == forced


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (a_request("PATCH", APPLY), "PatchOptions.*fieldManager: Required value: is required for apply patch"),
        (a_request("PATCH", MERGE_PATCH, force="true"), "force: Forbidden: may not be specified for non-apply patch"),
        (a_request(fieldManager="m" * 129), "CreateOptions.*fieldManager: Too long: may not be more than 128 bytes"),
        (a_request("PUT", fieldManager="a\nb"), r"UpdateOptions.*invalid character U\+000A \(at position 1\)"),
    ],
    ids=["nobody applies", "force without apply", "too long", "what cannot be printed"],
)
def test_options_that_do_not_fit_are_refused(request_: Request, words: str) -> None:
    with pytest.raises(StatusError, match=words) as caught:
        manager_of(request_, [])

    assert caught.value.code == 422


@pytest.mark.parametrize(
    ("body", "tree"),
    [
        (b'{"a": {"b": [1, 1.5, true, null]}}', {"a": {"b": [1, 1.5, True, None]}}),
        (b"a:\n  b: [1, 1.5, true, null]\n", {"a": {"b": [1, 1.5, True, None]}}),
        (b"at: 2030-01-01\ntime: 2030-01-01T00:00:00Z\n", {"at": "2030-01-01", "time": "2030-01-01T00:00:00Z"}),
        (b"1: a\ntrue: b\n", {"1": "a", "true": "b"}),
        (b"base: &base {a: 1}\nmore: {<<: *base, b: 2}\n", {"base": {"a": 1}, "more": {"a": 1, "b": 2}}),
        (b"", {}),
        (b"null", {}),
    ],
    ids=["JSON", "YAML", "dates are text", "keys are text", "anchors", "nothing", "null"],
)
def test_what_is_applied(body: bytes, tree: Any) -> None:
    assert configuration_of(body) == (tree, [])


def test_keys_that_are_said_twice_are_found_with_their_lines() -> None:
    assert configuration_of(b"a: 1\nb: {c: 1, c: 2}\na: 2\n") == (
        {"a": 2, "b": {"c": 2}},
        ['line 2: key "c" already set in map', 'line 3: key "a" already set in map'],
    )
    assert configuration_of(b'{"a":1,\n"a":2}') == ({"a": 2}, ['line 1: key "a" already set in map'])


@pytest.mark.parametrize(
    ("body", "words"),
    [(b"a: b: c", "error converting YAML to JSON"), (b"[]", "cannot unmarshal array"), (b"true", "unmarshal bool")],
)
def test_what_is_no_configuration_is_refused(body: bytes, words: str) -> None:
    with pytest.raises(StatusError, match=words) as caught:
        configuration_of(body)

    assert caught.value.code == 400


def test_what_is_said_twice_is_told_as_the_request_wishes() -> None:
    warned: list[str] = []
    ignored: list[str] = []

    complain(a_request("PATCH", APPLY), ["twice"], warned)
    complain(a_request("PATCH", APPLY, fieldValidation="Ignore"), ["twice"], ignored)
    with pytest.raises(StatusError, match="error strict decoding YAML"):
        complain(a_request("PATCH", APPLY, fieldValidation="Strict"), ["twice"], [])

    assert (warned, ignored) == (["twice"], [])
