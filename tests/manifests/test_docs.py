"""docs/install.md: its commands are taken, its values exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml

from fairlead.cli import exits
from fairlead.cli.main import main
from tests.manifests.helm import CHART

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "install.md").read_text()
COMMANDS = re.findall(r"^(?:fairlead|helm) .*$", "\n".join(re.findall(r"```\n(.*?)```", TEXT, re.DOTALL)), re.MULTILINE)


@pytest.mark.parametrize("line", [line for line in COMMANDS if line.startswith("fairlead")])
def test_command_is_taken(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, command, *rest = shlex.split(line.partition("|")[0])

    # Removing needs a cluster: with its help the words before are still checked.
    words = [*rest, "--help"] if command == "uninstall" else rest
    try:
        code = main([command, *words])
    except SystemExit as left:
        code = int(left.code or 0)

    assert code == exits.OK, capsys.readouterr().err


def test_chart_is_where_the_command_says() -> None:
    (line,) = [line for line in COMMANDS if line.startswith("helm")]

    assert (ROOT / shlex.split(line)[3]).samefile(CHART)


def test_every_value_of_the_chart_itself_is_explained() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    own = list(values)[list(values).index("namespaceSelector") + 1 :]

    rows = [re.findall(r"`([^`]+)`", row.split("|")[1]) for row in TEXT.splitlines() if row.startswith("| `")]

    explained = set()
    for first, *others in (row for row in rows if "." in row[0]):
        key = first.partition(".")[0]
        explained |= {first} | {f"{key}{other}" for other in others}
    assert explained == {f"{key}.{name}" for key in own for name in values[key]}
