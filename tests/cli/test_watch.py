"""`fairlead watch`: in virtual time against a world that changes, and as a real process on a real terminal."""

from __future__ import annotations

import asyncio
import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from fairlead.cli import exits
from fairlead.cli.commands.watch import WatchEnd, WatchScope, ending, within
from fairlead.cli.connect import Cluster
from fairlead.cli.live_documents import BURST
from fairlead.cli.main import main
from fairlead.core.explain import Block, Explain, Stands
from fairlead.core.progress_deadline import PROGRESS_DEADLINE
from kubeloop.client import Client
from kubeloop.errors import Unauthorized
from kubesim.time import run
from tests.builders import a_zone, pods_of
from tests.cli.notes import Notes
from tests.cli.worlds import Object, Served, World, served

PATIENT = {PROGRESS_DEADLINE: "100000h"}
OLD, HALF, NEW = a_zone("a"), a_zone("a", ready=2, annotations=PATIENT), a_zone("a", current="new")
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ ")


SEED = 1
"""By which the pods of a zone are shown no later than the zone."""


def watched(
    world: World, wanted: WatchScope, story: Callable[[], Awaitable[None]] | None = None, seconds: float = 3600
) -> tuple[WatchEnd, Notes]:
    """How the watch ended while the story was told, and what it showed; at the latest after an hour."""
    notes = Notes()

    async def both() -> WatchEnd:
        telling = asyncio.ensure_future(story()) if story else None
        try:
            return await within(seconds, Cluster(Client(world), ("test",)), wanted, notes)
        finally:
            if telling:
                telling.cancel()

    return run(both(), seed=SEED), notes


def test_it_follows_a_rollout_to_its_end_and_leaves_with_0() -> None:
    world = World(OLD, pods_of(OLD, "old"))

    async def story() -> None:
        await asyncio.sleep(10)
        world.put(HALF, pods_of(HALF, "new", _0="notReady new"))
        await asyncio.sleep(10)
        world.put(NEW, pods_of(NEW, "new"))

    end, notes = watched(world, WatchScope("ingester"), story)

    assert end == WatchEnd(exits.OK)
    assert notes.phases == ["Rolling", "Settling", "Current"]


@pytest.mark.parametrize("change", [pods_of(OLD, "old", _2="terminating")[2], a_zone("a", max_unavailable="2")])
def test_a_change_of_a_pod_or_a_statefulset_is_shown_without_waiting_for_the_next_tick(change: Object) -> None:
    world = World(OLD, pods_of(OLD, "old"))

    async def story() -> None:
        await asyncio.sleep(10.3)
        world.put(change)

    _, notes = watched(world, WatchScope(), story, seconds=12)

    seconds = [round((shown - notes.times[0]).total_seconds(), 2) for shown in notes.times]
    assert seconds == [*map(float, range(11)), round(10.3 + BURST, 2), round(11.3 + BURST, 2)]


def test_a_wait_that_no_fact_dates_is_dated_by_what_the_watch_has_seen() -> None:
    paused = a_zone("a", paused="true")

    _, notes = watched(World(paused, pods_of(paused, "old")), WatchScope("ingester"), seconds=30.5)

    assert "for at least 30s" in " ".join(notes.pages[-1].split())


def test_with_a_time_limit_it_leaves_with_4_when_that_has_passed() -> None:
    end, _ = watched(World(OLD, pods_of(OLD, "old")), WatchScope("ingester"), seconds=90)

    assert end == WatchEnd(exits.BLOCKED, "not complete after 1m30s")


@pytest.mark.parametrize("paused", [True, False])
def test_blocked_or_paused_ends_it_with_4_when_asked_to(paused: bool) -> None:
    zone = a_zone("a", paused="true") if paused else a_zone("a", strategy="RollingUpdate")
    world = World(zone, pods_of(zone, "old"))

    end, _ = watched(world, WatchScope(exit_when_blocked=True))

    assert end.code == exits.BLOCKED
    assert end.text.startswith(f"ingester is {'paused' if paused else 'blocked'}: ingester-zone-a ")


def test_it_is_said_once_that_a_rollout_is_paused() -> None:
    """Where what it waits for says so itself."""
    paused = Block("paused", "Paused", "leaderworkerset/llm", "llm is paused: llm-0 stays at the earlier revision", "")
    stands = Stands(phase="Paused", done=0, total=1, unit="groups")
    shown = Explain(
        part="leaderworker", namespace="test", rollout="llm", outcome="held", stands=stands, blocked_by=(paused,)
    )

    end = ending([shown], WatchScope(exit_when_blocked=True))

    assert end == WatchEnd(exits.BLOCKED, "llm is paused: llm-0 stays at the earlier revision")


