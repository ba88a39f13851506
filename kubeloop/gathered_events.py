"""What has come to be told on one topic while it waits to become one Event.

Things of one kind ("deleted pod a-3", "deleted pod a-4") are counted and named under a text for several of them; other
texts are put after one another. However much comes, little is kept: what has no place is counted.
"""

from __future__ import annotations

from msgspec import Struct

MOST_GATHERED = 50
MOST_NAMED_BYTES = 600
"""Of the names in one text; the rest of an Event's 1024 bytes is for what is said of them."""


class Thing(Struct, frozen=True):
    """One of several: `item` names it, `several` says the same of all with `{count}` and `{items}` in it."""

    several: str
    item: str


class _Things(Struct):
    alone: str
    """The text if there is only one."""
    items: list[str]
    count: int = 1


class Gathered:
    """In the order in which each text, or the first thing of each kind, came."""

    def __init__(self) -> None:
        self.dropped = 0
        """How many texts had no place."""
        self._texts: dict[str, _Things | None] = {}

    def __bool__(self) -> bool:
        return bool(self._texts)

    def add(self, text: str, thing: Thing | None = None) -> None:
        key = thing.several if thing is not None else text
        known = self._texts.get(key)
        if thing is not None and known is not None:
            known.count += 1
            if len(known.items) < MOST_GATHERED:
                known.items.append(thing.item)
        elif key not in self._texts and len(self._texts) >= MOST_GATHERED:
            self.dropped += 1
        else:
            self._texts[key] = _Things(text, [thing.item]) if thing is not None else None

    def text(self) -> str:
        return "; ".join(
            text if things is None else things.alone if things.count == 1 else _spelled(text, things)
            for text, things in self._texts.items()
        )


def _spelled(several: str, things: _Things) -> str:
    """Of 120 pods the names that fit are told, then how many more there are."""
    named: list[str] = []
    room = MOST_NAMED_BYTES
    for item in things.items:
        room -= len(item.encode(errors="replace")) + len(", ")
        if room < 0:
            break
        named.append(item)
    more = things.count - len(named)
    items = ", ".join(named) + (f" and {more} more" if more else "")
    return several.replace("{count}", str(things.count)).replace("{items}", items)
