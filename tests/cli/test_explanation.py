"""`fairlead explain` for people, to the letter."""

from __future__ import annotations

import io
import sys
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from fairlead.cli.views.explanation import explanation
from fairlead.cli.views.render import plain
from fairlead.cli.views.screens import printed
from fairlead.core.explain import Block, Explain
from tests.cli.test_render import NOW, a_block, a_lane, a_rollout, complete, three_zones

LOGS = "kubectl -n test logs ingester-zone-b-2 -c ingester --previous"
UNDO = (
    "kubectl -n test rollout undo statefulset/ingester-zone-a statefulset/ingester-zone-b statefulset/ingester-zone-c"
)


def explained(seen: Explain, now: datetime = NOW, width: int = 80) -> str:
    return plain(explanation(seen, now, width))


def stuck() -> Explain:
    block = Block(
        "roll",
        "PodStuck",
        "pod/ingester-zone-b-2",
        "ingester-zone-b-2 is stuck: container ingester is in CrashLoopBackOff (9 restarts)",
        "the pod becomes ready, or the pod template changes",
        NOW.replace(hour=11),
        True,
        "blocked",
        (LOGS, f"go back to the earlier template: {UNDO}", "correct the pod template"),
    )
    lane = a_lane("b", "Blocked", 2, 3, busy="stuck", waits=(block,))
    cells = (replace(lane.cells[0], restarts=1), lane.cells[1], replace(lane.cells[2], restarts=9))
    lane = replace(lane, cells=cells, from_images=("app:1", "side:1"), to_images=("app:2", "side:2"))
    return replace(a_rollout(lane, phase="Blocked", blocks=(block,)), next=())


def test_a_wait_comes_first_and_once_then_what_is_next_then_where_it_stands() -> None:
    assert explained(three_zones(3, a_block(seconds=185, exact=True))) == (
        "ingester  (zones in namespace test)  Waiting\n"
        "\n"
        "What it waits for\n"
        "  - ingester-zone-b-2 is not ready: container ingester is not ready\n"
        "    for 3m5s\n"
        "    ends when the pod becomes ready\n"
        "\n"
        "What it does next\n"
        "  - delete ingester-zone-b-3\n"
        "  - then zone ingester-zone-c\n"
        "\n"
        "Where it stands: 5 of 9 pods\n"
        "  ingester-zone-a  Current  3/3  ●n ●n ●n\n"
        "  ingester-zone-b  Waiting  2/3  ●n ●n ◐n\n"
        "    from ingester-zone-b-old to ingester-zone-b-new, at most 1 at a time\n"
        "  ingester-zone-c  Pending  0/3  ●o ●o ●o\n"
        "    from ingester-zone-c-old to ingester-zone-c-new, at most 1 at a time\n"
        "\n"
        "● ready  ◐ not ready  ◌ terminating  ○ missing  ✕ stuck  n new, o old revision"
    )


def test_what_blocks_comes_with_what_helps_and_with_images_and_restarts() -> None:
    """Commands stay whole, however long they are."""
    assert explained(stuck()) == (
        "ingester  (zones in namespace test)  Blocked\n"
        "\n"
        "What it waits for\n"
        "  - ingester-zone-b-2 is stuck: container ingester is in CrashLoopBackOff (9\n"
        "    restarts)\n"
        "    for 1h\n"
        "    ends when the pod becomes ready, or the pod template changes\n"
        f"    > {LOGS}\n"
        "    > go back to the earlier template:\n"
        f"        {UNDO}\n"
        "    > correct the pod template\n"
        "\n"
        "What it does next\n"
        "  - nothing\n"
        "\n"
        "Where it stands: 2 of 3 pods\n"
        "  ingester-zone-b  Blocked  2/3  ●n ●n ✕n\n"
        "    from ingester-zone-b-old (app:1, side:1) to ingester-zone-b-new (app:2,\n"
        "    side:2), at most 1 at a time\n"
        "    restarts: ingester-zone-b-2 9, ingester-zone-b-0 1\n"
        "\n"
        "● ready  ◐ not ready  ◌ terminating  ○ missing  ✕ stuck  n new, o old revision"
    )


def test_commands_of_our_own_stay_whole_too() -> None:
    abort = "fairlead abort shop -n a-namespace-with-a-name-that-is-longer-than-most"
    advice = ("correct the spec of fairlead's example", f"go back to generation 1: {abort}")
    block = replace(a_block(), advice=advice)

    text = explained(a_rollout(a_lane("b", "Blocked", 2, 3), blocks=(block,)), width=60)

    assert "    > correct the spec of fairlead's example\n" in text
    assert f"    > go back to generation 1:\n        {abort}\n" in text


def test_a_wait_of_one_zone_alone_stands_below_it() -> None:
    own = replace(a_block(), reason="Paused", text="ingester-zone-b is paused")
    seen = a_rollout(a_lane("b", "Paused", 2, 3, waits=(own, a_block())), blocks=(a_block(),))

    text = explained(seen)

    assert text.count("ingester-zone-b-2 is not ready") == 1
    assert "    - ingester-zone-b is paused\n" in text


def test_many_restarted_pods_are_counted() -> None:
    lane = a_lane("a", "Rolling", 0, 9)
    cells = tuple(replace(cell, restarts=cell.ordinal + 1) for cell in lane.cells)

    text = explained(a_rollout(replace(lane, cells=cells)), width=200)

    named = ", ".join(f"ingester-zone-a-{ordinal} {ordinal + 1}" for ordinal in (8, 7, 6, 5, 4))
    assert f"    restarts: {named} and 4 more pods\n" in text


def test_a_complete_rollout_does_nothing_next_and_waits_for_nothing() -> None:
    text = explained(complete())

    assert "What it does next\n  - nothing\n" in text
    assert "What it waits for\n  - nothing\n" in text
    assert "from" not in text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, file: io.StringIO, *, color: bool = True) -> str:
    monkeypatch.setattr(sys, "stdout", file)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.delenv("NO_COLOR", raising=False)
    printed(explanation(stuck(), NOW, 40), color=color)
    return file.getvalue()


def test_a_terminal_shows_it_in_colour_and_cuts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, Terminal())

    assert "\x1b[" in text
    assert LOGS in text
    assert UNDO in text


@pytest.mark.parametrize("file", [Terminal(), io.StringIO()], ids=["asked for", "no terminal"])
def test_without_colour_it_is_plain(monkeypatch: pytest.MonkeyPatch, file: io.StringIO) -> None:
    text = shown(monkeypatch, file, color=not file.isatty())

    assert text == plain(explanation(stuck(), NOW, 40)) + "\n"


def test_when_it_looks_again_is_folded_to_a_narrow_terminal() -> None:
    shown = explained(replace(three_zones(), again=NOW + timedelta(minutes=9)), width=40)

    assert "It looks again in 9m, or as soon as\nsomething changes." in shown
