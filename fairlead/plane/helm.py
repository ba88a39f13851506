"""Find Helm, or build it once from the Go module proxy into the cache that the control plane is kept in.

It is looked for in `$FAIRLEAD_HELM`, then in the cache; a `helm` on `PATH` may be any release and is not taken.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from pathlib import Path

from fairlead.plane.build import KUBERNETES, Say, Unavailable, cache, go, locked

HELM = "3.22.0"
MODULE = "helm.sh/helm/v3"


def find(say: Say, *, build: bool = True) -> Path:
    """The program."""
    named = os.environ.get("FAIRLEAD_HELM")
    if named:
        if os.access(named, os.X_OK):
            return Path(named)
        raise Unavailable(f"FAIRLEAD_HELM={named} is no program; correct or unset it.")
    ready = cache() / f"helm-{HELM}-{platform.machine()}" / "helm"
    if os.access(ready, os.X_OK):
        return ready
    if shutil.which("go") is None:
        raise Unavailable("Go is not installed, so Helm cannot be built; install Go, or set FAIRLEAD_HELM to a helm.")
    if not build:
        raise Unavailable(f"no Helm in {ready.parent}; run `make control-plane` to build it.")
    return _build(ready, say)


def _build(ready: Path, say: Say) -> Path:
    cache().mkdir(parents=True, exist_ok=True)
    with locked(cache() / "helm.lock"):
        if os.access(ready, os.X_OK):  # another process built it while this one waited
            return ready
        say(f"Building Helm {HELM} once for this machine (about 2 minutes on 2 cores) ...")
        work = cache() / "helm.work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        go(work, "install", "-p=1", "-trimpath", f"-ldflags={_stamp()}", f"{MODULE}/cmd/helm@v{HELM}", GOBIN=str(work))
        ready.parent.mkdir(exist_ok=True)
        (work / "helm").rename(ready)
        shutil.rmtree(work)
        say(f"Helm built into {ready.parent}")
    return ready


def _stamp() -> str:
    """Without a cluster to ask, Helm renders for the Kubernetes of its stamp, and unstamped for one of years ago."""
    major, minor, _ = KUBERNETES.split(".")
    names = {
        "internal/version.version": f"v{HELM}",
        "pkg/chartutil.k8sVersionMajor": major,
        "pkg/chartutil.k8sVersionMinor": minor,
        "pkg/lint/rules.k8sVersionMajor": major,
        "pkg/lint/rules.k8sVersionMinor": minor,
    }
    return "-s -w " + " ".join(f"-X {MODULE}/{name}={value}" for name, value in names.items())


def main() -> int:
    """`python -m fairlead.plane.helm`: build if needed, print the program."""
    try:
        print(find(lambda line: print(line, file=sys.stderr, flush=True)))
    except Unavailable as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
