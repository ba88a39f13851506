"""Templates in manifests, `{{ … }}` as Helm writes them: hidden while the text is read as YAML, and put back.

What stands in for an action is as long as it is, so that positions stay, and is found again wherever it has moved to.
An action alone on its line becomes a comment, any other a word; and so does one that is all that a key holds.
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
_SILENT = ("/*", "else", "end", *_OPENS)
"""What gives no text of its own."""


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
    held: tuple[str, ...] = ()
    """The stand-ins of those that are all that a key holds, on the line below it."""

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
    held: list[str] = []
    done = 0
    for found in _ACTION.finditer(text):
        pieces.append(text[done : found.start()])
        if is_held := _is_held(text, found):
            held.append(chr(FIRST + len(actions)))
        pieces.append(_stand_in(text, found, actions, is_comment=_is_alone(text, found) and not is_held))
        done = found.end()
    bounds, regions = _branches(text)
    return Hidden("".join((*pieces, text[done:])), tuple(actions), bounds, regions, tuple(_unseen(text)), tuple(held))


def stand_ins(text: str) -> set[str]:
    """The characters of all that stand in the text for an action."""
    return {found[1] for found in _STAND_IN.finditer(text)}


def hides(text: str) -> bool:
    """Whether a comment stands for a template."""
    return _HIDDEN.fullmatch(text) is not None


def depth_above(text: str, position: int) -> int:
    """How far the line above stands in, without the dashes of lists; that is the depth of a key which holds this."""
    before = text[: text.rfind("\n", 0, position) + 1].rstrip()
    line = before[before.rfind("\n") + 1 :]
    return len(line) - len(line.lstrip(" -"))


def _is_held(text: str, found: re.Match[str]) -> bool:
    if "\n" in found[0] or not _is_alone(text, found) or not gives_text(found[0]):
        return False
    depth = depth_above(text, found.start())
    if found.start() - (text.rfind("\n", 0, found.start()) + 1) <= depth:
        return False  # as YAML it would not be in the key
    above = text[: found.start()].rstrip()
    if not above.endswith(":") or above[above.rfind("\n") + 1 :].lstrip().startswith("#"):
        return False
    following = text[found.end() :].lstrip("\n").splitlines()
    following = [line for line in following if line.strip() and not line.lstrip().startswith("#")]
    if not following:
        return True
    below = following[0]
    if below.lstrip().startswith("{{"):
        return not gives_text(below.strip())
    return len(below) - len(below.lstrip()) <= depth


def _stand_in(text: str, found: re.Match[str], actions: list[str], *, is_comment: bool) -> str:
    if not _is_alone(text, found) and "\n" in found[0]:
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
        if is_comment and len(bare) == 1:
            raise Unhidden(f"a template has a line with nothing but {bare}: write it on one line")
        stand_in = "#" + letter * (len(bare) - 1) if is_comment else letter * len(bare)
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
        if gives_text(found[0]) and _is_alone(text, found):
            yield found.start()


def gives_text(action: str) -> bool:
    """Whether it is more than a condition, a loop, a comment or a variable."""
    return not re.match(r"\{\{-?\s*\$\w+\s*:?=", action) and _word(action) not in _SILENT


def _word(action: str) -> str:
    found = _WORD.match(action)
    return found[1] if found else ""
