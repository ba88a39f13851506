"""Options that verbs of zones have beside those of all verbs."""

from __future__ import annotations

from fairlead.core.verb import VerbOption

ZONE = VerbOption("--zone", "restart the pods of this StatefulSet only; may be repeated", "NAME", repeated=True)
TO_REVISION = VerbOption(
    "--to-revision", "a revision that `fairlead history` shows, or a ControllerRevision; default the one before", "N"
)
