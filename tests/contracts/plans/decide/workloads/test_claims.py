"""Claims with their guard (R-20)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from fairlead.contracts.plans.decide.workloads.answers import Fail, WorkloadChange
from fairlead.contracts.plans.decide.workloads.claims import claim, controlled, is_claimed, original_of, release
from fairlead.contracts.plans.decide.workloads.live import Workload
from fairlead.contracts.plans.kinds import ORIGINAL, Json
from tests.contracts.plans.decide.workloads.objects import (
    CLAIM,
    GUARD,
    OTHER,
    OWNER,
    applied,
    deployment,
    merged,
)

PLAIN: Json = {"apiVersion": "v1", "kind": "AC", "name": "a", "uid": "uid-a", "controller": False}


def _with(workload: Workload, owners: list[Json], **annotations: Any) -> Workload:
    metadata = {"ownerReferences": owners or None, "annotations": annotations}
    return replace(workload, tree=merged(workload.tree, {"metadata": metadata}))


def _change(found: WorkloadChange | None) -> WorkloadChange:
    assert found is not None
    return found


def test_a_claim_is_one_patch_with_guard_and_note() -> None:
    workload = _with(deployment("d", 5, paused=True), [PLAIN], other="kept")

    change = _change(claim(workload, OWNER, frozenset(), {"spec.paused": False}, {"replicas": 5, "paused": True}))

    found = applied(workload, change)
    assert found.owners == (PLAIN, CLAIM, GUARD)
    assert "controller" not in found.owners[2]
    assert not found.is_paused
    assert original_of(found) == {"replicas": 5, "paused": True}
    assert found.annotations["other"] == "kept"
    assert is_claimed(found, OWNER)
    assert change.body.keys() == {"metadata", "spec"}
    assert change.body["spec"] == {"paused": False}


def test_what_is_claimed_already_is_not_written() -> None:
    assert claim(deployment("d", 5, claimed=True), OWNER, frozenset(), {"spec.replicas": 9}, {}) is None


def test_the_first_attempt_says_what_was_there() -> None:
    workload = _with(deployment("d", 2), [], **{ORIGINAL: '{"replicas":5}'})

    found = applied(workload, _change(claim(workload, OWNER, frozenset(), {}, {"replicas": 2})))

    assert original_of(found) == {"replicas": 5}


@pytest.mark.parametrize("note", ["", "{", "[]", "7"])
def test_a_note_that_cannot_be_read_is_written_anew(note: str) -> None:
    workload = _with(deployment("d", 2), [], **{ORIGINAL: note})

    found = applied(workload, _change(claim(workload, OWNER, frozenset(), {}, {"replicas": 2})))

    assert original_of(found) == {"replicas": 2}


def test_another_controller_is_named() -> None:
    workload = _with(deployment("d", 2), [OTHER])

    problem = controlled(workload, OWNER, frozenset())

    assert isinstance(problem, Fail)
    assert problem.text == "the Deployment d has a controller owner Other o"


def test_a_controller_that_exists_no_more_gives_way() -> None:
    """A rollout whose finalizer was taken off by hand leaves its claim behind."""
    workload = _with(deployment("d", 2), [OTHER, PLAIN, GUARD])
    gone = frozenset({"uid-o"})

    assert controlled(workload, OWNER, gone) is None
    found = applied(workload, _change(claim(workload, OWNER, gone, {}, {})))
    assert found.owners == (PLAIN, CLAIM, GUARD)


def test_our_own_claim_and_plain_owners_are_no_other_controller() -> None:
    assert controlled(_with(deployment("d", 2), [CLAIM, GUARD, PLAIN]), OWNER, frozenset()) is None


def test_a_release_takes_off_what_the_claim_put_on_and_nothing_else() -> None:
    workload = _with(deployment("d", 2), [PLAIN, CLAIM, GUARD], **{ORIGINAL: "{}", "other": "kept"})

    found = applied(workload, _change(release(workload, OWNER, {"spec.replicas": 0})))

    assert found.owners == (PLAIN,)
    assert found.annotations == {"other": "kept"}
    assert found.size == 0
    assert release(found, OWNER, {"spec.replicas": 9}) is None


def test_a_failed_attempt_keeps_the_note() -> None:
    workload = _with(deployment("d", 2), [CLAIM, GUARD], **{ORIGINAL: '{"replicas":5}'})

    found = applied(workload, _change(release(workload, OWNER, {}, keeps_original=True)))

    assert found.owners == ()
    assert "ownerReferences" not in found.metadata
    assert original_of(found) == {"replicas": 5}
    assert release(found, OWNER, {}, keeps_original=True) is None


def test_what_the_garbage_collector_stripped_is_released_too() -> None:
    workload = _with(deployment("d", 2), [GUARD], **{ORIGINAL: "{}"})

    found = applied(workload, _change(release(workload, OWNER, {})))

    assert (found.owners, found.annotations) == ((), {})


def test_what_another_controls_is_left_alone() -> None:
    """I-6: its guard and its note are those of the other rollout."""
    assert release(_with(deployment("d", 2), [OTHER, GUARD], **{ORIGINAL: "{}"}), OWNER, {}) is None


def test_claim_and_release_leave_what_was_there() -> None:
    workload = deployment("d", 2)

    claimed = applied(workload, _change(claim(workload, OWNER, frozenset(), {}, {})))
    released = applied(claimed, _change(release(claimed, OWNER, {})))

    found = msgspec.json.decode(msgspec.json.encode(released.tree))
    assert found["metadata"].pop("annotations") == {}
    assert found == workload.tree
