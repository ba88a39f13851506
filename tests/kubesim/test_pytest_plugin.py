"""The fixtures for tests of operators, as somebody uses them in a folder of theirs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
HEAD = """
import asyncio

import pytest

async def wait(world):
    await asyncio.sleep(43200)
    return world.seed

"""


@pytest.fixture
def run(tmp_path: Path) -> Run:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["kubesim.pytest_plugin"]\n')
    return Run(tmp_path)


class Run:
    """A run of pytest in a folder with one file of tests."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __call__(self, tests: str, *options: str) -> str:
        (self._folder / "test_it.py").write_text(HEAD + tests)
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--strict-markers", *options]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=self._folder, env=environment
        ).stdout


def test_a_virtual_cluster_is_played_on_and_a_failure_tells_its_seed(run: Run) -> None:
    said = run(
        """
def test_passes(virtual_cluster):
    assert virtual_cluster.play(wait) == 42

def test_fails(virtual_cluster):
    assert virtual_cluster.play(wait) == 43
""",
        "--kubesim-seed=42",
    )

    assert "1 failed, 1 passed" in said
    assert said.count("play it again with --kubesim-seed 42") == 1


def test_without_a_mark_the_cluster_is_served(run: Run) -> None:
    said = run(
        """
from kubesim import ServedCluster

def test_passes(kubesim):
    assert isinstance(kubesim, ServedCluster)
    assert kubesim.url in kubesim.kubeconfig.read_text()

def test_fails(kubesim):
    assert kubesim.seed == 6
""",
        "--kubesim-seed=5",
    )

    assert "1 failed, 1 passed" in said
    assert said.count("play it again with --kubesim-seed 5") == 1


def test_a_mark_chooses_the_kind_and_its_settings_and_the_closest_counts(run: Run) -> None:
    said = run("""
from kubesim import VirtualCluster

pytestmark = pytest.mark.kubesim("virtual", nodes=2, ready_after=90.0)

@pytest.mark.kubesim(nodes=5)
def test_passes(kubesim):
    assert isinstance(kubesim, VirtualCluster)
    assert (kubesim._nodes, kubesim._ready_after) == (5, 90.0)

def test_passes_as_well(virtual_cluster):
    assert virtual_cluster._nodes == 2
""")

    assert "2 passed" in said


def test_a_test_runs_on_both_kinds(run: Run) -> None:
    said = run(
        """
@pytest.mark.parametrize("kubesim", ["served", "virtual"], indirect=True)
def test_it(kubesim):
    print("on", type(kubesim).__name__)
""",
        "-rP",
    )

    assert "2 passed" in said
    assert "on ServedCluster" in said
    assert "on VirtualCluster" in said


def test_a_test_runs_with_many_seeds_and_tells_the_one_that_fails(run: Run) -> None:
    said = run("""
@pytest.mark.parametrize("kubesim_seed", range(20))
def test_it(virtual_cluster):
    assert virtual_cluster.play(wait) != 13
""")

    assert "1 failed, 19 passed" in said
    assert "FAILED test_it.py::test_it[13]" in said
    assert "its seed is 13, which the test has chosen itself" in said


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        ("'real'", "a cluster is 'served' or 'virtual', not 'real'"),
        ("'virtual', node=3", "has a setting that this cluster does not take"),
        ("'served', nodes=3", "has a setting that this cluster does not take"),
    ],
)
def test_a_wrong_mark_is_said_in_one_sentence(run: Run, mark: str, words: str) -> None:
    said = run(f"""
@pytest.mark.kubesim({mark})
def test_it(kubesim):
    pass
""")

    assert "1 error" in said
    assert words in said
    assert "Traceback" not in said
