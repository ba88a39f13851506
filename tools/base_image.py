"""`make base-image`: a base for the image, made of Debian's packages where no registry of images is reached.

It is made once per machine and kept in the user's cache, as a tar file that any builder can take in. What that needs
(mmdebstrap) and what the image is then built with (buildah) is installed where this may be done.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from fairlead.plane.build import Say, Unavailable, cache, locked, printed

PROGRAMS = ("mmdebstrap", "buildah")
SUITE = "bookworm"
RECIPE = (
    "--variant=minbase",
    "--include=ca-certificates,python3",
    # Nobody reads manuals in there.
    *(f"--dpkgopt=path-exclude=/usr/share/{each}/*" for each in ("doc", "info", "locale", "man")),
    "--dpkgopt=path-include=/usr/share/doc/*/copyright",
    SUITE,
)


def find(say: Say, *, build: bool = True) -> Path:
    """The tar file; raises Unavailable with what would help."""
    ready = cache() / f"base-image-{key()}-{platform.machine()}" / "base.tar"
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if ready.exists() and not missing:
        return ready
    if not build:
        raise Unavailable(f"no base image in {ready.parent}, or no {' and '.join(PROGRAMS)}; run `make base-image`.")
    if missing:
        _install(missing, say)
    return _made(ready, say)


def key() -> str:
    """Of the recipe: another one makes another base."""
    return hashlib.blake2b("\n".join(RECIPE).encode(), digest_size=6).hexdigest()


def _install(missing: Sequence[str], say: Say) -> None:
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        raise Unavailable(
            f"{' and '.join(missing)} cannot be installed here, which takes root and a Debian; "
            "install them, or name a base image: `make image BASE=...`."
        )
    say(f"Installing {' and '.join(missing)} ...")
    run("apt-get", "-q", "update")
    run("apt-get", "-q", "install", "-y", "--no-install-recommends", *missing)


def _made(ready: Path, say: Say) -> Path:
    cache().mkdir(parents=True, exist_ok=True)
    with locked(cache() / "base-image.lock"):
        if ready.exists():  # another process made it while this one waited
            return ready
        say(f"Making a base image of Debian's {SUITE} once for this machine (about 2 minutes on 2 cores) ...")
        work = cache() / "base-image.work"
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        run("mmdebstrap", "--quiet", *RECIPE, str(work / "base.tar"))
        ready.parent.mkdir(exist_ok=True)
        (work / "base.tar").rename(ready)
        shutil.rmtree(work)
        say(f"Base image made: {ready}")
    return ready


def run(*command: str) -> str:
    """What it said; raises Unavailable with its last words."""
    done = subprocess.run(command, check=False, text=True, capture_output=True, env=os.environ | QUIET)
    if done.returncode != 0:
        tail = "\n".join((done.stderr or done.stdout).strip().splitlines()[-15:])
        raise Unavailable(f"`{' '.join(command[:3])}` failed; what it said:\n{tail}")
    return done.stdout


QUIET = {"DEBIAN_FRONTEND": "noninteractive"}

if __name__ == "__main__":
    raise SystemExit(printed(find))
