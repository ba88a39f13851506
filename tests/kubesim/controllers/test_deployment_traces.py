"""The embedded Deployment and ReplicaSet controllers do what kube-controller-manager does, as it was recorded.

Each step waits for the lines of the one before, so that lines do not depend on how fast the test is. Not compared are
times, names, and anything that is not in a line.
"""

from __future__ import annotations

import asyncio

import pytest

from kubeloop.client import Client
from kubesim.cluster import Cluster
from kubesim.time import run
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import History
from tests.kubesim.controllers.deploying import KINDS, Line, Stage, matches, not_summed_up, shown
from tests.kubesim.controllers.recorded_lives import LIVES
from tests.kubesim.controllers.recorded_rollouts import ROLLOUTS

PATIENCE = 60.0
SCENARIOS = ROLLOUTS | LIVES


async def play(stage: Stage, name: str) -> str:
    """What is wrong; where recorded lines do not come within a while, all that came."""
    try:
        async with asyncio.timeout(PATIENCE):
            return await stage.play(*SCENARIOS[name])
    except TimeoutError:
        return shown(stage.lines())


@pytest.mark.parametrize("name", SCENARIOS)
@everywhere(seeds=range(2), timing=True)
async def test_a_deployment_is_brought_about_as_recorded(site: Site, name: str) -> None:
    for resource in KINDS:
        await site.history.follow(resource)

    wrong = await play(Stage(site.client, site.namespace, site.history), name)

    assert not wrong, wrong


@pytest.mark.parametrize("name", ROLLOUTS)
def test_statuses_of_a_moment_are_seen(name: str) -> None:
    """A status that is worked out at once from everything there is would skip them all."""
    steps = (line.strip() for _, text in SCENARIOS[name] for line in text.split("\n"))
    doubtful = {line.removeprefix("? ") for line in steps if line.startswith("? ")}

    unseen = set(doubtful)
    for seed in range(40):
        if unseen:
            unseen -= set(run(_simulated(name, seed), seed=seed))

    assert not unseen


async def _simulated(name: str, seed: int) -> list[str]:
    cluster = Cluster(seed=seed)
    running = [asyncio.create_task(cluster.run())]
    client = Client(cluster.transport())
    history = History(client, "default", lambda work: running.append(asyncio.create_task(work)))
    try:
        for resource in KINDS:
            await history.follow(resource)
        stage = Stage(client, "default", history)
        assert not await play(stage, name)
        return [line.text for line in stage.lines()]
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


EXPECTED = """set a #1 1:1/0/0
    ? set a #1 1:1/1/1
    pod a new"""


@pytest.mark.parametrize(
    ("lines", "match"),
    [
        (("set a #1 1:1/0/0", "pod a new"), True),
        (("pod a new", "set a #1 1:1/0/0", "set a #1 1:1/1/1"), True),
        (("set a #1 1:1/1/1", "pod a new"), False),
        (("set a #1 1:1/0/0", "set a #1 1:1/1/1"), False),
        (("set a #1 1:1/0/0", "pod a new", "pod a ready"), False),
        (("set a #1 1:1/0/0", "pod a new", "set b #2 1:0/0/0"), False),
    ],
)
def test_lines_match_object_by_object_with_none_too_many(lines: tuple[str, ...], match: bool) -> None:
    given = [Line("ro-1" if text.startswith("pod") else text[:5], text) for text in lines]

    assert matches(EXPECTED, given) is match


def test_more_may_be_told_of_a_deployment_on_its_way_but_nothing_that_its_sets_did_not_say() -> None:
    sets = [Line("set a", "set a #1 2:2/1/1"), Line("set b", "set b #2 1:1/0/0")]
    told, invented = Line("roll", "roll 2(2) #2 3/1/1/1 +moving"), Line("roll", "roll 2(2) #2 3/1/2/2 +moving")

    assert matches("set a #1 2:2/1/1\nset b #2 1:1/0/0", [*sets, told])
    assert not matches("set a #1 2:2/1/1\nset b #2 1:1/0/0", [*sets, Line("roll", "roll 2(2) #2 3/1/1/1 +complete")])
    assert not_summed_up([*sets, told, invented]) == [invented.text]
