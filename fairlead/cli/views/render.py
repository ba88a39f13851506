"""The explain document as lines for people: the same lines in colour on a terminal and plain everywhere else.

A line is a tuple of spans, each a text and the name of a style. Nothing is said by colour alone: readiness is a
glyph, the revision a letter, progress a bar of two characters. `watch`, `explain` and the demo share these functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from textwrap import wrap
from typing import TYPE_CHECKING

from fairlead.cli.views.severity import waits_of
from fairlead.core.explain import Block, Cell, Check, Explain, Lane
from fairlead.core.outcome import DONE, GATED, STOPPED
from fairlead.core.printable import on_one_line

if TYPE_CHECKING:
    from rich.text import Text

Span = tuple[str, str]
Line = tuple[Span, ...]

GLYPHS = {"ready": "●", "notReady": "◐", "terminating": "◌", "missing": "○", "stuck": "✕"}
MARKS = {"new": "n", "old": "o"}
WORDS = {
    "ready": "ready",
    "notReady": "not ready",
    "terminating": "terminating",
    "missing": "missing",
    "stuck": "stuck",
}

STYLES = {
    "title": "bold",
    "quiet": "dim",
    "bar": "green",
    "ready": "green",
    "notReady": "yellow",
    "terminating": "yellow",
    "missing": "yellow",
    "stuck": "bold red",
    "finished": "bold green",
    "waits": "yellow",
    "command": "cyan",
}
"""Names of styles and what rich makes of them; an unknown name has none."""

NAMELESS = '""'
"""How the rollout whose name is empty is shown, and asked for."""

_LOOKS = {DONE: "finished", **dict.fromkeys(STOPPED, "stuck"), GATED: "waits"}
"""Styles of the phase by the outcome; of others, that of a title."""
_CELL_WIDTH = 3
_BELOW = "    "
_LONGEST_BAR = 40
_MORE_WAITS = 3


def picture(seen: Explain, now: datetime, width: int = 80, height: int | None = None) -> list[Line]:
    """The live view of one rollout: title, bar, a row per lane, what it waits for, what comes next.

    Where all of it is higher than `height`, lanes that are done and lanes that come later are counted instead.
    """
    stands = seen.stands
    progress = f" {stands.done}/{stands.total} {stands.unit}"
    head: list[Line] = [
        title(seen),
        ((bar(stands.done, stands.total, min(_LONGEST_BAR, width - len(progress))), "bar"), (progress, "")),
        (),
    ]
    foot: list[Line] = [(), *_waits(seen, now, width)]
    for step in seen.next:
        foot += item("next: ", step, width)
    rows = list(lane_rows(stands.lanes, width))
    room = sum(map(len, rows)) if height is None else height - len(head) - len(foot)
    return [*head, *_fitting(stands.lanes, rows, room), *foot]


def _fitting(lanes: tuple[Lane, ...], rows: list[list[Line]], room: int) -> Iterator[Line]:
    """The rows of as many lanes as there is room for: those that are done go first, then the last of the others."""
    first, last = 0, len(lanes)
    while _taken(rows, first, last) > room and first < last - 1 and lanes[first].done >= lanes[first].total:
        first += 1
    while _taken(rows, first, last) > room and last > first + 1 and lanes[last - 1].done == 0:
        last -= 1
    if first:
        yield ((f"  and {first} before, which are done", "quiet"),)
    yield from (line for lane in rows[first:last] for line in lane)
    if last < len(lanes):
        yield ((f"  and {len(lanes) - last} more", "quiet"),)


def _taken(rows: list[list[Line]], first: int, last: int) -> int:
    return (first > 0) + sum(map(len, rows[first:last])) + (last < len(rows))


def _waits(seen: Explain, now: datetime, width: int) -> Iterator[Line]:
    """The worst in full, some more in a line each, and where to read the rest."""
    waits = waits_of(seen)
    for block in waits[:1]:
        label, text = _labelled(_lasting(block, now))
        yield from item(label, text, width, "waits")
    for block in waits[1 : 1 + _MORE_WAITS]:
        label, text = _labelled(_lasting(block, now))
        yield (label, "waits"), (cut(text, width - len(label)), "")
    if (left := len(waits) - 1 - _MORE_WAITS) > 0:
        namespace = f" -n {seen.namespace}" if seen.namespace else ""
        yield ((f"and {left} more: fairlead explain {name_of(seen)}{namespace}", "quiet"),)


def _labelled(text: str) -> tuple[str, str]:
    """The word that stands out, and the rest; a sentence that begins with it has it once."""
    label, rest = "waiting ", text.removeprefix("waiting ")
    return (label, rest) if rest != text else ("waiting: ", text)


def _lasting(block: Block, now: datetime) -> str:
    return f"{block.text}, {since(block, now)}" if block.since else block.text


def cut(text: str, width: int) -> str:
    """What fits, with a mark where it was cut."""
    return text if len(text) <= width else f"{text[: max(width - 1, 0)]}…"


def title(seen: Explain) -> Line:
    where = f"{seen.part} in namespace {seen.namespace}" if seen.namespace else seen.part
    return (name_of(seen), "title"), (f"  ({where})  ", "quiet"), (seen.stands.phase, _LOOKS.get(seen.outcome, "title"))


def name_of(seen: Explain) -> str:
    return seen.rollout or NAMELESS


def lane_rows(shown: tuple[Lane, ...], width: int) -> Iterator[list[Line]]:
    """For each lane its name, phase, how far it is, and its cells: beside, or below where that takes fewer rows."""
    names = _widest(lane.name for lane in shown)
    phases = _widest(lane.phase for lane in shown)
    counts = _widest(f"{lane.done}/{lane.total}" for lane in shown)
    for lane in shown:
        count = f"{lane.done}/{lane.total}".rjust(counts)
        head = f"  {lane.name:<{names}}  {lane.phase:<{phases}}  {count}"
        beside = list(cells(lane.cells, (width - len(head) - 2) // _CELL_WIDTH))
        below = list(cells(lane.cells, (width - len(_BELOW)) // _CELL_WIDTH))
        rows: list[Line]
        if not lane.cells and (facts := facts_of(lane)):
            rows = [*item(f"{head}  ", facts, width)]
        elif len(beside) <= len(below) + 1:
            indents = [f"{head}  ", *[" " * (len(head) + 2)] * (len(beside) - 1)]
            rows = [((indent, ""), *row) for indent, row in zip(indents, beside or [()], strict=True)]
        else:
            rows = [((head, ""),), *(((_BELOW, ""), *row) for row in below)]
        yield rows


def facts_of(lane: Lane) -> str:
    """What a lane has to come to and to pass, where its contract tells that; else empty."""
    facts = [f"goal {lane.goal}"] if isinstance(lane.goal, int) else []
    if isinstance(lane.weight, int):
        facts.append(f"traffic {lane.weight} %")
    if lane.hooks:
        facts.append(f"hooks {', '.join(lane.hooks)}")
    facts += map(checked, lane.checks or ())
    return "; ".join(facts)


def checked(check: Check) -> str:
    """A check with its bounds, and what was measured last: `errors 0.4 (in range), to be at most 1`.

    Where nothing is known of that, the bounds alone: the batch may be over, or not begun.
    """
    bounds = " and ".join(
        f"{word} {bound}" for word, bound in (("at least", check.low), ("at most", check.high)) if bound
    )
    made = f"{check.value} ({check.outcome})" if check.value and check.outcome else check.value or check.outcome
    told = "" if check.decides else ", only told"
    wanted = f"{', to be' if made else ''} {bounds}" if bounds else ""
    return f"{check.name}{f' {made}' if made else ''}{wanted}{told}"


def cells(shown: tuple[Cell, ...], room: int) -> Iterator[Line]:
    """Glyph and letter of each pod, in rows of at most `room`; in whole tens where they fit, so that rows compare."""
    per_row = max(1, room - room % 10 if room >= 10 else room)
    for start in range(0, len(shown), per_row):
        yield tuple(
            (f"{GLYPHS.get(cell.state, '?')}{MARKS.get(cell.revision, ' ')} ", cell.state)
            for cell in shown[start : start + per_row]
        )


def has_no_pods(seen: Explain) -> bool:
    """Whether pods are told by their numbers alone, so that no glyph stands for one."""
    return bool(seen.workloads) and not any(lane.cells for lane in seen.stands.lanes)


def legend() -> Line:
    """What glyphs and letters mean."""
    states = "  ".join(f"{glyph} {WORDS[state]}" for state, glyph in GLYPHS.items())
    return ((f"{states}  n new, o old revision", "quiet"),)


def bar(done: int, total: int, width: int) -> str:
    """As many full places as are done, rounded down, so that it is full only when all is done: 2 of 3 in 10 is 6."""
    width = max(width, 1)
    full = width if done >= total else done * width // total
    return "█" * full + "░" * (width - full)


def since(block: Block, now: datetime) -> str:
    """How long a wait has lasted, and whether that is a fact or only what somebody saw of it; empty when not known."""
    if block.since is None:
        return ""
    lasted = short((now - block.since).total_seconds())
    return f"for {lasted}" if block.since_exact else f"for at least {lasted}"


def short(seconds: float) -> str:
    """The two largest units: 12s, 3m5s, 2h5m, 4d3h; a time in the future counts as 0s."""
    left = max(0, int(seconds))
    sizes = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))
    first = next((place for place, (_, size) in enumerate(sizes) if left >= size), len(sizes) - 1)
    parts: list[str] = []
    for unit, size in sizes[first : first + 2]:
        count, left = divmod(left, size)
        if count or not parts:
            parts.append(f"{count}{unit}")
    return "".join(parts)


def change(seen: Explain) -> str:
    """One line that differs exactly when something worth telling has changed; it contains no time."""
    stands = seen.stands
    where = f"{seen.namespace}/{name_of(seen)}" if seen.namespace else name_of(seen)
    lanes = ", ".join(f"{lane.name} {lane.phase} {lane.done}/{lane.total}" for lane in stands.lanes)
    text = f"{where} {stands.phase} {stands.done}/{stands.total} {stands.unit}{f' ({lanes})' if lanes else ''}"
    if seen.blocked_by:
        text += f"; {''.join(_labelled(waits_of(seen)[0].text))}"
        more = len(seen.blocked_by) - 1
        text += f" (and {more} more)" if more else ""
    if seen.next:
        text += f"; next: {seen.next[0]}"
    return text


def plain(lines: Iterable[Line]) -> str:
    """Without style."""
    return "\n".join("".join(on_one_line(text) for text, _ in line).rstrip() for line in lines)


def styled(lines: Iterable[Line]) -> Text:
    """For a rich console, which leaves the styles out where colour is not wanted."""
    from rich.text import Text

    text = Text(no_wrap=True, overflow="ellipsis", end="")
    for number, line in enumerate(lines):
        if number:
            text.append("\n")
        for words, style in line:
            text.append(on_one_line(words), STYLES.get(style, ""))
    return text


def item(head: str, text: str, width: int, style: str = "") -> list[Line]:
    """The text folded to the width, its further lines indented as far as the first."""
    rows = wrap(text, max(width - len(head), 20), break_long_words=False, break_on_hyphens=False) or [""]
    return [((head if row == 0 else " " * len(head), style), (words, "")) for row, words in enumerate(rows)]


def _widest(texts: Iterable[str]) -> int:
    return max(map(len, texts), default=0)
