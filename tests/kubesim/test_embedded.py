"""Objects within custom resources."""

from __future__ import annotations

from typing import Any

import pytest

from kubeloop.schemas.structural import compile_schema
from kubesim.crds import embedded

ROOT = compile_schema(
    {"type": "object", "properties": {"inner": {"type": "object", "x-kubernetes-embedded-resource": True}}}
)


@pytest.mark.parametrize(
    ("inner", "causes"),
    [
        ({"apiVersion": "v1", "kind": "Pod"}, []),
        ({"kind": "Pod"}, [("inner.apiVersion", "Required value")]),
        (
            {"apiVersion": "", "kind": ""},
            [
                ("inner.apiVersion", 'Invalid value: "": must not be empty'),
                ("inner.kind", 'Invalid value: "": must not be empty'),
            ],
        ),
        (
            {"apiVersion": "a/b/c", "kind": "Pod"},
            [("inner.apiVersion", 'Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c')],
        ),
        (
            {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a/b"}},
            [("inner.metadata.name", "Invalid value: \"a/b\": may not contain '/'")],
        ),
    ],
)
def test_they_say_what_they_are(inner: dict[str, Any], causes: list[tuple[str, str]]) -> None:
    found = embedded.causes_of({"inner": inner}, ROOT)

    assert [(cause.field, cause.message) for cause in found] == causes


def test_their_metadata_must_be_metadata() -> None:
    why = embedded.problem({"inner": {"metadata": {"odd": 1, "labels": {"a": 5}}}}, ROOT)

    text = "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"
    assert why == f'inner.metadata: Invalid value: {{"labels":{{"a":5}},"odd":1}}: {text}'
    assert embedded.problem({"inner": {"metadata": {"odd": 1}}}, ROOT) == ""
