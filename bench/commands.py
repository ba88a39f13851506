"""What a person at a terminal waits for: `fairlead get`, and `fairlead up` until kubectl is answered.

    python -m bench.commands [--quick]

Beside them stands what Python takes to do nothing, and to import what every client needs, in the same run.
"""

from __future__ import annotations

import argparse
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec
from msgspec import Struct

from bench import opened
from bench.table import Check, machine, markdown

RUNS = 15
STARTS = 5
GET_SECONDS = 0.35
GET_RATIO = 1.8
"""To the import of the client's libraries; holds on a busy machine, too."""
READY_SECONDS = 1.0
NAMESPACE = "default"
CLIENT = (sys.executable, "-c", "import aiohttp, msgspec")
NOTHING = (sys.executable, "-c", "pass")
_LIMIT = 60.0


class Asked(Struct, frozen=True):
    """Seconds of CPU, medians."""

    get: float
    client: float
    nothing: float
    modules: int
    """Imported by `fairlead get`."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.commands", description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="one run of each, to see that everything works")
    quick = parser.parse_args(arguments).quick
    asked = _asked(1 if quick else RUNS)
    starts = [opened.measure() for _ in range(1 if quick else STARTS)]
    found = checks(asked, starts)
    print(machine())
    rows = [(check.what, check.figure, check.budget, check.word) for check in found]
    print("\n" + markdown(("what", "figure", "budget", ""), rows))
    return 0 if all(check.ok for check in found) or quick else 1


def checks(asked: Asked, starts: Sequence[opened.Opening]) -> list[Check]:
    """The figures against their budgets."""
    ratio = asked.get / asked.client
    ready = statistics.median(each.ready for each in starts)
    python = statistics.median(each.python for each in starts)
    return [
        Check(
            "CPU of `fairlead get`",
            f"{asked.get:.2f} s (Python alone {asked.nothing:.2f} s), {asked.modules} modules",
            f"≤ {GET_SECONDS:.2f} s",
            asked.get <= GET_SECONDS,
        ),
        Check(
            "the same against `import aiohttp, msgspec`",
            f"{ratio:.2f} times {asked.client:.2f} s",
            f"≤ {GET_RATIO:.2f}",
            ratio <= GET_RATIO,
        ),
        Check(
            "`fairlead up` answers kubectl after",
            f"{ready:.2f} s (Python alone {python:.2f} s)",
            f"≤ {READY_SECONDS:.0f} s",
            ready <= READY_SECONDS,
        ),
    ]


def _asked(runs: int) -> Asked:
    """All three in turn, so that what else the machine does falls on them alike."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "zones.json").write_bytes(msgspec.json.encode({"kind": "List", "items": [_zone(a) for a in "abc"]}))
        kubeconfig = folder / "kubeconfig"
        last = f"/api/v1/namespaces/{NAMESPACE}/pods/ingester-zone-c-3"
        stack.enter_context(opened.running(folder, kubeconfig, "-f", str(folder / "zones.json"), path=last))
        asks = ("get", "--kubeconfig", str(kubeconfig), "-n", NAMESPACE)
        program = (str(Path(sys.executable).with_name("fairlead")), *asks)
        taken = [(_cpu(program), _cpu(CLIENT), _cpu(NOTHING)) for _ in range(runs)]
        get, client, nothing = (statistics.median(each) for each in zip(*taken, strict=True))
        return Asked(get, client, nothing, _modules(asks))


def _zone(letter: str) -> dict[str, object]:
    name = f"ingester-zone-{letter}"
    labels = {"name": name, "rollout-group": "ingester"}
    container = {"name": "ingester", "image": "example.test/ingester:1.0"}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
        "spec": {
            "replicas": 4,
            "serviceName": name,
            "updateStrategy": {"type": "OnDelete"},
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def _cpu(command: Sequence[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=_LIMIT)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _modules(words: Sequence[str]) -> int:
    code = "import sys; from fairlead.cli.main import main; main(sys.argv[1:]); print(len(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code, *words], check=True, stdout=subprocess.PIPE, text=True, timeout=_LIMIT
    )
    return int(done.stdout.split()[-1])


if __name__ == "__main__":
    raise SystemExit(main())
