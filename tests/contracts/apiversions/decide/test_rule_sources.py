"""Which set counts of several, and what is in force by what is known of it (section 2.6 and section 3.13)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from fairlead.contracts.apiversions.decide.kept_rules import LONGEST, RulesSeen, Unused, decide
from fairlead.contracts.apiversions.decide.loaded_rules import Loaded, RulesState, Ruling, State, Use, ruled
from fairlead.contracts.apiversions.decide.rule_sources import Rank, RuleSource, chosen
from fairlead.contracts.apiversions.kinds import kept_rules_name
from fairlead.core.act import Apply
from fairlead.core.decision import Hold, Move
from fairlead.core.reason import Reason
from fairlead.engine.decide.registration import DEFINITIONS
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import Ref

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CRD = "widgets.example.com"
MAP, DEFINITION = Ref(CONFIGMAPS, "ops", "rules", "u"), Ref(DEFINITIONS, "", CRD, "v")


def a_source(place: str, rank: Rank = Rank.CONFIG_MAP, age: float = 0.0, crd: str = CRD) -> RuleSource:
    return RuleSource(place, rank, {"kind": "ConversionRules", "crd": crd}, created=NOW - timedelta(seconds=age))


def test_what_is_built_in_goes_before_files_and_these_before_the_oldest_map() -> None:
    sources = [
        a_source("young", age=1),
        a_source("old", age=9),
        a_source("file", Rank.FILE),
        a_source("own", Rank.BUILT_IN),
    ]

    orders = []
    while sources:
        choice = chosen(sources)
        orders.append(choice.chosen[CRD].place)
        assert [each.source.place for each in choice.rejected] != [] or len(sources) == 1
        sources = [each for each in sources if each.place != orders[-1]]

    assert orders == ["own", "file", "old", "young"]


def test_a_set_that_names_no_definition_is_rejected_and_takes_no_place() -> None:
    strange = RuleSource("strange", Rank.FILE, {"kind": "Pod"})
    nameless = RuleSource("nameless", Rank.FILE, {"kind": "ConversionRules"})
    torn = RuleSource("torn", Rank.FILE, problem="torn is neither YAML nor JSON")

    choice = chosen([strange, nameless, torn, a_source("good")])

    assert choice.chosen[CRD].place == "good"
    assert [each.why.split()[0] for each in choice.rejected] == ["nameless", "strange", "torn"]


NONE, TRIED, GOOD, BAD = RulesState.NONE, RulesState.TRIED, RulesState.GOOD, RulesState.BAD


@pytest.mark.parametrize(
    ("source", "kept", "is_held", "expected"),
    [
        (GOOD, NONE, False, Ruling(Use.SOURCE, State.LOADED)),
        (GOOD, GOOD, True, Ruling(Use.SOURCE, State.LOADED)),
        (TRIED, NONE, True, Ruling(Use.HELD, State.LAST_GOOD, is_renewed=True)),
        (TRIED, GOOD, False, Ruling(Use.KEPT, State.LAST_GOOD)),
        (TRIED, NONE, False, Ruling(Use.NOTHING, State.MISSING, is_awaited=True)),
        (BAD, GOOD, True, Ruling(Use.KEPT, State.LAST_GOOD)),
        (BAD, BAD, True, Ruling(Use.HELD, State.LAST_GOOD)),
        (BAD, TRIED, True, Ruling(Use.HELD, State.LAST_GOOD, is_renewed=True)),
        (BAD, TRIED, False, Ruling(Use.NOTHING, State.MISSING, is_awaited=True)),
        (BAD, NONE, False, Ruling(Use.NOTHING, State.REJECTED)),
        (NONE, GOOD, False, Ruling(Use.KEPT, State.LAST_GOOD)),
        (NONE, NONE, True, Ruling(Use.HELD, State.LAST_GOOD)),
        (NONE, NONE, False, Ruling(Use.NOTHING, State.MISSING)),
    ],
)
def test_the_set_before_stays_until_the_one_that_counts_is_good(
    source: RulesState, kept: RulesState, is_held: bool, expected: Ruling
) -> None:
    assert ruled(source, kept, is_held=is_held) == expected


def test_the_leader_keeps_a_good_set_once() -> None:
    loaded = Loaded(crd=CRD, state=State.LOADED, text="{}", definition=DEFINITION)

    first, again = decide(RulesSeen(loaded, "ops"), NOW), decide(RulesSeen(loaded, "ops", "{}"), NOW)

    assert isinstance(first.verdict, Move)
    (write,) = first.verdict.writes
    assert isinstance(write, Apply)
    assert (write.ref.namespace, write.ref.name) == ("ops", kept_rules_name(CRD))
    assert isinstance(again.verdict, Hold)


def test_a_set_that_is_wrong_is_told_of_at_its_map_and_one_of_a_file_at_the_definition() -> None:
    wrong = Loaded(crd=CRD, state=State.REJECTED, problem="x" * 2000, source=MAP, definition=DEFINITION)
    filed = Loaded(crd=CRD, state=State.LAST_GOOD, problem="hub is v9", definition=DEFINITION)

    decided = decide(RulesSeen(wrong, "ops"), NOW)
    (at_map,) = decided.tell
    at_definition, other = sorted(
        decide(RulesSeen(filed, "ops", unused=(Unused(MAP, "another counts"),)), NOW).tell, key=lambda note: note.text
    )[::-1]

    assert decided.verdict.reason is Reason.COMPLETE, "a round that comes to it has not failed"
    assert (at_map.about, at_map.reason, at_map.warning) == (MAP, "RulesRejected", True)
    assert len(at_map.text) < LONGEST + 100
    assert at_map.text.endswith("nothing is converted")
    assert (at_definition.about, other.about) == (DEFINITION, MAP)
    assert "stays in force" in at_definition.text


def test_what_is_kept_has_a_name_that_never_changes() -> None:
    assert kept_rules_name("widgets.example.test") == "fairlead-rules-6fb49d8357"
