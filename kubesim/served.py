"""A cluster for one test of a program that needs sockets: `python -m kubesim` in a process of its own.

It is up when it is entered, and ends when it is left, or with the process that started it, however that ends.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

ENDS_WITHIN = 30.0
"""Seconds; it takes a tenth of one, and on a busy machine more."""
UP = " is up. In another terminal:\n"


class NotServed(Exception):
    """The cluster did not start, or ended before its time; the text is what it said."""


class ServedCluster:
    """`kubeconfig` is the file by which any client finds it, `url` its address; both are there once it is entered."""

    def __init__(self, seed: int = 0, *, speed: float = 1.0) -> None:
        self.seed = seed
        self._options = (f"--seed={seed}", f"--speed={speed:g}")
        self._url = ""
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[str] | None = None

    @property
    def kubeconfig(self) -> Path:
        if self._folder is None:
            raise RuntimeError("the cluster is not up: enter it first, `with ServedCluster() as cluster:`")
        return Path(self._folder.name, "kubeconfig")

    @property
    def url(self) -> str:
        return self._url

    @property
    def environment(self) -> Mapping[str, str]:
        """That of this process, with `KUBECONFIG`: for programs that are started on the cluster."""
        return {**os.environ, "KUBECONFIG": str(self.kubeconfig)}

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="kubesim-")
        command = [sys.executable, "-m", "kubesim", "--end-with-stdin", f"--kubeconfig-out={self.kubeconfig}"]
        with self._complaints.open("wb") as complaints:
            self._process = subprocess.Popen(
                [*command, *self._options],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
                env={**os.environ, "PYTHONPATH": _python_path()},
            )
        assert self._process.stdout is not None  # noqa: S101  it was asked for
        said = self._process.stdout.readline()
        if not said.endswith(UP):
            self._end()
        self._url = said.removesuffix(UP)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    @property
    def _complaints(self) -> Path:
        return self.kubeconfig.with_name("complaints")

    def _end(self) -> None:
        """Raises NotServed when it has failed meanwhile."""
        assert self._process is not None  # noqa: S101  whoever ends it has started it
        assert self._folder is not None  # noqa: S101  likewise
        with self._folder, self._process:
            try:
                self._process.communicate(timeout=ENDS_WITHIN)
            except subprocess.TimeoutExpired:
                self._process.kill()
            complaints = self._complaints.read_text(errors="replace").strip()
        self._folder = None
        if self._process.returncode:
            raise NotServed(complaints or f"the cluster ended with code {self._process.returncode}")
        if complaints:
            print(complaints, file=sys.stderr)


def _python_path() -> str:
    """Such that this very package is found, also where it is not installed."""
    own = str(Path(__file__).parent.parent)
    return os.pathsep.join(filter(None, (own, os.environ.get("PYTHONPATH"))))
