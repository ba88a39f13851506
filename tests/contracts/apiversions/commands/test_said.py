"""What commands say of objects, such as the version of the operator that an annotation names, is not obeyed."""

from __future__ import annotations

import json

import pytest

from fairlead.contracts.apiversions.commands.said import complain, show

TABLE = "widgets.example.test\n  controllers  1.2.3\x1b[2J 1"
PLAIN = "widgets.example.test\n  controllers  1.2.3?[2J 1\n"


def test_a_text_for_people_moves_no_cursor(capsys: pytest.CaptureFixture[str]) -> None:
    show({"text": TABLE}, "text", TABLE)
    complain(TABLE)

    assert capsys.readouterr() == (PLAIN, f"fairlead: {PLAIN}")


def test_programs_are_told_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    show({"text": TABLE}, "json", TABLE)

    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert json.loads(shown) == {"text": TABLE}
