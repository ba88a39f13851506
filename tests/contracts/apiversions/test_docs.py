"""docs/api-versions.md: its commands are taken as they stand."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from fairlead.cli import command_group
from fairlead.cli.main import parsed, parser_of

TEXT = (Path(__file__).parents[3] / "docs" / "api-versions.md").read_text()
COMMANDS = [
    line
    for block in re.findall(r"```\n(.*?)```", TEXT, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("fairlead ")
]


@pytest.mark.parametrize("line", COMMANDS)
def test_command_is_taken(line: str) -> None:
    _, command, *rest = shlex.split(line)
    if command != "api":
        parsed(parser_of(command), rest)
        return
    known = command_group.group_of("api").commands
    words = next(count for count in (2, 1) if " ".join(rest[:count]) in known)

    parser, _ = command_group.parser_of("api", " ".join(rest[:words]))

    assert parsed(parser, rest[words:])


def test_every_step_in_the_life_of_a_version_is_shown() -> None:
    steps = ("introduce", "attach", "serve", "set-storage", "migrate", "deprecate", "fix-refs", "unserve")

    shown = [line.split()[2] for line in COMMANDS if line.startswith("fairlead api")]
    assert [each for each in shown if each in (*steps, "remove-version")] == [*steps, "remove-version"]
