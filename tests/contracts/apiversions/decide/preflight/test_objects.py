"""What preflight finds out about single objects that are converted."""

from __future__ import annotations

from fairlead.contracts.apiversions.decide.preflight.objects import INVALID, LARGEST, Trials, conversion_hits
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


def test_an_object_that_is_too_large_for_a_request_once_it_is_converted_is_warned_of() -> None:
    kind = two_versions(made_of(spec=made_of(mode=TEXT)), made_of(spec=made_of(mode=TEXT)))

    def found(size: int) -> list[tuple[str, str]]:
        hits = conversion_hits(widget("v1", spec={"mode": "x" * size}), kind, "v1")
        return [(each.code, each.severity) for each in hits]

    assert (found(1000), found(LARGEST)) == ([], [("ConvertedTooLarge", "warn")])
