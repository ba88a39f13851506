"""Upstream's manager of LeaderWorkerSets in any release: found, or built once. `$FAIRLEAD_LWS` names another one.

Its module, as Go keeps it, also has the definitions of its kinds, its chart and its tests.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from fairlead.plane.build import Say, copy_module, go, module_folder, printed
from fairlead.plane.tool import Tool

LWS = "0.9.0"
MODULE = "sigs.k8s.io/lws"


def _build(release: str, work: Path) -> None:
    # `go install` asks the proxy for a list of all releases, which not every proxy has; building does not.
    copy_module(f"{MODULE}@v{release}", work / "source")
    go(work / "source", "build", "-p=1", "-trimpath", "-ldflags=-s -w", "-o", str(work / "lws"), "./cmd")


def source(release: str = LWS) -> Path:
    """The folder of the module of a release, fetched where Go does not have it yet."""
    return module_folder(f"{MODULE}@v{release}")


def find(say: Say, *, release: str = LWS, build: bool = True) -> Path:
    """The program; raises Unavailable with what would help."""
    made = partial(_build, release)
    return Tool(name="LWS", version=release, minutes=2, target="upstream", build=made).find(say, build=build)


if __name__ == "__main__":
    raise SystemExit(printed(find))
