"""Writes what real controllers make of the scenarios that the embedded ones are compared by.

    python -m tools.traces              all scenarios
    python -m tools.traces budgets      those of one file of recordings
    python -m tools.traces --anew       as if nothing had been recorded before

starts the real control plane that the tests use, and for CloneSets OpenKruise's manager beside it, plays every
scenario several times, each in a namespace of its own and many at once, and writes the lines (see
`tests.kubesim.controllers.telling`) into `tests/kubesim/controllers/recorded_*.py`. A line that every run showed is
sure; one that only some showed is a status of a moment and gets a question mark. What was recorded before counts as
runs, so that with every run more of such moments are known. Run it `--anew` when the release of the control plane
changes, or when a scenario does.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from importlib import import_module
from pathlib import Path

import msgspec

from fairlead.plane.build import KUBERNETES, Unavailable
from fairlead.plane.kruise import KRUISE
from fairlead.plane.launch import Plane
from kubeloop import clock
from kubeloop.calls import Handler
from kubeloop.client import Client
from kubeloop.errors import KubeError
from kubeloop.http_transport import HttpTransport
from kubeloop.objects.core import NAMESPACES, SERVICE_ACCOUNTS
from kubeloop.objects.meta import Resource
from kubeloop.request import Request, create, path_of
from tests.e2e.history import History, Tree
from tests.e2e.webhooks import serve_on_loopback
from tests.kruise import Kruise
from tests.kubesim.controllers.acting import Scenario
from tests.kubesim.controllers.scenarios import OF_OTHERS, SCENARIOS
from tests.kubesim.controllers.scenes import Scene
from tests.kubesim.controllers.telling import Line, about, lives, others
from tools.keeping import told

FOLDER = Path(__file__).parent.parent / "tests" / "kubesim" / "controllers"
RUNS = 4
AT_ONCE = 12
"""Runs; the controllers' requests are limited per second, so that with many more they would be slow."""
QUIET = 2.5
"""Seconds without a line after which a step is over; longer than anything that a scenario waits for."""
LOOK_EVERY = 0.2
CHANCY = ("daemons ", "budget ", "replicas ", "clones ")

Trace = list[tuple[dict[str, list[str]], list[str]]]
"""Per step the lines of each object, and the lives of pods."""


async def played(plane: Plane, namespace: str, scenario: Scenario, kinds: Sequence[Resource] = ()) -> Trace:
    """What one run of the scenario leads to; `kinds` are those of others that it is about."""
    client = Client(HttpTransport(plane.config()))
    tasks: list[asyncio.Task[None]] = []
    history = History(client, namespace, lambda work: tasks.append(asyncio.create_task(work)))
    named = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}

    async def serve(handler: Handler, _host: str) -> Tree:
        return await serve_on_loopback(lambda work: tasks.append(asyncio.create_task(work)), handler)

    scene = Scene(client, namespace, history, serve)
    try:
        await client.call(create(NAMESPACES, "", msgspec.json.encode(named)))
        await history.follow(SERVICE_ACCOUNTS)
        await scene.until(lambda: "default" in history.objects(SERVICE_ACCOUNTS))
        await scene.follow(*kinds)
        for action in scenario:
            await scene.begin(action)
            await _quiet(scene)
        return [_step(scene.lines(), step) for step in range(1, len(scenario) + 1)]
    finally:
        await scene.leave()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await client.call(Request("DELETE", path_of(NAMESPACES, name=namespace)))
        await client.close()


async def _quiet(scene: Scene) -> None:
    """Until nothing has happened for a while."""
    known, since = -1, clock.monotonic()
    while clock.monotonic() < since + QUIET:
        if len(scene.lines()) != known:
            known, since = len(scene.lines()), clock.monotonic()
        await asyncio.sleep(LOOK_EVERY)


def _step(lines: Iterable[Line], step: int) -> tuple[dict[str, list[str]], list[str]]:
    here = [line for line in lines if line.step == step]
    return others(here), sorted(text for _, text in lives(here))


def merged(traces: Sequence[Trace], known: Sequence[str]) -> list[str]:
    """The lines of all runs: per step those that are sure, and those that are not with a question mark.

    What is recorded already, `known`, counts as runs.
    """
    steps = []
    for step, runs in enumerate(zip(*traces, strict=True)):
        before = [line.strip() for line in known[step].split("\n")] if known else []
        pods = [run[1] for run in runs]
        if before:
            pods.append([line for line in before if line.startswith("pod ")])
        if any(each != pods[0] for each in pods):
            raise ValueError("runs differ in what became of pods:\n" + "\n\n".join("\n".join(each) for each in pods))
        patterns: dict[str, list[str]] = {}
        for line in before:
            if line and not line.startswith("pod "):
                patterns.setdefault(about(line.removeprefix("? ")), []).append(line)
        subjects = dict.fromkeys((*patterns, *(each for objects, _ in runs for each in objects)))
        found = {each: [run[0].get(each, []) for run in runs] for each in subjects}
        lines = [
            line for each in subjects for line in _pattern(found[each], patterns.get(each, []) if before else None)
        ]
        steps.append("\n".join((*lines, *pods[0])))
    return steps


