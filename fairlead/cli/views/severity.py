"""Which waits people must see first."""

from __future__ import annotations

from fairlead.core.explain import Block, Explain

WORST_FIRST = ("failed", "blocked", "invalid", "held", "waiting")


def waits_of(one: Explain) -> list[Block]:
    """Its waits, the worst first, else in their order."""
    return sorted(one.blocked_by, key=weight)


def weight(block: Block) -> int:
    """Less for what is worse; a kind that only a later release has comes last."""
    return WORST_FIRST.index(block.kind) if block.kind in WORST_FIRST else len(WORST_FIRST)
