"""The definition at each stage of an upgrade without a webhook."""

from __future__ import annotations

from typing import Any

from fairlead.contracts.apiversions.decide.offline.upgraded_definitions import (
    introduced,
    is_as,
    reverted,
    reverting,
    unserved,
)

Tree = dict[str, Any]


def a_definition(*versions: tuple[str, bool, bool, str], **metadata: Tree) -> Tree:
    """Of versions: name, served, storage, and what their schema says."""
    named = [
        {"name": name, "served": served, "storage": storage, "schema": {"openAPIV3Schema": {"description": text}}}
        for name, served, storage, text in versions
    ]
    return {"metadata": {"name": "w", "resourceVersion": "1", **metadata}, "spec": {"group": "g", "versions": named}}


BEFORE = a_definition(("v0", False, False, "was"), ("v1", True, True, "was"), labels={"kept": "yes", "both": "old"})
WANTED = a_definition(("v1", True, False, "new"), ("v2", True, True, "new"), labels={"both": "new", "added": "yes"})


def shown(definition: Tree) -> list[tuple[str, bool, bool, str]]:
    return [
        (each["name"], each["served"], each["storage"], each["schema"]["openAPIV3Schema"]["description"])
        for each in definition["spec"]["versions"]
    ]


def test_while_objects_are_converted_the_old_versions_are_exactly_as_they_were() -> None:
    made = introduced(BEFORE, BEFORE, WANTED, "v2")

    assert shown(made) == [("v0", False, False, "was"), ("v1", True, False, "was"), ("v2", True, True, "new")]
    assert made["metadata"]["labels"] == {"kept": "yes", "both": "new", "added": "yes"}
    assert made["metadata"]["resourceVersion"] == "1"
    assert is_as(made, introduced(made, BEFORE, WANTED, "v2"))


def test_at_the_end_only_the_new_version_is_served_and_the_text_that_was_given_counts() -> None:
    kept = unserved(BEFORE, BEFORE, WANTED, "v2", removed=False)
    removed = unserved(BEFORE, BEFORE, WANTED, "v2", removed=True)

    assert shown(kept) == [("v0", False, False, "was"), ("v1", False, False, "new"), ("v2", True, True, "new")]
    assert shown(removed) == [("v2", True, True, "new")]


def test_on_the_way_back_the_old_version_is_stored_and_the_new_one_still_served() -> None:
    live = unserved(BEFORE, BEFORE, WANTED, "v2", removed=True)

    made = reverting(live, BEFORE, WANTED, "v2", "v1")

    assert shown(made) == [("v0", False, False, "was"), ("v1", True, True, "was"), ("v2", True, False, "new")]


def test_what_is_reverted_is_as_before_and_keeps_what_others_put_beside_it() -> None:
    live = introduced(BEFORE, BEFORE, WANTED, "v2")
    live["metadata"]["annotations"] = {"others": "say"}

    made = reverted(live, BEFORE, WANTED)

    assert shown(made) == shown(BEFORE)
    assert made["metadata"]["labels"] == {"kept": "yes", "both": "old"}
    assert made["metadata"]["annotations"] == {"others": "say"}
