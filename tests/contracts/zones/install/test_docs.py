"""docs/install.md: its commands are taken, its values exist."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

import pytest
import yaml

from fairlead.cli import exits
from fairlead.cli.commands.operator import add_arguments, options_of
from fairlead.cli.main import main
from fairlead.contracts import chart_of
from fairlead.contracts.plans.install.values import CHART as PLANS
from fairlead.engine.charts import chart_values
from tests.contracts.zones.install.helm import CHART
from tests.operator_parts import environments_options

ROOT = Path(__file__).parents[4]
WHOLE = (ROOT / "docs" / "install.md").read_text()
TEXT, ENVIRONMENTS = WHOLE.partition("# Installing API versions")[0].split("# Installing environments")
COMMANDS = re.findall(
    r"^(?:fairlead|helm) .*$", "\n".join(re.findall(r"```\w*\n(.*?)```", WHOLE, re.DOTALL)), re.MULTILINE
)


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


def test_charts_are_where_the_commands_say() -> None:
    charts = [ROOT / shlex.split(line)[3] for line in COMMANDS if line.startswith("helm")]

    assert charts == [CHART, chart_of("environments"), chart_of("leaderworker"), PLANS, chart_of("apiversions")]


def test_values_of_environments_that_are_explained_exist() -> None:
    values = chart_values(chart_of("environments"))
    explained = [
        path
        for row in ENVIRONMENTS.splitlines()
        if row.startswith("| `") and not row.startswith("| `--")
        for path in re.findall(r"`([^`]+)`", row.split("|")[1])
    ]

    assert len(explained) > 10
    for path in explained:
        found = values
        for key in path.split("."):
            assert key in found, path
            found = found[key]


def test_the_file_in_the_description_of_the_command_line_is_taken(tmp_path: Path) -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "cli.md").read_text(), re.DOTALL)
    path = tmp_path / "config.yaml"
    path.write_text(text)
    parser = argparse.ArgumentParser()
    add_arguments(parser)

    made = options_of(parser.parse_args(["--parts=zones,environments", f"--config={path}"]))

    assert environments_options(made).settings.environmentd.node_selector == {"disk": "ssd"}


def test_every_value_of_the_chart_itself_is_explained() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    own = list(values)[list(values).index("namespaceSelector") + 1 :]

    rows = [re.findall(r"`([^`]+)`", row.split("|")[1]) for row in TEXT.splitlines() if row.startswith("| `")]

    explained = set()
    for first, *others in (row for row in rows if "." in row[0]):
        key = first.partition(".")[0]
        explained |= {first} | {f"{key}{other}" for other in others}
    assert explained == {f"{key}.{name}" for key in own for name in values[key]}
