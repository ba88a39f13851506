"""`fairlead` itself: finding commands, help, mistakes, and how little is imported for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from fairlead import __version__
from fairlead.cli import exits
from fairlead.cli.main import COMMANDS, main

HEAVY = ("aiohttp", "asyncio", "rich", "yaml", "msgspec", "structlog", "prometheus_client", "cryptography")


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == exits.OK

    text = capsys.readouterr().out
    assert all(f"  {name:<11}{summary}\n" in text for name, summary in COMMANDS)


@pytest.mark.parametrize("words", [[], ["-h"], ["help"]])
def test_help_is_also_what_one_gets_without_a_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == exits.OK
    assert capsys.readouterr().out.startswith("usage: fairlead COMMAND")


@pytest.mark.parametrize("name", [name for name, _ in COMMANDS])
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", name]) == exits.OK
    assert capsys.readouterr().out.startswith(f"usage: fairlead {name}")


@pytest.mark.parametrize("name", ["get", "explain", "watch", "operator", "uninstall"])
def test_commands_that_talk_to_a_cluster_have_the_same_options(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["help", name])

    text = capsys.readouterr().out
    assert all(option in text for option in ("--kubeconfig", "--context", "--as", "-n", "--namespace", "-A"))


@pytest.mark.parametrize("name", ["promote", "abort"])
def test_commands_about_one_object_have_no_all_namespaces(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "m", "-A"]) == exits.USAGE
    assert main([name, "m", "-n", "a", "-n", "b"]) == exits.USAGE

    unknown, twice = capsys.readouterr().err.splitlines()
    assert "unknown option -A" in unknown
    assert twice.endswith("choose one namespace")


def test_exit_codes_are_documented_by_the_program_and_in_the_docs(capsys: pytest.CaptureFixture[str]) -> None:
    main(["help", "exit-codes"])

    text = capsys.readouterr().out
    documented = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()
    for code, meaning in exits.MEANINGS:
        assert f"{code:>4}  {meaning}" in text
        assert f"| {code} | {meaning} |" in documented


@pytest.mark.parametrize("name", [name for name, _ in COMMANDS])
def test_every_command_is_in_the_table_of_the_docs(name: str) -> None:
    documented = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()

    assert f"\n| `fairlead {name}" in documented


def test_help_names_what_can_be_asked_of_every_contract(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help"])
    summaries = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines() if line.startswith("  "))
    main(["help", "explain"])
    named = " ".join(capsys.readouterr().out.split())

    assert all("environment" in summaries[name] and "plan" in summaries[name] for name in ("promote", "abort"))
    kinds = ("environment", "group of zones", "StatefulSets", "LeaderWorkerSet", "DisaggregatedSet", "plan")
    assert all(f" {kind}" in named for kind in kinds)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == exits.OK
    assert capsys.readouterr().out == f"fairlead {__version__}\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["wach"], 'unknown command "wach" (did you mean watch?); `fairlead --help` lists the commands'),
        (["frobnicate"], 'unknown command "frobnicate"; `fairlead --help` lists the commands'),
        (["help", "gett"], 'no help on "gett" (did you mean get?); `fairlead --help` lists the commands'),
        (["-n", "x", "get"], "unknown option -n before the command: write it after, as in `fairlead get -n`"),
        (["get", "--frob"], "unknown option --frob; `fairlead get --help` lists the options"),
        (["get", "x"], "unknown argument x; `fairlead get --help` lists the options"),
        (
            ["get", "--kube"],
            "unknown option --kube (did you mean --kubeconfig?); `fairlead get --help` lists the options",
        ),
        (["explain"], "the following arguments are required: NAME; `fairlead explain --help` lists the options"),
        (["get", "-n"], "argument -n/--namespace: expected one argument; `fairlead get --help` lists the options"),
        (["version", "x"], "unknown argument x; `fairlead version` takes none"),
        (["get", "-A", "-n", "x"], "-n and -A exclude each other: choose namespaces or all of them"),
        (["get", "-n", "x", "-n", "y"], "-n is given more than once: choose one namespace, or -A for all of them"),
        (["get", "-n", ""], "-n needs the name of a namespace: use -A for all of them"),
        (
            ["watch", "--timeout", "1d"],
            '--timeout: the duration "1d" has the unknown unit "d": use h, m, s, ms, us or ns',
        ),
        (["watch", "--timeout", "0"], "--timeout: 0 is not longer than 0"),
    ],
)
def test_a_mistake_is_one_sentence_and_code_2(
    words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == exits.USAGE
    assert capsys.readouterr().err == f"fairlead: {sentence}\n"


def test_a_wrong_form_of_output_names_the_right_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["get", "-o", "xml"]) == exits.USAGE
    assert "'json', 'yaml', 'wide'" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--help"], ["version"], ["get", "--help"], ["watch", "--help"], ["wach"]])
def test_help_and_mistakes_import_nothing_heavy(words: list[str]) -> None:
    """Start-up stays quick because what a command needs is imported when it runs."""
    code = f"import sys; from fairlead.cli.main import main\ntry: main({words!r})\nexcept SystemExit: pass\n"
    code += f"sys.stderr.write('imported: ' + ','.join(m for m in {HEAVY!r} if m in sys.modules))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stderr.endswith("imported: ")


def test_a_reader_that_left_is_no_error() -> None:
    code = "import sys; from fairlead.cli.main import main; sys.exit(main(['--help']))"
    shell = f'{{ "{sys.executable}" -c "{code}"; echo $? >&2; }} | true'

    done = subprocess.run(["sh", "-c", shell], capture_output=True, text=True, check=True)

    assert done.stderr == "0\n"


def test_it_runs_as_a_module() -> None:
    command = [sys.executable, "-m", "fairlead", "version"]

    assert subprocess.run(command, check=True, text=True, capture_output=True).stdout == f"fairlead {__version__}\n"


@pytest.mark.parametrize(
    ("started_as", "typed"),
    [
        ("/usr/bin/kubectl-fairlead", "kubectl fairlead"),
        ("C:\\bin\\kubectl-fairlead.exe", "kubectl fairlead"),
        ("/usr/bin/fairlead", "fairlead"),
        ("/lib/fairlead/__main__.py", "fairlead"),
    ],
)
def test_help_says_what_was_typed(
    started_as: str, typed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [started_as])

    main(["--help"])
    main(["get", "--colour"])

    said = capsys.readouterr()
    assert said.out.startswith(f"usage: {typed} COMMAND")
    assert f"`{typed} get --help` lists the options" in said.err
