"""Exit codes of `fairlead`, in the one place that says what they mean."""

from __future__ import annotations

OK = 0
ERROR = 1
USAGE = 2
NOT_FOUND = 3
BLOCKED = 4
INTERRUPTED = 130

MEANINGS: tuple[tuple[int, str], ...] = (
    (OK, "done; for watch and status: every rollout that was watched is complete"),
    (ERROR, "an error: one sentence on standard error says what happened and what would help"),
    (USAGE, "the command line is wrong: unknown command, unknown option or bad value"),
    (
        NOT_FOUND,
        (
            "there is no such rollout or namespace; for watch and status: or nothing to watch, or it is gone; "
            "for replay: no round was decided by the rule"
        ),
    ),
    (
        BLOCKED,
        (
            "watch or status ended early: --timeout passed, or a rollout is blocked or paused (--exit-when-blocked); "
            "for replay: a decision differs"
        ),
    ),
    (INTERRUPTED, "interrupted with Ctrl-C"),
)


def table() -> str:
    """The codes and their meanings as plain text."""
    return "\n".join(f"{code:>4}  {meaning}" for code, meaning in MEANINGS)
