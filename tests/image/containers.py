"""The image, built once for what it is made of, and containers of it as a kubelet would start them.

There is no container runtime here: a container is a mount of the image's files in a mount namespace of its own, with a
read-only root, changed into as the user of the image. It shares the network of the machine.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from fairlead.plane.build import Unavailable, cache, locked
from tools import base_image, image

ROOT = Path(__file__).parents[2]
MOST_IMAGES = 12
"""After so many builds everything is built afresh: layers of old ones are kept by nobody else."""

START = """
set -eu
root=$1 user=$2; shift 2
mount --bind "$root" "$root"
mount --rbind /proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=1777,size=8m tmpfs "$root/tmp"
while [ "$1" != -- ]; do mount --bind "$1" "$root$2"; mount -o remount,ro,bind "$root$2"; shift 2; done
shift
mount -o remount,ro,bind "$root"
chroot=$(PATH="$PATH:/usr/sbin:/sbin" command -v chroot)
exec setpriv --no-new-privs env -i "$chroot" --userspec="$user" --groups= "$root" /usr/bin/env "$@"
"""
"""Everything is replaced by the program at the end, which so gets the signals that are sent to it."""


class Image(Struct, frozen=True):
    name: str
    config: dict[str, Any]
    """Of the OCI image."""


class Container(Struct, frozen=True):
    image: Image
    root: Path

    def command(
        self,
        program: Sequence[str] = (),
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        mounts: Mapping[str, Path] | None = None,
    ) -> tuple[str, ...]:
        """What to run; without a program the image's own. `mounts` are folders and files by where they appear."""
        words: list[str] = []
        for place, source in (mounts or {}).items():
            target = _within(self.root, place)
            if source.is_dir():
                target.mkdir(parents=True, exist_ok=True)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                target.touch()
            words += [str(source), f"/{target.relative_to(self.root)}"]
        variables = [*self.image.config["Env"], *(f"{name}={value}" for name, value in (environment or {}).items())]
        started = (*(program or self.image.config["Entrypoint"]), *arguments)
        shell = ("/usr/bin/unshare", "--mount", "--propagation", "private", "sh", "-c", START, "sh")
        return (*shell, str(self.root), self.image.config["User"], *words, "--", *variables, *started)


def built(target: str = image.TARGETS[0]) -> Image:
    """Skips the test where no image can be built; one that does not build is a failure."""
    try:
        base_image.find(lambda _line: None, build=False)
    except Unavailable as problem:
        pytest.skip(str(problem))
    if os.geteuid() != 0:
        pytest.skip("containers without a runtime take root")
    name = f"localhost/fairlead-test-{target}:{_key()}"
    with locked(_storage() / "lock"):
        if not _is_there(name):
            # Removing images takes their containers along, which another test or another run may be in.
            in_use = base_image.run("buildah", "containers", "--quiet").split()
            if not in_use and len(base_image.run("buildah", "images", "--quiet").split()) > MOST_IMAGES:
                base_image.run("buildah", "rmi", "--all", "--force")
            image.build(name, base=image.DEBIAN, target=target, say=lambda _line: None)
    inspected = json.loads(base_image.run("buildah", "inspect", "--type", "image", name))
    return Image(name, inspected["OCIv1"]["config"])


@contextmanager
def storage() -> Iterator[None]:
    """Images are kept in the user's cache, apart from those of the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CONTAINERS_STORAGE_CONF", str(_storage() / "storage.conf"))
        yield


@contextmanager
def container(of: Image) -> Iterator[Container]:
    name = base_image.run("buildah", "from", of.name).strip()
    try:
        yield Container(of, Path(base_image.run("buildah", "mount", name).strip()))
    finally:
        base_image.run("buildah", "rm", name)


def _within(root: Path, place: str) -> Path:
    """Where the path leads in the container: its links are not to be followed into the machine."""
    found = root
    for part in Path(place).parts[1:]:
        found = found / part
        if found.is_symlink():
            link = found.readlink()
            found = _within(root, str(link)) if link.is_absolute() else found.parent / link
    return found


def _storage() -> Path:
    folder = cache() / "images"
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["[storage]", 'driver = "overlay"', f'graphroot = "{folder}/graph"', f'runroot = "{folder}/run"']
    (folder / "storage.conf").write_text("\n".join(lines) + "\n")
    return folder


def _is_there(name: str) -> bool:
    return name in base_image.run("buildah", "images", "--format", "{{.Name}}:{{.Tag}}").split()


def _key() -> str:
    """Of everything that the image is made of."""
    parts = ["Containerfile", ".containerignore", "pyproject.toml", "README.md", "LICENSE"]
    files = [ROOT / part for part in parts]
    for folder in ("image", "kubeloop", "kubesim", "fairlead"):
        files += [path for path in sorted((ROOT / folder).rglob("*")) if path.is_file() and path.suffix != ".pyc"]
    digest = hashlib.blake2b(base_image.key().encode(), digest_size=8)
    for path in files:
        digest.update(f"{path.relative_to(ROOT)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()
