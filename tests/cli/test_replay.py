"""`fairlead replay`: what it says of rounds that this release decides alike, otherwise, or not at all."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from io import BytesIO, TextIOWrapper
from pathlib import Path

import msgspec
import pytest
from msgspec import structs

from fairlead.cli import exits
from fairlead.cli.main import main
from fairlead.contracts import deciders
from fairlead.contracts.zones.decide import Snapshot, decide
from fairlead.core.ask import Need
from fairlead.core.decision import Decision, Hold
from fairlead.core.reason import Reason
from fairlead.core.replay import DecidedRound, RecordedRound, record_of
from tests.builders import a_zone, pods_of, seen

Captured = pytest.CaptureFixture[str]
NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
ZONE = a_zone("a", strategy="RollingUpdate")
SEEN = seen(ZONE, pods_of(ZONE))


def decided() -> Decision:
    made = decide(SEEN, NOW)
    assert isinstance(made, Decision)
    return made


def line(made: Decision | None = None, release: str = "0.1.0") -> bytes:
    return record_of(DecidedRound("zones", "test/ingester", "7", NOW, SEEN, made or decided()), Snapshot, release)


def a_file(folder: Path, *lines: bytes) -> str:
    path = folder / "rounds-00000001.jsonl"
    path.write_bytes(b"".join(each + b"\n" for each in lines))
    return str(path)


OTHER = structs.replace(decided(), rule="another", verdict=Hold(Reason.PAUSED, details=(("pod/a-0", "it sleeps"),)))


def test_equal_decisions_are_code_0(tmp_path: Path, capsys: Captured) -> None:
    assert main(["replay", a_file(tmp_path, line(), line())]) == exits.OK

    assert capsys.readouterr().out == "2 rounds, 0 decided otherwise\n"


def test_a_round_that_is_decided_otherwise_is_shown_with_its_rule_then_and_now(
    tmp_path: Path, capsys: Captured
) -> None:
    code = main(["replay", a_file(tmp_path, line(), line(OTHER, "0.0.9"))])

    out = capsys.readouterr().out
    assert code == exits.BLOCKED
    assert "2026-03-04T05:06:07Z  zones test/ingester  round 7 of 0.0.9\n" in out
    assert "  then  another hold Paused\n" in out
    assert f"  now   {decided().rule} " in out
    assert "    verdict.details" in out
    assert out.endswith("2 rounds, 1 decided otherwise\n")


@pytest.mark.parametrize(
    ("rule", "rounds", "code"), [("another", "1 round,", exits.BLOCKED), (decided().rule, "2 rounds,", exits.BLOCKED)]
)
def test_rule_shows_the_rounds_that_it_decided_then_or_now(
    tmp_path: Path, capsys: Captured, rule: str, rounds: str, code: int
) -> None:
    assert main(["replay", "--rule", rule, a_file(tmp_path, line(), line(OTHER))]) == code

    out = capsys.readouterr().out
    assert out.count("  then  ") == int(rounds[0])
    assert rounds in out


def test_a_rule_that_decided_nothing_is_answered_with_those_that_did(tmp_path: Path, capsys: Captured) -> None:
    """It is likely misspelt; that nothing differs would be no answer."""
    assert main(["replay", "--rule", "x", a_file(tmp_path, line(), line(OTHER))]) == exits.NOT_FOUND

    rules = ", ".join(sorted({"another", decided().rule}))
    said = capsys.readouterr()
    assert said.err == f'fairlead: no round was decided by the rule "x": there are {rules}\n'
    assert said.out == ""


def test_json_has_every_round_with_its_differences(tmp_path: Path, capsys: Captured) -> None:
    assert main(["replay", "-o", "json", str(tmp_path), a_file(tmp_path, line(OTHER))]) == exits.BLOCKED

    both = json.loads(capsys.readouterr().out)
    assert [each["then"]["rule"] for each in both] == ["another"] * 2
    assert {"path": "rule", "then": "another", "now": decided().rule} in both[0]["changes"]


def test_a_cut_line_and_one_of_another_release_are_named_and_the_others_decided(
    tmp_path: Path, capsys: Captured
) -> None:
    unknown = structs.replace(msgspec.json.decode(line(), type=RecordedRound), controller="telepathy")
    path = a_file(tmp_path, line(), line()[:50], msgspec.json.encode(unknown))

    assert main(["replay", path]) == exits.ERROR

    said = capsys.readouterr()
    assert "1 round, 0 decided otherwise" in said.out
    assert f"line 2 of {path}: no recorded round" in said.err
    assert f"line 3 of {path}: this release has no controller 'telepathy'" in said.err


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("decision", None, "None is none of Decision, Admit, Need, StartOver"),
        ("decision", "x", "'x' is none of Decision, Admit, Need, StartOver"),
        ("seen", {**json.loads(line())["seen"], "pods": None}, "no Snapshot: "),
    ],
)
def test_a_round_that_somebody_changed_says_where_it_is_wrong(
    tmp_path: Path, capsys: Captured, field: str, value: object, said: str
) -> None:
    changed = json.dumps({**json.loads(line()), field: value}).encode()

    assert main(["replay", a_file(tmp_path, changed)]) == exits.ERROR

    assert capsys.readouterr().err.startswith(f"fairlead: line 1 of {tmp_path}/rounds-00000001.jsonl: {said}")


def test_a_round_that_this_release_fails_to_decide_is_an_error_and_the_others_are_decided(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairlead.contracts.zones.deciders.DECIDERS", asking(fails=True))

    assert main(["replay", a_file(tmp_path, line())]) == exits.ERROR

    assert "this release fails to decide it: OverflowError: too many" in capsys.readouterr().err


def test_a_file_of_somebody_else_is_one_sentence(tmp_path: Path, capsys: Captured) -> None:
    path = a_file(tmp_path, b"", *[b"level=info"] * 1000)

    assert main(["replay", path]) == exits.ERROR

    said = capsys.readouterr()
    (sentence,) = said.err.splitlines()
    assert sentence.startswith(f"fairlead: {path} has no recorded rounds (line 2: JSON is malformed")
    assert sentence.endswith("): name a file or folder that `fairlead operator --record` keeps")
    assert said.out == ""


def test_many_lines_that_are_no_rounds_are_told_of_in_a_few(tmp_path: Path, capsys: Captured) -> None:
    assert main(["replay", a_file(tmp_path, line(), *[b"level=info"] * 1000)]) == exits.ERROR

    said = capsys.readouterr()
    *first, last = said.err.splitlines()
    assert len(first) == 10
    assert last == "fairlead: 990 more lines cannot be decided again"
    assert said.out == "1 round, 0 decided otherwise\n"


@pytest.mark.parametrize("names", [["-"], ["-", "-"]])
def test_rounds_come_from_standard_input(names: list[str], capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(line() + b"\n")))

    assert main(["replay", *names]) == exits.OK

    assert capsys.readouterr().out == "1 round, 0 decided otherwise\n"


@pytest.mark.parametrize("name", ["missing.jsonl", "empty"])
def test_a_file_that_is_missing_or_holds_nothing_is_one_sentence(tmp_path: Path, capsys: Captured, name: str) -> None:
    (tmp_path / "empty").mkdir()

    assert main(["replay", str(tmp_path / name)]) == exits.ERROR

    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_round_that_needs_an_answer_now_differs(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairlead.contracts.zones.deciders.DECIDERS", asking())

    assert main(["replay", a_file(tmp_path, line())]) == exits.BLOCKED

    assert "  now   need\n" in capsys.readouterr().out


def asking(*, fails: bool = False) -> dict[str, object]:
    def decide(_seen: object, _now: datetime) -> Need:
        if fails:
            raise OverflowError("too many")
        return Need(())

    return {"zones": structs.replace(deciders()["zones"], decide=decide)}
