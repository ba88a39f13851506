"""Live lists: which labels pods are listed by, and how a selector is written."""

from __future__ import annotations

import pytest
from msgspec import structs

from fairlead.contracts.zones.decide.admission.live_lists import pods_question, selector_text
from fairlead.core.ask import Listing
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
