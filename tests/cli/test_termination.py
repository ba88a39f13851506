"""A command that is ended by SIGTERM ends as with Ctrl-C."""

from __future__ import annotations

import asyncio
import signal
import threading

import pytest

from fairlead.cli import termination
from fairlead.contracts.apiversions.commands import codes


async def ended_by(number: int) -> int:
    signal.raise_signal(number)
    await asyncio.Event().wait()
    raise AssertionError("nobody ended it")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_work_that_can_go_on_later_answers_with_its_own_code_and_cleans_up(number: int) -> None:
    cleaned = []

    async def resumable() -> int:
        try:
            return await ended_by(number)
        except asyncio.CancelledError:
            cleaned.append("the Lease")
            return codes.RESUMABLE

    assert (termination.run(resumable()), cleaned) == (codes.RESUMABLE, ["the Lease"])


def test_other_work_is_interrupted_with_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt):
        termination.run(ended_by(signal.SIGTERM))

    assert capsys.readouterr().err == "fairlead: ended by SIGTERM before it was done; run the command again\n"


def test_a_person_who_interrupts_needs_no_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt):
        termination.run(ended_by(signal.SIGINT))

    assert capsys.readouterr().err == ""


def test_other_threads_run_it_as_well() -> None:
    ran = []

    async def work() -> int:
        return 3

    thread = threading.Thread(target=lambda: ran.append(termination.run(work())))
    thread.start()
    thread.join()

    assert ran == [3]
