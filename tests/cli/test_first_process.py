"""The first process of a container ends by a signal that comes while it still starts, and not by SIGKILL."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import pytest

LATE = textwrap.dedent(
    """
    import importlib.abc, os, signal, sys

    class Terminating(importlib.abc.MetaPathFinder):
        def find_spec(self, name, path, target=None):
            if name == "fairlead.cli.commands.operator":
                os.kill(os.getpid(), signal.SIGTERM)

    sys.meta_path.insert(0, Terminating())
    number = os.getpid()
    if sys.argv[1] == "first":
        os.getpid = lambda: 1
        os.kill = lambda _, signal, kill=os.kill: kill(number, signal)
    """
)
"""Sends the signal at an import in the middle of the start; the first process is one that takes itself for it."""
PROGRAMS = {
    "rollout-operator": "from fairlead.cli.process import run; run('rollout-operator', ['-kubernetes.namespace=x'])",
    "fairlead": "from fairlead.cli.main import main; main(['operator'])",
}


def ended(program: str, which: str) -> int:
    command = [sys.executable, "-c", f"{LATE}\n{PROGRAMS[program]}", which]
    environment = {**os.environ, "KUBECONFIG": "/dev/null", "KUBERNETES_SERVICE_HOST": ""}
    return subprocess.run(command, env=environment, check=False, capture_output=True, timeout=60).returncode


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_signal_while_modules_are_loaded_ends_the_first_process(program: str) -> None:
    assert ended(program, "first") == 128 + signal.SIGTERM


@pytest.mark.parametrize("program", PROGRAMS)
def test_any_other_process_is_ended_by_the_system(program: str) -> None:
    assert ended(program, "other") == -signal.SIGTERM
