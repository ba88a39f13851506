"""Lists of mishaps around a zone rollout: it ends complete, and every write on the way is judged."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from kubeloop.objects.core import LEASES
from kubeloop.objects.core import PODS as PODS_RESOURCE
from kubesim.mishaps.playing import Life, Play, play
from tests.chaos import world
from tests.chaos.wire import Wire
from tests.chaos.world import LEASE, Process, World
from tests.chaos.zone_plans import Setting, three_zones

PODS = [f"ingester-zone-{letter}-{ordinal}" for letter in "abc" for ordinal in range(3)]
ZONES = [f"ingester-zone-{letter}" for letter in "abc"]
EVERYTHING = (
    "operators: 2",
    "operator: crash at delete pods #3",
    "operator 1: restart after 7s",
    "operator 2 watch pods 20s-50s: freeze",
    "write events 50%: 500",
    "delete pods 20%: lost-answer",
    "put statefulsets/status #1: unanswered",
    "any 10s-12s 50%: 429 1s",
    "cluster: compact at 45s",
    "clock: jump -1h at 25s",
)


class Stage(World):
    """Operators whose lives are a play's; the wire to the judge lies at their end of it."""

    async def operate_in(self, life: Life) -> None:
        self.judge.begins(life.name)
        process = Process(life.name, Wire(life.name, life, life.call, self.judge, self._note))
        life.at_death.append(process.die)
        self.processes.append(process)
        await self.operate(process)


def rolled(faults: Sequence[str], setting: Setting) -> tuple[World, Play]:
    """A rollout of all zones that begins with the play, played to its end and until every time has come."""
    plays: list[Play] = []

    async def scenario(stage: World) -> None:
        assert isinstance(stage, Stage)
        stage.deploy_all(2)
        async with play(faults, stage.cluster, stage.operate_in) as playing:
            plays.append(playing)
            await stage.until(lambda: playing.elapsed() >= 60, 61)
            await stage.finish(600)

    return world.play(setting, scenario, of=Stage), plays[0]


def check_complete(stage: World) -> None:
    """Every pod was deleted once, zone after zone."""
    assert stage.judge.deletions == PODS
    assert stage.judge.completions == ZONES


@pytest.mark.parametrize("leased", [False, True])
@pytest.mark.parametrize("word", ["at", "before"])
@pytest.mark.parametrize("number", [1, 4, 9])
def test_a_crash_at_a_write_and_a_restart_change_nothing_of_the_end(number: int, word: str, leased: bool) -> None:
    faults = [f"operator: crash {word} delete pods #{number}", "operator: restart after 5s"]

    stage, playing = rolled(faults, three_zones(strict=True, leased=leased, seed=number, latency=0.02, lag=0.2))

    check_complete(stage)
    assert [process.name for process in stage.processes] == ["operator-1-1", "operator-1-2"]
    started, killed, again = (line.split(" ", 1) for line in playing.happened)
    assert (started[1], again[1]) == ("operator-1-1 started", "operator-1-2 started")
    assert killed[1] == f"operator-1-1 killed: {faults[0]}"
    assert float(again[0]) - float(killed[0]) == pytest.approx(5, abs=0.002)


@pytest.mark.parametrize("operator", ["operator 1 ", "operator 2 ", ""])
@pytest.mark.parametrize("seed", range(3))
def test_two_operators_with_a_frozen_watch_roll_within_the_budget(operator: str, seed: int) -> None:
    """Whoever leads decides on what it was told, and on what it did itself."""
    faults = ["operators: 2", f"{operator}watch pods 1s-40s: freeze"]

    stage, playing = rolled(faults, three_zones(strict=True, leased=True, seed=seed, latency=0.02, lag=0.2))

    check_complete(stage)
    assert any(line.endswith("freeze (watch pods in namespace test)") for line in playing.happened)
    deleted = [entry.at for entry in stage.cluster.history.of(PODS_RESOURCE) if entry.verb == "delete"]
    if not operator:
        assert deleted[-1] - deleted[0] > timedelta(seconds=35)


@pytest.mark.parametrize("by", ["2h", "-2h"])
@pytest.mark.parametrize("seed", range(3))
def test_a_clock_that_jumps_past_the_lease_changes_no_leader(by: str, seed: int) -> None:
    """Leases are counted by a clock that does not jump; the times in them do."""
    faults = ["operators: 2", f"clock: jump {by} at 10s"]

    stage, playing = rolled(faults, three_zones(strict=True, leased=True, seed=seed, latency=0.02, lag=0.2))

    check_complete(stage)
    *led, _released = [entry.new["spec"] for entry in stage.cluster.history.of(LEASES, LEASE)]
    assert len({lease["holderIdentity"] for lease in led}) == 1
    assert (led[-1]["renewTime"] > led[0]["renewTime"]) == (by == "2h")
    assert playing.happened[-1] == f"10.000 {faults[1]}"


def test_all_at_once_still_ends() -> None:
    stage, playing = rolled(EVERYTHING, three_zones(strict=True, leased=True, seed=3, latency=0.02, lag=0.2))

    check_complete(stage)
    for line in EVERYTHING[1:]:
        said = line.removeprefix("operator 2 ")
        assert line.startswith("operator 1: restart") or any(said in each for each in playing.happened), line


def test_the_same_lines_and_seed_give_the_same_run_in_every_process() -> None:
    first, second, other = (digest_of(seed, hashes) for seed, hashes in ((3, 1), (3, 2), (4, 1)))

    assert first == second
    assert first != other


def digest_of(seed: int, hashes: int) -> str:
    """Of a run in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", __spec__.name, str(seed)],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent.parent.parent,
        env={**os.environ, "PYTHONHASHSEED": str(hashes)},
    )
    return done.stdout.strip()


if __name__ == "__main__":
    print(rolled(EVERYTHING, three_zones(leased=True, seed=int(sys.argv[1]), latency=0.02, lag=0.2))[1].digest())
