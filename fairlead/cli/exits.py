"""Exit codes of `fairlead`, in the one place that says what they mean."""

from __future__ import annotations

from fairlead.core import outcome

OK = 0
ERROR = 1
USAGE = 2
NOT_FOUND = 3
BLOCKED = 4
FAILED = 5
REVERTED = 6
GATED = 7
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
    (FAILED, "watch or status ended because a rollout failed: it was given up, or what it needs cannot be done"),
    (REVERTED, "watch or status ended because a rollout was given up and everything is back as it was"),
    (GATED, "watch or status ended because a rollout waits at a gate until somebody lets it go on"),
    (INTERRUPTED, "interrupted with Ctrl-C or SIGTERM; for watch and status: or nobody reads on"),
)


_BY_OUTCOME = {outcome.FAILED: FAILED, outcome.REVERTED: REVERTED, outcome.GATED: GATED}


def of_outcome(word: str) -> int:
    """The code of a watch that a rollout ends which does not go on by itself."""
    return _BY_OUTCOME.get(word, BLOCKED)


def table() -> str:
    """The codes and their meanings as plain text."""
    return "\n".join(f"{code:>4}  {meaning}" for code, meaning in MEANINGS)
