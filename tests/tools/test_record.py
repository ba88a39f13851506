"""One command for everything that is recorded: it runs all, and tells what changed and what could not be done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.e2e.builtin_answers import RECORD
from tools import bootstrap, builtins, copies, keeping, protos, record, schemas, template_schemas, traces
from tools.copied_states import STATES


def test_what_changed_and_what_failed_is_told_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, Sequence[str]]] = []

    def command(name: str, code: int) -> Callable[[Sequence[str]], int]:
        def run(words: Sequence[str]) -> int:
            asked.append((name, words))
            (tmp_path / f"{name}.json").write_text(name)
            return code

        return run

    (tmp_path / "first.json").write_text("first")
    monkeypatch.setattr(record, "ROOT", tmp_path)
    monkeypatch.setattr(record, "FILES", ("*.json",))
    each = {"first": command("first", 0), "bad": command("bad", 1), "traces": command("traces", 0)}
    monkeypatch.setattr(record, "COMMANDS", each)

    code = record.main(["--anew"])

    assert asked == [("first", []), ("bad", []), ("traces", ["--anew"])]
    said = capsys.readouterr().out.splitlines()
    assert said[-2:] == ["Changed: bad.json, traces.json", "Not recorded, for the reasons above: bad"]
    assert code == 1


def test_every_file_that_a_command_writes_is_looked_at() -> None:
    kept = {protos.TARGET, schemas.TARGET, template_schemas.TARGET, bootstrap.TARGET}
    written = {*kept, RECORD, traces.FOLDER / "recorded_budgets.py"}
    written |= {copies.FOLDER / f"{name}.json" for name in STATES}

    seen = {path for pattern in record.FILES for path in record.ROOT.glob(pattern)}

    assert written <= seen


@pytest.mark.parametrize("name", record.COMMANDS)
def test_help_is_given_without_recording_anything(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        record.COMMANDS[name](["--help"])

    assert end.value.code == 0
    assert f"usage: python -m tools.{name}" in capsys.readouterr().out


def test_an_option_that_is_not_known_is_refused() -> None:
    with pytest.raises(SystemExit):
        keeping.without_options("builtins", builtins.__doc__, ["--anew"])


def test_what_differs_is_shown_up_to_a_width(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    path.write_text("same\nold\n")

    lines = list(keeping.saved(path, f"same\n{'n' * 1000}\n"))

    assert "-old" in lines
    assert f"+{'n' * (keeping.WIDEST - 1)}…" in lines
    assert lines[-1] == f"{path}: changed"
    assert list(keeping.saved(path, path.read_text())) == [f"{path}: as before"]
