"""Whether the parts of a text come back from it: tried with texts that the pattern itself describes (section 2.6)."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any, TypeAlias

from kubeloop.schemas.patterns import BadPattern, parts

TRIES = 200
MOST_REPEATS = 3
"""Beyond the fewest, of what may be repeated."""
LETTERS = "ab1-.:/_ Z0,x@=~é"
"""Where any character may stand: those that formats put between parts are among them."""
_SETS = {codes.CATEGORY_DIGIT: "0189", codes.CATEGORY_SPACE: " \t", codes.CATEGORY_WORD: "aZ_9b"}
_UNSETS = {codes.CATEGORY_NOT_DIGIT: "a-:", codes.CATEGORY_NOT_SPACE: "a1-:", codes.CATEGORY_NOT_WORD: "-:. "}
Chooser: TypeAlias = Callable[[int], int]


class Unmade(ValueError):
    """No text can be made of the pattern."""


@lru_cache(256)
def unproven(pattern: str, template: str) -> str:
    """What is wrong, as the end of a sentence; empty where the parts of every text that was tried come back."""
    whole = parts(pattern)
    fields = re.findall(r"\{(\w+)\}", template)
    try:
        made = [*_texts(pattern, tuple(fields))]
    except Unmade:
        return "nothing that the pattern matches could be made up to try it: write a plainer one"
    for found in made:
        text = re.sub(r"\{(\w+)\}", lambda field, held=found: held[field[1]], template)  # type: ignore[misc]
        again = whole.of(text)
        if again is None:
            return f'the template gives "{text}", which the pattern does not match'
        if {name: again.get(name) for name in fields} != found:
            return f'the pattern takes "{text}" apart in another way than the template put it together'
    return ""


def _texts(pattern: str, fields: tuple[str, ...]) -> Iterator[Mapping[str, str]]:
    groups = _groups(pattern)
    known = {name: parts(_alone(pattern, name)) for name in fields}
    choose = _chooser()
    count = 0
    for _ in range(TRIES * 5):
        found = {name: _made(groups[name], choose) for name in fields}
        # A group is described by its own pattern: what RE2 reads otherwise than we do is left out.
        if all(known[name].of(text) is not None for name, text in found.items()):
            yield found
            count += 1
        if count >= TRIES:
            return
    if not count:
        raise Unmade


def _groups(pattern: str) -> dict[str, Any]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = parser.parse(_as_python(pattern))
    except (re.error, OverflowError, RecursionError):
        raise Unmade from None
    found: dict[str, Any] = {}
    names = {number: name for name, number in tree.state.groupdict.items()}

    def look(nodes: Any) -> None:
        for code, value in nodes:
            if code is codes.SUBPATTERN and value[0] in names:
                found[names[value[0]]] = value[-1]
            for each in _below(code, value):
                look(each)

    look(tree)
    return found


def _below(code: Any, value: Any) -> list[Any]:
    if code is codes.SUBPATTERN:
        return [value[-1]]
    if code is codes.BRANCH:
        return list(value[1])
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        return [value[2]]
    return []


def _as_python(pattern: str) -> str:
    """The few words of RE2 that Python writes otherwise."""
    return re.sub(r"\(\?<(?=\w)", "(?P<", pattern).replace(r"\z", r"\Z")


def _alone(pattern: str, name: str) -> str:
    """The text of one group."""
    found = re.search(rf"\(\?P?<{re.escape(name)}>", pattern)
    if found is None:
        raise Unmade
    depth, here, in_class = 1, found.end(), False
    while here < len(pattern):
        letter = pattern[here]
        if letter == "\\":
            here += 2
            continue
        if in_class:
            in_class = letter != "]"
        elif letter == "[":
            in_class = True
            here += 1 if pattern[here + 1 : here + 2] == "]" else 0
        elif letter in "()":
            depth += 1 if letter == "(" else -1
            if not depth:
                try:
                    parts(pattern[found.end() : here])
                except BadPattern:
                    raise Unmade from None
                return pattern[found.end() : here]
        here += 1
    raise Unmade


def _made(nodes: Any, choose: Chooser) -> str:
    return "".join(_piece(code, value, choose) for code, value in nodes)


def _piece(code: Any, value: Any, choose: Chooser) -> str:
    if code is codes.LITERAL:
        return chr(value)
    if code is codes.ANY:
        return LETTERS[choose(len(LETTERS))]
    if code is codes.NOT_LITERAL:
        return _one([each for each in LETTERS if ord(each) != value], choose)
    if code is codes.IN:
        return _one(_members(value), choose)
    if code is codes.BRANCH:
        return _made(value[1][choose(len(value[1]))], choose)
    if code is codes.SUBPATTERN:
        return _made(value[-1], choose)
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        fewest, most, inside = value
        count = fewest + choose(min(int(most) - fewest, MOST_REPEATS) + 1)
        return "".join(_made(inside, choose) for _ in range(count))
    if code is codes.AT:
        return ""
    raise Unmade


def _one(letters: list[str], choose: Chooser) -> str:
    if not letters:
        raise Unmade
    return letters[choose(len(letters))]


def _members(items: Any) -> list[str]:
    negated = items[0][0] is codes.NEGATE
    found: list[str] = []
    for code, value in items:
        if code is codes.LITERAL:
            found.append(chr(value))
        elif code is codes.RANGE:
            low, high = value
            found += {chr(low), chr((low + high) // 2), chr(high)}
        elif code is codes.CATEGORY:
            found += {**_SETS, **_UNSETS}.get(value, "")
    if not negated:
        return sorted(set(found))
    return [each for each in LETTERS if not _is_in(each, items)]


def _is_in(letter: str, items: Any) -> bool:
    for code, value in items:
        if code is codes.LITERAL and ord(letter) == value:
            return True
        if code is codes.RANGE and value[0] <= ord(letter) <= value[1]:
            return True
        if code is codes.CATEGORY and letter in {**_SETS, **_UNSETS}.get(value, ""):
            return True
    return False


def _chooser() -> Chooser:
    """The same choices every time: a decision draws no lots."""
    state = 0x2545F491

    def choose(count: int) -> int:
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 33) % count

    return choose
