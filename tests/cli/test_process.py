"""Programs under the names of contracts: what an installation starts is what contracts have."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fairlead.cli import exits, process
from fairlead.cli.commands.operator import operate
from fairlead.contracts import contracts
from fairlead.core.flags import Flag
from fairlead.engine.options import OperatorOptions

SCRIPTS: dict[str, str] = tomllib.loads(Path("pyproject.toml").read_text())["project"]["scripts"]


def test_every_program_has_a_script_and_every_such_script_a_program() -> None:
    pointing = {name: target for name, target in SCRIPTS.items() if target.startswith("fairlead.cli.process:")}

    assert pointing == {name: f"fairlead.cli.process:{name.replace('-', '_')}" for name in process.names()}


@pytest.mark.parametrize("name", process.names())
def test_a_program_is_the_one_that_its_contract_names(name: str) -> None:
    program = process.program_of(name)

    assert program.name == name
    assert len({flag.name for flag in program.flags}) == len(program.flags)
    assert all(isinstance(flag, Flag) for flag in program.flags)


def test_no_program_is_made_up() -> None:
    with pytest.raises(AttributeError, match="no contract has a program made-up"):
        _ = process.made_up


@pytest.mark.parametrize("name", process.names())
def test_a_program_can_be_started_by_its_name(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fairlead.cli.process", name, "--help"], capture_output=True, text=True, check=False
    )

    assert done.returncode == exits.OK
    assert name in done.stdout + done.stderr


@pytest.mark.parametrize("name", ["lws-manager", "vela-core"])
def test_a_program_that_finds_no_cluster_says_once_what_to_give(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(variable, raising=False)

    code = operate(OperatorOptions(process=name, parts=(), server_port=0), process.program_of(name).elsewhere)

    assert code == exits.ERROR
    assert capsys.readouterr().err.endswith(
        "and this is not a pod; give a kubeconfig with --kubeconfig or KUBECONFIG\n"
    )


def test_a_section_names_each_flag_once() -> None:
    sections = [contract.section.get() for contract in contracts() if contract.section is not None]

    assert sections
    for section in sections:
        assert len({flag.name for flag in section.flags}) == len(section.flags)
