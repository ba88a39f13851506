"""`fairlead up` as a process of its own, and kubectl beside it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from fairlead.plane.build import Unavailable
from fairlead.plane.build import find as find_plane
from fairlead.plane.kubectl import find

FAIRLEAD = (sys.executable, "-m", "fairlead.cli.main")


def environment(home: Path) -> dict[str, str]:
    """Nothing of the user's own: no kubeconfig, no cache."""
    kept = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}
    return {**kept, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}


def real_environment(home: Path) -> dict[str, str]:
    """The same, with the control plane that this machine has; skips the test where it has none."""
    try:
        found = find_plane(lambda _line: None, build=False)
    except Unavailable as problem:
        pytest.skip(str(problem))
    return {**environment(home), "KUBEBUILDER_ASSETS": str(found)}


def finished(variables: Mapping[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """`fairlead up` with these words, once it has ended by itself; nobody watches."""
    return subprocess.run(
        [*FAIRLEAD, "up", *words],
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@contextmanager
def started(
    home: Path, *command: str, until: str = "Press Ctrl-C", variables: Mapping[str, str] | None = None
) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """Yields the process, and what it says until it is ready."""
    up = subprocess.Popen(
        command,
        env=environment(home) if variables is None else variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert up.stdout is not None
        said: list[str] = []
        while not said or until not in said[-1]:
            said.append(up.stdout.readline())
            assert said[-1], "it ended before it was ready"
        yield up, said
    finally:
        up.kill()
        up.communicate()


@contextmanager
def upped(home: Path, *words: str, ends: tuple[int, ...] = (signal.SIGINT,)) -> Iterator[list[str]]:
    """Yields what it says, and ends it."""
    with started(home, *FAIRLEAD, "up", *words) as (up, said):
        yield said
        for each in ends:
            up.send_signal(each)
        assert up.wait(120) == 0


class Kubectl:
    """The real program, at a `fairlead up` of this home."""

    def __init__(self, home: Path) -> None:
        try:
            self._program = find(lambda _line: None, build=False)
        except Unavailable as problem:
            pytest.skip(str(problem))
        config = home / "cache" / "fairlead" / "up" / "kubeconfig"
        self._environment = {**environment(home), "KUBECONFIG": str(config)}

    def __call__(self, command: str, *patterns: str, code: int = 0) -> str:
        """Runs it; every pattern must be found in what it says, and the exit code is this one."""
        done = subprocess.run(
            [str(self._program), *command.split()],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        said = done.stdout + done.stderr
        assert done.returncode == code, f"exit code {done.returncode}, not {code}, of kubectl {command}\n{said}"
        for pattern in patterns:
            assert re.search(pattern, said, re.MULTILINE), f"{pattern!r} is not in kubectl {command}\n{said}"
        return said
