"""One name, one idea: what is read beside one another has no name that stands for two things.

What all contracts share is read so, and each contract by itself; two contracts may have the same names.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.contracts import CONTRACTS

ROOT = Path(__file__).parent.parent
ROOMS = {
    "the runtime": ("kubeloop",),
    "what contracts share": ("fairlead/core", "fairlead/engine", "fairlead/cli", "fairlead/plane"),
    **{name: (f"fairlead/contracts/{name}",) for name in CONTRACTS},
}
SAME = {"Tree", "Json"}
"""An object of JSON as it was decoded, wherever it is defined."""


@pytest.mark.parametrize("room", ROOMS)
def test_no_two_types_have_the_same_name(room: str) -> None:
    found: dict[str, list[str]] = defaultdict(list)
    for folder in ROOMS[room]:
        for file in sorted((ROOT / folder).rglob("*.py")):
            for name in defined(ast.parse(file.read_text())):
                found[name].append(str(file.relative_to(ROOT)))

    assert found
    assert {name: files for name, files in found.items() if len(files) > 1 and name not in SAME} == {}


def defined(module: ast.Module) -> Iterator[str]:
    """Classes and aliases of types that other modules may use."""
    for node in module.body:
        match node:
            case ast.ClassDef(name=name) if not name.startswith("_"):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias")) if name[0] != "_":
                yield name
