"""The life of revisions (section 3.12)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.normal_form import UnreadableData
from fairlead.contracts.leaderworker.decide.revisions import (
    Drafted,
    Kept,
    Occasion,
    Reused,
    Sameness,
    Unusable,
    data_of,
    history_limit,
    name_of,
    revised,
    select,
    surplus,
)
from fairlead.contracts.leaderworker.kinds import (
    HISTORY_HASH,
    NAME,
    REVISION_HISTORY_LIMIT,
    REVISION_KEY,
    Json,
    LeaderWorkerSet,
    Revision,
)
from kubeloop.safe_hash import safe_hash
from tests.contracts.leaderworker.decide.some import a_revision, a_set, renumbered, tree

RECORDED = msgspec.json.decode((Path(__file__).parent / "recorded" / "revisions.json").read_bytes())
A, B, C = a_set("a"), a_set("b"), a_set("c")
FOREIGN = b'{"spec":{"template":{}}}'


def keys(revisions: list[Revision]) -> list[int]:
    return [each.revision for each in revisions]


@pytest.mark.parametrize("recorded", RECORDED, ids=lambda each: each["name"])
def test_bytes_and_keys_are_those_of_the_go_program(recorded: Json) -> None:
    """Recorded from release 0.9.0: whatever the user wrote, both record the same revision."""
    spec = recorded["spec"]
    seen = a_set(template=spec["leaderWorkerTemplate"], network_config=spec.get("networkConfig"))

    drafted = select(seen, None, ())

    assert isinstance(drafted, Drafted)
    assert drafted.data.decode() == recorded["data"]
    assert (drafted.key, drafted.name) == (recorded["key"], recorded["revision"])


def test_a_long_name_is_cut_in_the_name_of_a_revision() -> None:
    assert name_of("x" * 240, "5894b84845", 12) == f"{'x' * 220}-5894b84845-12"


def test_a_new_set_gets_its_first_revision() -> None:
    """Case 2."""
    drafted = select(A, None, ())

    assert isinstance(drafted, Drafted)
    assert (drafted.number, drafted.occasion, drafted.key) == (1, Occasion.NEW, safe_hash(data_of(A)))


def test_a_key_without_a_revision_keeps_its_key() -> None:
    """Case 1, scenario 9: whatever the data hashes to, and even if an equal revision exists under another key."""
    drafted = select(A, "template-hash", [a_revision(A, 3)])

    assert isinstance(drafted, Drafted)
    assert (drafted.key, drafted.number, drafted.occasion) == ("template-hash", 4, Occasion.MISSING)
    assert drafted.name == f"a-{safe_hash(data_of(A))}-4"


def test_a_changed_spec_gets_another_key() -> None:
    """Case 3."""
    first = a_revision(A)

    drafted = select(B, first.metadata.labels[REVISION_KEY], [first])

    assert isinstance(drafted, Drafted)
    assert (drafted.number, drafted.occasion) == (2, Occasion.UPDATED)
    assert drafted.key != first.metadata.labels[REVISION_KEY]


def test_an_equal_spec_keeps_the_key_though_the_bytes_differ() -> None:
    """Scenario 10: written by a release that stored null times."""
    older = tree(data_of(A))
    older["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"] = {"creationTimestamp": None}
    first = a_revision(A, key="older", data=msgspec.json.encode(older))

    assert select(A, "older", [first]) == Kept(first, Sameness.NORMAL)
    assert select(A, "same", [again := a_revision(A, key="same")]) == Kept(again, Sameness.BYTES)


def test_a_difference_without_an_edit_is_one_of_spelling() -> None:
    """Section 3.13 point 4: the generation is the one that was reported, so nobody changed the spec."""
    first = a_revision(A, key="k")
    seen = replace(B, status=replace(B.status, observed_generation=2))

    assert select(seen, "k", [first]) == Kept(first, Sameness.WITNESS)
    assert isinstance(select(B, "k", [first]), Drafted)
    ungenerated = replace(
        seen, metadata=replace(B.metadata, generation=0), status=replace(B.status, observed_generation=0)
    )
    assert isinstance(select(ungenerated, "k", [first]), Drafted)


def test_a_revert_takes_the_old_revision_and_makes_it_the_newest() -> None:
    """Section 3.12 point 7: A, B, A never piles revisions up."""
    first, second = a_revision(A, 1), a_revision(B, 2)

    found = select(A, second.metadata.labels[REVISION_KEY], [first, second])

    assert found == Reused(first, 3, Occasion.UPDATED)


def test_12_a_crash_between_revision_and_apply_makes_no_second_one() -> None:
    first, second = a_revision(A, 1), a_revision(B, 2)

    found = select(B, first.metadata.labels[REVISION_KEY], [second, first])

    assert found == Reused(second, 2, Occasion.UPDATED)


def test_the_revision_of_a_deleted_leader_set_is_taken_again() -> None:
    assert select(A, None, [first := a_revision(A, 5)]) == Reused(first, 5, Occasion.NEW)


def test_revisions_of_others_are_invisible() -> None:
    """The StatefulSet controller copies the labels; a set of the same name had another UID."""
    foreign = a_revision(A, 7, owner="statefulset-uid")

    assert select(A, foreign.metadata.labels[REVISION_KEY], [foreign]) == Drafted(
        f"a-{safe_hash(data_of(A))}-1",
        foreign.metadata.labels[REVISION_KEY],
        1,
        data_of(A),
        Occasion.MISSING,
    )


def test_revisions_of_nobody_are_read_and_never_written() -> None:
    orphan = a_revision(A, 3, owner="")
    key = orphan.metadata.labels[REVISION_KEY]

    assert select(A, key, [orphan]) == Kept(orphan, Sameness.BYTES)
    assert isinstance(drafted := select(A, None, [orphan]), Drafted)
    assert drafted.number == 4
    assert surplus(A, [orphan, a_revision(B, 4)], safe_hash(data_of(B)), frozenset(), 0) == []


def test_revisions_that_a_deleted_statefulset_has_left_are_nobodys_of_ours() -> None:
    """They carry the labels of the leaders, and a number that may be higher."""
    own = a_revision(A, 1)
    key = own.metadata.labels[REVISION_KEY]
    left = a_revision(A, 7, key=key, owner="", data=b'{"spec":{"template":{}}}')
    left = replace(left, metadata=replace(left.metadata, labels={**left.metadata.labels, HISTORY_HASH: "6c6bb5fd89"}))

    assert select(A, key, [own, left]) == Kept(own, Sameness.BYTES)
    assert isinstance(drafted := select(A, None, [left]), Drafted)
    assert (drafted.key, drafted.number) == (key, 1), "no other key, by which all groups would be replaced"


def test_of_several_with_one_key_the_newest_counts() -> None:
    one, two = a_revision(A, 1, key="k"), a_revision(A, 2, key="k")

    assert select(A, "k", [two, one]) == Kept(two, Sameness.BYTES)


def test_a_key_of_other_data_is_not_taken_twice() -> None:
    """Section 3.12 point 8: the hash of the data and a counter."""
    wanted = data_of(B)
    thief = a_revision(C, 1, key=safe_hash(wanted))
    second = a_revision(A, 2, key=safe_hash(wanted + b"\0\0\0\0"))

    drafted = select(B, "other", [thief, second, a_revision(A, 3, key="other")])

    assert isinstance(drafted, Drafted)
    assert drafted.key == safe_hash(wanted + b"\1\0\0\0")
    assert drafted.name == f"a-{drafted.key}-4"


def test_a_name_that_is_taken_gets_the_next_number() -> None:
    taken = a_revision(B, 1, owner="somebody")

    drafted = select(B, None, [taken])

    assert isinstance(drafted, Drafted)
    assert drafted.number == 2


@pytest.mark.parametrize(
    "data",
    [
        FOREIGN,
        b"null",
        b"[]",
        b'{"spec":{"leaderWorkerTemplate":7}}',
        b'{"spec":{"leaderWorkerTemplate":[]}}',
        b'"x"',
        b'{"spec":',
    ],
)
def test_data_that_cannot_be_read_rolls_nothing(data: bytes) -> None:
    broken = a_revision(A, 1, key="k", data=data)

    found = select(A, "k", [broken])

    assert isinstance(found, Unusable)
    assert "delete it" in found.problem
    with pytest.raises(UnreadableData):
        revised(A, data)


@pytest.mark.parametrize("template", [b"{}", b'{"size":2}', b'{"workerTemplate":null}', b'{"workerTemplate":[]}'])
def test_data_without_a_template_of_workers_rolls_nothing(template: bytes) -> None:
    broken = a_revision(A, 1, key="k", data=b'{"spec":{"leaderWorkerTemplate":' + template + b"}}")

    found = select(A, "k", [broken])

    assert isinstance(found, Unusable)
    assert "it holds no template of workers; delete it" in found.problem


def test_another_revision_that_cannot_be_read_is_no_match() -> None:
    broken = a_revision(B, 2, data=FOREIGN, key="x")

    found = select(B, "k", [a_revision(A, 1, key="k"), broken])

    assert isinstance(found, Drafted)
    assert found.number == 3


def test_empty_keys_are_no_keys() -> None:
    keyless = a_revision(A, 1)
    keyless = replace(keyless, metadata=replace(keyless.metadata, labels={NAME: "a"}))

    assert select(B, "", [keyless]).occasion is Occasion.NEW  # type: ignore[union-attr]


def test_applying_a_revision_replaces_two_maps_and_nothing_else() -> None:
    live = replace(B, spec=replace(B.spec, replicas=7, network_config={"subdomainPolicy": "UniquePerReplica"}))

    old = revised(live, data_of(A))

    assert old.spec.leader_worker_template["workerTemplate"]["spec"]["containers"][0]["image"] == "a"
    assert "$patch" not in old.spec.leader_worker_template
    assert old.spec.network_config == {"subdomainPolicy": "Shared"}
    assert replace(old, spec=live.spec) == live


def test_recording_what_was_restored_records_the_same() -> None:
    assert data_of(revised(B, data_of(A))) == data_of(A)


def history(*sets: LeaderWorkerSet) -> list[Revision]:
    return [a_revision(each, number) for number, each in enumerate(sets, start=1)]


@pytest.mark.parametrize(("limit", "expected"), [(0, [1, 2]), (1, [1]), (2, []), (9, [])])
def test_a_finished_update_keeps_the_current_revision_and_the_history(limit: int, expected: list[int]) -> None:
    found = surplus(C, history(A, B, C), safe_hash(data_of(C)), frozenset(), limit)

    assert keys(found) == expected


def test_a_key_that_a_group_carries_is_never_deleted() -> None:
    assert keys(surplus(C, history(A, B, C), safe_hash(data_of(C)), frozenset({safe_hash(data_of(A))}), 0)) == [2]


def test_of_duplicates_with_the_current_key_the_newest_stays() -> None:
    key = safe_hash(data_of(C))

    found = surplus(C, [a_revision(C, 1), a_revision(C, 2), a_revision(C, 3)], key, frozenset({key}), 5)

    assert keys(found) == [1, 2]


def test_without_a_current_revision_nothing_is_deleted() -> None:
    assert surplus(C, history(A, B), "gone", frozenset(), 0) == []


def test_others_are_never_deleted() -> None:
    others = [a_revision(A, 1, owner="statefulset-uid"), a_revision(B, 2, owner="")]

    assert surplus(C, [*others, a_revision(C, 3)], safe_hash(data_of(C)), frozenset(), 0) == []


@pytest.mark.parametrize(
    ("asked", "limit", "is_told"), [("3", 3, False), ("0", 0, False), ("-1", 5, True), ("x", 5, True)]
)
def test_the_limit_of_the_history(asked: str, limit: int, is_told: bool) -> None:
    found = history_limit(a_set(annotations={REVISION_HISTORY_LIMIT: asked}), 5)

    assert (found.limit, bool(found.problem)) == (limit, is_told)
    assert history_limit(A, 5).limit == 5


def test_a_revision_that_is_going_does_not_count() -> None:
    going = a_revision(A, 4, key="k")
    going = replace(going, metadata=replace(going.metadata, deletion_timestamp=datetime(2026, 1, 1, tzinfo=UTC)))

    assert isinstance(select(A, "k", [going]), Drafted)


def test_numbers_never_go_back() -> None:
    """S12."""
    known = [a_revision(A, 1), renumbered(a_revision(B, 2), 9)]

    found = select(C, safe_hash(data_of(A)), known)

    assert isinstance(found, Drafted)
    assert found.number == 10
