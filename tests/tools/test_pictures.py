"""The pictures of docs/architecture.md are those of the code."""

from __future__ import annotations

import pytest

from fairlead.contracts import CONTRACTS
from tools import pictures
from tools.pictures import DOCUMENT, drawn, reached, reduced, room_imports, room_of


def test_the_pictures_are_up_to_date() -> None:
    text = DOCUMENT.read_text()

    assert drawn(text) == text, "the code has changed: run `python -m tools.pictures`"


def test_a_picture_that_is_out_of_date_is_drawn_again() -> None:
    text = DOCUMENT.read_text()

    assert drawn(text.replace("kubesim --> kubeloop", "kubeloop --> kubesim")) == text


def test_a_document_without_a_place_for_a_picture_is_said() -> None:
    with pytest.raises(ValueError, match="no place for the picture of round"):
        drawn(DOCUMENT.read_text().replace("<!-- end of round -->", ""))


def test_the_rooms_are_what_the_table_says() -> None:
    imports = room_imports()

    assert reached("kubeloop", imports) == set()
    assert reached("kubesim", imports) == {"kubeloop"}
    assert reached("fairlead.core", imports) == {"kubeloop"}
    assert ("fairlead.engine", "fairlead.core") in imports


@pytest.mark.parametrize(
    ("module", "room"),
    [
        ("kubeloop.objects.meta", "kubeloop"),
        ("fairlead", ""),
        ("fairlead.__main__", ""),
        ("fairlead.engine.driver.round", "fairlead.engine"),
        ("fairlead.contracts", "fairlead.contracts"),
        ("fairlead.contracts.zones.decide.groups", "fairlead.contracts.zones"),
    ],
)
def test_the_room_of_a_module(module: str, room: str) -> None:
    assert room_of(module) == room


def test_arrows_that_follow_from_others_are_left_out_and_circles_are_not() -> None:
    straight = {("a", "b"), ("b", "c"), ("a", "c")}
    circle = {("a", "b"), ("b", "a"), ("a", "c"), ("b", "c")}

    assert reduced(straight) == {("a", "b"), ("b", "c")}
    assert reduced(circle) == circle


def test_the_steps_of_a_round_are_those_that_the_code_calls() -> None:
    lines = pictures.a_round().splitlines()

    assert "    run --> settle" in lines
    assert "    settle --> decide" in lines
    assert "    carry_out --> in_flight" in lines
    assert not any(line.endswith(" --> work") for line in lines)


def test_every_contract_shows_its_rules() -> None:
    lines = pictures.a_round().splitlines()

    shown = {line.split('"')[1].split(":")[0] for line in lines if " → " in line}

    assert shown == set(CONTRACTS)


def test_a_step_that_says_nothing_of_itself_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "STEPS", ("fairlead.engine.rounds:Rounds._forget",))

    with pytest.raises(ValueError, match="_forget says nothing of itself"):
        pictures.a_round()
