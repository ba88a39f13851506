"""Who may act on an object that another version of the operator has handled: apiversions section 3.9, row by row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import pytest
from msgspec import structs

from fairlead.core.act import AnyWrite, Does, Patch, PatchKind
from fairlead.core.ask import Answers, Bad, Good
from fairlead.core.controller_version import CONTROLLER_VERSION, LEGACY_VERSION
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from fairlead.engine.decide.guard import (
    UNKNOWN,
    Adopt,
    GuardedObject,
    Handled,
    Ignored,
    OnNewer,
    VersionPolicy,
    stamping,
    standing,
)
from kubeloop.objects.meta import Ref, Resource

THINGS = Resource("example.test", "v1", "things", "Thing")
POLICY = VersionPolicy(own="1.3.1", minimum="1.1.0")


def a_subject(
    version: str | None = None,
    more: Mapping[str, str] | None = None,
    *,
    children: bool = False,
    own_kind: bool = False,
) -> GuardedObject:
    annotations = dict(more or {}) | ({} if version is None else {CONTROLLER_VERSION: version})
    return GuardedObject(
        ref=Ref(THINGS, "n", "one", "u-1"),
        resource_version="7",
        annotations=annotations,
        has_children=children,
        has_predecessors=not own_kind,
    )


def stamped(found: object) -> str:
    """The version that the object would get; empty where it gets none."""
    stamp = found.stamp if isinstance(found, Handled) else None
    if isinstance(found, Ignored):
        stamp = next(iter(found.decision.reports), None)  # type: ignore[assignment]
    return "" if stamp is None else stamp.change_to


def told(found: object) -> list[str]:
    """Reasons of the Events."""
    if isinstance(found, Ignored):
        return [each.reason for each in found.decision.tell]
    assert isinstance(found, Handled)
    written = [] if found.stamp is None or found.stamp.tell is None else [found.stamp.tell]
    return [each.reason for each in (*found.tell, *written)]


@pytest.mark.parametrize(
    ("version", "children", "own_kind", "stamp", "events"),
    [
        (None, False, False, "1.3.1", []),
        (None, False, True, "1.3.1", []),
        (None, True, False, "1.3.1", ["Adopted"]),
        ("1.3.1", True, True, "", []),
        ("1.3.1+build", True, True, "", []),
        ("1.1.0", True, True, "1.3.1", ["Adopted"]),
        ("1.3.1-rc1", True, True, "1.3.1", ["Adopted"]),
        ("1.3.2", True, True, "", []),
        ("1.3.9-rc1", True, True, "", []),
        ("latest", False, True, "1.3.1", ["CompatCheckError"]),
        ("latest", True, False, "1.3.1", ["CompatCheckError", "Adopted"]),
    ],
)
def test_object_is_handled(version: str | None, children: bool, own_kind: bool, stamp: str, events: list[str]) -> None:
    found = standing(a_subject(version, children=children, own_kind=own_kind), POLICY)

    assert isinstance(found, Handled)
    assert (stamped(found), told(found)) == (stamp, events)


@pytest.mark.parametrize(
    ("version", "own_kind", "stamp", "event", "why"),
    [
        (None, True, UNKNOWN, "HandledByOlderOperator", "unknown"),
        ("v1.3.1", True, UNKNOWN, "HandledByOlderOperator", "unknown"),
        (UNKNOWN, True, "", "HandledByOlderOperator", "unknown"),
        ("1.0.9", False, "", "HandledByOlderOperator", "older"),
        ("1.1.0-rc1", False, "", "HandledByOlderOperator", "older"),
        ("1.4.0", False, "", "HandledByNewerOperator", "newer"),
        ("1.4.0-alpha", False, "", "HandledByNewerOperator", "newer"),
        ("2.0.0", False, "", "HandledByNewerOperator", "newer"),
    ],
)
def test_object_is_left_alone(version: str | None, own_kind: bool, stamp: str, event: str, why: str) -> None:
    found = standing(a_subject(version, children=True, own_kind=own_kind), POLICY)

    assert isinstance(found, Ignored)
    assert (stamped(found), told(found)[-1], found.why) == (stamp, event, why)
    assert isinstance(found.decision.verdict, Hold)
    assert found.decision.verdict.again is None


def test_adopting_everything_takes_over_what_is_too_old_and_what_nobody_knows() -> None:
    always = msgspec.structs.replace(POLICY, adopt=Adopt.ALWAYS)

    for version in (None, UNKNOWN, "0.1.0", "1.2.0"):
        found = standing(a_subject(version, children=True, own_kind=True), always)
        assert (stamped(found), told(found)) == ("1.3.1", ["Adopted"]), version


def test_adopting_nothing_leaves_older_ones_alone_and_handles_new_ones() -> None:
    never = msgspec.structs.replace(POLICY, adopt=Adopt.NEVER)

    assert isinstance(standing(a_subject("1.2.0"), never), Ignored)
    assert isinstance(standing(a_subject("1.3.1"), never), Handled)
    assert stamped(standing(a_subject(), never)) == "1.3.1"


def test_newer_object_is_handled_on_request_and_its_stamp_is_not_lowered() -> None:
    found = standing(a_subject("2.0.0"), msgspec.structs.replace(POLICY, on_newer=OnNewer.HANDLE))

    assert (isinstance(found, Handled), stamped(found)) == (True, "")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("eck.k8s.elastic.co/managed", "false"),
        ("common.k8s.elastic.co/pause", "true"),
        ("fairlead.dev/managed", "false"),
    ],
)
def test_object_that_says_so_is_skipped_without_an_event_or_a_check(name: str, value: str) -> None:
    found = standing(a_subject("9.0.0", {name: value}), POLICY)

    assert isinstance(found, Ignored)
    assert (found.why, found.decision.tell, found.decision.reports) == ("", (), ())
    assert isinstance(standing(a_subject("1.3.1", {name: value.upper()}), POLICY), Handled)


@pytest.mark.parametrize("version", [None, "0.0.1", "9.0.0"])
def test_object_that_goes_away_is_let_go(version: str | None) -> None:
    leaving = msgspec.structs.replace(a_subject(version, children=True, own_kind=True), is_leaving=True)

    assert standing(leaving, POLICY) == Handled()


def test_old_name_is_read_and_written_only_on_request() -> None:
    old = a_subject(None, {LEGACY_VERSION: "1.2.0"})
    found = standing(old, msgspec.structs.replace(POLICY, legacy=True))

    assert isinstance(standing(a_subject(None, {LEGACY_VERSION: "2.0.0"}), POLICY), Ignored)
    assert isinstance(found, Handled)
    assert found.stamp is not None
    written = msgspec.json.decode(found.stamp.body)["metadata"]["annotations"]
    assert written == {CONTROLLER_VERSION: "1.3.1", LEGACY_VERSION: "1.3.1"}


def test_stamp_is_bound_to_what_was_seen() -> None:
    found = standing(a_subject(), POLICY)

    assert isinstance(found, Handled)
    assert found.stamp is not None
    assert (found.stamp.does, found.stamp.resource_version, found.stamp.ref.uid) == (Does.STAMP_VERSION, "7", "u-1")


def a_patch(body: object, **more: Any) -> Patch:
    given: dict[str, Any] = {"ref": Ref(THINGS, "n", "one", "u-1"), "resource_version": "7", **more}
    return Patch(does=Does.ADD_FINALIZER, kind=PatchKind.MERGE, body=msgspec.json.encode(body), **given)


def first_write(*writes: AnyWrite) -> Patch:
    found = standing(a_subject(), POLICY)
    assert isinstance(found, Handled)
    assert found.stamp is not None
    decision = stamping(found.stamp, Decision("rule", Move(Reason.APPLYING, writes)))
    assert isinstance(decision.verdict, Move)
    (write,) = decision.verdict.writes
    assert isinstance(write, Patch)
    assert (write.does, write.resource_version, write.ref.uid) == (Does.STAMP_VERSION, "7", "u-1")
    return write


def test_a_finalizer_comes_in_one_write_with_the_stamp() -> None:
    write = first_write(a_patch({"metadata": {"finalizers": ["ours"]}}))

    assert msgspec.json.decode(write.body)["metadata"] == {
        "finalizers": ["ours"],
        "annotations": {CONTROLLER_VERSION: "1.3.1"},
    }
    refused = structs.replace(a_subject(), answers=Answers({write: Bad("refused", "no", 403)}))
    assert stamped(standing(refused, POLICY)) == ""


FINALIZER = {"metadata": {"finalizers": ["ours"]}}
OTHER_WRITES: dict[str, tuple[Patch, ...]] = {
    "of another object": (a_patch(FINALIZER, ref=Ref(THINGS, "n", "two", "u-2")),),
    "on another version": (a_patch(FINALIZER, resource_version="8"),),
    "of the status": (a_patch(FINALIZER, subresource="status"),),
    "of the spec": (a_patch({**FINALIZER, "spec": {}}),),
    "of annotations": (a_patch({"metadata": {"annotations": {"a": "b"}}}),),
    "several": (a_patch(FINALIZER), a_patch(FINALIZER)),
}


@pytest.mark.parametrize("writes", OTHER_WRITES.values(), ids=OTHER_WRITES)
def test_everything_else_comes_after_the_stamp(writes: tuple[Patch, ...]) -> None:
    assert msgspec.json.decode(first_write(*writes).body) == {
        "metadata": {"annotations": {CONTROLLER_VERSION: "1.3.1"}}
    }


def test_stamp_that_was_refused_stops_nothing() -> None:
    first = standing(a_subject(), POLICY)
    assert isinstance(first, Handled)
    assert first.stamp is not None
    later = msgspec.structs.replace(a_subject(), resource_version="8")

    refused = msgspec.structs.replace(later, answers=Answers({first.stamp: Bad("refused", "no", 403)}))
    written = msgspec.structs.replace(later, answers=Answers({first.stamp: Good()}))

    assert stamped(standing(refused, POLICY)) == ""
    assert stamped(standing(written, POLICY)) == "1.3.1"


def test_rounds_about_parts_of_an_object_leave_its_events_to_others() -> None:
    for version, events in (("9.0.0", ["HandledByNewerOperator"]), ("latest", ["CompatCheckError"])):
        whole = a_subject(version)
        assert told(standing(whole, POLICY)) == events
        assert told(standing(msgspec.structs.replace(whole, is_told=False), POLICY)) == []


def test_an_object_whose_contract_forbids_it_is_handled_without_a_stamp() -> None:
    """What others have stamped counts all the same."""
    plain = structs.replace(a_subject(children=True), may_be_stamped=False)
    newer = structs.replace(a_subject("2.0.0"), may_be_stamped=False)

    found = standing(plain, POLICY)

    assert isinstance(found, Handled)
    assert found.stamp is None
    assert isinstance(standing(newer, POLICY), Ignored)
