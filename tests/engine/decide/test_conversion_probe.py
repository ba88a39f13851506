"""Whom the probe of a conversion webhook asks, and what it makes of the answers."""

from __future__ import annotations

from typing import Any

from fairlead.core.ask import Answers
from fairlead.engine.decide.conversion_probe import NOTHING_ASKED, Probed, listings, probed_versions, questions, result


def definition(*versions: dict[str, Any]) -> dict[str, Any]:
    names = {"plural": "widgets", "kind": "Widget"}
    return {"spec": {"group": "example.test", "scope": "Namespaced", "names": names, "versions": [*versions]}}


def a_version(name: str, *, served: bool = True, storage: bool = False, deprecated: bool = False) -> dict[str, Any]:
    return {"name": name, "served": served, "storage": storage, "deprecated": deprecated}


STORED = a_version("v3", storage=True)


def test_served_versions_that_need_a_conversion_are_asked_for() -> None:
    found = definition(a_version("v1", served=False), a_version("v2"), STORED)

    assert probed_versions(found) == ("v2",)
    assert len(listings(found)) == 1


def test_no_deprecated_version_is_asked_for() -> None:
    """The API server remembers until its restart that somebody did."""
    assert probed_versions(definition(a_version("v1", deprecated=True), a_version("v2"), STORED)) == ("v2",)


def test_where_only_deprecated_versions_are_left_nothing_is_known() -> None:
    asked = questions(definition(a_version("v1", deprecated=True), STORED), {}, "default", Answers())

    found = result(asked, Answers())

    assert asked == ()
    assert (found.result, found.text) == (Probed.UNKNOWN, NOTHING_ASKED)