def _pattern(runs: Sequence[list[str]], known: list[str] | None) -> list[str]:
    """One object's lines in all runs."""
    pattern = list(Counter(map(tuple, runs)).most_common(1)[0][0]) if known is None else known
    for run in runs:
        pattern = _joined(pattern, run)
    return [f"? {line.removeprefix('? ')}" if _may_be_skipped(pattern, at) else line for at, line in enumerate(pattern)]


def _may_be_skipped(pattern: Sequence[str], at: int) -> bool:
    """Of statuses that are worked out from several watches only the first and the last of a step are sure.

    Whether others are told is chance, and some runs do not say whether it was.
    """
    return 0 < at < len(pattern) - 1 and pattern[at].removeprefix("? ").startswith(CHANCY)


def _joined(pattern: list[str], run: list[str]) -> list[str]:
    """The pattern with the lines of one more run; whatever is not in both is doubtful."""
    plain = [line.removeprefix("? ") for line in pattern]
    joined: list[str] = []
    for tag, start, end, begin, stop in SequenceMatcher(None, plain, run, autojunk=False).get_opcodes():
        if tag == "equal":
            joined += pattern[start:end]
            continue
        joined += (f"? {line}" for line in plain[start:end])
        joined += (f"? {line}" for line in run[begin:stop])
    return joined


def written(module: str, recordings: dict[str, list[str]]) -> None:
    """As a module that the formatter is content with; prints how it differs from the one that was there."""
    author = f"OpenKruise's manager {KRUISE}" if module in OF_OTHERS else f"kube-controller-manager {KUBERNETES}"
    text = [
        f'"""What {author} made of the scenarios of `{module}`: per scenario and step its lines.',
        "",
        "Written by `python -m tools.traces`. Lines after a question mark are statuses of a moment.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "RECORDED: dict[str, tuple[str, ...]] = {",
    ]
    for name, steps in recordings.items():
        text.append(f"    {name!r}: (")
        text += (f'        """{step}""",' for step in (each.replace("\n", "\n        ") for each in steps))
        text.append("    ),")
    path = FOLDER / f"{module}.py"
    before = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text("\n".join((*text, "}", "")), encoding="utf-8")
    subprocess.run([Path(sys.executable).parent / "ruff", "format", "-q", path], check=True)
    for line in told(path, before, path.read_text(encoding="utf-8")):
        print(line)


async def record(plane: Plane, modules: Sequence[str], *, anew: bool) -> bool:
    """Plays and writes the scenarios of these modules; False if runs of one differ, which is then left as it was."""
    room = asyncio.Semaphore(AT_ONCE)

    async def one(module: str, namespace: str, scenario: Scenario) -> Trace:
        async with room:
            return await played(plane, namespace, scenario, OF_OTHERS.get(module, ()))

    runs = {
        (module, name, run): one(module, f"t{number}-{place}-{run}", scenario)
        for number, module in enumerate(modules)
        for place, (name, scenario) in enumerate(SCENARIOS[module].items())
        for run in range(RUNS)
    }
    traces = dict(zip(runs, await asyncio.gather(*runs.values(), return_exceptions=True), strict=True))
    sound = True
    for module in modules:
        recordings = known(module)
        for name in SCENARIOS[module]:
            try:
                whole = [sure(traces[module, name, run]) for run in range(RUNS)]
                recordings[name] = merged(whole, () if anew else recordings.get(name, ()))
            except (ValueError, LookupError, KubeError) as problem:
                print(f"{module}, {name}: {problem}", file=sys.stderr)
                sound = False
        written(module, {name: recordings[name] for name in SCENARIOS[module] if name in recordings})
    return sound


def sure(outcome: Trace | BaseException) -> Trace:
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def known(module: str) -> dict[str, list[str]]:
    """What is recorded already."""
    if not (FOLDER / f"{module}.py").exists():
        return {}
    recorded: dict[str, tuple[str, ...]] = import_module(f"tests.kubesim.controllers.{module}").RECORDED
    return {name: ["\n".join(map(str.strip, step.split("\n"))) for step in steps] for name, steps in recorded.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Answers with 1 when runs of a scenario differ, or when there is no control plane to record."""
    names = [module.removeprefix("recorded_") for module in SCENARIOS]
    parser = argparse.ArgumentParser(prog="python -m tools.traces", description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[[], *names], help=", ".join(names))
    parser.add_argument("--anew", action="store_true", help="as if nothing had been recorded before")
    wishes = parser.parse_args(arguments)
    modules = [f"recorded_{name}" for name in names if not wishes.names or name in wishes.names]
    try:
        with Plane() as plane:
            own = [module for module in modules if module not in OF_OTHERS]
            sound = asyncio.run(record(plane, own, anew=wishes.anew))
            if len(own) < len(modules):
                # Its webhooks see the pods of everybody, so it comes last.
                with Kruise(plane):
                    others = [module for module in modules if module in OF_OTHERS]
                    sound = asyncio.run(record(plane, others, anew=wishes.anew)) and sound
            return 0 if sound else 1
    except Unavailable as problem:
        print(problem, file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
