"""The operator in other versions, as programs: copies of the package that say another number, run in its place."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import fairlead
from tests.e2e.clusters import Site

PACKAGE = Path(fairlead.__file__).parent


def copy_of(version: str, folder: Path) -> Path:
    """A folder in which the package is of this version."""
    place = folder / version
    shutil.copytree(PACKAGE, place / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__"))
    head = place / PACKAGE.name / "__init__.py"
    told, own = head.read_text(), f'__version__ = "{fairlead.__version__}"'
    assert own in told
    head.write_text(told.replace(own, f'__version__ = "{version}"'))
    return place


def program(site: Site, identity: str, *options: str) -> Sequence[str]:
    """`fairlead operator` for plans; without the folder of the tests, so that a copy is found first."""
    place = ("--kubeconfig", str(site.server.kubeconfig), "-n", site.namespace, "--port", "0")
    named = ("--parts", "plans", "--leader-election-identity", identity)
    return (sys.executable, "-P", "-m", "fairlead", "operator", *place, *named, *options)


def environment(copy: Path) -> Mapping[str, str]:
    return {"PYTHONPATH": str(copy)}
