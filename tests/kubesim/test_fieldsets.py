"""Sets of fields are read and written as the server does, and printed as people read them."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.patches import field_sets
from kubesim.patches.field_sets import Unreadable

Tree = dict[str, Any]
WEB = 'k:{"name":"web"}'


def test_a_set_is_read_as_its_paths() -> None:
    tree: Tree = {"f:spec": {"f:ports": {".": {}, 'k:{"port":80}': {".": {}, "f:name": {}}}, "f:size": {}}}

    found = field_sets.read(tree)

    assert found == {
        ("f:spec", "f:ports"),
        ("f:spec", "f:ports", 'k:{"port":80}'),
        ("f:spec", "f:ports", 'k:{"port":80}', "f:name"),
        ("f:spec", "f:size"),
    }


def test_what_is_read_is_written_again() -> None:
    tree: Tree = {"f:a": {".": {}, WEB: {".": {}, "f:b": {}}, "v:1": {}}, "f:c": {}}

    assert field_sets.write(field_sets.read(tree)) == tree


def test_words_come_as_fields_then_keys_then_items() -> None:
    words = ['v:"b"', "v:true", "f:b", 'k:{"name":"x","port":2}', "i:1", "v:10", "v:9", "f:a", 'k:{"name":"x"}']

    written = field_sets.write(frozenset((word,) for word in words))

    assert list(written) == [
        "f:a",
        "f:b",
        'k:{"name":"x"}',
        'k:{"name":"x","port":2}',
        "v:9",
        "v:10",
        'v:"b"',
        "v:true",
        "i:1",
    ]


def test_words_are_compared_in_one_form() -> None:
    read = field_sets.read({'k:{ "protocol":"TCP", "port":80.0 }': {}, "v: 3": {}})

    assert read == {('k:{"port":80,"protocol":"TCP"}',), ("v:3",)}


def test_signs_of_html_are_escaped_in_values_and_not_in_names() -> None:
    assert field_sets.item("a<b>&c") == 'v:"a\\u003cb\\u003e\\u0026c"'
    assert field_sets.field("a<b") == "f:a<b"


def test_words_of_a_later_release_are_passed_over() -> None:
    assert field_sets.read({"x:new": {"f:a": {}}, "f:b": {}}) == {("f:b",)}


@pytest.mark.parametrize("tree", [[], {"spec": {}}, {"f:a": 1}, {"v:": {}}, {"k:[]": {}}, {"k:{x}": {}}, {"i:x": {}}])
def test_what_is_no_set_is_told(tree: Any) -> None:
    with pytest.raises(Unreadable):
        field_sets.read(tree)


def test_paths_are_printed_with_their_keys() -> None:
    path = ("f:spec", "f:ports", 'k:{"port":80,"protocol":"TCP"}', "f:args", "v:true", 'v:"a"', "i:0")

    assert field_sets.printed(path) == '.spec.ports[port=80,protocol="TCP"].args[=true][="a"][0]'


def test_members_of_a_level_come_before_what_is_below() -> None:
    fields = frozenset([("f:b", "f:x"), ("f:c",), ("f:a", "f:y"), ("f:a",)])

    assert field_sets.listed(fields) == [("f:a",), ("f:c",), ("f:a", "f:y"), ("f:b", "f:x")]


def test_a_root_is_taken_out_with_everything_below() -> None:
    fields = frozenset([("f:status", "f:x"), ("f:status",), ("f:spec", "f:status"), ("f:spec",)])

    assert field_sets.without(fields, frozenset([("f:status",)])) == {("f:spec", "f:status"), ("f:spec",)}
