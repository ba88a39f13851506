"""Mishaps: lines that are read, and a small operator that they befall."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from kubeloop import clock, request
from kubeloop.calls import Call, NoReply
from kubeloop.client import Client
from kubeloop.errors import TransportError
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import Ref
from kubeloop.request import MERGE_PATCH
from kubesim.cluster import Cluster
from kubesim.mishaps.lines import Crash, Jump, Script, Upset, read
from kubesim.mishaps.playing import Life, Play, play
from kubesim.time import run

DOCS = Path(__file__).parents[2] / "docs" / "embedded-cluster.md"
COUNT = Ref(CONFIGMAPS, "default", "count")


class Stage:
    """A cluster with a config map, and operators that note in it once a second that they are there."""

    def __init__(self, seed: int = 0) -> None:
        self.cluster = Cluster(seed=seed)
        self.lives: list[Life] = []
        self.unwound: list[str] = []
        self.timeout = 30.0

    async def operate(self, life: Life) -> None:
        self.lives.append(life)
        client = Client(life, timeout=self.timeout)
        try:
            for _ in range(1000):
                body = msgspec.json.encode({"data": {life.name: f"{clock.monotonic():g}"}})
                await client.call(request.patch(COUNT, MERGE_PATCH, body))
                await asyncio.sleep(1)
        finally:
            await self._unwind(client, life)

    async def _unwind(self, client: Client, life: Life) -> None:
        """What a process does on its way out, and what becomes of it when it was killed."""
        try:
            await client.call(request.patch(COUNT, MERGE_PATCH, msgspec.json.encode({"data": {life.name: None}})))
        except TransportError as error:
            self.unwound.append(str(error))

    def noted(self) -> dict[str, float]:
        """When each process noted itself for the last time."""
        data = self.cluster.get(CONFIGMAPS, "default", "count").get("data") or {}
        return {name: float(at) for name, at in data.items()}

    def notes(self) -> list[str]:
        return [entry.user for entry in self.cluster.history.of(CONFIGMAPS, "count") if entry.verb == "patch"]


Scenario = Callable[[Stage, Play], Awaitable[None]]


def played(faults: str, scenario: Scenario, *, seed: int = 0, timeout: float = 30.0) -> tuple[Stage, Play]:
    async def main() -> tuple[Stage, Play]:
        stage = Stage(seed)
        stage.timeout = timeout
        admin = Client(stage.cluster.transport())
        await admin.call(request.create(CONFIGMAPS, "default", b'{"metadata":{"name":"count"}}'))
        async with play(faults, stage.cluster, stage.operate) as playing:
            await scenario(stage, playing)
        return stage, playing

    return run(main(), seed=seed)


def waiting(seconds: float) -> Scenario:
    async def wait(_stage: Stage, _playing: Play) -> None:
        await asyncio.sleep(seconds)

    return wait


def test_without_mishaps_one_operator_runs() -> None:
    async def scenario(stage: Stage, playing: Play) -> None:
        await asyncio.sleep(9.5)
        assert stage.noted() == {"operator-1-1": 9}
        assert playing.happened == ["0.000 operator-1-1 started"]

    stage, _ = played("", scenario)

    assert stage.noted() == {}, "at the end it is stopped in order, and may clean up"


def test_an_operator_that_is_killed_cleans_nothing_up_and_another_takes_its_place() -> None:
    async def scenario(stage: Stage, playing: Play) -> None:
        await asyncio.sleep(9.5)
        assert stage.noted() == {"operator-1-1": 3, "operator-1-2": 8.5}
        assert ["this process is dead" in why for why in stage.unwound] == [True]
        assert playing.happened == [
            "0.000 operator-1-1 started",
            "3.500 operator-1-1 killed: operator: crash at 3500ms",
            "5.500 operator-1-2 started",
        ]

    played("operator: crash at 3500ms\noperator: restart after 2s", scenario)


def test_it_comes_back_after_five_seconds_where_no_line_says_otherwise_or_never() -> None:
    _, usual = played("operator: crash at 3s", waiting(20))
    _, never = played("operator: crash at 3s\noperator: restart never", waiting(20))

    assert usual.happened[-1] == "8.000 operator-1-2 started"
    assert never.happened[-1].startswith("3.000 operator-1-1 killed")


@pytest.mark.parametrize(("word", "count"), [("at", 3), ("before", 2)])
def test_a_crash_at_a_call_comes_after_the_deed_or_before_it(word: str, count: int) -> None:
    async def scenario(stage: Stage, _playing: Play) -> None:
        await asyncio.sleep(30)
        assert stage.notes().count("operator-1-1") == count
        assert stage.lives[0].is_dead
        assert len(stage.lives) == 2, "calls are counted over all lives"

    played(f"operator: crash {word} patch configmaps #3", scenario)


def test_a_killed_process_reaches_nobody() -> None:
    async def scenario(stage: Stage, _playing: Play) -> None:
        await asyncio.sleep(2)
        with pytest.raises(TransportError, match="this process is dead"):
            await stage.lives[0].send(request.get(COUNT))
        with pytest.raises(TransportError, match="this process is dead"):
            async with stage.lives[0].stream(request.watch(CONFIGMAPS)):
                pass
        with pytest.raises(NoReply, match="this process is dead"):
            await stage.lives[0].call(Call(method="GET", url="http://pod"))

    played("operator: crash at 1s", scenario)


def test_what_was_sent_is_carried_out_though_its_sender_is_dead() -> None:
    async def scenario(stage: Stage, _playing: Play) -> None:
        await asyncio.sleep(9)
        assert stage.noted() == {}
        await asyncio.sleep(2)
        assert stage.noted() == {"operator-1-1": 0}

    played("patch configmaps: delay 10s\noperator: crash at 5s\noperator: restart never", scenario)


def test_two_operators_run_at_once_and_a_line_may_mean_one_of_them() -> None:
    faults = """
        operators: 2
        operator 2: crash at 4500ms
        operator 2: restart never
        operator 1 patch configmaps at 2s: 500
    """

    async def scenario(stage: Stage, playing: Play) -> None:
        await asyncio.sleep(10)
        assert stage.notes().count("operator-2-1") == 5
        assert playing.happened[2:] == [
            "2.000 operator-1-1 patch configmaps at 2s: 500 (patch configmaps/count in namespace default)",
            "2.000 operator-1-1 ended: patch configmaps/count in namespace default: injected fault",
            "4.500 operator-2-1 killed: operator 2: crash at 4500ms",
            "7.000 operator-1-2 started",
        ]

    played(faults, scenario)


def test_a_call_that_is_never_answered_is_given_up_and_the_operator_ends() -> None:
    _, playing = played("patch configmaps #3: unanswered", waiting(10), timeout=4)

    assert [line.split(":")[0] for line in playing.happened[2:]] == ["6.000 operator-1-1 ended"]


def test_the_clock_jumps_at_its_time() -> None:
    async def scenario(_stage: Stage, playing: Play) -> None:
        before = clock.now()
        await asyncio.sleep(20)
        assert (clock.now() - before).total_seconds() == 20 - 5400
        assert playing.happened[-1] == "10.000 clock: jump -1h30m at 10s"

    played("clock: jump -1h30m at 10s", scenario)


def test_a_clock_cannot_jump_in_real_time() -> None:
    async def main() -> None:
        stage = Stage()
        async with play("clock: jump 1h at 0s", stage.cluster, stage.operate):
            await asyncio.sleep(60)

    with pytest.raises(ValueError, match="needs virtual time"):
        asyncio.run(main())


@pytest.mark.parametrize(("what", "goes_on"), [("disconnect", True), ("compact", False)])
def test_the_cluster_ends_all_watches_and_may_forget(what: str, goes_on: bool) -> None:
    async def scenario(stage: Stage, playing: Play) -> None:
        client = Client(stage.cluster.transport())
        version = stage.cluster.get(CONFIGMAPS, "default", "count")["metadata"]["resourceVersion"]
        watch = request.watch(CONFIGMAPS, "default", resource_version=version)
        async with client.stream(watch) as opened:
            seen = [msgspec.json.decode(line)["type"] async for line in opened]
        assert playing.elapsed() == 5
        assert set(seen) == {"MODIFIED"}
        async with client.stream(watch) as opened:
            first = msgspec.json.decode(await anext(aiter(opened)))
        assert (first["type"] == "MODIFIED") == goes_on
        assert goes_on or first["object"]["code"] == 410

    played(f"cluster: {what} at 5s", scenario)


def test_a_mistake_of_an_operator_ends_the_play() -> None:
    async def main() -> None:
        async def operate(_life: Life) -> None:
            await asyncio.sleep(1)
            raise ZeroDivisionError

        async with play("", Cluster(), operate):
            await asyncio.sleep(60)

    with pytest.raises(ZeroDivisionError):
        run(main())


def test_what_the_block_raises_is_raised() -> None:
    async def scenario(_stage: Stage, _playing: Play) -> None:
        raise LookupError

    with pytest.raises(LookupError):
        played("operators: 2", scenario)


def test_lines_are_read() -> None:
    script = read("""
        operators: 3
        operator: crash at 30s
        operator 2: crash before write pods #3
        operator: restart after 1m
        operator 3: restart never
        clock: jump -2h at 10s
        cluster: compact at 5s
        operator 2 watch pods: 410
        get pods: 500
    """)

    assert script.operators == 3
    assert script.crashes == [
        Crash("operator: crash at 30s", None, at=30),
        Crash("operator 2: crash before write pods #3", 2, calls="write pods #3", before=True),
    ]
    assert [script.restart_of(number) for number in (1, 2, 3)] == [60, 60, None]
    assert script.jumps == [Jump("clock: jump -2h at 10s", -7200, 10)]
    assert script.upsets == [Upset("cluster: compact at 5s", "compact", 5)]
    assert [rule.line for rule in script.faults_of(1)] == ["get pods: 500"]
    assert [rule.line for rule in script.faults_of(2)] == ["watch pods: 410", "get pods: 500"]
    assert Script().restart_of(1) == 5


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("operators: many", "needs a number from 1 to 100: 'operators: 2'"),
        ("operators: 0", "needs a number from 1 to 100: 'operators: 2'"),
        ("operator: explode", "says nothing that befalls an operator: 'crash at 30s', "),
        ("operator: crash", "says nothing that befalls an operator: 'crash at 30s', "),
        ("operator: crash at 30x", 'has a wrong time, the duration "30x" has the unknown unit "x"'),
        ("operator: crash at remove pods", "crashes at no call: 'remove pods' begins with no verb of "),
        ("operator x: crash at 3s", "is not understood: write it like 'operator 2: crash at 30s' or "),
        ("clock: jump 2h", "says nothing that befalls a clock: 'clock: jump 2h at 10s' or "),
        ("clock: jump 2 at 3s", 'has a wrong time, the duration "2" has no unit'),
        ("cluster: explode at 3s", "says nothing that befalls a cluster: 'cluster: disconnect at 30s' or "),
        ("delete pods: explode", "names no fault of lost-answer"),
    ],
)
def test_a_line_that_makes_no_sense_says_what_would(line: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(repr(line))} {re.escape(sentence)}"):
        read(["", line])


def test_an_operator_that_does_not_exist_is_told() -> None:
    with pytest.raises(ValueError, match="operator 2 does not exist: add the line 'operators: 2'"):
        read(["operator 2: crash at 3s"])


def test_the_lines_of_the_documentation_are_understood() -> None:
    (section,) = re.findall(r"\n## Faults\n(.*?)(?=\n## |\Z)", DOCS.read_text(), re.DOTALL)
    lines = [
        line.split("  ")[0]
        for block in re.findall(r"```text\n(.*?)```", section, re.DOTALL)
        for line in block.splitlines()
    ]

    script = read(["operators: 2", *lines])

    assert len(lines) > 20
    assert script.crashes
    assert script.jumps
    assert script.upsets


FAULTS = """
    operators: 2
    patch configmaps 30%: lost-answer
    operator 1: crash at patch configmaps #4
    operator: crash at 20s
    operator: restart after 1500ms
    clock: jump 2h at 10s
"""


def digest(seed: int) -> str:
    return played(FAULTS, waiting(60), seed=seed)[1].digest()


@pytest.mark.parametrize("hash_seed", ["0", "4711"])
def test_the_same_lines_and_seed_give_the_same_digest_in_every_process(hash_seed: str) -> None:
    program = "from tests.kubesim.test_mishaps import digest; print(' '.join(digest(seed) for seed in range(3)))"

    answer = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )

    digests = answer.stdout.split()
    assert digests == [digest(seed) for seed in range(3)]
    assert len(set(digests)) == 3
