"""Whose word is shown: the operator's, or what the command has worked out and cannot know."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from textwrap import wrap
from typing import TYPE_CHECKING

from fairlead.cli.views.render import Line, short

if TYPE_CHECKING:
    from fairlead.core.explain import Explain, Source

UNKNOWN = "what the operator was answered and when it looks again is not known here"


def said_by(seen: Explain, now: datetime) -> str:
    """A sentence about one document; empty when it does not say whose it is."""
    if not seen.source:
        return ""
    if seen.source.by == "command":
        return f"Worked out by this command, because {seen.source.why}: {UNKNOWN}."
    return f"As the operator says ({_who(seen.source)}, {_age(seen.source, now)})."


def folded(text: str, width: int) -> list[Line]:
    """A sentence below a document."""
    return [(), *(((row, "quiet"),) for row in wrap(text, width))] if text else []


def said_of(seen: Sequence[Explain]) -> list[str]:
    """One sentence for each who speaks in several documents; without times, so that it changes only with them."""
    sources = [one.source for one in seen if one.source]
    names = dict.fromkeys(_who(source) for source in sources if source.by == "operator")
    reasons = dict.fromkeys(source.why for source in sources if source.by == "command")
    heard = [f"as the operator says ({', '.join(names)})"] if names else []
    return [*heard, *(f"worked out by this command, because {why}: {UNKNOWN}" for why in reasons)]


def _who(source: Source) -> str:
    return source.name or "its name is not known"


def _age(source: Source, now: datetime) -> str:
    if source.decided_at is None:
        return "time not known"
    return f"decided {short((now - source.decided_at).total_seconds())} ago"
