"""Shards and the queue that they are worked off in: every test runs once, with all cores busy."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import jobs
from tests import shards as shards_module
from tests.jobs import MEMORY_OF_ONE, MOST_WAITING, Ended, Job, startable, work_off
from tests.shards import LENGTH, SECONDS, USUAL, Case, shards

FILES = [f"tests/{folder}/test_{name}.py" for folder in ("api", "sim", "e2e") for name in ("pods", "sets")]
DURATIONS = st.dictionaries(st.tuples(st.sampled_from(FILES), st.booleans()), st.floats(0, 900))
NAMES = st.builds("{}::test_{}".format, st.sampled_from(FILES), st.integers(0, 3000))
SIMULATED = st.builds(Case, NAMES, st.just(False), controllers=st.just(False))
PLENTY = 100 * MEMORY_OF_ONE
CASES = SIMULATED | st.builds(Case, NAMES, st.just(True), controllers=st.booleans())


@given(
    st.sets(CASES, max_size=60), st.dictionaries(st.tuples(st.sampled_from(FILES), st.booleans()), st.floats(0, 900))
)
def test_every_test_is_in_exactly_one_shard(tests: set[Case], seconds: dict[tuple[str, bool], float]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shards_module, "SECONDS", seconds)

        made = shards(tests)

    assert Counter(test for shard in made for test in shard.tests) == Counter(tests)
    assert all(shard.tests for shard in made)
    assert all(len({(test.real, test.controllers) for test in shard.tests}) == 1 for shard in made)
    assert len({shard.name for shard in made}) == len(made)


def test_a_file_that_takes_long_is_spread_over_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards_module, "SECONDS", {("tests/a.py", False): 2.5 * LENGTH[False]})
    tests = [Case(f"tests/a.py::test_{number}", real=False) for number in range(7)]

    made = shards([*tests, Case("tests/b.py::test_it", real=False)])

    assert [len(shard.tests) for shard in made] == [3, 2, 2, 1]
    assert [shard.name for shard in made] == [
        *(f"tests/a.py ({number} of 3)" for number in (1, 2, 3)),
        "tests/b.py",
    ]


def test_short_files_share_a_shard_but_for_those_on_the_real_control_plane() -> None:
    tests = [Case(f"tests/{file}.py::test_it[{real}]", real) for file in "abc" for real in (False, True)]

    made = shards(tests)

    assert [shard.name for shard in made] == [
        "tests/a.py to tests/c.py",
        "tests/a.py to tests/c.py, real API server",
    ]
    assert [shard.seconds for shard in made] == pytest.approx([3 * USUAL[False], 3 * USUAL[True]])


def test_those_that_want_controllers_have_shards_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file's time is divided among its tests."""
    monkeypatch.setattr(shards_module, "SECONDS", {("tests/a.py", True): 40.0})
    wants = [False, True, True, True]
    tests = [Case(f"tests/a.py::test_{n}", real=True, controllers=each) for n, each in enumerate(wants)]

    made = shards(tests)

    assert [(shard.name, shard.seconds) for shard in made] == [
        ("tests/a.py, real API server", 10.0),
        ("tests/a.py, real controllers", 30.0),
    ]


def test_known_durations_are_of_files_that_are_there() -> None:
    root = Path(__file__).parent.parent

    assert [file for file, _ in SECONDS if not (root / file).is_file()] == []


def test_jobs_that_wait_run_beside_those_that_compute() -> None:
    computing, waiting = [_job(f"c{n}") for n in range(4)], [_job(f"w{n}", waits=True) for n in range(5)]

    assert startable([*waiting, *computing], [], 2, PLENTY) == [*waiting[:4], *computing[:2]]
    assert startable(computing, waiting[:1], 2, PLENTY) == computing[:2]
    assert startable(computing[1:], [*waiting[:2], computing[0]], 2, PLENTY) == [computing[1]]
    assert startable([*waiting[4:], *computing], waiting[:4], 2, PLENTY) == computing[:2]


def test_one_more_computes_when_none_waits_beside() -> None:
    computing = [_job(f"c{n}") for n in range(5)]

    assert startable(computing, [], 2, PLENTY) == computing[:3]
    assert startable(computing[2:], computing[:2], 2, PLENTY) == computing[2:3]
    assert startable(computing, [], 1, PLENTY) == computing[:1]


def test_more_wait_when_none_computes_beside() -> None:
    waiting = [_job(f"w{n}", waits=True) for n in range(9)]

    assert startable(waiting, [], 2, PLENTY) == waiting[:6]
    assert startable(waiting[4:], waiting[:4], 2, PLENTY) == waiting[4:6]
    assert startable(waiting, [], 1, PLENTY) == waiting[:3]


def test_jobs_leave_bytecode_to_one_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    said: list[str] = []

    def ended(one: Ended) -> list[Job]:
        said.append(one.output)
        return []

    work_off([_job("asks", "import sys; print(sys.dont_write_bytecode)")], ended, tmp_path)

    assert said == ["False"]


def test_a_machine_is_not_filled_with_control_planes() -> None:
    """Neither one with many cores nor one with little memory, which runs one nevertheless."""
    waiting = [_job(f"w{n}", waits=True) for n in range(9)]

    assert startable(waiting, [], 64, PLENTY) == waiting[:MOST_WAITING]
    assert startable(waiting, [], 64, 3.1 * MEMORY_OF_ONE) == waiting[:3]
    assert startable(waiting, [], 64, MEMORY_OF_ONE / 2) == waiting[:1]


