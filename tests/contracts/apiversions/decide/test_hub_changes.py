"""Another hub than before, and what it would not see of objects that are stored in a third version (section 2.6)."""

from __future__ import annotations

import pytest

from fairlead.contracts.apiversions.decide.hub_changes import hidden_by
from fairlead.contracts.apiversions.decide.trees import Tree


def a_definition(*versions: str, stored: tuple[str, ...], strategy: str = "Webhook") -> Tree:
    return {
        "metadata": {"name": "widgets.example.test"},
        "spec": {"versions": [{"name": each} for each in versions], "conversion": {"strategy": strategy}},
        "status": {"storedVersions": [*stored]},
    }


@pytest.mark.parametrize(
    ("stored", "before", "hub", "is_hidden"),
    [
        (("v1",), "v2", "v3", True),
        (("v1",), "v2", "v1", True),
        (("v1", "v2"), "v2", "v3", True),
        (("v2",), "v2", "v3", False),
        (("v1",), "v2", "v2", False),
        (("v1",), "", "v3", False),
        (("v1",), "v0", "v3", False),
    ],
)
def test_what_is_stored_in_the_hub_before_carries_nothing_for_it(
    stored: tuple[str, ...], before: str, hub: str, is_hidden: bool
) -> None:
    assert bool(hidden_by(before, hub, a_definition("v1", "v2", "v3", stored=stored))) is is_hidden


def test_between_two_versions_and_without_conversion_nothing_is_hidden() -> None:
    assert hidden_by("v2", "v1", a_definition("v1", "v2", stored=("v1",))) == ""
    assert hidden_by("v2", "v3", a_definition("v1", "v2", "v3", stored=("v1",), strategy="None")) == ""
