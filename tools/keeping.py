"""Files that are made from the real thing: written, and told how they differ from what was there."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

WIDEST = 300
"""Characters of a line that are shown: some files have an object on each."""


def saved(path: Path, text: str) -> Iterator[str]:
    """Writes the text, and tells how it differs from what was there."""
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(text, encoding="utf-8")
    yield from told(path, before, text)


def told(path: Path, before: str, after: str) -> Iterator[str]:
    """How two texts of a file differ, and at the end whether they do."""
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=2)
    yield from (line if len(line) <= WIDEST else f"{line[:WIDEST]}…" for line in lines)
    yield f"{path}: {'as before' if before == after else 'changed'}"


def keep(path: Path, text: str) -> None:
    """Writes the text, and prints how it differs from what was there."""
    for line in saved(path, text):
        sys.stdout.write(f"{line}\n")


def without_options(name: str, documentation: str | None, arguments: Sequence[str] | None) -> None:
    """Answers `--help`, and refuses everything else, for a command that can be told nothing."""
    summary, _, rest = (documentation or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog=f"python -m tools.{name}",
        description=summary.replace("\n", " "),
        epilog=f"It {rest.partition(chr(10) * 2)[2]}" if rest else None,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.parse_args(arguments)
