"""Of the annotations of an object only those are held that somebody reads."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.core import Pod
from kubeloop.objects.narrowing import narrowed
from tests.kubeloop.scripted import a_pod

KEYS = st.sampled_from(["a.dev/one", "a.dev/two", "three", "uid", "name"])


@given(held=st.dictionaries(KEYS, st.text(max_size=5)), keys=st.frozensets(KEYS))
def test_an_object_has_the_annotations_that_are_named_and_everything_else(
    held: dict[str, str], keys: frozenset[str]
) -> None:
    tree = a_pod("a", app="web")
    tree["metadata"] |= {"annotations": held, "resourceVersion": "7", "creationTimestamp": "2026-01-01T00:00:00Z"}
    tree["status"] = {"phase": "Running"}
    body = msgspec.json.encode(tree)

    whole, narrow = (msgspec.json.decode(body, type=into) for into in (Pod, narrowed(Pod, keys)))

    assert isinstance(narrow, Pod)
    assert narrow.metadata.annotations == {key: value for key, value in held.items() if key in keys}
    assert whole.metadata.annotations == held
    metadata = msgspec.structs.replace(whole.metadata, annotations=narrow.metadata.annotations)
    assert msgspec.to_builtins(narrow) == msgspec.to_builtins(msgspec.structs.replace(whole, metadata=metadata))


def test_one_struct_is_made_for_the_same_keys() -> None:
    assert narrowed(Pod, frozenset("ab")) is narrowed(Pod, frozenset("ba"))


def test_an_object_without_annotations_has_none() -> None:
    pod = msgspec.json.decode(
        b'{"metadata":{"name":"a","uid":"u","resourceVersion":"1"}}', type=narrowed(Pod, frozenset())
    )

    assert pod.metadata.annotations == {}


def test_other_kinds_are_narrowed_alike() -> None:
    body = b'{"metadata":{"name":"a","uid":"u","resourceVersion":"1","generation":3,"annotations":{"x":"1","y":"2"}}}'

    found = msgspec.json.decode(body, type=narrowed(StatefulSet, frozenset({"y"})))

    assert (found.metadata.annotations, found.metadata.generation) == ({"y": "2"}, 3)
