"""Admission under load, with and without a rollout by the same process, on the real control plane.

    python -m bench.admission [--quick] [--seconds N] [--subject NAME]

One operator with its webhooks over TLS, three stretches of time: requests alone, a rollout alone, and both at once.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path

import aiohttp
import msgspec
from msgspec import Raw, Struct

from bench.admitted import Admitted, Figures, Rolled, judged, report
from bench.admitted import checks as checks_of
from bench.cases import THIRTY_GROUPS, Case, Zone, template_with
from bench.ground import Ground
from bench.handled import handled, since
from bench.load import Order, Result
from bench.narrow import StatefulSet
from bench.processes import Ended, Process, peak_megabytes, running
from bench.replay import judge
from bench.reviews import Workload, World
from bench.rollout import QUIET, SETUP_LIMIT, Stage, Stuck, staged
from bench.subjects import FAIRLEAD, UPSTREAM, Subject, subjects, until_ready
from bench.watching import answered
from fairlead.contracts.zones.configuration_kinds import ZPDBS
from fairlead.contracts.zones.install.definitions import definitions as zone_kinds
from fairlead.contracts.zones.kinds import GROUP_LABEL, NO_DOWNSCALE
from fairlead.plane.build import Unavailable
from fairlead.plane.launch import Plane, free_port
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import SECRETS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.request import MERGE_PATCH, get, patch

DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
SECRET = "rollout-operator-self-signed-certificate"  # noqa: S105  (a name)
RATE = 500
SECONDS = 30
QUICK_SECONDS = 3
QUICK = Case("quick", groups=4, zones=3, pods=4, budget=2)
GUARDED = tuple(
    Zone(f"guarded-{group}", f"guarded-{group}-zone-{letter}", 4, 1) for group in range(2) for letter in "abc"
)
"""Beside the case: a disruption budget for each group, whose pods are evicted and rolled at the same time."""
_LOOK_EVERY = 0.1


class Ports(Struct, frozen=True):
    http: int
    https: int


class _Secret(Struct, frozen=True):
    data: dict[str, str]


class Operator(Struct, frozen=True):
    """The running subject and how its webhooks are reached."""

    stage: Stage
    process: Process
    ports: Ports
    world: World
    authority: str
    seconds: int

    @property
    def order(self) -> Order:
        return Order(
            world=self.world,
            port=self.ports.https,
            server_name=f"rollout-operator.{self.stage.namespace}.svc",
            authority=self.authority,
            kubeconfig=str(self.stage.ground.plane.kubeconfig),
            rate=RATE,
            seconds=self.seconds,
        )


def arguments(program: str, kubeconfig: Path, server: str, namespace: str, ports: Ports) -> list[str]:
    """The contract's flags with their defaults, but for the limit of calls to the API server.

    Five a second for each component is less than the load needs, and would be all that is measured.
    """
    return [
        program,
        f"-kubernetes.namespace={namespace}",
        f"-kubernetes.config-file={kubeconfig}",
        f"-kubernetes.api-url={server}",
        f"-server.port={ports.http}",
        "-kubernetes.client-qps=0",
        "-server-tls.enabled=true",
        f"-server-tls.port={ports.https}",
    ]


async def measure(ground: Ground, case: Case, subject: Subject, folder: Path, seconds: int) -> Figures:
    """All three stretches with one process of the subject."""
    async with staged(ground, case, subject, folder, GUARDED) as stage:
        async with asyncio.timeout(SETUP_LIMIT):
            world = await _furnished(stage)
        ports = Ports(free_port(), free_port())
        kubeconfig = ground.kubeconfig_of(subject.name)
        command = arguments(subject.program, kubeconfig, ground.plane.url, stage.namespace, ports)
        async with running(subject.name, command, folder) as process:
            async with asyncio.timeout(SETUP_LIMIT):
                await until_ready(process, ports.http)
                authority = await _authority(stage)
            await asyncio.sleep(QUIET)
            operator = Operator(stage, process, ports, world, authority, seconds)
            alone = await _loaded(operator, folder)
            rolled = await _rolled(stage, "app:2")
            async with asyncio.TaskGroup() as tasks:
                loading = tasks.create_task(_loaded(operator, folder))
                rolling = tasks.create_task(_rolled(stage, "app:3"))
            process.check()
            await asyncio.sleep(QUIET)
            return _figures(stage, subject, (alone, loading.result()), (rolled, rolling.result()), process)


def _figures(
    stage: Stage,
    subject: Subject,
    loads: tuple[Admitted, Admitted],
    rollouts: tuple[Rolled, Rolled],
    process: Process,
) -> Figures:
    """What came of it, with the promises of rollouts and of budgets judged over the whole time."""
    events, rolled = stage.observer.events, {zone.name for zone in stage.case.all_zones()}
    guarded = {zone.name for zone in GUARDED}
    return Figures(
        subject,
        *loads,
        *rollouts,
        peak_megabytes(process.pid),
        judge((each for each in events if each.zone in rolled), stage.case.all_zones(), stage.observer.revisions),
        judge((each for each in events if each.zone in guarded), GUARDED, {}),
    )


async def _furnished(stage: Stage) -> World:
    """Budgets for the guarded groups, the label against downscales on every second group of the case."""
    ground, namespace = stage.ground, stage.namespace
    for group in sorted({zone.group for zone in GUARDED}):
        spec = {"selector": {"matchLabels": {GROUP_LABEL: group}}, "maxUnavailable": 1}
        await ground.create(ZPDBS, {"metadata": {"name": group}, "spec": spec}, namespace)
    groups = sorted({zone.group for zone in stage.case.all_zones()})
    kept = set(groups[::2])
    workloads = [await _workload(stage, zone, kept=zone.group in kept) for zone in stage.case.all_zones()]
    return World(
        namespace,
        tuple(workloads),
        tuple(pod for zone in stage.case.all_zones() for pod in zone.pod_names),
        tuple(pod for zone in GUARDED for pod in zone.pod_names),
    )


async def _workload(stage: Stage, zone: Zone, *, kept: bool) -> Workload:
    body = msgspec.json.encode({"metadata": {"labels": {NO_DOWNSCALE: "true" if kept else None}}})
    ref = Ref(STATEFULSETS, stage.namespace, zone.name)
    answer = await answered(stage.ground.transport, patch(ref, MERGE_PATCH, body))
    return Workload(zone.name, Raw(answer), msgspec.json.decode(answer, type=StatefulSet).spec.replicas, kept)


async def _authority(stage: Stage) -> str:
    """The certificate of the authority, from the Secret in which the operator keeps it."""
    wanted = get(Ref(SECRETS, stage.namespace, SECRET))
    while True:
        answer = await stage.ground.transport.send(wanted)
        if answer.status == 200:
            return b64decode(msgspec.json.decode(answer.body, type=_Secret).data["ca"]).decode()
        await asyncio.sleep(_LOOK_EVERY)


async def _loaded(operator: Operator, folder: Path) -> Admitted:
    """One stretch of load; what it came to."""
    stage = operator.stage
    source, target = folder / "order.json", folder / "result.json"
    source.write_bytes(msgspec.json.encode(operator.order))
    before, load = handled(await _page(operator.ports.http)), stage.load(operator.process)
    async with running("load", [sys.executable, "-m", "bench.load", str(source), str(target)], folder) as process:
        async with asyncio.timeout(SETUP_LIMIT + operator.seconds):
            await process.handle.wait()
        if process.handle.returncode:
            process.check()
    result = msgspec.json.decode(target.read_bytes(), type=Result)
    load = stage.load(operator.process).since(load)
    after = handled(await _page(operator.ports.http))
    await asyncio.sleep(QUIET)  # the observer hears of the last changes
    return judged(result, operator.order, since(after, before), load, stage.observer.events)


async def _page(port: int) -> str:
    async with aiohttp.ClientSession() as session, session.get(f"http://127.0.0.1:{port}/metrics") as response:
        return await response.text()


async def _rolled(stage: Stage, image: str) -> Rolled:
    """Rolls everything and returns when the case is finished; the guarded groups take the time they need."""
    observer, case = stage.observer, stage.case
    begun = time.monotonic()
    observer.expect({zone.name: sys.maxsize for zone in case.all_zones()}, records=True)
    try:
        async with asyncio.timeout(stage.limit):
            zones = (*case.all_zones(), *GUARDED)
            generations = await stage.ground.change(zones, stage.namespace, template_with(image))
            awaited = {zone.name: generations[zone.name] for zone in case.all_zones()}
            observer.expect(awaited, records=True)
            return Rolled(await observer.finished() - begun, finished=True)
    except TimeoutError:
        return Rolled(stage.limit, finished=False)


async def run(case: Case, chosen: Sequence[Subject], seconds: int) -> list[Figures]:
    async with Plane(build=True, say=say) as plane:
        ground = Ground(plane)
        try:
            await ground.prepare(subject.name for subject in chosen)
            for definition in zone_kinds():
                await ground.create(DEFINITIONS, definition)
            found = [await attempt(ground, case, subject, seconds) for subject in chosen]
            return [each for each in found if each is not None]
        finally:
            await ground.close()


async def attempt(ground: Ground, case: Case, subject: Subject, seconds: int) -> Figures | None:
    """None, after saying why, when the subject cannot be measured: the others still can."""
    say(f"admission, {case.title}: {subject.title}")
    with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as folder:
        try:
            return await measure(ground, case, subject, Path(folder), seconds)
        except* (Ended, Stuck) as group:
            say(f"  {group.exceptions[0]}")
        except* TimeoutError:
            say("  given up: a phase took longer than its limit")
    return None


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.admission", description="Measures admission under load.")
    parser.add_argument("--quick", action="store_true", help="a small case and a short load, to see that all runs")
    parser.add_argument("--seconds", type=int, help="how long requests are sent")
    parser.add_argument("--subject", choices=("fairlead", "upstream"), action="append", help="may be repeated")
    given = parser.parse_args()
    names = given.subject or [FAIRLEAD.name, UPSTREAM.name]
    chosen = [subject for subject in subjects() if subject.name in names]
    case = QUICK if given.quick else THIRTY_GROUPS
    seconds = given.seconds or (QUICK_SECONDS if given.quick else SECONDS)
    try:
        figures = asyncio.run(run(case, chosen, seconds))
    except Unavailable as problem:
        say(f"there is no control plane to measure on: {problem}")
        return 1
    print(report(case, figures, peer=UPSTREAM in chosen))
    return 0 if all(check.ok for check in checks_of(figures)) else 1


if __name__ == "__main__":
    sys.exit(main())
