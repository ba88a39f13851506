"""Find the control plane's three programs, or build them once from the Go module proxy.

They are looked for in `$KUBEBUILDER_ASSETS`, then on `PATH`, then in the user's cache; only when none of the three
places has all of them are they built, into that cache, which takes minutes once per machine.
The modules publish `go.mod` files that point at sibling folders of a source tree we do not have, so a writable copy is
made whose replacements name the published tags of the same release instead.
"""

from __future__ import annotations

import fcntl
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

KUBERNETES = "1.36.4"
ETCD = "3.6.8"
PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager")

Say = Callable[[str], None]


class Unavailable(Exception):
    """The control plane cannot be had here; the message says why and what would help."""


def find(say: Say, *, build: bool = True) -> Path:
    """The folder that holds all of PROGRAMS."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    if assets:
        if _complete(Path(assets)):
            return Path(assets)
        raise Unavailable(f"KUBEBUILDER_ASSETS={assets} lacks one of {', '.join(PROGRAMS)}; correct or unset it.")
    places = {Path(found).parent for program in PROGRAMS if (found := shutil.which(program))}
    if len(places) == 1 and _complete(place := places.pop()):
        return place
    ready = _folder()
    if _complete(ready):
        return ready
    if shutil.which("go") is None:
        raise Unavailable(
            "Go is not installed, so the real control plane cannot be built; install Go, or set KUBEBUILDER_ASSETS "
            f"to a folder with {', '.join(PROGRAMS)}."
        )
    if not build:
        raise Unavailable(f"no control plane in {ready}; run `make control-plane` to build it.")
    return _build(ready, say)


def cache() -> Path:
    """Where fairlead keeps what it built on this machine."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fairlead"


def _folder() -> Path:
    return cache() / f"control-plane-{KUBERNETES}-etcd-{ETCD}-{platform.machine()}"


def _complete(folder: Path) -> bool:
    return all(os.access(folder / program, os.X_OK) for program in PROGRAMS)


def _build(ready: Path, say: Say) -> Path:
    cache().mkdir(parents=True, exist_ok=True)
    with locked(cache() / "control-plane.lock"):
        if _complete(ready):  # another process built it while this one waited
            return ready
        work = cache() / "control-plane.work"
        shutil.rmtree(work, ignore_errors=True)
        out = work / "bin"
        out.mkdir(parents=True)
        say(f"Building etcd {ETCD} and Kubernetes {KUBERNETES} once for this machine (about 5 minutes on 2 cores) ...")
        _build_etcd(work / "etcd", out, say)
        _build_kubernetes(work / "kubernetes", out, say)
        shutil.rmtree(ready, ignore_errors=True)
        out.rename(ready)
        shutil.rmtree(work)
        say(f"Control plane built into {ready}")
    return ready


def _build_etcd(source: Path, out: Path, say: Say) -> None:
    say(f"  [1/3] etcd {ETCD}")
    copy_module(f"go.etcd.io/etcd/server/v3@v{ETCD}", source)
    text = (source / "go.mod").read_text()
    (source / "go.mod").write_text(
        re.sub(r"^\s*(replace )?go\.etcd\.io/etcd\S* => \.\./\S+$", "", text, flags=re.MULTILINE)
    )
    go(source, "build", "-mod=mod", "-trimpath", "-ldflags=-s -w", "-o", str(out / "etcd"), ".")


def _build_kubernetes(source: Path, out: Path, say: Say) -> None:
    say(f"  [2/3] kube-apiserver {KUBERNETES}")
    kubernetes_source(KUBERNETES, source)
    for step, program in enumerate(PROGRAMS[1:], start=2):
        if step > 2:
            say(f"  [{step}/3] {program} {KUBERNETES}")
        build_kubernetes_program(KUBERNETES, source, program, out)


def build_kubernetes_program(release: str, source: Path, program: str, out: Path) -> None:
    """Leaves the program in the folder `out`."""
    target = ("-o", str(out / program), f"./cmd/{program}")
    go(source, "build", "-mod=mod", "-trimpath", f"-ldflags={kubernetes_stamp(release)}", *target)


def kubernetes_source(release: str, target: Path, without: Sequence[str] = ()) -> None:
    """A copy of Kubernetes' module that builds; `without` modules that no program in question is made of."""
    copy_module(f"k8s.io/kubernetes@v{release}", target)
    (target / "go.work").unlink(missing_ok=True)
    shutil.rmtree(target / "vendor", ignore_errors=True)
    for module in without:
        go(target, "mod", "edit", f"-droprequire={module}", f"-dropreplace={module}")
    text = (target / "go.mod").read_text()
    tag = "v0." + release.split(".", 1)[1]
    (target / "go.mod").write_text(re.sub(r"(k8s\.io/\S+) => \./staging/\S+", rf"\1 => \1 {tag}", text))


def kubernetes_stamp(release: str) -> str:
    """Linker flags by which a program of Kubernetes knows its release."""
    major, minor, _ = release.split(".")
    version = "k8s.io/component-base/version"
    stamp = {"gitVersion": f"v{release}", "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    return "-s -w " + " ".join(f"-X {version}.{name}={value}" for name, value in stamp.items())


def module_folder(module: str) -> Path:
    """Where Go keeps the module, read-only; fetched where it is not there yet."""
    listed = go(Path.cwd(), "mod", "download", "-json", module)
    found = re.search(r'"Dir": "([^"]+)"', listed)
    if found is None:
        raise Unavailable(f"go mod download {module} named no folder; is the Go module proxy reachable?")
    return Path(found[1])


def copy_module(module: str, target: Path) -> None:
    """A copy that can be changed, without what no program is built of."""
    shutil.copytree(
        module_folder(module), target, ignore=shutil.ignore_patterns("vendor", "staging", "test", "CHANGELOG")
    )
    for path in (target, *target.rglob("*")):  # the module cache is read-only
        path.chmod(path.stat().st_mode | stat.S_IWUSR)


def go(folder: Path, *arguments: str, **settings: str) -> str:
    """What the Go command said; raises Unavailable with its last words. `settings` are environment variables."""
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off", **settings}
    done = subprocess.run(["go", *arguments], check=False, cwd=folder, env=environment, text=True, capture_output=True)
    if done.returncode != 0:
        tail = "\n".join((done.stderr or done.stdout).strip().splitlines()[-15:])
        raise Unavailable(f"`go {arguments[0]}` failed in {folder}; what it said:\n{tail}")
    return done.stdout


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """One process of this machine at a time."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def printed(find: Callable[[Say], Path]) -> int:
    """Of `python -m`: build if needed, print where it is; the exit code."""
    try:
        print(find(lambda line: print(line, file=sys.stderr, flush=True)))
    except Unavailable as problem:
        print(problem, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(printed(find))
