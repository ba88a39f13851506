"""What rolls a workload and what does not, across versions of the operator."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.core.rollout_hash import ROLLOUT_HASH, ROLLOUT_HASH_VERSION, HashChange, HashWays, hash_of

OLD = HashWays({1: hash_of})


def without_notes(body: Any) -> str:
    return hash_of({key: value for key, value in body.items() if key != "note"})


NEW = HashWays({1: hash_of, 2: without_notes})
LATER = HashWays({2: without_notes, 3: hash_of})
BODY = {"colour": "red", "note": "x"}


def test_workload_of_today_changes_when_its_user_changes_something() -> None:
    noted = OLD.note(BODY)

    assert OLD.change({"note": "x", "colour": "red"}, noted) is HashChange.NONE
    assert OLD.change({**BODY, "colour": "blue"}, noted) is HashChange.ROLL


def test_note_made_in_an_old_way_is_renewed_where_the_old_way_gives_the_same() -> None:
    noted = OLD.note(BODY)

    assert NEW.change(BODY, noted) is HashChange.RESTAMP
    assert NEW.change({**BODY, "note": "y"}, noted) is HashChange.ROLL  # the old way counted it
    assert NEW.change(BODY, NEW.note(BODY)) is HashChange.NONE
    assert NEW.note(BODY)[ROLLOUT_HASH_VERSION] == "2"


@pytest.mark.parametrize(
    "noted",
    [
        {},
        {ROLLOUT_HASH: "abc"},
        {ROLLOUT_HASH_VERSION: "2"},
        {ROLLOUT_HASH: "abc", ROLLOUT_HASH_VERSION: "x"},
        OLD.note(BODY),
        {ROLLOUT_HASH: "abc", ROLLOUT_HASH_VERSION: "9"},
    ],
)
def test_note_that_nobody_can_read_any_more_rolls_nothing(noted: dict[str, str]) -> None:
    assert LATER.change({"colour": "blue"}, noted) is HashChange.UNKNOWN
