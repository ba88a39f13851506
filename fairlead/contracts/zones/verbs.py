"""The table of verbs of zones."""

from __future__ import annotations

from fairlead.contracts.zones.kinds import PAUSED, ROTATE
from fairlead.contracts.zones.verb_options import TO_REVISION, ZONE
from fairlead.core.verb import Instead, Verb, Verbs, loaded

_ROWS = "fairlead.contracts.zones.decide.verbs"

VERBS = Verbs(
    noun="group of zones",
    find=loaded(f"{_ROWS}.targets", "find"),
    rows={
        "pause": Verb(
            loaded(f"{_ROWS}.pause", "pause"),
            f"Sets the annotation {PAUSED} on every StatefulSet of the group: none of its pods is deleted and no"
            " revision recorded until it is resumed. Pods that are on their way finish.",
        ),
        "resume": Verb(
            loaded(f"{_ROWS}.pause", "resume"), f"Removes the annotation {PAUSED} from every StatefulSet of the group."
        ),
        "promote": Instead(
            "zones follow one another by themselves when the one before is ready: `fairlead explain {name} -n"
            " {namespace}` says what the next one waits for, `fairlead resume {name} -n {namespace}` ends a pause"
        ),
        "abort": Instead(
            "a rollout of zones is taken back with `fairlead undo {name} -n {namespace}`, and stopped where it is with"
            " `fairlead pause {name} -n {namespace}`"
        ),
        "undo": Verb(
            loaded(f"{_ROWS}.undo", "undo"),
            "Puts the pod templates of all zones back to those of an earlier revision of the group, which is shown and"
            " asked for first. The zones then roll as after any change; pods that never left that revision stay.",
            (TO_REVISION,),
        ),
        "retry": Instead(
            "a rollout of zones goes on by itself when what is in its way is gone: `fairlead explain {name} -n"
            " {namespace}` says what that is, `fairlead restart {name} -n {namespace}` replaces pods"
        ),
        "restart": Verb(
            loaded(f"{_ROWS}.restart", "restart"),
            f"Marks the pods of the group with the label {ROTATE}: they are replaced like outdated ones, zone by zone"
            " and within their budgets.",
            (ZONE,),
        ),
        "history": Verb(
            loaded(f"{_ROWS}.history", "history"),
            "Shows the revisions of the group, the newest first: when each was made, which zones want it, how many pods"
            " of each zone run it, and what changed in the pod template.",
        ),
    },
)
