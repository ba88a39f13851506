"""Find Prometheus, or build it once from the Go module proxy into the cache that the control plane is kept in.

It is looked for in `$FAIRLEAD_PROMETHEUS`, then in the cache. It is built without its pages and without any discovery
of targets: what is wanted of it is that it answers queries.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from pathlib import Path

from fairlead.plane.build import Say, Unavailable, cache, go, locked

PROMETHEUS = "0.313.5"
"""Version of the Go module."""
MODULE = "github.com/prometheus/prometheus"


def find(say: Say, *, build: bool = True) -> Path:
    """The program."""
    named = os.environ.get("FAIRLEAD_PROMETHEUS")
    if named:
        if os.access(named, os.X_OK):
            return Path(named)
        raise Unavailable(f"FAIRLEAD_PROMETHEUS={named} is no program; correct or unset it.")
    ready = cache() / f"prometheus-{PROMETHEUS}-{platform.machine()}" / "prometheus"
    if os.access(ready, os.X_OK):
        return ready
    if shutil.which("go") is None:
        raise Unavailable(
            "Go is not installed, so Prometheus cannot be built; install Go, or set FAIRLEAD_PROMETHEUS to the program."
        )
    if not build:
        raise Unavailable(f"no Prometheus in {ready.parent}; run `make prometheus` to build it.")
    return _build(ready, say)


def _build(ready: Path, say: Say) -> Path:
    cache().mkdir(parents=True, exist_ok=True)
    with locked(cache() / "prometheus.lock"):
        if os.access(ready, os.X_OK):  # another process built it while this one waited
            return ready
        say(f"Building Prometheus {PROMETHEUS} once for this machine (about 5 minutes on 2 cores) ...")
        work = cache() / "prometheus.work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        # Its own go.mod excludes versions, with which `go install` refuses to build it; a module of ours requires it.
        (work / "go.mod").write_text("module prometheus.local\n")
        program = f"{MODULE}/cmd/prometheus"
        go(work, "get", f"{program}@v{PROMETHEUS}")
        target = ("-o", str(work / "prometheus"), program)
        go(work, "build", "-p=1", "-mod=mod", "-trimpath", "-ldflags=-s -w", "-tags=remove_all_sd,netgo", *target)
        ready.parent.mkdir(exist_ok=True)
        (work / "prometheus").rename(ready)
        shutil.rmtree(work)
        say(f"Prometheus built into {ready.parent}")
    return ready


def main() -> int:
    """`python -m fairlead.plane.prometheus`: build if needed, print the program."""
    try:
        print(find(lambda line: print(line, file=sys.stderr, flush=True)))
    except Unavailable as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
