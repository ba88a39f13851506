"""Commands as documents show them are taken by the command line: whoever copies one is told of no mistake."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.cli import command_group
from fairlead.cli.main import COMMANDS, UsageError, parsed, parser_of

ROOT = Path(__file__).parent.parent.parent
DOCUMENTS = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "fairlead").rglob("*.md")),
    *sorted((ROOT / "fairlead").rglob("NOTES.txt")),
    ROOT / "kubesim" / "README.md",
)
TYPED = re.compile(r"(?:^|[|(] ?|\$ )(?:\.venv/bin/|kubectl )?(fairlead .+)")
ENDS = (" | ", " \\| ", "  #", " > ", ")")
"""What follows a command on its line and is no part of it."""
PLACES = ("COMMAND", "SHELL", "…", "[")
"""Of what stands for any command, or for more options."""


def shown(document: Path) -> Iterator[str]:
    """Commands with arguments, from blocks and from sentences."""
    text = document.read_text()
    blocks = [line for block in re.findall(r"```\w*\n(.+?)```", text, re.DOTALL) for line in block.splitlines()]
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"```.+?```", "", text, flags=re.DOTALL))
    for found in filter(None, map(TYPED.search, (*blocks, *spans))):
        command = min((found[1].partition(end)[0] for end in ENDS), key=len).strip().removesuffix("\\")
        if not any(place in command for place in PLACES):
            yield command


def mistake_in(command: str) -> str:
    """What the command line says to it; empty where it is taken, or where no more than its name is mentioned."""
    _, name, *words = shlex.split(command)
    if name in ("--help", "help", "version") or words in ([], ["--help"]):
        return ""
    if name not in dict(COMMANDS):
        return f"no command {name}"
    try:
        if name == "api":
            name, words = command_group._named("api", words)
            parsed(command_group.parser_of("api", name)[0], words)
        else:
            parsed(parser_of(name), words)
    except UsageError as error:
        is_mention = "arguments are required" in str(error) and all(word.startswith("-") for word in words)
        return "" if is_mention else str(error)
    return ""


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_command_that_a_document_shows_is_taken(document: Path) -> None:
    assert [(command, said) for command in shown(document) if (said := mistake_in(command))] == []


def test_a_hundred_commands_are_tried() -> None:
    assert len({command for document in DOCUMENTS for command in shown(document)}) > 100
