"""What commands import: a person waits for every module."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders import a_zone, pods_of
from tests.cli.worlds import World, served

RUNS = "import sys; from fairlead.cli.main import main; code = main(sys.argv[1:])"
TELLS = "print(*sys.modules, file=sys.stderr); sys.exit(code)"
NEEDLESS = {
    "cryptography",
    "kubesim",
    "fairlead.contracts.environments.decide",
    "fairlead.engine.webhooks",
    "prometheus_client",
    "pygments",
    "re2",
    "rich",
    "structlog",
}
"""Each takes longer than all questions to the cluster; of a contract that rolls nothing here nothing is decided."""


ASKING = [("get",), ("get", "-o", "json"), ("explain", "ingester"), ("pause", "ingester", "--dry-run")]


@pytest.mark.parametrize("words", ASKING)
def test_a_command_that_asks_once_imports_only_what_asking_needs(words: tuple[str, ...], tmp_path: Path) -> None:
    zone = a_zone("a", ready=2)
    with served(World(zone, pods_of(zone, "old", _0="notReady new")), tmp_path) as server:
        done = subprocess.run(
            [sys.executable, "-c", f"{RUNS}\n{TELLS}", *words, "--kubeconfig", server.kubeconfig],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    imported = set(done.stderr.split())
    assert done.returncode == 0
    assert "ingester" in done.stdout
    assert "aiohttp" in imported
    assert imported & NEEDLESS == set()


@pytest.mark.parametrize("words", [("operator", "-n", "default"), ("operator", "-n", "default", "--webhooks")])
def test_an_operator_imports_nothing_that_draws_on_terminals(words: tuple[str, ...], tmp_path: Path) -> None:
    """It lives for months, and what it imports it holds."""
    nowhere = str(tmp_path / "kubeconfig")
    done = subprocess.run(
        [sys.executable, "-c", f"{RUNS}\n{TELLS}", *words, "--port", "0", "--kubeconfig", nowhere],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    imported = set(done.stderr.split())
    assert nowhere in done.stderr
    assert {"structlog", "fairlead.engine.process"} <= imported
    assert imported & {"rich", "pygments", "kubesim"} == set()


def test_an_operator_without_servers_loads_no_certificates() -> None:
    """8 MB that only HTTPS needs."""
    loads = (
        "import fairlead.engine.process, fairlead.contracts.zones.part, sys; assert 'cryptography' not in sys.modules"
    )

    assert subprocess.run([sys.executable, "-c", loads], timeout=120, check=False).returncode == 0


def test_logs_leave_rich_to_those_who_draw() -> None:
    draws = "import fairlead.engine.logs, sys; assert 'rich' not in sys.modules; import rich.console"

    assert subprocess.run([sys.executable, "-c", draws], timeout=120, check=False).returncode == 0


HEARD = """
import asyncio, sys
from datetime import UTC, datetime
from fairlead.contracts.zones.looks import ZONES, ZoneLooks
from fairlead.core.explain import Explain, Source, Stands
from fairlead.engine.look import Heard
from kubeloop.store import Store
from tests.builders import a_zone

zones, zone = Store(ZONES.indexes), a_zone("a")
zones.put(zone)
source = Source("operator", observed={f"statefulset/{zone.metadata.name}": zone.metadata.generation})
stands = Stands("Complete", 3, 3, "pods")
place = {"part": "zones", "noun": "group", "namespace": "test", "rollout": "ingester"}
told = Explain(**place, outcome="done", stands=stands, source=source)
heard = Heard(documents={("zones", "group", "test", "ingester"): told})
views = type("Views", (), {"__getitem__": lambda _, view: zones})()
assert asyncio.run(ZoneLooks(None, [views]).look(datetime.now(UTC), heard)) == [told]
print(*sys.modules)
"""


def test_a_command_that_shows_the_operators_word_loads_no_rules() -> None:
    done = subprocess.run([sys.executable, "-c", HEARD], timeout=120, check=False, capture_output=True, text=True)

    assert done.returncode == 0, done.stderr
    rules = {"fairlead.contracts.zones.decide.rollout.group_pass", "fairlead.engine.driver.questions"}
    assert set(done.stdout.split()) & rules == set()
