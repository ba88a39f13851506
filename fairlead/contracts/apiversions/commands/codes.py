"""Exit codes of `fairlead api` (section 2.3); those of other commands are others."""

from __future__ import annotations

DONE = 0
ERROR = 1
USAGE = 2
FINDINGS = 3
OBJECTS_FAILED = 4
CHANGED = 5
PRECONDITION = 6
RESUMABLE = 7

MEANINGS: tuple[tuple[int, str], ...] = (
    (DONE, "done"),
    (ERROR, "an error: one sentence on standard error says what happened and what would help"),
    (USAGE, "the command line is wrong"),
    (FINDINGS, "a check found something that blocks, or objects that do not come back as they were"),
    (OBJECTS_FAILED, "it is finished, but some objects failed; they are named"),
    (CHANGED, "the CRD or the cluster changed meanwhile: run the command again"),
    (PRECONDITION, "something must be done first; nothing was written"),
    (RESUMABLE, "interrupted; run the command again and it goes on where it was"),
)
