"""What a server says of an object that it refuses, without values: they may be secret, and differ between objects.

Whatever the schema says itself is kept: bounds, values that are allowed, messages of its rules. All other texts in
quotes and all other numbers go. A message that a rule computes, or that a webhook words, may say a value without
quotes: there the words of the object go as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from fairlead.contracts.apiversions.decide.pointers import RESERVED
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.core.differences import leaves

HIDDEN = "…"
_SHOWS_VALUE = re.compile(r"\b(?P<kind>Invalid value|Unsupported value|Duplicate value|Not found): ")
_INDEX = re.compile(r"\[\d+\]")
_QUOTED = r'"(?:[^"\\]|\\.)*"|`[^`]*`|(?<!\w)\'[^\']*\'(?!\w)'
_NUMBER = r"(?<![\w./-])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?!\w)"
_SAID = re.compile(f"{_QUOTED}|{_NUMBER}")
_WORDS = re.compile(r"\w+")
SHORTEST_WORD = 4
"""Of a longer text: those below are mostly no secrets, and often words of the sentence."""
_OPENING, _CLOSING = "{[(", "}])"
COMPUTED = "messageExpression"
WEBHOOK = "denied the request"


def without_values(why: str, schema: Mapping[str, Any], tree: Tree) -> str:
    """`schema` is that of the version which was refused, `tree` the object in any version."""
    known = frozenset(_scalars(schema))
    text = _SAID.sub(lambda found: _kept(found[0], known), _INDEX.sub("[*]", _without_refused(why)))
    own = _own_words(tree, parts=COMPUTED in known or WEBHOOK in why)
    for word in sorted(own - {word for each in known for word in (each, *_WORDS.findall(each))}, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", HIDDEN, text)
    return text


def _without_refused(why: str) -> str:
    """Without the value that each sentence begins with: `Invalid value: 5: should be less than 3`."""
    text, start = "", 0
    while found := _SHOWS_VALUE.search(why, start):
        text += why[start : found.start()]
        start = _value_end(why, found.end())
        if text or start == len(why):
            text += found["kind"] + ": " * (start < len(why))
    return text + why[start:]


def _value_end(why: str, start: int) -> int:
    """Where the sentence goes on behind the value; at the end where nothing follows."""
    depth, place = 0, start
    while place < len(why):
        quoted = re.compile(_QUOTED).match(why, place)
        if quoted is not None:
            place = quoted.end()
        elif not depth and why.startswith(": ", place):
            return place + 2
        else:
            depth += (why[place] in _OPENING) - (why[place] in _CLOSING)
            place += 1
    return len(why)


def _kept(said: str, known: frozenset[str]) -> str:
    return said if said in known or said[1:-1] in known else HIDDEN


def _scalars(schema: object) -> Iterator[str]:
    """All that a definition says, as a message would repeat it."""
    match schema:
        case dict():
            yield from (text for key, value in schema.items() for text in (key, *_scalars(value)))
        case list():
            yield from (text for each in schema for text in _scalars(each))
        case str():
            yield schema
        case int() | float():
            yield f"{schema:g}" if isinstance(schema, float) else str(schema)


def _own_words(tree: Tree, *, parts: bool) -> set[str]:
    """Texts of the object; with `parts` the words in them, too."""
    body = {key: value for key, value in tree.items() if key not in RESERVED}
    texts = {value for _, value in leaves(body) if isinstance(value, str) and len(value) > 1}
    inside = (word for text in texts for word in _WORDS.findall(text)) if parts else ()
    return texts | {word for word in inside if len(word) >= SHORTEST_WORD}
