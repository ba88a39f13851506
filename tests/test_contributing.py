"""CONTRIBUTING.md is true: what it names is there, and its commands are taken."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fairlead.contracts import CONTRACTS

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
COMMANDS = re.findall(r"^\.venv/bin/python -m pytest .+$", TEXT, re.MULTILINE)


def test_every_path_that_it_names_is_there() -> None:
    quoted = re.findall(r"`([\w./-]+)`", TEXT)
    linked = re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", TEXT)
    paths = [each for each in quoted if "/" in each and not each.startswith((".venv/", "decide/", "install/"))]

    assert [each for each in [*paths, *linked] if not (ROOT / each).exists()] == []
    assert len(paths) > 10


def test_the_rooms_of_a_contract_are_those_that_each_has() -> None:
    (sentence,) = re.findall(r"with the rooms that the other contracts have: (.+)\.", TEXT)
    rooms = re.findall(r"`([\w./]+)`", sentence)

    for contract in CONTRACTS:
        folder = ROOT / "fairlead" / "contracts" / contract
        assert [room for room in rooms if not (folder / room).exists()] == []


def test_every_target_of_make_is_one() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))

    assert set(re.findall(r"`make ([a-z-]+)`", TEXT)) - targets == set()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_finds_tests(command: str) -> None:
    _, *rest = shlex.split(command)

    done = subprocess.run(
        [sys.executable, *rest, "--collect-only"], capture_output=True, text=True, check=False, cwd=ROOT
    )

    assert done.returncode == 0, done.stdout


def test_the_record_of_an_effect_has_the_fields_of_the_audit() -> None:
    from fairlead.core.audit import AuditLine

    block = TEXT.split('msg="pod terminated" ')[1].split("```")[0]
    shown = re.findall(r"(?:^|\s)(\w+)=", block)

    assert set(shown) <= set(AuditLine.__struct_fields__)


def test_hooks_take_what_is_here_and_fetch_nothing() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())

    assert [each["repo"] for each in config["repos"]] == ["local"]
    for hook in config["repos"][0]["hooks"]:
        assert hook["language"] == "system"
        assert hook["entry"].startswith(".venv/bin/")


def test_every_command_of_fairlead_is_one() -> None:
    commands = {path.stem for path in (ROOT / "fairlead" / "cli" / "commands").glob("[a-z]*.py")}

    assert set(re.findall(r"`fairlead ([a-z]+)", TEXT)) - commands == set()
