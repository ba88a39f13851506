"""Upstream's manager of LeaderWorkerSets: found, or built once. `$FAIRLEAD_LWS` names another one.

Its module, as Go keeps it, also has the definitions of its kinds, its chart and its tests.
"""

from __future__ import annotations

from pathlib import Path

from fairlead.plane.build import copy_module, go, module_folder, printed
from fairlead.plane.tool import Tool

LWS = "0.9.0"
MODULE = "sigs.k8s.io/lws"


def _build(work: Path) -> None:
    # `go install` asks the proxy for a list of all releases, which not every proxy has; building does not.
    copy_module(f"{MODULE}@v{LWS}", work / "source")
    go(work / "source", "build", "-p=1", "-trimpath", "-ldflags=-s -w", "-o", str(work / "lws"), "./cmd")


def source(release: str = LWS) -> Path:
    """The folder of the module of a release, fetched where Go does not have it yet."""
    return module_folder(f"{MODULE}@v{release}")


find = Tool(name="LWS", version=LWS, minutes=2, target="upstream", build=_build).find

if __name__ == "__main__":
    raise SystemExit(printed(find))
