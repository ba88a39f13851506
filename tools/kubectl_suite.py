"""Runs Kubernetes' own kubectl suite, `test/cmd` of the pinned release, on the embedded cluster and on the real one.

    python -m tools.kubectl_suite                          # every script on both clusters
    python -m tools.kubectl_suite --cluster sim apply get  # these scripts on one

Printed are the checks that passed and failed per script, and what fails on the embedded cluster alone.
The scripts are taken from the Go module cache into a folder that is removed afterwards; kubectl is the pinned one.
The exit code is 1 when a check fails on the embedded cluster alone.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from fairlead.plane import kubectl
from fairlead.plane.build import KUBERNETES, Unavailable
from tools.kubectl_suite_clusters import CLUSTERS, Place
from tools.kubectl_suite_records import Outcome, failures, only_on, outcome, table

SECONDS = 360.0
"""How long one script may take on one cluster."""
NOT_RUN = ("legacy-script", "convert", "plugins", "help")
"""Those that need other programs, ask no cluster, or only start the rest."""
_NEEDED = (
    "hack",
    "test/cmd",
    "test/fixtures",
    "test/e2e/testing-manifests",
    "third_party/forked/shell2junit",
    "cluster",
)
_DRIVER = Path(__file__).with_suffix(".sh")
_ADMINISTRATOR = "admin-token"
_SERVICE_ADDRESS = "10.0.0.12"
_SHARED_FOLDER = "/tmp/"  # noqa: S108 what the suite writes there goes elsewhere
# Pods are refused in a namespace that has no service account yet, and the suite's own API server does not ask for one.
_KUBECTL = """#!/usr/bin/env bash
{program} "$@" || exit
if [[ "$1" == create && "$*" != *dry-run* && "$*" =~ \\ (ns|namespace|namespaces)\\ ([a-z0-9-]+) ]]; then
  {program} wait --for=create serviceaccount/default -n "${{BASH_REMATCH[2]}}" --timeout=10s > /dev/null 2>&1
