"""In which order objects of a backup are brought back: owners before what they own."""

from __future__ import annotations

from fairlead.contracts.apiversions.decide.offline.restored_owners import depths

UIDS = {"1": "a", "2": "b", "3": "c", "4": "d"}


def test_an_object_comes_after_the_deepest_of_its_owners() -> None:
    assert depths(UIDS, {"a": ("2", "3"), "b": ("3",)}) == {"b": 1, "a": 2}


def test_owners_that_are_in_no_backup_stand_above_nothing() -> None:
    assert depths(UIDS, {"a": ("9",)}) == {}


def test_owners_in_a_circle_stand_beside_one_another() -> None:
    assert depths(UIDS, {"a": ("2",), "b": ("1",), "d": ("4",)}) == {"a": 1, "b": 1}
