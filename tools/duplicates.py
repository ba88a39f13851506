"""Lines that stand twice in the product's code: `python -m tools.duplicates`.

pylint compares every file with every other, half a minute of CPU, and finds nothing for as long as none of them has
changed. So what it found nothing in is in the user's cache, for all checkouts, as what mypy knows of files is.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from fairlead.plane.build import cache

ROOT = Path(__file__).parent.parent
PACKAGES = ("kubeloop", "kubesim", "fairlead")
BESIDE = ("pyproject.toml", "requirements.lock")
"""What is looked for, and by which release."""
KEPT = 50
"""So many states of the code are remembered."""


def digest(root: Path = ROOT) -> str:
    total = hashlib.sha256()
    for file in (*(root / name for name in BESIDE), *sorted(_code(root))):
        total.update(f"{file.relative_to(root).as_posix()} {hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return total.hexdigest()


def _code(root: Path) -> list[Path]:
    return [file for package in PACKAGES for file in (root / package).rglob("*.py")]


def once(state: Callable[[], str], look: Callable[[], int], folder: Path) -> int:
    """The exit code of a look at this state, which is not taken again once it was 0 and the state stayed."""
    known = folder / state()
    if known.exists():
        return 0
    code = look()
    if code == 0 and known.name == state():
        folder.mkdir(parents=True, exist_ok=True)
        known.touch()
        for old in sorted(folder.iterdir(), key=_age)[:-KEPT]:
            old.unlink(missing_ok=True)
    return code


def _age(file: Path) -> float:
    return file.stat().st_mtime if file.exists() else 0.0


def pylint() -> int:
    return subprocess.run((Path(sys.executable).with_name("pylint"), *PACKAGES), check=False, cwd=ROOT).returncode


if __name__ == "__main__":
    raise SystemExit(once(digest, pylint, cache() / "duplicates"))
