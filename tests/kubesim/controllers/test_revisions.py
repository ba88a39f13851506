"""Revisions have the names that the real controller gives them, and history is kept as it keeps it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from kubeloop.go_json import canonical, go_json
from kubesim.controllers.revisions import (
    Create,
    Renumber,
    Reuse,
    Revision,
    RevisionMeta,
    choose,
    hash_of,
    in_order,
    name_of,
    patch_of,
    surplus,
    template_in,
)

# As kube-apiserver 1.36 stores it, with its defaults.
TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {
        "containers": [
            {
                "name": "c",
                "image": "i",
                "resources": {},
                "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
                "imagePullPolicy": "Always",
            }
        ],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
    },
}


def a_revision(number: int, image: str = "i", name: str = "", hour: int = 0) -> Revision:
    made = datetime(2030, 1, 1, hour, tzinfo=UTC)
    meta = RevisionMeta(name or f"s-{number}", f"uid-{number}", "1", creation_timestamp=made)
    return Revision(meta, number, msgspec.Raw(patch_of({"spec": {"image": image}})))


def test_a_revision_is_named_as_the_real_controller_names_it() -> None:
    """Recorded from kube-controller-manager 1.36.4."""
    name = name_of("s1", hash_of(patch_of(TEMPLATE), 0))

    assert name == "s1-784947b667"


def test_a_collision_gives_another_name() -> None:
    patch = patch_of(TEMPLATE)

    assert hash_of(patch, 1) != hash_of(patch, 0)


def test_the_name_of_a_long_set_is_cut_to_fit() -> None:
    assert name_of("s" * 250, "784947b667") == "s" * 223 + "-784947b667"


def test_text_is_escaped_as_go_escapes_it() -> None:
    written = go_json({"b": "<&>\u2028\u2029é\x01", "a": [1, None]})

    assert written == '{"a":[1,null],"b":"\\u003c\\u0026\\u003e\\u2028\\u2029é\\u0001"}'.encode()


def written_otherwise(**spec: object) -> Revision:
    """The revision of TEMPLATE as an older release wrote it: with a null, other fields first, a default less."""
    old = {"spec": TEMPLATE["spec"] | spec, "metadata": {"creationTimestamp": None, **TEMPLATE["metadata"]}}
    del old["spec"]["schedulerName"]
    data = {"spec": {"template": {"$patch": "replace", **old}}}
    return Revision(a_revision(4).metadata, 4, msgspec.Raw(msgspec.json.encode(data)))


def test_the_latest_revision_is_kept_when_it_restores_the_same_template() -> None:
    """As the controller of 1.36 compares them."""
    latest = written_otherwise()

    assert choose([a_revision(3), latest], patch_of(TEMPLATE)) == Reuse(latest)


def test_an_older_revision_that_is_written_otherwise_is_not_found() -> None:
    newest = a_revision(5)

    assert choose([written_otherwise(), newest], patch_of(TEMPLATE)) == Create(6)


@pytest.mark.parametrize("odd", [{"restartPolicy": "Never"}, {"containers": "none"}])
def test_a_latest_revision_that_restores_something_else_is_none(odd: dict[str, object]) -> None:
    assert choose([written_otherwise(**odd)], patch_of(TEMPLATE)) == Create(5)


@pytest.mark.parametrize("data", [b"{}", b'{"spec":{"template":3}}', b'{"spec":null}'])
def test_a_revision_that_restores_nothing_is_no_mistake(data: bytes) -> None:
    broken = Revision(a_revision(4).metadata, 4, msgspec.Raw(data))

    assert choose([broken], patch_of(TEMPLATE)) == Create(5)


def test_the_template_is_restored_without_the_marks_of_the_patch() -> None:
    assert template_in(patch_of(TEMPLATE)) == TEMPLATE


def test_a_restored_template_may_be_changed_without_changing_the_revision() -> None:
    first = template_in(patch_of(TEMPLATE))
    first["spec"] = "changed"

    assert template_in(patch_of(TEMPLATE)) == TEMPLATE


def test_two_spellings_of_the_same_data_are_equal() -> None:
    assert canonical(b'{"b": 1, "a": "\\u003c"}') == canonical(b'{"a":"<","b":1}')


@pytest.mark.parametrize(
    ("revisions", "want"),
    [
        pytest.param([], Create(1), id="the first revision has number one"),
        pytest.param([a_revision(4, "j")], Create(5), id="an unknown template gets the next number"),
        pytest.param([a_revision(1, "j"), a_revision(2)], Reuse(a_revision(2)), id="the newest is used again"),
        pytest.param(
            [a_revision(1), a_revision(2, "j")], Renumber(a_revision(1), 3), id="a rollback renumbers the old one"
        ),
    ],
)
def test_which_revision_stands_for_a_template(revisions: list[Revision], want: object) -> None:
    assert choose(revisions, patch_of({"spec": {"image": "i"}})) == want


def test_revisions_are_ordered_by_number_then_age_then_name() -> None:
    shuffled = [a_revision(2, name="b"), a_revision(2, name="a"), a_revision(2, name="c", hour=1), a_revision(1)]

    assert [revision.name for revision in in_order(shuffled)] == ["s-1", "a", "b", "c"]


@pytest.mark.parametrize(
    ("limit", "want"),
    [(2, ["s-1"]), (0, ["s-1", "s-3", "s-5"]), (3, []), (10, []), (-1, [])],
)
def test_the_oldest_beyond_the_limit_go_but_never_the_live(limit: int, want: list[str]) -> None:
    revisions = [a_revision(number) for number in range(1, 6)]

    gone = surplus(revisions, frozenset({"s-2", "s-4"}), limit)

    assert [revision.name for revision in gone] == want
