"""The embedded controllers do what kube-controller-manager does, write by write, in every scenario that was recorded.

Each step waits for the lines of those before, so that lines do not depend on how fast the test is. Lines after a
question mark are statuses of a moment, which a busy controller skips. Not compared are times, names, the order of
writes to different objects, and anything that is not in a line.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from importlib import import_module

import pytest

from kubeloop.calls import Handler
from kubeloop.client import Client
from kubesim.cluster import Cluster
from kubesim.time import run
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import History, Tree
from tests.e2e.webhooks import serve
from tests.kubesim.controllers.scenarios import OF_OTHERS, SCENARIOS
from tests.kubesim.controllers.scenes import Scene
from tests.kubesim.controllers.telling import Line, follows, lives, matches, others, relaxed

PATIENCE = 60.0
AFTERWARDS = 30.0
"""Virtual seconds in which nothing more may come: longer than any lag, and than many attempts in a row."""

NAMES = [(module, name) for module, scenarios in SCENARIOS.items() for name in scenarios if module not in OF_OTHERS]


def recorded(module: str, name: str) -> tuple[str, ...]:
    steps: tuple[str, ...] = import_module(f"tests.kubesim.controllers.{module}").RECORDED[name]
    return steps


async def play(scene: Scene, module: str, name: str, *, linger: float = 0.0, relax: bool = False) -> str:
    """What is wrong: the lines that came where those recorded did not; empty if all came and no others.

    Others may come until so many seconds after the last step. What is `relaxed` may leave out statuses of a moment.
    """
    await scene.follow(*OF_OTHERS.get(module, ()))
    steps = recorded(module, name)
    if relax:
        steps = tuple(map(relaxed, steps))
    try:
        async with asyncio.timeout(PATIENCE):
            for number, action in enumerate(SCENARIOS[module][name], 1):
                await scene.begin(action)
                wanted = steps[:number]
                await scene.until(lambda wanted=wanted: matches(wanted, scene.lines()))  # type: ignore[misc]
        await asyncio.sleep(linger)
        return "" if matches(steps, scene.lines()) else shown(scene.lines(), steps)
    except TimeoutError:
        return shown(scene.lines(), steps)
    finally:
        await scene.leave()


def shown(lines: Sequence[Line], steps: Sequence[str]) -> str:
    """What came and what should have come, step by step."""
    texts = []
    for step in range(1, max((line.step for line in lines), default=0) + 1):
        here = [line for line in lines if line.step == step]
        came = [text for of_one in others(here).values() for text in of_one] + [text for _, text in lives(here)]
        wanted = [line.strip() for line in steps[step - 1].split("\n")]
        texts.append("\n  ".join((f"step {step} came:", *came)) + "\n " + "\n  ".join(("wanted:", *wanted)))
    return "\n".join(texts)


@pytest.mark.parametrize(("module", "name"), NAMES)
@everywhere(seeds=range(2), timing=True)
async def test_the_cluster_acts_as_recorded(site: Site, module: str, name: str) -> None:
    scene = Scene(site.client, site.namespace, site.history, partial(serve, site))

    wrong = await play(scene, module, name, linger=0.0 if site.real else AFTERWARDS, relax=site.real)

    assert not wrong, wrong


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_statuses_of_a_moment_are_seen(module: str, name: str) -> None:
    """A status that is worked out at once from everything there is would skip them all."""
    texts = [line.strip() for text in recorded(module, name) for line in text.split("\n")]
    doubtful = {line.removeprefix("? ") for line in texts if line.startswith("? ")}

    played = (run(_simulated(module, name, seed), seed=seed) for seed in range(10 if doubtful else 0))
    seen = any(doubtful & {line.text for line in lines} for lines in played)

    assert seen or not doubtful, "\n".join(sorted(doubtful))


async def _simulated(module: str, name: str, seed: int) -> list[Line]:
    cluster = Cluster(seed=seed)
    running = [asyncio.create_task(cluster.run())]
    client = Client(cluster.transport())
    history = History(client, "default", lambda work: running.append(asyncio.create_task(work)))

    async def within(handler: Handler, host: str) -> Tree:
        cluster.network.serve(host, handler)
        return {"url": f"https://{host}/"}

    scene = Scene(client, "default", history, within)
    try:
        await play(scene, module, name)
        return scene.lines()
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


@pytest.mark.parametrize(
    ("texts", "match"),
    [
        (("a", "c"), True),
        (("a", "b", "c"), True),
        (("a", "b", "b", "c"), True),
        (("a",), False),
        (("b", "c"), False),
        (("a", "c", "b"), False),
        (("a", "x", "c"), False),
    ],
)
def test_lines_follow_in_order_with_none_too_many(texts: tuple[str, ...], match: bool) -> None:
    assert follows(("a", "? b", "? b", "c"), texts) is match


@pytest.mark.parametrize(
    ("texts", "match"),
    [
        (("set 1:3/3", "set 1:2/2", "set 1:1/1"), True),
        (("set 1:3/3", "set 1:2/0", "set 1:1/1"), False),
        (("set 1:3/3", "set 2:2/2", "set 1:1/1"), False),
        (("set 1:3/3", "set 1:2/2 going", "set 1:1/1"), False),
        (("set 1:3/3", "set 1:1/1", "set 1:2/2"), False),
    ],
)
def test_a_part_of_a_change_may_be_told(texts: tuple[str, ...], match: bool) -> None:
    assert follows(("set 1:3/3", "set 1:1/1"), texts) is match


def test_pods_are_counted_by_what_became_of_them_in_a_step() -> None:
    lines = [Line("p", "pod x a new", 1), Line("q", "pod x a new", 1), Line("p", "pod x a going", 2)]
    first, more = "pod x a new\npod x a new", Line("p", "pod x a gone", 2)

    assert matches((first, "pod x a going"), lines)
    assert matches((first, "pod x a going gone"), [*lines, more])
    assert not matches((first, "pod x a going"), [*lines, more])
    assert not matches((first,), lines)


def test_only_statuses_in_between_are_relaxed() -> None:
    step = """daemons da 2(1) 2:2
        daemons da 2(2) 2:1
        ? daemons da 2(2) 2:0
        daemons da 2(2) 2:2 going
        daemons da gone
        replicas rs 1(1) 1:1
        revision a #1
        revision a gone"""

    assert relaxed(step).split("\n") == [
        "? daemons da 2(1) 2:2",
        "? daemons da 2(2) 2:1",
        "? daemons da 2(2) 2:0",
        "daemons da 2(2) 2:2 going",
        "daemons da gone",
        "replicas rs 1(1) 1:1",
        "revision a #1",
        "revision a gone",
    ]
