"""Completion: what the scripts offer, asked of a real bash; the other shells' scripts say the same."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from fairlead.cli import exits
from fairlead.cli.commands.completion import SCRIPTS, commands
from fairlead.cli.main import COMMANDS, main

ASK = """
source {script}
COMP_WORDS=({words})
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_fairlead
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "fairlead.bash"
    path.write_text(SCRIPTS["bash"](commands()))
    return path


def completed(script: Path, *words: str, folder: Path | None = None) -> list[str]:
    """What bash offers for the last word."""
    code = ASK.format(script=shlex.quote(str(script)), words=shlex.join(words))
    done = subprocess.run(
        ["bash", "--norc", "-u", "-c", code], check=True, text=True, capture_output=True, cwd=folder, timeout=30
    )
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line]


def test_commands_are_completed(script: Path) -> None:
    assert completed(script, "fairlead", "") == [name for name, _ in COMMANDS]
    assert completed(script, "fairlead", "ex") == ["explain"]
    assert completed(script, "kubectl-fairlead", "wa") == ["watch"]


def test_options_of_the_command_are_completed_wherever_they_stand(script: Path) -> None:
    assert completed(script, "fairlead", "get", "--all") == ["--all-namespaces"]
    assert completed(script, "fairlead", "get", "-n", "mimir", "--ou") == ["--output"]
    assert "--exit-when-blocked" in completed(script, "fairlead", "watch", "mimir/ingester", "--")
    assert "--exit-when-blocked" not in completed(script, "fairlead", "get", "--")


def test_values_are_completed_where_they_are_known(script: Path) -> None:
    assert completed(script, "fairlead", "get", "-o", "") == ["json", "yaml", "wide"]
    assert completed(script, "fairlead", "get", "--output", "=", "y") == ["yaml"]
    assert completed(script, "fairlead", "get", "--output", "=") == ["json", "yaml", "wide"]
    assert completed(script, "fairlead", "explain", "-o", "w") == []
    assert completed(script, "fairlead", "completion", "b") == ["bash"]
    assert completed(script, "fairlead", "help", "exit") == ["exit-codes"]


def test_where_a_name_is_wanted_nothing_is_offered(script: Path) -> None:
    assert completed(script, "fairlead", "get", "-n", "") == []


def test_files_and_folders_are_completed(script: Path, tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").touch()
    (tmp_path / "clusters").mkdir()

    files = completed(script, "fairlead", "up", "-f", "clu", folder=tmp_path)
    either = completed(script, "fairlead", "up", "--load", "clu", folder=tmp_path)
    folders = completed(script, "fairlead", "up", "--save", "clu", folder=tmp_path)

    assert sorted(files) == sorted(either) == ["cluster.yaml", "clusters"]
    assert folders == ["clusters"]


def test_every_option_of_every_command_is_known_to_every_shell() -> None:
    scripts = {shell: made(commands()) for shell, made in SCRIPTS.items()}

    for command in commands():
        for option in command.options:
            for name in option.names:
                assert re.search(rf'{command.name}\) words="[^"]*(?<=[ "]){name}[ "]', scripts["bash"])
                assert re.search(rf"^ +{command.name}\) _arguments .*'\*{name}=?\[", scripts["zsh"], re.MULTILINE)
                told = f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
                seen = f"complete -c fairlead -n '__fish_seen_subcommand_from {command.name}' .*{told} "
                assert re.search(f"^{seen}", scripts["fish"], re.MULTILINE), (command.name, name)


def test_texts_are_quoted() -> None:
    """Help has apostrophes and brackets; a word that does not end would swallow the rest of the script."""
    for shell in ("zsh", "fish"):
        text = SCRIPTS[shell](commands()).replace("\\'", "") if shell == "fish" else SCRIPTS[shell](commands())
        assert all(shlex.split(line) for line in text.splitlines() if line.strip() and not line.startswith("#"))


def test_it_is_a_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "bash"]) == exits.OK
    assert capsys.readouterr().out.endswith("complete -F _fairlead fairlead kubectl-fairlead\n")

    assert main(["completion", "csh"]) == exits.USAGE
    assert "bash" in capsys.readouterr().err
