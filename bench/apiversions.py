"""Conversion by rule sets, by the operator's own process over TLS: large reviews, and small ones one after the other.

    python -m bench.apiversions [--quick] [--rounds N]

A pulse from a process of its own asks `/healthz` all the while: it shows when the operator has no time for others.
What the rules themselves take is measured beside that, in this process: against msgspec, which reads the same bytes
and writes them again without a look at what is in them.
Then objects are listed through the API server in both versions, the operator rests for a minute, and another one is
started with rules for the kinds of other projects.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from bench.admitted import latencies_of
from bench.conversion import PAUSE, Client, pulsing
from bench.converted import Stretch, within
from bench.ground import Ground
from bench.orchestrator import HOST, Operator, until_healthy
from bench.processes import children, peak_megabytes, running
from bench.pulse import Order
from bench.real_lists import (
    Lists,
    Loaded,
    definitions,
    elasticsearch_loaded,
    list_checks,
    listed,
    loaded_checks,
    register,
    several,
    write_rules,
)
from bench.subjects import until_ready
from bench.table import Check, machine, markdown
from bench.widget_lists import (
    BYTES,
    COUNT,
    CRD,
    LARGE_BYTES,
    NEW,
    OLD,
    RULES,
    converted,
    definition,
    faults,
    review,
    widget,
)
from fairlead.contracts.apiversions.conversion_service import MANNER
from fairlead.contracts.apiversions.rule_data import SetData, essence
from fairlead.engine.conversion.review import Rules, answer
from fairlead.engine.decide.registration import DEFINITIONS
from fairlead.plane.build import Unavailable
from fairlead.plane.launch import Plane, free_port
from kubesim.pki import Authority

USER = "fairlead"
NAMESPACE = "default"
ROUNDS = 5
SMALL_COUNT = 2000
START_LIMIT = 120.0
IDLE_SECONDS = 60.0
SECONDS = 1.0
"""For a review of all objects with nothing to carry, from the first byte sent to the last one received."""
PLAIN_TIMES, CARRIED_TIMES = 3.5, 7.0
"""How many times as long as msgspec the rules may take, without and with carried leaves."""
PULSE_MILLISECONDS = 100.0
SMALL_MILLISECONDS = 4.0
"""Within which 99 of 100 reviews of one object of 10 KiB are answered."""


class Task(Struct, frozen=True):
    count: int = COUNT
    rounds: int = ROUNDS
    small: int = SMALL_COUNT
    idle: float = IDLE_SECONDS


class Way(Struct, frozen=True):
    """One way of one list; seconds."""

    name: str
    over_tls: float
    rules: float
    msgspec: float
    carries: bool = False

    @property
    def times(self) -> float:
        return self.rules / self.msgspec


class Figures(Struct, frozen=True):
    count: int
    ways: list[Way]
    longest_pulse: float
    """Milliseconds."""
    beats: int
    small: float
    """Milliseconds within which 99 of 100 are answered."""
    wrong: int
    memory: float
    """Megabytes, of the operator with its processes."""
    lists: Lists
    idle_writes: int
    """In IDLE_SECONDS in which nothing happens, Leases apart."""
    loaded: Loaded


@asynccontextmanager
async def operating(ground: Ground, folder: Path, sets: int = 1) -> AsyncIterator[Operator]:
    """With the rules in the files of the folder, when so many sets of them have been loaded."""
    authority = Authority()
    pair = authority.server((HOST,))
    files = {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": authority.certificate}
    (folder / "rules").mkdir(exist_ok=True)
    for name, content in {**files, "rules/widgets.yaml": msgspec.json.encode(RULES)}.items():
        (folder / name).write_bytes(content)
    http, https = free_port(), free_port()
    command = [
        str(Path(sys.executable).with_name("fairlead")),
        "operator",
        "--parts=apiversions",
        f"--kubeconfig={ground.kubeconfig_of(USER)}",
        f"-n={NAMESPACE}",
        f"--port={http}",
        f"--webhook-port={https}",
        "--manage-crds=false",
        "--migrate-storage=off",
        f"--webhook-cert-dir={folder}",
        f"--conversion-rules={folder / 'rules'}",
    ]
    async with running(USER, command, folder) as process:
        operator = Operator(process, http, https, authority.certificate.decode())
        async with asyncio.timeout(START_LIMIT):
            await until_ready(process, http)
            await until_healthy(operator)
            while process.log.read_text().count("conversion rules loaded") < sets:
                process.check()
                await asyncio.sleep(PAUSE)
        yield operator


def rules() -> Rules:
    return (SetData(RULES, essence(definition())).rule(),)


async def measure(ground: Ground, task: Task, folder: Path) -> Figures:
    async with operating(ground, folder) as operator:
        client = Client(operator)
        try:
            order = Order(operator.https, operator.authority, "/healthz", pause=PAUSE)
            async with pulsing(operator, folder, order) as beating:
                measured = [await _list(client, task, carries=carries) for carries in (False, True)]
                felt = await beating.ended()
            small = await _small(client, task.small)
            memory = sum(map(peak_megabytes, (operator.process.pid, *children(operator.process.pid))))
        finally:
            client.close()
        lists = await listed(ground, operator, NAMESPACE, task.count, task.rounds)
        idle = await _idle(ground, task.idle)
        operator.process.check()
    loaded = await _loaded(ground, folder)
    stretches = [each for _, _, found in measured for each in found]
    beats = within(felt.beats, stretches)
    ways = [way for found, _, _ in measured for way in found]
    wrong = sum(each for _, each, _ in measured) + felt.wrong
    longest = latencies_of(beats).most
    return Figures(task.count, ways, longest, len(beats), small, wrong, memory, lists, idle, loaded)


async def _idle(ground: Ground, seconds: float) -> int:
    """Writes of the operator while nothing happens."""
    before = await ground.requests_of(USER)
    await asyncio.sleep(seconds)
    return (await ground.requests_of(USER)).since(before).writes


async def _loaded(ground: Ground, folder: Path) -> Loaded:
    """What the kinds of other projects take: all of them are registered, and those of several versions have rules."""
    found = definitions()
    await register(ground, found.values())
    own = folder / "others"
    (own / "rules").mkdir(parents=True)
    write_rules(own / "rules", found.values())
    seconds, size = await elasticsearch_loaded(found)
    several_versions = len(several(found.values()))
    async with operating(ground, own, several_versions + 1) as operator:
        memory = peak_megabytes(operator.process.pid)
    return Loaded(len(found), several_versions, seconds, size, memory)


async def _list(client: Client, task: Task, *, carries: bool) -> tuple[list[Way], int, list[Stretch]]:
    """Both ways of a list, how many objects came back wrong, and when reviews were under way."""
    before = [widget(index, carries=carries) for index in range(task.count)]
    there = converted((await client.ask(review(before, NEW)))[1])
    back = converted((await client.ask(review(there, OLD)))[1])
    what = "five carried leaves" if carries else "nothing carried"
    stretches: list[Stretch] = []
    ways = []
    for name, body in ((f"to v2, {what}", review(before, NEW)), (f"to v1, {what}", review(there, OLD))):
        taken = [(await client.ask(body))[0] for _ in range(task.rounds)]
        stretches += taken
        over_tls = statistics.median(each.seconds for each in taken)
        ways.append(Way(name, over_tls, *_least(body, task.rounds), carries))
    return ways, faults(before, there, back), stretches


def _least(body: bytes, rounds: int) -> tuple[float, float]:
    """CPU seconds of the rules and of msgspec, in turn: other programs of the machine do not count."""
    known = rules()
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(_spent(lambda: answer(body, known, MANNER)))
        theirs.append(_spent(lambda: msgspec.json.encode(msgspec.json.decode(body))))
    return min(ours), min(theirs)


def _spent(work: Callable[[], object]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun


async def _small(client: Client, count: int) -> float:
    body = review([widget(0, size=LARGE_BYTES)], NEW)
    taken = sorted([(await client.ask(body))[0].seconds for _ in range(count)])
    return taken[int(len(taken) * 0.99)] * 1000


def checks(figures: Figures) -> list[Check]:
    found = []
    for way in figures.ways:
        most = CARRIED_TIMES if way.carries else PLAIN_TIMES
        found.append(Check(f"{way.name}, times msgspec", f"{way.times:.1f}", f"≤ {most:g}", way.times <= most))
        if not way.carries:
            found.append(Check(way.name, f"{way.over_tls:.2f} s", f"≤ {SECONDS:g} s", way.over_tls <= SECONDS))
    is_free = figures.beats > 0 and figures.longest_pulse <= PULSE_MILLISECONDS
    small = figures.small <= SMALL_MILLISECONDS
    return [
        *found,
        Check("longest pulse", f"{figures.longest_pulse:.0f} ms", f"≤ {PULSE_MILLISECONDS:g} ms", is_free),
        Check("p99 of 10 KiB", f"{figures.small:.1f} ms", f"≤ {SMALL_MILLISECONDS:g} ms", small),
        Check("wrong or lost", str(figures.wrong), "0", figures.wrong == 0),
        *list_checks(figures.lists),
        *loaded_checks(figures.loaded),
        Check("writes at rest", str(figures.idle_writes), "0", figures.idle_writes == 0),
    ]


def report(figures: Figures) -> str:
    head = (
        f"### Conversion by rule sets: reviews of {figures.count} objects of {BYTES} bytes\n\n"
        f"Peak memory of the operator with its processes: {figures.memory:.0f} MB."
    )
    lists, loaded = figures.lists, figures.loaded
    served = markdown(
        (f"LIST of {lists.count} by the API server", *lists.first),
        [
            (name, *(f"{each:.2f} s" for each in taken.values()))
            for name, taken in (("first after a change of the definition", lists.first), ("later", lists.later))
        ],
    )
    others = (
        f"{loaded.kinds} kinds of other projects are registered, {loaded.several} of them with several versions and"
        f" rules; Elasticsearch's rules and schemas are {loaded.elasticsearch_bytes / 1e6:.1f} MB."
    )
    rows = [
        (way.name, f"{way.over_tls:.2f} s", f"{way.rules:.2f} s", f"{way.msgspec:.2f} s", f"{way.times:.1f}")
        for way in figures.ways
    ]
    table = markdown(("", "over TLS", "CPU of rules", "CPU of msgspec", "times"), rows)
    budgets = [(check.what, check.figure, check.budget, check.word) for check in checks(figures)]
    return "\n\n".join([machine(), head, table, served, others, markdown(("what", "figure", "budget", ""), budgets)])


async def run(task: Task) -> Figures:
    async with Plane(controllers=False, build=True, say=say) as plane:
        ground = Ground(plane)
        try:
            await ground.prepare((USER,))
            await ground.create(DEFINITIONS, definition())
            with tempfile.TemporaryDirectory(prefix="fairlead-bench-") as folder:
                say(f"conversion of {task.count} objects of {CRD}, {task.rounds} rounds")
                return await measure(ground, task, Path(folder))
        finally:
            await ground.close()


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.apiversions", description="Measures conversion by rules.")
    parser.add_argument("--quick", action="store_true", help="small reviews, to see that all runs")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each large review is sent")
    given = parser.parse_args(arguments)
    task = Task(500, 2, 200, 5.0) if given.quick else Task(rounds=given.rounds)
    try:
        figures = asyncio.run(run(task))
    except Unavailable as problem:
        say(f"there is no control plane to measure on: {problem}")
        return 1
    print(report(figures))
    return 0 if all(check.ok for check in checks(figures)) else 1


if __name__ == "__main__":
    sys.exit(main())