def test_the_longest_job_starts_first_and_jobs_may_lead_to_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "CORES", 1)
    seen: list[str] = []

    def ended(one: Ended) -> list[Job]:
        seen.append(f"{one.job.name}: {one.output} {one.code}")
        later = _job("later", "print('so long'); raise SystemExit(3)", seconds=9.0)
        return [later] if one.job.name == "long" else []

    work_off([_job("short", "print(1)", seconds=1.0), _job("long", "print(2)", seconds=2.0)], ended, tmp_path)

    assert seen == ["long: 2 0", "later: so long 3", "short: 1 0"]


def test_the_time_of_a_job_includes_what_it_started(tmp_path: Path) -> None:
    burn = "import time; [0 for _ in iter(lambda: time.process_time() < 0.3, False)]"
    nested = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {burn!r}])"
    used: list[float] = []

    def ended(one: Ended) -> list[Job]:
        used.append(one.cpu_seconds)
        return []

    work_off([_job("burns", nested)], ended, tmp_path)

    assert used[0] >= 0.3


def test_no_process_is_left_behind_by_a_failure(tmp_path: Path) -> None:
    waiting = "import pathlib, time, os; pathlib.Path('pid').write_text(str(os.getpid())); time.sleep(600)"

    def ended(one: Ended) -> list[Job]:
        raise LookupError(one.job.name)

    look = "import pathlib, time\nwhile not pathlib.Path('pid').exists(): time.sleep(0.01)"
    with pytest.raises(LookupError, match="short"):
        work_off([_job("long", waiting, seconds=1.0, waits=True), _job("short", look)], ended, tmp_path)

    pid = int((tmp_path / "pid").read_text())
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_jobs_with_the_run_and_lets_them_clean_up(number: signal.Signals, tmp_path: Path) -> None:
    """The pipe is open for as long as a job lives."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    job = (
        f"import time; pipe = open({str(pipe)!r}, 'wb', buffering=0)\n"
        "try: pipe.write(b'up'); time.sleep(600)\nfinally: pipe.write(b'clean')"
    )
    run = (
        "import sys; from pathlib import Path; from tests.jobs import Job, work_off\n"
        f"work_off([Job(name, (sys.executable, '-c', {job!r}), waits=True) for name in 'ab'], lambda _: (), Path('.'))"
    )
    process = subprocess.Popen((sys.executable, "-c", run), stderr=subprocess.DEVNULL)
    with pipe.open("rb") as reader:
        assert reader.read(4) == b"upup"

        process.send_signal(number)

        assert reader.read() == b"cleanclean"
    assert process.wait() in (128 + number, -number)


SHARD = "work_off([Job('shard', JOB)], lambda _: (), Path('.'))"
SHOWN = "show(JOB)"


@pytest.mark.parametrize("way", [SHARD, SHOWN])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_what_jobs_have_started(number: signal.Signals, way: str, tmp_path: Path) -> None:
    """A test runs pytest, whose test runs a program: nobody there has the time to end it."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    program = f"import time; pipe = open({str(pipe)!r}, 'wb', buffering=0); pipe.write(b'up'); time.sleep(600)"
    inner = f"import subprocess, sys; subprocess.Popen((sys.executable, '-c', {program!r})).wait()"
    outer = f"import subprocess, sys; subprocess.run((sys.executable, '-c', {inner!r}), capture_output=True)"
    run = (
        "import sys; from pathlib import Path; from tests.jobs import Job, show, work_off\n"
        f"JOB = (sys.executable, '-c', {outer!r})\n{way}"
    )
    process = subprocess.Popen((sys.executable, "-c", run), stderr=subprocess.DEVNULL)
    with pipe.open("rb") as reader:
        assert reader.read(2) == b"up"

        process.send_signal(number)

        assert reader.read() == b""
    assert process.wait() in (128 + number, -number)


@pytest.mark.parametrize("way", [SHARD, SHOWN])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_job_that_is_just_being_started(number: signal.Signals, way: str, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    program = f"import time; pipe = open({str(pipe)!r}, 'wb', buffering=0); pipe.write(b'up'); time.sleep(600)"
    run = (
        "import os, subprocess, sys; from pathlib import Path; from tests.jobs import Job, show, work_off\n"
        f"JOB = (sys.executable, '-c', {program!r})\n"
        "class Signalled(subprocess.Popen):\n"
        "    def __init__(self, *words, **options):\n"
        "        super().__init__(*words, **options)\n"
        f"        with open({str(pipe)!r}, 'rb') as reader: reader.read(2)\n"
        f"        os.kill(os.getpid(), {number})\n"
        f"subprocess.Popen = Signalled\n{way}"
    )

    ended = subprocess.run((sys.executable, "-c", run), check=False, stderr=subprocess.DEVNULL, timeout=60)

    assert ended.returncode in (128 + number, -number)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert os.read(reader, 1) == b"", "nobody has it open any more; it would block where somebody has"
    os.close(reader)


def test_a_job_that_ends_takes_along_what_it_left_running(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    program = f"import time; pipe = open({str(pipe)!r}, 'wb'); print('up', flush=True); time.sleep(600)"
    crash = (
        "import os, subprocess, sys\n"
        f"left = subprocess.Popen((sys.executable, '-c', {program!r}), stdout=subprocess.PIPE)\n"
        "os._exit(len(left.stdout.readline()))"
    )
    said: dict[str, str] = {}

    def ended(one: Ended) -> list[Job]:
        said[one.job.name] = f"{one.output} {one.code}"
        return []

    work_off(
        [_job("crashes", crash), _job("waits for it", f"print(open({str(pipe)!r}, 'rb').read())")], ended, tmp_path
    )

    assert said == {"crashes": " 3", "waits for it": "b'' 0"}


def _job(name: str, code: str = "", *, seconds: float = 0.0, waits: bool = False) -> Job:
    return Job(name, (sys.executable, "-c", code), seconds, waits)
