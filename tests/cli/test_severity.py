"""What people see first, on a narrow terminal and on one without glyphs."""

from __future__ import annotations

import io
from datetime import UTC, datetime

import pytest

from fairlead.cli.commands.get import rows, table
from fairlead.cli.views.characters import PLAIN, fit
from fairlead.cli.views.render import GLYPHS, bar, change, picture, plain
from fairlead.cli.views.screens import page
from fairlead.cli.views.severity import WORST_FIRST
from fairlead.core.explain import KINDS, Block, Explain, Stands

OUTCOMES = {"Current": "done", "Rolling": "moving", "Waiting": "waiting", "Blocked": "blocked"}
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def a_block(text: str, kind: str = "waiting") -> Block:
    return Block("roll", "PodsNotReady", f"pod/{text}", text, "it ends", kind=kind)


def a_rollout(name: str, phase: str, *blocks: Block) -> Explain:
    done = 3 if phase == "Current" else 1
    stands, outcome = Stands(phase, done, 3, "pods"), OUTCOMES[phase]
    return Explain(part="zones", namespace="test", rollout=name, outcome=outcome, stands=stands, blocked_by=blocks)


MIXED = (
    a_rollout("a-done", "Current"),
    a_rollout("b-rolls", "Rolling"),
    a_rollout("c-waits", "Waiting", a_block("one")),
    a_rollout("d-held", "Waiting", a_block("two"), a_block("somebody", "held")),
    a_rollout("e-blocked", "Blocked", a_block("three"), a_block("the cause", "blocked")),
)
ORDER = ["e-blocked", "d-held", "c-waits", "b-rolls", "a-done"]


def test_every_kind_of_wait_has_a_place() -> None:
    assert sorted(WORST_FIRST) == sorted(KINDS)


def test_rows_begin_with_what_does_not_go_on_and_each_with_its_worst_wait() -> None:
    shown = rows(MIXED, NOW)

    assert [row["ROLLOUT"] for row in shown] == ORDER
    assert shown[0]["WAITING FOR"] == "the cause (and 1 more)"
    assert shown[1]["WAITING FOR"] == "somebody (and 1 more)"


def test_the_live_view_and_the_lines_begin_with_the_worst_too() -> None:
    text = plain(page(MIXED, NOW, 80, 100))

    places = [text.index(name) for name in ORDER]
    assert places == sorted(places)
    assert change(MIXED[4]).endswith("; waiting: the cause (and 1 more)")


def test_a_cut_column_keeps_that_there_is_more() -> None:
    long = "ingester-zone-b-2 is not ready: " + "x" * 100
    shown = rows([a_rollout("ingester", "Waiting", a_block(long), a_block("other"), a_block("third"))], NOW)

    for line in table(shown, width=80).splitlines():
        assert len(line) <= 80
    assert "x… (and 2 more)" in table(shown, width=110)


def test_where_one_column_is_not_enough_the_next_longest_is_cut_too() -> None:
    row = {"ROLLOUT": "ingester", "WAITING FOR": "x" * 60, "FROM": "y" * 50, "TO": "z" * 40, "SINCE": "5s"}

    title, cut = table([row], width=80).splitlines()

    assert len(cut) <= 80
    assert cut.startswith("ingester   xxx")
    assert cut.endswith("   5s")
    assert title.split()[-1] == "SINCE"


def test_the_live_view_shows_the_worst_wait_in_full_others_in_a_line_and_counts_the_rest() -> None:
    worst = a_block("the cause " + "y" * 30 + " " + "z" * 60, "blocked")
    others = [a_block(f"wait {number} " + "x" * 100) for number in range(5)]
    text = plain(picture(a_rollout("ingester", "Blocked", *others, worst), NOW, 80))

    lines = text.splitlines()
    assert "y" * 30 in text
    assert "z" * 60 in text
    assert all(len(line) <= 80 for line in lines)
    assert [line[:15] for line in lines if "wait " in line] == [f"waiting: wait {number}" for number in range(3)]
    assert lines[-1] == "and 2 more: fairlead explain ingester -n test"


class Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def written(text: str, encoding: str, environment: dict[str, str]) -> bytes:
    raw = io.BytesIO()
    stream = Terminal(raw, encoding=encoding)
    fit(stream, environment)
    stream.write(text)
    stream.flush()
    return raw.getvalue()


@pytest.mark.parametrize(
    ("encoding", "environment"),
    [
        ("ascii", {}),
        ("utf-8", {"LC_ALL": "C"}),
        ("utf-8", {"LANG": "POSIX"}),
        ("utf-8", {"LC_CTYPE": "de_DE.ISO-8859-1", "LANG": "de_DE.UTF-8"}),
    ],
)
def test_a_terminal_without_utf_8_gets_a_character_of_its_own_for_each_glyph(
    encoding: str, environment: dict[str, str]
) -> None:
    glyphs = "".join(GLYPHS.values())

    assert written(f"{glyphs} {bar(1, 2, 4)} a… é", encoding, environment) == b"*~-_x ##.. a> ?"
    assert len(set(PLAIN.values())) == len(PLAIN)


@pytest.mark.parametrize(
    "environment", [{}, {"LANG": "en_US.UTF-8"}, {"LC_ALL": "C.utf8"}, {"LC_ALL": "C", "PYTHONIOENCODING": "utf-8"}]
)
def test_a_terminal_with_utf_8_gets_the_glyphs(environment: dict[str, str]) -> None:
    assert written("●", "utf-8", environment) == "●".encode()


def test_what_is_no_terminal_keeps_its_encoding_whatever_the_locale() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="utf-8")
    fit(stream, {"LC_ALL": "C"})
    stream.write("●")
    stream.flush()

    assert raw.getvalue() == "●".encode()
