"""Live lists: which labels pods are listed by, and how a selector is written."""

from __future__ import annotations

import pytest
from msgspec import structs

from fairlead.contracts.zones.decide.admission.live_lists import (
    MOST_IN_A_LIST,
    pods_question,
    pods_questions,
    selector_text,
)
from fairlead.core.ask import Listing
from kubeloop.objects.apps import StatefulSet
from kubeloop.objects.meta import LabelSelector, LabelSelectorRequirement
from tests.builders import a_zone

NAME = "ingester-zone-a"


@pytest.mark.parametrize(
    ("template", "selector", "asked"),
    [
        pytest.param({"name": NAME}, {"name": NAME}, f"name={NAME}", id="a name that every pod must have"),
        pytest.param({"name": NAME}, {"name": NAME, "app": "x"}, f"name={NAME}", id="a name and more"),
        pytest.param({"name": NAME, "app": "x"}, {"app": "x"}, "app=x", id="a name that the template just got"),
        pytest.param({"app": "x"}, {"app": "x"}, "app=x", id="no name"),
        pytest.param({"name": NAME}, {}, f"name={NAME}", id="a selector that selects nothing"),
    ],
)
def test_pods_are_listed_by_labels_that_all_of_them_have(
    template: dict[str, str], selector: dict[str, str], asked: str
) -> None:
    zone = a_zone("a", selector=LabelSelector(selector))
    labelled = structs.replace(
        zone.spec.template, metadata=structs.replace(zone.spec.template.metadata, labels=template)
    )

    to = pods_question(structs.replace(zone, spec=structs.replace(zone.spec, template=labelled))).to

    assert isinstance(to, Listing)
    assert to.labels == asked


def test_a_selector_is_written_as_the_api_takes_it() -> None:
    expressions = (
        LabelSelectorRequirement("a", "In", ("x", "y")),
        LabelSelectorRequirement("b", "NotIn", ("z",)),
        LabelSelectorRequirement("c", "Exists"),
        LabelSelectorRequirement("d", "DoesNotExist"),
    )

    assert selector_text(LabelSelector({"k": "v", "i": "j"}, expressions)) == "i=j,k=v,a in (x,y),b notin (z),c,!d"


def zones(count: int) -> list[StatefulSet]:
    """Zones whose pods all have the name of their template."""
    made = [a_zone(f"{number:02}") for number in range(count)]
    return [
        structs.replace(zone, spec=structs.replace(zone.spec, selector=LabelSelector({"name": zone.metadata.name})))
        for zone in made
    ]


def asked_for(zones: list[StatefulSet]) -> list[str]:
    found = [ask.to for ask in pods_questions(zones).values()]
    return [to.labels for to in found if isinstance(to, Listing)]


def test_zones_share_one_list_of_their_pods() -> None:
    """In whatever order they come, so that the same question is asked once."""
    names = "ingester-zone-00,ingester-zone-01,ingester-zone-02"

    assert asked_for(zones(3)) == asked_for(zones(3)[::-1]) == [f"name in ({names})"] * 3


def test_a_zone_whose_pods_may_lack_the_name_has_a_list_of_its_own() -> None:
    unnamed = a_zone("x", selector=LabelSelector({"app": "x"}))

    asked = pods_questions([*zones(2), unnamed])

    assert asked[unnamed.metadata.uid] == pods_question(unnamed)
    assert len(set(asked.values())) == 2


@pytest.mark.parametrize("count", [1, MOST_IN_A_LIST + 1])
def test_one_zone_and_very_many_are_listed_one_by_one(count: int) -> None:
    """The query is part of an address."""
    assert asked_for(zones(count)) == [f"name={zone.metadata.name}" for zone in zones(count)]
