"""The guard's own rule about leaving: a program that was started is known before anything can end the guard."""

from __future__ import annotations

import signal

import pytest

from fairlead.plane.guard import _Leave


def test_a_signal_between_start_and_note_is_obeyed_after_the_note() -> None:
    leave = _Leave()
    noted: list[str] = []

    def start() -> None:
        with leave.put_off():
            leave(signal.SIGTERM, None)
            noted.append("the program runs")

    with pytest.raises(SystemExit):
        start()

    assert noted == ["the program runs"]


def test_a_signal_at_any_other_time_ends_the_guard_at_once() -> None:
    leave = _Leave()
    with leave.put_off():
        pass

    with pytest.raises(SystemExit):
        leave(signal.SIGTERM, None)


def test_a_signal_while_it_cleans_up_changes_nothing() -> None:
    leave = _Leave()
    leave.wanted = False

    leave(signal.SIGTERM, None)
