"""`fairlead api …`: finding its commands, help and mistakes; what each does is tested with its contract."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairlead.cli import exits
from fairlead.cli.command_group import group_of, parser_of
from fairlead.cli.main import main

API = group_of("api")
DOCUMENTED = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize("words", [["api"], ["api", "--help"], ["help", "api"]])
def test_the_overview_lists_commands_and_codes(words: list[str], capsys: Captured) -> None:
    assert main(words) == exits.OK

    text = capsys.readouterr().out
    assert text.startswith("usage: fairlead api COMMAND")
    assert all(f"  {name} " in text and listed.summary in text for name, listed in API.commands.items())
    assert all(meaning in text for _, meaning in API.codes)


@pytest.mark.parametrize("name", API.commands)
def test_every_command_has_help_and_a_row_in_the_docs(name: str, capsys: Captured) -> None:
    assert main(["help", "api", *name.split()]) == exits.OK

    text = " ".join(capsys.readouterr().out.split())
    assert text.startswith(f"usage: fairlead api {name} ")
    assert all(option in text for option in ("--kubeconfig", "--context", "--as"))
    assert f"\n| `{name}` | " in DOCUMENTED


@pytest.mark.parametrize(("code", "meaning"), API.codes)
def test_codes_are_documented(code: int, meaning: str) -> None:
    assert f"\n| {code} | {meaning} |\n" in DOCUMENTED


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["api", "migrat"], 'unknown command "migrat" (did you mean migrate?)'),
        (["api", "nothing"], 'unknown command "nothing"; `fairlead api --help` lists the commands'),
        (["api", "certs"], "say which: `fairlead api certs status`, `fairlead api certs rotate`"),
        (["api", "migrate"], "the following arguments are required: CRD"),
        (["api", "migrate", "a.b", "--forse"], "unknown option --forse (did you mean --force?)"),
        (["help", "api", "nothing"], 'unknown command "nothing"'),
    ],
)
def test_a_mistake_is_answered_with_one_sentence(words: list[str], sentence: str, capsys: Captured) -> None:
    assert main(words) == exits.USAGE

    (line,) = capsys.readouterr().err.splitlines()
    assert sentence in line


def test_a_command_without_a_cluster_needs_none(tmp_path: Path, capsys: Captured) -> None:
    (rules := tmp_path / "rules.yaml").write_text("kind: Nothing\n")

    code = main(["api", "rules", "check", str(rules), "--crd", str(rules), "--kubeconfig", str(tmp_path / "none")])

    (line,) = capsys.readouterr().err.splitlines()
    assert code == exits.USAGE
    assert "holds no" in line


def test_only_the_command_asked_for_is_loaded() -> None:
    parser, command = parser_of("api", "certs status")

    assert parser.prog == "fairlead api certs status"
    assert command.run.__module__.endswith("certs_status")