fi
exit 0
"""


class Suite:
    """The scripts of the pinned release."""

    def __init__(self, source: Path) -> None:
        self.source = source

    @property
    def scripts(self) -> list[str]:
        return sorted(path.stem for path in (self.source / "test/cmd").glob("*.sh") if path.stem not in NOT_RUN)

    def functions(self, script: str) -> list[str]:
        """Those that the suite starts, in its order."""
        text = (self.source / "test/cmd" / f"{script}.sh").read_text()
        defined = set(re.findall(r"^(?:function )?(run_\w+) *\(\)", text, re.MULTILINE))
        started = re.findall(r"record_command (run_\w+)", (self.source / "test/cmd/legacy-script.sh").read_text())
        return [name for name in started if name in defined]

    def copied(self, folder: Path, place: Place) -> Path:
        """A writable copy for one cluster: its token and addresses, and files of its own instead of those in /tmp."""
        for part in _NEEDED:
            shutil.copytree(self.source / part, folder / "tree" / part)
        for path in (folder, *folder.rglob("*")):  # the module cache is read-only
            path.chmod(path.stat().st_mode | 0o200)
        tree = folder / "tree"
        for path in (*(tree / "test/cmd").glob("*.sh"), *(tree / "hack/testdata").glob("service*.yaml")):
            text = path.read_text().replace(_ADMINISTRATOR, place.token).replace(_SHARED_FOLDER, f"{folder}/")
            path.write_text(text.replace(_SERVICE_ADDRESS, place.service_address))
        return tree


def found_suite() -> Suite:
    """In the Go module cache, where `make control-plane` leaves it."""
    asked = ["go", "mod", "download", "-json", f"k8s.io/kubernetes@v{KUBERNETES}"]
    listed = subprocess.run(asked, check=False, text=True, capture_output=True, env={**os.environ, "GOWORK": "off"})
    found = re.search(r'"Dir": "([^"]+)"', listed.stdout)
    if found is None:
        raise Unavailable(f"Kubernetes {KUBERNETES} is not to be had: {listed.stderr.strip()}")
    return Suite(Path(found[1]))


class Run:
    """The suite on one cluster."""

    def __init__(self, suite: Suite, program: Path, place: Place, folder: Path) -> None:
        self._suite = suite
        self._place = place
        self._folder = folder
        self._tree = suite.copied(folder, place)
        tools = folder / "bin"
        tools.mkdir()
        (tools / "kubectl").write_text(_KUBECTL.format(program=program))
        (tools / "kubectl").chmod(0o755)
        self._driver = shutil.copy(_DRIVER, folder)

    async def play(self, script: str) -> Outcome:
        """Runs a script to its end, or kills it when its time is up."""
        functions = self._suite.functions(script)
        home = self._folder / script
        home.mkdir()
        records, said = home / "records", home / "output"
        records.touch()
        environment = {name: value for name, value in os.environ.items() if not name.startswith("KUBE")} | {
            "SECURE_API_PORT": str(self._place.port),
            "TOKEN": self._place.token,
            "THIS_PLATFORM_BIN": str(self._folder / "bin"),
            "KUBE_TEMP": str(home),
            "RECORDS": str(records),
            "OUTPUT": str(said),
        }
        with said.open("wb") as output:
            process = await asyncio.create_subprocess_exec(
                "bash",
                str(self._driver),
                *functions,
                cwd=self._tree,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
            note = await _ended(process)
        return outcome(records.read_bytes(), note)


async def _ended(process: asyncio.subprocess.Process) -> str:
    """Empty when it ended by itself, else why it was stopped; nothing that it started is left."""
    note = ""
    try:
        async with asyncio.timeout(SECONDS):
            await process.wait()
    except TimeoutError:
        note = f"stopped after {SECONDS:.0f} s"
    finally:
        with suppress(ProcessLookupError):  # background programs of a script are in its session
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
    return note


async def _on(name: str, suite: Suite, program: Path, scripts: Sequence[str], keep: Path | None) -> dict[str, Outcome]:
    outcomes = {}
    with tempfile.TemporaryDirectory(prefix="fairlead-suite-") as folder:
        async with CLUSTERS[name]() as place:
            run = Run(suite, program, place, Path(folder))
            for script in scripts:
                outcomes[script] = found = await run.play(script)
                print(f"{name}: {script}: {found.passed} passed, {found.failed} failed", file=sys.stderr, flush=True)
                if keep is not None:
                    shutil.copy(Path(folder, script, "output"), keep / f"{script}.{name}.log")
    return outcomes


async def _all(names: Sequence[str], scripts: Sequence[str], keep: Path | None) -> int:
    suite, program = found_suite(), kubectl.find(print)
    if unknown := sorted(set(scripts) - set(suite.scripts)):
        print(f"no such script: {', '.join(unknown)}; there are {', '.join(suite.scripts)}", file=sys.stderr)
        return 2
    wanted = scripts or suite.scripts
    async with asyncio.TaskGroup() as tasks:
        running = {name: tasks.create_task(_on(name, suite, program, wanted, keep)) for name in names}
    results = {script: {name: running[name].result()[script] for name in names} for script in wanted}
    print(table(results, names) + "\n")
    alone = {script: only_on("sim", outcomes) for script, outcomes in results.items() if "sim" in outcomes}
    for script, checks in alone.items():
        print(failures(script, checks), end="")
    return int(any(alone.values()))


def main() -> int:
    parser = argparse.ArgumentParser(description="Kubernetes' own kubectl suite on the embedded and the real cluster")
    parser.add_argument("--cluster", choices=(*CLUSTERS, "both"), default="both")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the output of every script in this folder")
    parser.add_argument("script", nargs="*", help="such as apply or get; default all")
    arguments = parser.parse_args()
    if arguments.keep is not None:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    names = list(CLUSTERS) if arguments.cluster == "both" else [arguments.cluster]
    try:
        return asyncio.run(_all(names, arguments.script, arguments.keep))
    except Unavailable as problem:
        print(problem, file=sys.stderr)
        return 2


if __name__ == "__main__":
    raise SystemExit(main())
