"""One rollout in full: what it waits for and what helps, then what comes next, then where every lane stands.

A wait is told once. Commands stand on lines of their own, unfolded, so that they can be copied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from fairlead.cli.views.render import Line, facts_of, has_no_pods, item, lane_rows, legend, short, since, title
from fairlead.core.explain import Block, Explain, Lane, Workload

COMMAND = re.compile(r"(?:^|(?<= ))(?:kubectl|fairlead) ")
"""Where a command begins."""
STYLES_OF_KINDS = dict.fromkeys(("blocked", "invalid", "failed"), "stuck")
"""By the kind of a wait; others look like waits."""
MOST_RESTARTED = 5
"""How many pods of a lane are named with their restarts."""


def explanation(seen: Explain, now: datetime, width: int = 80) -> list[Line]:
    """All that is known about one rollout, in full sentences."""
    stands = seen.stands
    lines: list[Line] = [title(seen), (), (("What it waits for", "title"),)]
    for block in seen.blocked_by:
        lines += wait(block, now, width, "  - ")
    if not seen.blocked_by:
        lines.append((("  - nothing", ""),))
    lines += [(), (("What it does next", "title"),)]
    for step in seen.next or ("nothing",):
        lines += item("  - ", step, width)
    if seen.notes:
        lines += [(), (("What holds besides", "title"),)]
    for note in seen.notes:
        lines += item("  - ", note, width)
    if seen.workloads:
        lines += [(), (("What is rolled", "title"),)]
        lines += rolled(seen.workloads, width)
    lines += [(), ((f"Where it stands: {stands.done} of {stands.total} {stands.unit}", "title"),)]
    told = {(block.reason, block.object) for block in seen.blocked_by}
    for lane, rows in zip(stands.lanes, lane_rows(stands.lanes, width), strict=True):
        lines += rows
        for text in (facts_of(lane) if lane.cells else "", change_of(lane), restarts_in(lane)):
            lines += item("    ", text, width) if text else []
        for block in lane.waits:
            if (block.reason, block.object) not in told:
                lines += wait(block, now, width, "    - ")
    if seen.again is not None:
        moment = short((seen.again - now).total_seconds())
        lines += [(), *item("", f"It looks again in {moment}, or as soon as something changes.", width)]
    return lines if has_no_pods(seen) else [*lines, (), legend()]


def rolled(workloads: tuple[Workload, ...], width: int) -> Iterator[Line]:
    """A line for each: where pods leave and where they come, with what it has, had and is to have."""
    names = max(len(each.object) for each in workloads)
    for each in workloads:
        head = f"  {'from' if each.role == 'source' else 'to':<4} {each.object:<{names}}  "
        yield from item(head, _sizes(each), width)


def _sizes(each: Workload) -> str:
    if each.size is None:
        return "is not there"
    parts = [f"{each.size} {'pod' if each.size == 1 else 'pods'}, {each.ready} ready"]
    if each.before is not None and each.before != each.size:
        parts.append(f"had {each.before}")
    if each.after is not None and each.after != each.size:
        parts.append(f"goes to {each.after}")
    return ", ".join(parts) + (f" ({', '.join(each.images)})" if each.images else "")


def change_of(lane: Lane) -> str:
    """What the lane goes from and to; empty where that is the same."""
    if lane.from_revision == lane.to_revision:
        return ""
    budget = f", at most {lane.budget} at a time" if lane.budget else ""
    before, after = _end(lane.from_revision, lane.from_images), _end(lane.to_revision, lane.to_images)
    return f"from {before} to {after}{budget}"


def _end(revision: str, images: tuple[str, ...]) -> str:
    return f"{revision or '?'} ({', '.join(images)})" if images else revision or "?"


def restarts_in(lane: Lane) -> str:
    """The pods whose containers were restarted, those that were most often first; empty where none was."""
    found = sorted((cell for cell in lane.cells if cell.restarts), key=lambda cell: -cell.restarts)
    if not found:
        return ""
    named = ", ".join(f"{cell.name} {cell.restarts}" for cell in found[:MOST_RESTARTED])
    more = len(found) - MOST_RESTARTED
    return f"restarts: {named}{f' and {more} more pods' if more > 0 else ''}"


def wait(block: Block, now: datetime, width: int, bullet: str) -> Iterator[Line]:
    """What is waited for, since when, what ends it, and what a person can do."""
    indent = " " * len(bullet)
    yield from item(bullet, block.text, width, STYLES_OF_KINDS.get(block.kind, "waits"))
    if block.since is not None:
        yield from item(indent, since(block, now), width)
    if block.clears:
        yield from item(indent, f"ends when {block.clears}", width)
    for advice in block.advice:
        yield from _advised(advice, width, indent)


def _advised(advice: str, width: int, indent: str) -> Iterator[Line]:
    """A sentence, folded; a command, whole."""
    found = COMMAND.search(advice)
    if found is None:
        yield from item(f"{indent}> ", advice, width)
        return
    head, sentence = f"{indent}> ", advice[: found.start()].strip()
    if sentence:
        yield from item(head, sentence, width)
        head = f"{indent}    "
    yield (head, ""), (advice[found.start() :], "command")
