"""Options that verbs of plans have beside those of all verbs."""

from __future__ import annotations

from fairlead.core.verb import VerbOption

FULL = VerbOption("--full", "of a plan: open all of its gates, not only the next")
REVERT = VerbOption("--revert", "of a plan: take everything back to the source, too")
TO_SOURCE = VerbOption("--to-source", "of a plan with several sources: the one to go back to", "NAME")
TO_BATCH = VerbOption("--to-batch", "of a plan: open its gates so that this batch is rolled, counted from 0", "N")
