"""Programs and files that do not outlive us, with small programs in place of the control plane's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fairlead.plane import held as held_module
from fairlead.plane.held import PREFIX, GuardEnded, Held, sweep
from tests.plane.processes import alive, until

FOREVER = ["sleep", "600"]


@pytest.fixture
def held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    monkeypatch.setattr(held_module, "_parent", lambda: tmp_path)
    held = Held()
    yield held
    held.close()


def test_close_ends_all_programs_and_removes_the_folder(held: Held) -> None:
    held.run("one", FOREVER)
    held.run("two", ["sh", "-c", "trap '' TERM; exec sleep 600"])
    until(lambda: not held.ended() and {"one", "two"} <= set(held.pids))
    pids = held.pids.values()

    held.close()

    assert not any(alive(pid) for pid in pids)
    assert not held.folder.exists()


def test_end_of_a_program_is_told_once_with_its_code_and_last_words(held: Held) -> None:
    held.run("brief", ["sh", "-c", "seq 100; echo no more >&2; exit 3"])

    told = until(held.ended)

    assert told == (("brief", 3),)
    assert held.ended() == ()
    assert held.last_words("brief", lines=3) == "99\n100\nno more"


def test_program_that_was_never_started_has_no_last_words(held: Held) -> None:
    assert held.last_words("nobody") == ""


def test_death_of_the_guard_is_noticed(held: Held) -> None:
    os.kill(held.pids["guard"], signal.SIGTERM)

    with pytest.raises(GuardEnded):
        until(lambda: held.ended() != ())


def test_terminated_guard_takes_its_programs_along(held: Held) -> None:
    held.run("one", FOREVER)
    until(lambda: not held.ended() and "one" in held.pids)

    os.kill(held.pids["guard"], signal.SIGTERM)

    until(lambda: not alive(held.pids["one"]) and not held.folder.exists())


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are looked at as Linux shows them")
def test_only_the_thread_that_waits_for_orders_is_sent_signals(held: Held) -> None:
    """One that another thread took would leave the guard waiting for orders, its programs running."""
    held.run("one", FOREVER)
    until(lambda: not held.ended() and "one" in held.pids)
    guard = held.pids["guard"]

    def others() -> list[Path]:
        return [task for task in Path(f"/proc/{guard}/task").iterdir() if task.name != str(guard)]

    until(others)
    for thread in others():
        blocked = int(thread.joinpath("status").read_text().partition("SigBlk:")[2].split()[0], 16)
        assert blocked >> (signal.SIGTERM - 1) & 1


def test_programs_do_not_survive_a_killed_holder(tmp_path: Path) -> None:
    """SIGKILL gives the holder no chance to clean up, so somebody else must."""
    code = (
        "import sys, time; from pathlib import Path; from fairlead.plane import held\n"
        f"held._parent = lambda: Path({str(tmp_path)!r})\n"
        "one = held.Held(); one.run('one', ['sleep', '600']); one.run('two', ['sleep', '600'])\n"
        "while len(one.pids) < 3: one.ended(); time.sleep(0.01)\n"
        "print(one.folder, *one.pids.values(), flush=True); sys.stdin.read()"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    with holder:
        assert holder.stdout is not None
        folder, *pids = holder.stdout.readline().split()
        assert len(pids) == 3
        assert all(alive(int(pid)) for pid in pids)

        holder.kill()

    until(lambda: not any(alive(int(pid)) for pid in pids) and not Path(folder).exists())


def test_sweep_removes_a_folder_that_nobody_holds_and_no_other(held: Held, tmp_path: Path) -> None:
    left = tmp_path / f"{PREFIX}left"
    left.mkdir()
    (left / "held").touch()
    (left / "data").write_text("of a run whose guard was killed too")
    in_the_making = tmp_path / f"{PREFIX}new"
    in_the_making.mkdir()
    other = tmp_path / "something-else"
    other.mkdir()
    (other / "held").touch()

    sweep(tmp_path)

    assert not left.exists()
    assert in_the_making.exists()
    assert other.exists()
    assert held.folder.exists()


def test_folder_is_private(held: Held) -> None:
    assert held.folder.stat().st_mode & 0o077 == 0
