"""Runs the test suites of upstream's release of LeaderWorkerSet against our operator on the real control plane.

    python -m tools.lws_suite                                  # all suites, some twenty minutes
    python -m tools.lws_suite controllers webhooks             # these
    python -m tools.lws_suite controllers --focus "scale up"   # the specs of it that match

The specs are taken from the Go module cache into a folder that is removed afterwards. Those of the end-to-end suite are
run as they are. Those of the integration suites get a set-up of ours (`lws_suite_go`), which starts no controllers: the
operator is a process, with the account of its installation, without election and with a certificate that is given.
Specs about gang scheduling are runs of their own, because the operator is told of the scheduler when it starts.
Printed are the specs that passed and failed. The exit code is 1 when one failed that is not known to.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from msgspec import Struct

from fairlead.plane import kubectl, lws
from fairlead.plane.build import Unavailable, go
from fairlead.plane.launch import Plane
from kubeloop.client import Client
from kubeloop.http_transport import HttpTransport
from kubesim.kubelet import Kubelet
from tools.lws_managers import define, documents, managed, ours, run
from tools.lws_suite_records import Results, Spec, failed, failures, read, table

VOLCANO = "volcano"
KNOWN = {
    "should ensure the metrics endpoint is serving metrics": "a program in a pod would have to read them",
    "Pod requesting TPUs in lws with subgroupsize 5 will have env var populated in leader pod": (
        "it wants TPU_WORKER_ID -1 in a leader, which upstream's next release mended; here it is 0"
    ),
}
"""Ends of names of specs that do not pass, and why."""
_NEEDED = ("api", "client-go", "config", "pkg", "test")
_SET_UP = Path(__file__).parent / "lws_suite_go"
_LONGEST = "2h"
_GANG = "gang scheduling"
"""In the names of specs that need the operator to know a scheduler of groups."""


class Suite(Struct, frozen=True, kw_only=True):
    """One run of specs of upstream's."""

    package: str
    set_up: str = ""
    """Our file instead of its `suite_test.go`; without one it is run as it is."""
    webhooks: bool = True
    gang: bool = False
    pods_run: bool = False
    """Whether the cluster has controllers and a kubelet; else the specs play them."""

    def filters(self, focus: str) -> list[str]:
        """Words for the program: which specs to run, of those that match."""
        if self.gang:
            return [f"-ginkgo.focus={_GANG}.*{focus}"]
        return [f"-ginkgo.skip={_GANG}", *([f"-ginkgo.focus={focus}"] if focus else [])]


_CONTROLLERS, _WEBHOOKS, _E2E = "test/integration/controllers", "test/integration/webhooks", "test/e2e"
SUITES = {
    "controllers": Suite(package=_CONTROLLERS, set_up="controllers_suite.go", webhooks=False),
    "controllers-gang": Suite(package=_CONTROLLERS, set_up="controllers_suite.go", webhooks=False, gang=True),
    "webhooks": Suite(package=_WEBHOOKS, set_up="webhooks_suite.go"),
    "webhooks-gang": Suite(package=_WEBHOOKS, set_up="webhooks_suite.go", gang=True),
    "e2e": Suite(package=_E2E, pods_run=True),
    "e2e-gang": Suite(package=_E2E, pods_run=True, gang=True),
    "disaggregatedset": Suite(package=f"{_E2E}/disaggregatedset", pods_run=True),
}


class Sources:
    """A writable copy of upstream's sources with our set-up in place, and the test programs built from it."""

    def __init__(self, upstream: Path, folder: Path) -> None:
        self.tree = folder / "lws"
        self.tree.mkdir()
        for part in _NEEDED:
            shutil.copytree(upstream / part, self.tree / part)
        for file in ("go.mod", "go.sum"):
            shutil.copy(upstream / file, self.tree)
        for path in (self.tree, *self.tree.rglob("*")):  # the module cache is read-only
            path.chmod(path.stat().st_mode | stat.S_IWUSR)
        (self.tree / "test/pausing").mkdir()
        shutil.copy(_SET_UP / "pausing.go", self.tree / "test/pausing")
        for suite in SUITES.values():
            if suite.set_up:
                shutil.copy(_SET_UP / suite.set_up, self.tree / suite.package / "suite_test.go")
        self._built: dict[str, Path] = {}

    @property
    def pod_groups(self) -> Path:
        """The definition of the kind that groups are scheduled by."""
        return self.tree / "test/integration/crd/volcano-podgroup.yaml"

    def program(self, package: str) -> Path:
        if package not in self._built:
            target = self.tree / f"{package.replace('/', '-')}.test"
            go(self.tree, "test", "-c", "-mod=mod", "-trimpath", "-o", str(target), f"./{package}")
            self._built[package] = target
        return self._built[package]


