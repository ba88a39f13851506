"""The table of verbs of migrations and upgrades, which are commands: whoever runs one goes on with it or undoes it."""

from __future__ import annotations

from fairlead.core.verb import Instead, Verbs, loaded

_STOP = "Ctrl-C where the command runs ends it; run again it goes on where it was"
_AGAIN = "`fairlead api migrate {name}` goes on where it was; an offline upgrade goes on with `--resume`"

VERBS = Verbs(
    noun="migration",
    find=loaded("fairlead.contracts.apiversions.decide.verbs", "find"),
    rows={
        "pause": Instead(_STOP),
        "resume": Instead(_AGAIN),
        "retry": Instead(_AGAIN),
        "restart": Instead("`fairlead api migrate {name} --force` writes every object again"),
        "promote": Instead(
            "versions go from step to step by commands: `fairlead api serve`, `set-storage`, `migrate`, `deprecate`,"
            " `unserve` and `remove-version`, each with {name}"
        ),
        "abort": Instead(f"{_STOP}; an offline upgrade is undone with `--rollback`"),
        "undo": Instead(
            "`fairlead api set-storage {name} VERSION` and `fairlead api migrate {name}` store objects in the version"
            " before; an offline upgrade is undone with `--rollback`"
        ),
        "history": Instead("`fairlead api status {name}` tells of the last migration, and Events of the CRD of more"),
    },
)
