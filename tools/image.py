"""`make image`: builds the image with buildah, podman or docker, whichever is there.

The base is a build argument. `--base debian` makes one here, where no registry of images is reached. The machine's own
certificate authorities are handed in for the time of the build, because registries may be behind one of a company's.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import fairlead
from fairlead.plane.build import Say, Unavailable
from tools import base_image

ROOT = Path(__file__).parent.parent
TARGETS = ("fairlead", "rollout-operator", "orchestratord", "lws-manager", "vela-core")
"""Process names that an image may start by itself; all programs are in every one of them."""
BUILDERS = ("buildah", "podman", "docker")
AUTHORITIES = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE")
DEBIAN = "debian"


def build(tag: str, *, base: str = "", target: str = TARGETS[0], say: Say) -> None:
    """Leaves an image of this name with the builder; raises Unavailable with what would help."""
    builder = next((name for name in BUILDERS if shutil.which(name)), None)
    if builder is None:
        raise Unavailable("no program that builds images is here; install buildah, podman or docker.")
    if base == DEBIAN:
        base = imported(builder, say)
    arguments = {"VERSION": fairlead.__version__, "REVISION": revision()}
    if base:
        arguments["BASE"] = base
    command = [builder, "build", *_options(builder), "--file", "Containerfile", "--target", target, "--tag", tag]
    for name, value in arguments.items():
        command += ["--build-arg", f"{name}={value}"]
    say(f"Building {tag} with {builder} ...")
    base_image.run(*command, *_secrets(), str(ROOT))


def imported(builder: str, say: Say) -> str:
    """The name under which the builder has the base that is made here."""
    tar = base_image.find(say)
    name = f"localhost/fairlead-base:{base_image.key()}"
    if subprocess.run([builder, "inspect", "--type", "image", name], check=False, capture_output=True).returncode == 0:
        return name
    if builder == "buildah":
        say("Importing the base image ...")
        container = base_image.run("buildah", "from", "scratch").strip()
        base_image.run("buildah", "add", "--quiet", container, str(tar), "/")
        base_image.run("buildah", "commit", "--quiet", "--rm", container, name)
    else:
        base_image.run(builder, "import", str(tar), name)
    return name


def revision() -> str:
    """The commit that is checked out, if this is a checkout."""
    found = subprocess.run(["git", "rev-parse", "HEAD"], check=False, cwd=ROOT, text=True, capture_output=True)
    return found.stdout.strip() or "unknown"


def _options(builder: str) -> Sequence[str]:
    """Without a runtime for containers, or inside of one, only chroot works."""
    if builder != "buildah":
        return ()
    runtime = any(map(shutil.which, ("crun", "runc"))) or "BUILDAH_ISOLATION" in os.environ
    return ("--layers",) if runtime else ("--layers", "--isolation", "chroot")


def _secrets() -> Sequence[str]:
    for variable in AUTHORITIES:
        if (named := os.environ.get(variable)) and Path(named).is_file():
            return ("--secret", f"id=authorities,src={named}")
    return ()


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.image", description="Builds the image of fairlead.")
    parser.add_argument("--tag", default=f"fairlead:{fairlead.__version__}", help="name of the image")
    parser.add_argument("--base", default="", help=f"image to build on; `{DEBIAN}` makes one of Debian's packages here")
    parser.add_argument("--target", choices=TARGETS, default=TARGETS[0], help="what the image starts by itself")
    given = parser.parse_args(words)
    try:
        build(given.tag, base=given.base, target=given.target, say=_say)
    except Unavailable as problem:
        print(problem, file=sys.stderr)
        return 1
    print(given.tag)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
