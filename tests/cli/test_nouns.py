"""Two rollouts of one contract may have one name: what is rolled tells them apart."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import pytest

from fairlead.cli.commands.get import rows
from fairlead.cli.operator_reports import _heard, _Pod
from fairlead.cli.selection import named, several
from fairlead.cli.verb_rows import Stop, part_of
from fairlead.cli.views.screens import lines
from fairlead.core.explain import Explain, OperatorReport, Source, Stands, Undecided

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def a_document(noun: str, phase: str = "Current", part: str = "leaderworker") -> Explain:
    return Explain(
        part=part,
        noun=noun,
        namespace="test",
        rollout="a",
        outcome="done",
        stands=Stands(phase, 1, 1, "groups"),
        source=Source("operator"),
    )


SET, ROLES = a_document("leaderworkerset"), a_document("disaggregatedset", "Rolling")


def test_two_of_one_name_are_a_choice_between_what_is_rolled() -> None:
    found = named([SET, ROLES], "a")

    assert several(found, "a") == "a names several rollouts: choose leaderworkerset/a or disaggregatedset/a"
    assert named([SET, ROLES], "disaggregatedset/a") == [ROLES]
    assert named([SET, ROLES], "leaderworkerset/a") == [SET]
    assert named([SET, ROLES], "leaderworker/a") == [SET, ROLES]


def test_rollouts_of_two_parts_are_chosen_by_part() -> None:
    group = a_document("group", part="zones")

    assert several([SET, group], "a") == "a names several rollouts: choose leaderworker/a or zones/a"


def test_a_table_names_what_is_rolled_where_the_name_does_not_tell() -> None:
    assert [row["ROLLOUT"] for row in rows([SET, ROLES], NOW)] == ["leaderworkerset/a", "disaggregatedset/a"]
    assert [row["ROLLOUT"] for row in rows([SET], NOW)] == ["a"]


def test_lines_of_a_watch_are_about_each_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    with lines() as shown:
        shown.show([SET, ROLES], NOW, "")
        shown.show([SET, ROLES], NOW, "")
        shown.show([ROLES], NOW, "")

    told = [line.split(" ", 1)[1] for line in capsys.readouterr().out.splitlines()]
    said = [line for line in told if line.startswith("test/a")]
    assert said == ["test/a Current 1/1 groups", "test/a Rolling 1/1 groups", "test/a is gone"]


def test_operators_are_heard_about_each_of_them() -> None:
    pod = msgspec.convert(
        {"metadata": {"name": "operator-1", "namespace": "test", "uid": "1", "resourceVersion": "1"}}, _Pod
    )
    undecided = (Undecided("leaderworker", "test", "b", "disaggregatedset"),)
    report = OperatorReport(process="p", version="1", leads=True, items=(SET, ROLES), undecided=undecided)

    heard = _heard([(pod, report)])

    assert {key[1]: one.stands.phase for key, one in heard.documents.items()} == {
        "leaderworkerset": "Current",
        "disaggregatedset": "Rolling",
    }
    assert list(heard.undecided) == [("leaderworker", "disaggregatedset", "test", "b")]


@pytest.mark.parametrize(
    ("word", "part"),
    [
        ("zones", "zones"),
        ("group", "zones"),
        ("materialize", "environments"),
        ("leaderworkerset", "leaderworker"),
        ("leaderworker", "leaderworker"),
        ("nothing", ""),
        ("", ""),
    ],
)
def test_verbs_are_chosen_by_part_or_by_what_is_rolled(word: str, part: str) -> None:
    assert part_of(word) == part


def test_what_has_no_verbs_says_what_to_do() -> None:
    with pytest.raises(Stop, match=r"^disaggregatedset has no verbs: .* with kubectl$"):
        part_of("disaggregatedset")