def standing(outcome: str, *, ended: bool = False) -> Explain:
    stands = Stands(phase=outcome.capitalize(), done=1, total=5, unit="pods")
    return Explain(part="toy", namespace="test", rollout="web", outcome=outcome, ended=ended, stands=stands)


CODES = {"done": 0, "held": 4, "blocked": 4, "failed": 5, "reverted": 6, "gated": 7}


@pytest.mark.parametrize(("outcome", "code"), CODES.items())
def test_the_code_tells_how_a_rollout_stands_that_does_not_go_on(outcome: str, code: int) -> None:
    end = ending([standing("moving"), standing(outcome)], WatchScope(exit_when_blocked=True))

    assert (None if end is None else end.code) == (code or None)


@pytest.mark.parametrize(("outcome", "code"), [("failed", 5), ("reverted", 6)])
def test_what_was_given_up_ends_it_without_being_asked_to(outcome: str, code: int) -> None:
    """Once nothing else goes on; what is tried again does not."""
    given_up = standing(outcome, ended=True)

    assert ending([given_up, standing("moving")], WatchScope()) is None
    assert ending([standing(outcome)], WatchScope()) is None
    assert ending([given_up], WatchScope(forever=True)) is None
    assert ending([standing("done"), given_up], WatchScope()) == WatchEnd(code, f"web is {outcome}")


def test_of_several_that_stopped_the_worst_is_told() -> None:
    end = ending([standing("gated"), standing("failed"), standing("held")], WatchScope(exit_when_blocked=True))

    assert end is not None
    assert end.code == exits.FAILED


def test_blocked_does_not_end_it_otherwise() -> None:
    zone = a_zone("a", strategy="RollingUpdate")

    end, notes = watched(World(zone, pods_of(zone, "old")), WatchScope(), seconds=60)

    assert end.text == "not complete after 1m0s"
    assert notes.phases == ["Blocked"]


def test_without_a_name_it_ends_when_all_are_complete() -> None:
    other = a_zone("b", group="store", current="new")
    world = World(OLD, pods_of(OLD, "old"), other, pods_of(other, "new"))

    async def story() -> None:
        await asyncio.sleep(10)
        world.put(NEW, pods_of(NEW, "new"))

    end, notes = watched(world, WatchScope(), story)

    assert end == WatchEnd(exits.OK)
    assert notes.phases[0] == "Rolling Current"
    assert notes.phases[-1] == "Current Current"


def test_forever_stays_when_all_is_complete_and_when_there_is_nothing_yet() -> None:
    world = World()

    async def story() -> None:
        await asyncio.sleep(10)
        world.put(NEW, pods_of(NEW, "new"))

    end, notes = watched(world, WatchScope(forever=True), story, seconds=60)

    assert end.code == exits.BLOCKED
    assert notes.phases[0] == ""
    assert notes.phases[-1] == "Current"


def test_nothing_to_watch_is_code_3() -> None:
    end, _ = watched(World(), WatchScope())

    assert end == WatchEnd(
        exits.NOT_FOUND,
        "no StatefulSet with the label rollout-group, no Materialize, no LeaderWorkerSet, no RolloutTrait"
        " and no migration of a CRD in namespace test",
    )


def test_an_unknown_name_is_code_3_with_near_matches() -> None:
    end, notes = watched(World(OLD, pods_of(OLD, "old")), WatchScope("ingestor"))

    assert end.code == exits.NOT_FOUND
    assert "did you mean ingester" in end.text
    assert notes.pages == []


def test_a_rollout_that_goes_away_ends_it_with_3() -> None:
    world = World(OLD, pods_of(OLD, "old"))

    async def story() -> None:
        await asyncio.sleep(10)
        world.remove(OLD)

    end, _ = watched(world, WatchScope("ingester"), story)

    assert end.code == exits.NOT_FOUND
    assert end.text.startswith("ingester is gone")


def test_a_broken_connection_is_told_and_survived() -> None:
    world = World(OLD, pods_of(OLD, "old"))

    async def story() -> None:
        await asyncio.sleep(10)
        world.refuse(503, "ServiceUnavailable", "the server is moving")
        world.break_watches()
        await asyncio.sleep(30)
        world.refusal = None
        world.put(NEW, pods_of(NEW, "new"))

    end, notes = watched(world, WatchScope("ingester"), story)

    told = [page for page in notes.pages if "shown as last seen: the cluster could not answer" in page]
    assert end == WatchEnd(exits.OK)
    assert told
    assert "shown as last seen" not in notes.pages[0]