@asynccontextmanager
async def _cluster(suite: Suite, sources: Sources, folder: Path) -> AsyncIterator[Plane]:
    """A control plane of its own with our operator."""
    scheduler = VOLCANO if suite.gang else ""
    async with Plane(controllers=suite.pods_run) as plane, asyncio.TaskGroup() as tasks:
        client = Client(HttpTransport(plane.config()))
        kubelet = None
        try:
            if suite.pods_run:
                kubelet = tasks.create_task(Kubelet(client, ready_after=0.5).run())
            await define(client, documents(sources.pod_groups))
            manager = ours(webhooks=suite.webhooks, gang_scheduler=scheduler, workload=suite.pods_run)
            async with managed(plane, client, manager, folder):
                yield plane
        finally:
            if kubelet is not None:
                kubelet.cancel()
                await asyncio.gather(kubelet, return_exceptions=True)  # its watches end before their connections do
            await client.close()


async def _run(name: str, sources: Sources, folder: Path, focus: str) -> tuple[Spec, ...]:
    suite = SUITES[name]
    program = await asyncio.to_thread(sources.program, suite.package)
    report, output = folder / "report.json", folder / "output"
    async with _cluster(suite, sources, folder / "manager") as plane:
        environment = {**os.environ, "KUBECONFIG": str(plane.kubeconfig), "LWS_NAMESPACE": "lws-system"}
        environment["PATH"] = f"{kubectl.find(print).parent}:{environment['PATH']}"
        environment["SCHEDULER_PROVIDER"] = VOLCANO if suite.gang else ""
        limits = (f"-test.timeout={_LONGEST}", f"-ginkgo.timeout={_LONGEST}")
        with output.open("wb") as said:
            process = await asyncio.create_subprocess_exec(
                *(
                    str(program),
                    *limits,
                    *suite.filters(focus),
                    "-ginkgo.v",
                    "-ginkgo.no-color",
                    f"-ginkgo.json-report={report}",
                ),
                cwd=sources.tree / suite.package,
                env=environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=said,
                stderr=asyncio.subprocess.STDOUT,
            )
            try:
                await process.wait()
            finally:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
    return read(report)


async def _all(names: Sequence[str], focus: str, keep: Path | None) -> int:
    results: dict[str, tuple[Spec, ...]] = {}
    with tempfile.TemporaryDirectory(prefix="fairlead-lws-suite-") as made:
        folder = Path(made)
        sources = Sources(lws.source(), folder)
        for name in names:
            (folder / name).mkdir()
            results[name] = specs = await _run(name, sources, folder / name, focus)
            wrong = len(failed(specs, tuple(KNOWN)))
            print(f"{name}: {len(specs)} specs, {wrong} failed", file=sys.stderr, flush=True)
            if keep is not None:
                shutil.copytree(folder / name, keep / name, dirs_exist_ok=True)
    return _told(results)


def _told(results: Results) -> int:
    print(table(results, tuple(KNOWN)), failures(results, tuple(KNOWN)), sep="\n\n")
    return int(any(failed(specs, tuple(KNOWN)) for specs in results.values()))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.lws_suite", description=__doc__.partition("\n")[0])
    parser.add_argument("--focus", default="", metavar="REGEX", help="run only specs whose names match")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep reports, output and the operator's log there")
    parser.add_argument("suite", nargs="*", choices=[[], *SUITES], help=f"{', '.join(SUITES)}; default all")
    arguments = parser.parse_args()
    try:
        return run(_all(arguments.suite or list(SUITES), arguments.focus, arguments.keep))
    except Unavailable as problem:
        print(problem, file=sys.stderr)
        return 2


if __name__ == "__main__":
    raise SystemExit(main())
