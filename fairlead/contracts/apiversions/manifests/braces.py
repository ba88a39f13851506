"""Templates in manifests, `{{ … }}` as Helm writes them: hidden while the text is read as YAML, and put back.

What stands in for an action is as long as it is, so that positions stay, and is found again wherever it has moved to.
An action alone on its line becomes a comment, any other a word.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from msgspec import Struct

FIRST, LAST = 0xE000, 0xF8FF
"""Characters for private use: no manifest means anything by them."""
_ACTION = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_STAND_IN = re.compile(rf"([{chr(FIRST)}-{chr(LAST)}])\1*")
_HIDDEN = re.compile(rf"#?([{chr(FIRST)}-{chr(LAST)}])\1*")
_WORD = re.compile(r"\{\{-?\s*(/\*|[a-z]*)")
_OPENS = ("if", "with", "range", "define", "block")
_SILENT = ("", "/*", "else", "end", *_OPENS)
"""What gives no text of its own; an action without a word at its beginning does."""


class Unhidden(ValueError):
    """The templates of a text cannot be hidden; the sentence says why."""


class Hidden(Struct, frozen=True):
    text: str
    """As long as the original, line by line."""
    actions: tuple[str, ...] = ()
    """What each stand-in stands for, by its character."""
    bounds: tuple[int, ...] = ()
    regions: tuple[int, ...] = ()
    """From each of the bounds on, the branch of which condition or loop the text is in; 0: none."""
    unseen: tuple[int, ...] = ()
    """Positions of actions that are alone on their line and give text that nobody sees here."""

    def region(self, position: int) -> int:
        index = bisect_right(self.bounds, position)
        return self.regions[index - 1] if index else 0

    def is_cut(self, start: int, end: int) -> bool:
        """Whether a condition or a loop begins, goes on or ends in between."""
        return start < end and bisect_right(self.bounds, start) != bisect_left(self.bounds, end)

    def shown(self, text: str) -> str:
        """A text that was made of the hidden one, with its templates."""
        if not self.actions:
            return text
        return _HIDDEN.sub(self._action, text)

    def _action(self, found: re.Match[str]) -> str:
        action = self.actions[ord(found[1]) - FIRST]
        is_comment = found[0].startswith("#") and len(found[0]) == len(action)
        return action if is_comment or not found[0].startswith("#") else f"#{action}"


def hidden(text: str) -> Hidden:
    """The text without templates; raises Unhidden."""
    if "{{" not in text:
        return Hidden(text)
    if _STAND_IN.search(text):
        raise Unhidden("it has templates and characters for private use, which templates are hidden by")
    pieces: list[str] = []
    actions: list[str] = []
    done = 0
    for found in _ACTION.finditer(text):
        pieces.append(text[done : found.start()])
        pieces.append(_stand_in(text, found, actions))
        done = found.end()
    bounds, regions = _branches(text)
    return Hidden("".join((*pieces, text[done:])), tuple(actions), bounds, regions, tuple(_unseen(text)))


def stand_ins(text: str) -> set[str]:
    """The characters of all that stand in the text for an action."""
    return {found[1] for found in _STAND_IN.finditer(text)}


def _stand_in(text: str, found: re.Match[str], actions: list[str]) -> str:
    is_alone = _is_alone(text, found)
    if not is_alone and "\n" in found[0]:
        number = text.count("\n", 0, found.start()) + 1
        raise Unhidden(f"the template at line {number} goes over several lines and has other text beside it")
    lines = []
    for line in found[0].split("\n"):
        bare = line.strip()
        if not bare:
            lines.append(line)
            continue
        if len(actions) > LAST - FIRST:
            raise Unhidden(f"it has more than {LAST - FIRST + 1} templates")
        letter = chr(FIRST + len(actions))
        actions.append(bare)
        if is_alone and len(bare) == 1:
            raise Unhidden(f"a template has a line with nothing but {bare}: write it on one line")
        stand_in = "#" + letter * (len(bare) - 1) if is_alone else letter * len(bare)
        lines.append(line.replace(bare, stand_in))
    return "\n".join(lines)


def _is_alone(text: str, found: re.Match[str]) -> bool:
    start = text.rfind("\n", 0, found.start()) + 1
    end = text.find("\n", found.end())
    around = text[start : found.start()] + text[found.end() : len(text) if end < 0 else end]
    return not around.strip()


def _branches(text: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    bounds, regions, open_ones, count = [], [], [0], 0
    for found in _ACTION.finditer(text):
        word = _word(found[0])
        if word in _OPENS or (word == "else" and len(open_ones) > 1):
            if word == "else":
                open_ones.pop()
            count += 1
            open_ones.append(count)
        elif word == "end" and len(open_ones) > 1:
            open_ones.pop()
        else:
            continue
        bounds.append(found.start())
        regions.append(open_ones[-1])
    return tuple(bounds), tuple(regions)


def _unseen(text: str) -> Iterator[int]:
    for found in _ACTION.finditer(text):
        is_assignment = re.match(r"\{\{-?\s*\$\w+\s*:?=", found[0])
        if not is_assignment and _is_alone(text, found) and _word(found[0]) not in _SILENT[1:]:
            yield found.start()


def _word(action: str) -> str:
    found = _WORD.match(action)
    return found[1] if found else ""
