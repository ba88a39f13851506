"""Prometheus: found, or built once. `$FAIRLEAD_PROMETHEUS` names another one.

It is built without its pages and without any discovery of targets: what is wanted of it is that it answers queries.
"""

from __future__ import annotations

from pathlib import Path

from fairlead.plane.build import go, printed
from fairlead.plane.tool import Tool

PROMETHEUS = "0.313.5"
"""Version of the Go module."""
PROGRAM = "github.com/prometheus/prometheus/cmd/prometheus"


def _build(work: Path) -> None:
    # Its own go.mod excludes versions, with which `go install` refuses to build it; a module of ours requires it.
    (work / "go.mod").write_text("module prometheus.local\n")
    go(work, "get", f"{PROGRAM}@v{PROMETHEUS}")
    target = ("-o", str(work / "prometheus"), PROGRAM)
    go(work, "build", "-p=1", "-mod=mod", "-trimpath", "-ldflags=-s -w", "-tags=remove_all_sd,netgo", *target)


find = Tool(name="Prometheus", version=PROMETHEUS, minutes=5, target="prometheus", build=_build).find

if __name__ == "__main__":
    raise SystemExit(printed(find))
