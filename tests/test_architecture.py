"""docs/architecture.md is true where it names code: files are there, and so are types and lists of modules."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = re.sub(r"```.*?```", "", (ROOT / "docs" / "architecture.md").read_text(), flags=re.DOTALL)
PACKAGES = ("kubeloop", "kubesim", "fairlead", "tests", "tools")
FILES = [path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*.py")]


def test_every_path_that_it_names_is_there() -> None:
    """Whole ones, and those that begin within a package (`decide/guard`)."""
    known = {part for path in FILES for part in _ends(path)}
    named = set(re.findall(r"`([\w-]+(?:/[\w.-]+)+)/?`", TEXT))

    assert len(named) > 30
    assert {each for each in named if each not in known and not (ROOT / each).exists()} == set()


def test_every_type_that_it_names_is_one() -> None:
    code = "\n".join((ROOT / path).read_text() for path in FILES)
    named = set(re.findall(r"`([A-Z][a-z]+(?:[A-Z][a-z]+)*)`", TEXT))

    assert len(named) > 30
    assert {each for each in named if not re.search(rf"^(?:class {each}\b|{each}\b.* = )", code, re.MULTILINE)} == set()


@pytest.mark.parametrize("contract", ["zones", "plans"])
def test_the_rooms_of_decisions_that_it_lists_are_all(contract: str) -> None:
    folder = ROOT / "fairlead" / "contracts" / contract / "decide"
    (sentence,) = re.findall(rf"^(?:The rooms|Those) of `contracts/{contract}/decide`: (.+)$", TEXT, re.MULTILINE)

    rooms = {path.parent.name for path in folder.glob("*/__init__.py")}
    assert rooms - set(re.findall(r"`(\w+)`", sentence)) == set()


def _ends(path: Path) -> set[str]:
    """`a/b/c.py` is also `b/c.py`, and without what tells that it is Python; so are the folders that it is in."""
    whole = [path, path.with_suffix(""), *path.parents]
    return {"/".join(each.parts[start:]) for each in whole for start in range(len(each.parts))}
