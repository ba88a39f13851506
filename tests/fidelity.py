"""Comparisons of the embedded cluster with a real one, case by case, and whether they must run.

They say nothing about the operator: they come out the same for as long as neither the embedded cluster nor they
themselves change. A digest of all that they consist of is kept in the repository, and written only when every one of
them has passed: `make fidelity`, which `make soak` does as well. Where the digest is another, `make test` runs them.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tests.shards import Case

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "tests" / "fidelity.txt"
MARK = "fidelity"
PACKAGES = ("fairlead", "kubeloop", "kubesim", "tests")
BESIDE = ("requirements.lock", "tests/conftest.py")
"""What they depend on and do not import."""
DATA = ("kubesim", "tests/e2e", "tests/fuzz", "tests/kubesim")
"""Folders whose data is theirs."""


def digest(tests: Iterable[Case], root: Path = ROOT) -> str:
    """Of everything that decides how the comparisons among these tests come out."""
    total = hashlib.sha256()
    for file in sorted(_files({root / test.file for test in tests if test.compares}, root)):
        total.update(f"{file.relative_to(root).as_posix()} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


def is_recorded(found: str, record: Path = RECORD) -> bool:
    return record.exists() and record.read_text().strip() == found


def record(found: str, at: Path = RECORD) -> None:
    at.write_text(f"{found}\n")


def reached(start: Iterable[Path], root: Path = ROOT) -> set[Path]:
    """These files and every file of the repository that they import, wherever in a file that is written."""
    found: set[Path] = set()
    todo = list(start)
    while todo:
        file = todo.pop()
        if file not in found:
            found.add(file)
            todo += imported(file, root)
    return found


def _files(compared: set[Path], root: Path) -> set[Path]:
    data = {file for folder in DATA for file in (root / folder).rglob("*") if file.suffix not in ("", ".py", ".pyc")}
    beside = {root / name for name in BESIDE if (root / name).exists()}
    code = {*compared, *(root / "kubesim").rglob("*.py"), *(file for file in beside if file.suffix == ".py")}
    return reached(code, root) | data | beside


def imported(file: Path, root: Path = ROOT) -> Iterator[Path]:
    """The files of the repository that one of them imports."""
    for name in _named(file.read_bytes()):
        yield from _modules(name, root)


@cache
def _named(source: bytes) -> tuple[str, ...]:
    """The modules that a file may import; what it takes from a module may be a module."""
    named: list[str] = []
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                named += [each.name for each in names]
            case ast.ImportFrom(module=str(module), names=names, level=0):
                named += [module, *(f"{module}.{each.name}" for each in names)]
    return tuple(dict.fromkeys(named))


def _modules(name: str, root: Path) -> Iterator[Path]:
    """The files of a module and of the packages around it."""
    parts = name.split(".")
    if parts[0] not in PACKAGES:
        return
    for length in range(1, len(parts) + 1):
        place = root.joinpath(*parts[:length])
        yield from (file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file())
