"""Bodies of pods in parts: what is cut, what is left alone, what counts."""

from __future__ import annotations

import pytest

from kubesim.api import pod_splicing
from kubesim.api.pod_splicing import Body, Spec
from kubesim.store.versions import Head, Version

START = b'{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"7","name":"a","uid":"1"}'
SPEC = b',"spec":{"containers":[{"name":"main"}],"terminationGracePeriodSeconds":30}'
STATUS = b',"status":{"phase":"Pending"}}'


def version(body: bytes | Body) -> Version:
    return Version(("", "a"), 7, Head("a", uid="1"), body)


def test_a_body_is_put_together_as_it_was() -> None:
    found = pod_splicing.pieces(version(START + SPEC + STATUS))

    assert found is not None
    assert version(found.body).body == START + SPEC + STATUS
    assert found.thin["spec"] == {"terminationGracePeriodSeconds": 30}


def test_a_node_is_added_to_the_spec() -> None:
    found = pod_splicing.pieces(version(START + SPEC + STATUS))
    assert found is not None
    found.thin["spec"]["nodeName"] = "node-1"

    assert version(found.with_node()).body == START + SPEC[:-1] + b',"nodeName":"node-1"}' + STATUS


@pytest.mark.parametrize(
    "body",
    [
        START + SPEC + b',"odd":{"a":1}' + STATUS,
        START + SPEC + STATUS[:-1] + b',"odd":1}',
        START + SPEC[:-1] + b',"nodeName":null}' + STATUS,
        START + b',"spec":{"terminationGracePeriodSeconds":"x"}' + STATUS,
        START + STATUS[:-1] + b',"spec":{}}',
    ],
)
def test_what_is_put_together_in_another_way_is_left_alone(body: bytes) -> None:
    assert pod_splicing.pieces(version(body)) is None


def test_what_others_have_too_does_not_count() -> None:
    own = pod_splicing.pieces(version(START + SPEC + STATUS))
    assert own is not None
    shared = Body(own.body.metadata, Spec(own.body.spec.before), own.body.status)

    assert len(own.body) - len(shared) == len(own.body.spec.before[0])
