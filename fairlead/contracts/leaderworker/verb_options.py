"""Options that verbs of LeaderWorkerSets have beside those of all verbs."""

from __future__ import annotations

from fairlead.core.verb import VerbOption

TO_REVISION = VerbOption(
    "--to-revision", "a revision that `fairlead history` shows, or a ControllerRevision; default the one before", "N"
)
WITH_NETWORK = VerbOption("--with-network", "take spec.networkConfig of a LeaderWorkerSet back as well")
REVISION = VerbOption("--revision", "show what this revision of a LeaderWorkerSet stores", "N")
DIFF = VerbOption("--diff", "with --revision: show what differs in that revision from this one", "M")
