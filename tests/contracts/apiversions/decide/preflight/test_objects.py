"""What preflight finds out about single objects that are converted."""

from __future__ import annotations

from fairlead.contracts.apiversions.decide.preflight.objects import INVALID, Trials, conversion_hits
from tests.contracts.apiversions.decide.widgets import TEXT, made_of, two_versions, widget

KNOWN = {**TEXT, "enum": ["known"]}
KIND = two_versions(
    made_of(spec=made_of(mode=TEXT), status=made_of(phase=TEXT)),
    made_of(spec=made_of(mode=KNOWN), status=made_of(phase=KNOWN)),
)
OBJECT = widget("v1", spec={"mode": "odd"}, status={"phase": "odd"})


def refused(trials: Trials) -> list[str]:
    return [each.path for each in conversion_hits(OBJECT, KIND, "v1", trials) if each.code == INVALID]


def test_the_schema_counts_where_the_server_was_not_asked() -> None:
    assert refused({}) == ["/spec/mode", "/status/phase"]


def test_what_the_server_says_counts_but_for_the_status_which_it_was_not_shown() -> None:
    assert refused({"v2": ()}) == ["/status/phase"]
    assert refused({"v2": (("spec.mode", "Unsupported value"), ("status", "Required value"))}) == [
        "/status/phase",
        "/spec/mode",
    ]
