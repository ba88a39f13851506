"""`make soak` plays what `make test` leaves out."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kubesim.controllers.test_traces import SCENARIOS

ROOT = Path(__file__).parent.parent
TRACES = "tests/kubesim/controllers/test_traces.py"
LONG = "tests/e2e/test_leaderworker_commands.py"
MACHINES = sorted(str(file.relative_to(ROOT)) for file in (ROOT / "tests").rglob("test_*machine.py"))


def collected(*arguments: str) -> list[str]:
    done = _pytest("--collect-only", "-q", *arguments)
    return [line for line in done.stdout.splitlines() if re.search(r": \d+$", line)]


def test_timing_of_the_real_cluster_stops_nobody() -> None:
    """The same test on the embedded cluster is in every run."""
    usual, soaking = "\n".join(collected(TRACES)), "\n".join(collected(TRACES, "--soak", "-m", "timing"))

    assert usual == f"{TRACES}: {3 * len(SCENARIOS)}", "two orders, and what is seen and missed"
    assert soaking == f"{TRACES}: {len(SCENARIOS)}"


def test_long_scenarios_play_on_the_embedded_cluster_with_every_run() -> None:
    """On the real one with `make soak`."""
    (usual,), (soaking,) = collected(LONG), collected(LONG, "--soak", "-m", "long")
    played = int(soaking.rpartition(": ")[2])

    assert int(usual.rpartition(": ")[2]) >= played > 0


def test_soaking_is_what_the_makefile_says() -> None:
    lines = subprocess.run(["make", "-n", "soak"], check=True, cwd=ROOT, text=True, capture_output=True).stdout
    (arguments,) = re.findall(r"python -m tests (--soak .*?) \|\|", lines)

    found = collected(*shlex.split(arguments), TRACES, LONG, *MACHINES)

    assert {line.partition(":")[0] for line in found} == {TRACES, LONG, *MACHINES}
    assert len(MACHINES) >= 3


@pytest.mark.parametrize(("option", "programs"), [((), 5), (("--soak",), 1000)])
def test_rule_machines_play_thousands_of_programs(option: tuple[str, ...], programs: int, tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    file.write_text(
        "from tests.chaos.machine import machine\n"
        f"def test_it():\n    assert machine(5).max_examples == {programs}, machine(5)\n"
    )

    done = _pytest("-p", "tests.conftest", *option, str(file))

    assert done.returncode == 0, done.stdout


def _pytest(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", *arguments]
    return subprocess.run(command, check=False, cwd=ROOT, text=True, capture_output=True)
