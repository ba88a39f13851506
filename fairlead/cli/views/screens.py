"""Where `watch` shows what it sees: a live view on a terminal, a line per change anywhere else."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Protocol

from fairlead.cli.selection import is_complete, worst_first
from fairlead.cli.views.provenance import said_of
from fairlead.cli.views.render import NAMELESS, Line, change, has_no_pods, legend, picture, plain, styled, title
from fairlead.core.printable import on_one_line

if TYPE_CHECKING:
    from rich.live import Live

    from fairlead.core.explain import Explain
    from fairlead.engine.look import RolloutId


class Screen(Protocol):
    def show(self, seen: Sequence[Explain], now: datetime, trouble: str) -> None:
        """Shows the rollouts; `trouble` says why what is seen may be old, empty when it is not."""


class Journal(Screen, Protocol):
    """A screen that takes notes as well."""

    def say(self, text: str, now: datetime) -> None:
        """Adds a line that stays, about something that has happened."""


def screen(*, color: bool) -> AbstractContextManager[Journal]:
    """The one that fits the standard output."""
    if _is_terminal():
        return live(color=color)
    return lines()


def printed(shown: Sequence[Line], *, color: bool) -> None:
    """Once, in colour on a terminal that has it; never folded or cut, so that what stands there can be copied."""
    if not (color and _is_terminal()):
        print(plain(shown))
        return
    from rich.console import Console

    text = styled(shown)
    text.overflow = "ignore"
    Console(highlight=False, soft_wrap=True).print(text)


def _is_terminal() -> bool:
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


@contextmanager
def lines() -> Iterator[Journal]:
    yield _Lines()


class _Lines:
    def __init__(self) -> None:
        self._last: dict[RolloutId, str] = {}
        self._trouble = ""
        self._speakers: list[str] = []

    def show(self, seen: Sequence[Explain], now: datetime, trouble: str) -> None:
        said: dict[RolloutId, str] = {(one.part, one.noun, one.namespace, one.rollout): change(one) for one in seen}
        for key, text in said.items():
            if self._last.get(key) != text:
                self.say(text, now)
        for key in self._last:
            if key not in said:
                _, _, namespace, name = key
                self.say(f"{namespace}/{name or NAMELESS} is gone", now)
        speakers = said_of(seen)
        for each in speakers:
            if each not in self._speakers:
                self.say(each, now)
        if trouble and trouble != self._trouble:
            self.say(trouble, now)
        self._last, self._trouble, self._speakers = said, trouble, speakers

    def say(self, text: str, now: datetime) -> None:
        print(f"{now:%Y-%m-%dT%H:%M:%SZ} {on_one_line(text)}", flush=True)


@contextmanager
def live(*, color: bool) -> Iterator[Journal]:
    from rich.console import Console
    from rich.live import Live

    console = Console(no_color=None if color else True, highlight=False)
    with Live(console=console, auto_refresh=False, vertical_overflow="crop") as view:
        yield _Live(view)


class _Live:
    def __init__(self, view: Live) -> None:
        self._view = view

    def show(self, seen: Sequence[Explain], now: datetime, trouble: str) -> None:
        size = self._view.console.size
        self._view.update(styled(page(seen, now, size.width, size.height - 1, trouble)), refresh=True)

    def say(self, text: str, now: datetime) -> None:
        self._view.console.print(f"{now:%H:%M:%S} {on_one_line(text)}", markup=False)


def page(seen: Sequence[Explain], now: datetime, width: int, height: int, trouble: str = "") -> list[Line]:
    """As much as fits: pictures of the rollouts that are going on first, a line for each of the others."""
    speakers: list[Line] = [((text, "quiet"),) for text in said_of(seen)[:1]]
    foot: list[Line] = [((trouble, "stuck"),)] * bool(trouble) + speakers
    if not seen or not all(has_no_pods(one) for one in seen):
        foot.append(legend())
    seen = worst_first(seen)
    going = [one for one in seen if not is_complete(one)] or list(seen[:1])
    pictures = [[*picture(one, now, width, height - len(foot) - 1), ()] for one in going]
    while pictures and sum(map(len, pictures)) + len(seen) - len(pictures) + len(foot) > height and len(pictures) > 1:
        pictures.pop()
    rest = [one for one in seen if one not in going[: len(pictures)]]
    brief = [_brief(one) for one in rest]
    room = height - sum(map(len, pictures)) - len(foot)
    if len(brief) > max(room, 0):
        kept = max(room - 1, 0)
        brief = [*brief[:kept], ((f"and {len(brief) - kept} more", "quiet"),)]
    return [*(line for one in pictures for line in one), *brief, *foot]


def _brief(one: Explain) -> Line:
    stands = one.stands
    return *title(one), (f"  {stands.done}/{stands.total} {stands.unit}", "")
