"""What people see, to the letter."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace
from rich.console import Console

from fairlead.cli.views.render import bar, change, picture, plain, short, since, styled
from fairlead.cli.views.screens import lines, page
from fairlead.core.explain import Block, Cell, Explain, Lane, Stands

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def a_lane(
    letter: str, phase: str, done: int, total: int = 10, *, busy: str = "", waits: tuple[Block, ...] = ()
) -> Lane:
    """The first `done` pods are new and ready; `busy` is the state of the one after them, which is new too."""
    name = f"ingester-zone-{letter}"
    cells = []
    for ordinal in range(total):
        state = busy if busy and ordinal == done else "ready"
        revision = "none" if state == "missing" else "new" if ordinal < done + bool(busy) else "old"
        cells.append(Cell(f"{name}-{ordinal}", ordinal, state, revision))
    old = f"{name}-old" if done < total else f"{name}-new"
    return Lane(name, phase, done, total, old, f"{name}-new", 1, tuple(cells), waits)


def a_block(*, seconds: int | None = 12, exact: bool = False) -> Block:
    began = None if seconds is None else NOW - timedelta(seconds=seconds)
    text = "ingester-zone-b-2 is not ready: container ingester is not ready"
    return Block("roll", "PodsNotReady", "pod/ingester-zone-b-2", text, "the pod becomes ready", began, exact)


OUTCOMES = {"Current": "done", "Waiting": "waiting", "Blocked": "blocked"}


def a_rollout(*lanes: Lane, name: str = "ingester", phase: str = "Waiting", blocks: tuple[Block, ...] = ()) -> Explain:
    done, total = sum(lane.done for lane in lanes), sum(lane.total for lane in lanes)
    following = ("delete ingester-zone-b-3", "then zone ingester-zone-c") if phase != "Current" else ()
    stands, outcome = Stands(phase, done, total, "pods", lanes), OUTCOMES[phase]
    return Explain(
        part="zones",
        namespace="test",
        rollout=name,
        outcome=outcome,
        stands=stands,
        next=following,
        blocked_by=blocks,
    )


def three_zones(total: int = 10, block: Block | None = None) -> Explain:
    block = block or a_block()
    return a_rollout(
        a_lane("a", "Current", total, total),
        a_lane("b", "Waiting", 2, total, busy="notReady", waits=(block,)),
        a_lane("c", "Pending", 0, total),
        blocks=(block,),
    )


def complete(name: str = "ingester") -> Explain:
    return a_rollout(a_lane("a", "Current", 3, 3), name=name, phase="Current")


def test_three_zones_of_ten_pods_fit_into_80_columns() -> None:
    assert plain(picture(three_zones(), NOW, 80)) == (
        "ingester  (zones in namespace test)  Waiting\n"
        "████████████████░░░░░░░░░░░░░░░░░░░░░░░░ 12/30 pods\n"
        "\n"
        "  ingester-zone-a  Current  10/10  ●n ●n ●n ●n ●n ●n ●n ●n ●n ●n\n"
        "  ingester-zone-b  Waiting   2/10  ●n ●n ◐n ●o ●o ●o ●o ●o ●o ●o\n"
        "  ingester-zone-c  Pending   0/10  ●o ●o ●o ●o ●o ●o ●o ●o ●o ●o\n"
        "\n"
        "waiting: ingester-zone-b-2 is not ready: container ingester is not ready, for at\n"
        "         least 12s\n"
        "next: delete ingester-zone-b-3\n"
        "next: then zone ingester-zone-c"
    )


@pytest.mark.parametrize(
    ("state", "glyph"),
    [("ready", "●n"), ("notReady", "◐n"), ("terminating", "◌n"), ("missing", "○"), ("stuck", "✕n")],
)
def test_each_state_has_a_glyph_of_its_own(state: str, glyph: str) -> None:
    lane = a_lane("a", "Rolling", 0, 2, busy=state)

    (row,) = (line for line in plain(picture(a_rollout(lane), NOW)).splitlines() if "zone-a " in line)

    assert row.split("0/2")[1].split() == [glyph, "●o"]


@pytest.mark.parametrize("width", [50, 60, 80, 120, 200])
def test_three_zones_of_a_hundred_pods_fold_to_the_width_and_lose_no_pod(width: int) -> None:
    text = plain(picture(three_zones(100), NOW, width))

    assert max(map(len, text.splitlines())) <= width
    assert text.count("●n") + text.count("●o") + text.count("◐n") == 300


def test_a_hundred_pods_stand_below_their_zone_where_this_takes_fewer_rows() -> None:
    rows = plain(picture(three_zones(100), NOW, 80)).splitlines()

    at = rows.index("  ingester-zone-b  Waiting    2/100")
    assert rows[at + 1] == "    ●n ●n ◐n " + " ".join(["●o"] * 17)
    assert len(rows[at + 1 : rows.index("  ingester-zone-c  Pending    0/100")]) == 5


def test_a_long_name_does_not_push_the_pods_out_of_the_window() -> None:
    lane = Lane("n" * 60, "Rolling", 0, 3, cells=a_lane("a", "Rolling", 0, 3).cells)

    rows = plain(picture(a_rollout(lane), NOW, 80)).splitlines()

    assert rows[3:5] == [f"  {'n' * 60}  Rolling  0/3", "    ●o ●o ●o"]


def test_a_zone_without_pods_is_a_row_of_its_own() -> None:
    assert "  ingester-zone-a  Current  0/0\n" in plain(picture(a_rollout(a_lane("a", "Current", 0, 0)), NOW))


@pytest.mark.parametrize(
    ("done", "total", "drawn"),
    [(0, 3, "░░░░░░░░░░"), (2, 3, "██████░░░░"), (299, 300, "█████████░"), (3, 3, "██████████"), (0, 0, "██████████")],
)
def test_the_bar_is_full_only_when_all_is_done(done: int, total: int, drawn: str) -> None:
    assert bar(done, total, 10) == drawn


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "0s"), (0, "0s"), (12.9, "12s"), (60, "1m"), (185, "3m5s"), (7500, "2h5m"), (7259, "2h"), (356400, "4d3h")],
)
def test_times_have_their_two_largest_units(seconds: float, text: str) -> None:
    assert short(seconds) == text


def test_a_time_that_only_this_process_saw_says_so() -> None:
    assert since(a_block(exact=True), NOW) == "for 12s"
    assert since(a_block(exact=False), NOW) == "for at least 12s"
    assert since(a_block(seconds=None), NOW) == ""


def test_a_line_for_a_change_holds_no_time_and_every_zone() -> None:
    text = change(three_zones())

    assert text == (
        "test/ingester Waiting 12/30 pods (ingester-zone-a Current 10/10, ingester-zone-b Waiting 2/10,"
        " ingester-zone-c Pending 0/10); waiting: ingester-zone-b-2 is not ready: container ingester is not ready;"
        " next: delete ingester-zone-b-3"
    )
    assert text == change(three_zones(block=a_block(seconds=13)))


def test_a_change_before_anything_is_there_to_roll_has_no_empty_parentheses() -> None:
    nothing_yet = three_zones()
    nothing_yet = replace(nothing_yet, stands=replace(nothing_yet.stands, lanes=()))

    assert change(nothing_yet).startswith("test/ingester Waiting 12/30 pods; waiting: ")


def test_a_wait_whose_text_begins_with_the_word_has_it_once() -> None:
    waits = replace(a_block(), text="waiting for ingester-zone-a, which goes first")

    shown = three_zones(block=waits)

    assert "; waiting for ingester-zone-a, which goes first;" in change(shown)
    assert "\nwaiting for ingester-zone-a, which goes first, for at least 12s\n" in plain(picture(shown, NOW, 80))


def drawn(seen: Explain, *, color: bool) -> str:
    file = io.StringIO()
    console = Console(file=file, width=80, force_terminal=True, color_system="standard", no_color=not color)
    console.print(styled(picture(seen, NOW, console.width)))
    return file.getvalue()


def test_without_colour_the_terminal_shows_the_same_characters() -> None:
    console = Console(file=io.StringIO(), width=80, record=True, color_system=None)

    console.print(styled(picture(three_zones(), NOW, 80)))

    shown = [line.rstrip() for line in console.export_text().splitlines()]
    assert shown == plain(picture(three_zones(), NOW, 80)).splitlines()


def test_colour_is_used_where_it_is_wanted_and_only_there() -> None:
    assert "\x1b[33m◐n" in drawn(three_zones(), color=True)
    assert "\x1b[33m" not in drawn(three_zones(), color=False)


def test_the_page_shows_what_is_going_on_and_a_line_for_each_that_is_complete() -> None:
    text = plain(page([complete("alpha"), three_zones(), complete("omega")], NOW, 80, 30))

    assert text.startswith("ingester  (zones in namespace test)  Waiting\n")
    assert text.endswith(
        "alpha  (zones in namespace test)  Current  3/3 pods\n"
        "omega  (zones in namespace test)  Current  3/3 pods\n"
        "● ready  ◐ not ready  ◌ terminating  ○ missing  ✕ stuck  n new, o old revision"
    )


def test_a_low_window_leaves_out_pictures_before_it_leaves_out_rollouts() -> None:
    several = [a_rollout(a_lane("a", "Rolling", 1, 3), name=f"g{number}") for number in range(20)]

    lines = page(several, NOW, 80, 16)

    text = plain(lines)
    assert len(lines) == 16
    assert text.startswith("g0  (zones in namespace test)  Waiting\n█")
    assert "\ng1  (zones in namespace test)  Waiting  1/3 pods\n" in text
    assert "and 13 more" in text


def test_a_window_that_is_too_low_for_one_picture_counts_no_others() -> None:
    assert "more" not in plain(page([a_rollout(a_lane("a", "Rolling", 1, 3))], NOW, 80, 3))


def test_trouble_is_shown_above_the_legend() -> None:
    assert "\nshown as last seen: gone\n●" in plain(page([complete()], NOW, 80, 30, "shown as last seen: gone"))


def test_lines_are_printed_once_per_change_and_for_what_is_gone(capsys: pytest.CaptureFixture[str]) -> None:
    with lines() as screen:
        screen.show([three_zones(), complete("omega")], NOW, "")
        screen.show([three_zones(block=a_block(seconds=13)), complete("omega")], NOW, "")
        screen.show([complete("omega")], NOW, "shown as last seen: gone")
        screen.show([complete("omega")], NOW, "shown as last seen: gone")

    first, second, gone, trouble = capsys.readouterr().out.splitlines()
    assert first == f"2026-03-01T12:00:00Z {change(three_zones())}"
    assert second == "2026-03-01T12:00:00Z test/omega Current 3/3 pods (ingester-zone-a Current 3/3)"
    assert gone == "2026-03-01T12:00:00Z test/ingester is gone"
    assert trouble == "2026-03-01T12:00:00Z shown as last seen: gone"


def test_many_lanes_leave_room_for_what_is_waited_for() -> None:
    """Those in work are shown; those before and after them are counted."""
    lanes = [a_lane(f"batch-{place}", "Done" if place < 20 else "Pending", 3 * (place < 20), 3) for place in range(50)]
    seen = a_rollout(*lanes)

    lines = plain(picture(seen, NOW, 80, 20)).splitlines()

    assert len(lines) <= 20
    assert "  and 20 before, which are done" in lines
    assert any(line.startswith("  ingester-zone-batch-20 ") for line in lines)
    assert any(line.startswith("  and ") and line.endswith(" more") for line in lines)
    assert len(plain(picture(seen, NOW, 80)).splitlines()) > 50
