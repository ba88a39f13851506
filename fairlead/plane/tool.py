"""One program of a pinned release, found on this machine or built once from the Go module proxy.

It is looked for where its environment variable says, then in the cache that the control plane is kept in; one on `PATH`
may be of any release and is not taken.
"""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from fairlead.plane.build import Say, Unavailable, cache, locked


class Tool(Struct, frozen=True, kw_only=True):
    name: str
    """Of the product; in lower case, of its program."""
    version: str
    minutes: int
    """How long building takes on 2 cores."""
    target: str
    """Of make, which builds it."""
    build: Callable[[Path], None]
    """Leaves the program in this empty folder, maybe beside other things."""

    @property
    def program(self) -> str:
        return self.name.lower()

    @property
    def variable(self) -> str:
        return f"FAIRLEAD_{self.name.upper().replace('-', '_')}"

    def find(self, say: Say, *, build: bool = True) -> Path:
        """The program; raises Unavailable with what would help."""
        named = os.environ.get(self.variable)
        if named:
            if os.access(named, os.X_OK):
                return Path(named)
            raise Unavailable(f"{self.variable}={named} is no program; correct or unset it.")
        ready = cache() / f"{self.program}-{self.version}-{platform.machine()}" / self.program
        if os.access(ready, os.X_OK):
            return ready
        if shutil.which("go") is None:
            remedy = f"install Go, or set {self.variable} to the program."
            raise Unavailable(f"Go is not installed, so {self.name} cannot be built; {remedy}")
        if not build:
            raise Unavailable(f"no {self.name} in {ready.parent}; run `make {self.target}` to build it.")
        return self._built(ready, say)

    def _built(self, ready: Path, say: Say) -> Path:
        cache().mkdir(parents=True, exist_ok=True)
        with locked(cache() / f"{self.program}.lock"):
            if os.access(ready, os.X_OK):  # another process built it while this one waited
                return ready
            length = f"about {self.minutes} minutes on 2 cores"
            say(f"Building {self.name} {self.version} once for this machine ({length}) ...")
            work = cache() / f"{self.program}.work"
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
            self.build(work)
            ready.parent.mkdir(exist_ok=True)
            (work / self.program).rename(ready)
            shutil.rmtree(work)
            say(f"{self.name} built into {ready.parent}")
        return ready