def test_credentials_that_expire_meanwhile_end_it() -> None:
    world = World(OLD, pods_of(OLD, "old"))

    async def story() -> None:
        await asyncio.sleep(10)
        world.refuse(401, "Unauthorized", "Unauthorized")
        world.break_watches()

    with pytest.raises(ExceptionGroup) as raised:
        watched(world, WatchScope("ingester"), story)

    assert raised.group_contains(Unauthorized)


def test_where_there_is_no_terminal_it_prints_a_line_per_change_without_control_characters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with served(World(NEW, pods_of(NEW, "new")), tmp_path) as server:
        code = main(["watch", "--kubeconfig", server.kubeconfig])

    line, speaker = capsys.readouterr().out.splitlines()
    assert code == exits.OK
    assert TIMESTAMP.match(line)
    assert line.endswith(" test/ingester Current 3/3 pods (ingester-zone-a Current 3/3)")
    assert TIMESTAMP.match(speaker)
    assert " worked out by this command, because no operator was found in the cluster: " in speaker
    assert "\x1b" not in line + speaker


class Terminal:
    """A real `fairlead watch` on a real terminal of 80 columns."""

    def __init__(self, server: Served, *words: str, env: dict[str, str] | None = None) -> None:
        self._master, slave = pty.openpty()
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80", "LINES": "40", **(env or {})}
        command = [sys.executable, "-m", "fairlead.cli.main", "watch", "--kubeconfig", server.kubeconfig, *words]
        self.process = subprocess.Popen(
            command, stdin=slave, stdout=slave, stderr=slave, env=environment, start_new_session=True
        )
        os.close(slave)
        self.shown = ""

    def until(self, text: str) -> None:
        """Reads until the text was shown; fails when the process ends or takes too long."""
        deadline = time.monotonic() + 120
        while text not in self.shown:
            assert time.monotonic() < deadline, self.shown
            assert self._read(), self.shown

    def ended(self) -> int:
        while self._read():
            pass
        os.close(self._master)
        return self.process.wait(120)

    def _read(self) -> bool:
        if not select.select([self._master], [], [], 120)[0]:
            return False
        try:
            some = os.read(self._master, 65536)
        except OSError:  # how a terminal says that nobody is left on the other side
            return False
        self.shown += some.decode(errors="replace")
        return bool(some)


def test_on_a_terminal_it_draws_a_live_view_that_changes_and_ends(tmp_path: Path) -> None:
    with served(World(OLD, pods_of(OLD, "old")), tmp_path) as server:
        terminal = Terminal(server, "ingester")
        terminal.until("0/3 pods")
        server.put(NEW, pods_of(NEW, "new"))
        code = terminal.ended()

    assert code == exits.OK
    assert "3/3 pods" in terminal.shown
    assert "\x1b[32m●n" in terminal.shown


def test_ctrl_c_leaves_with_130_and_gives_the_cursor_back(tmp_path: Path) -> None:
    with served(World(OLD, pods_of(OLD, "old")), tmp_path) as server:
        terminal = Terminal(server)
        terminal.until("0/3 pods")
        terminal.process.send_signal(signal.SIGINT)
        code = terminal.ended()

    assert code == exits.INTERRUPTED
    assert "Traceback" not in terminal.shown
    assert terminal.shown.rindex("\x1b[?25h") > terminal.shown.rindex("\x1b[?25l")


@pytest.mark.parametrize(("words", "env"), [(("--no-color",), {}), ((), {"NO_COLOR": "1"})])
def test_colours_are_left_out_where_they_are_not_wanted(
    words: tuple[str, ...], env: dict[str, str], tmp_path: Path
) -> None:
    with served(World(NEW, pods_of(NEW, "new")), tmp_path) as server:
        terminal = Terminal(server, *words, env=env)
        code = terminal.ended()

    assert code == exits.OK
    assert "●n" in terminal.shown
    assert not re.search(r"\x1b\[(?:\d+;)*3\dm", terminal.shown)


def test_a_dumb_terminal_gets_lines(tmp_path: Path) -> None:
    with served(World(NEW, pods_of(NEW, "new")), tmp_path) as server:
        terminal = Terminal(server, env={"TERM": "dumb"})
        code = terminal.ended()

    assert code == exits.OK
    assert TIMESTAMP.match(terminal.shown)
    assert "\x1b" not in terminal.shown
