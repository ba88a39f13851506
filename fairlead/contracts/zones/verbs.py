"""The table of verbs of zones."""

from __future__ import annotations

from datetime import datetime

from fairlead.contracts.zones.decide.verbs.history import history
from fairlead.contracts.zones.decide.verbs.pause import pause, resume
from fairlead.contracts.zones.decide.verbs.restart import ZONE, restart
from fairlead.contracts.zones.decide.verbs.targets import TargetGroup, group_named
from fairlead.contracts.zones.decide.verbs.undo import TO_REVISION, undo
from fairlead.contracts.zones.kinds import PAUSED, ROTATE
from fairlead.core.ask import Answers, Need
from fairlead.core.verb import Instead, Verb, VerbRequest, Verbs


def find(request: VerbRequest, answers: Answers, _: datetime) -> bool | Need:
    found = group_named(request, answers, by_zone=True)
    return found if isinstance(found, Need) else isinstance(found, TargetGroup)


VERBS = Verbs(
    noun="group of zones",
    find=find,
    rows={
        "pause": Verb(
            pause,
            f"Sets the annotation {PAUSED} on every StatefulSet of the group: none of its pods is deleted and no"
            " revision recorded until it is resumed. Pods that are on their way finish.",
        ),
        "resume": Verb(resume, f"Removes the annotation {PAUSED} from every StatefulSet of the group."),
        "promote": Instead(
            "zones follow one another by themselves when the one before is ready: `fairlead explain {name} -n"
            " {namespace}` says what the next one waits for, `fairlead resume {name} -n {namespace}` ends a pause"
        ),
        "abort": Instead(
            "a rollout of zones is taken back with `fairlead undo {name} -n {namespace}`, and stopped where it is with"
            " `fairlead pause {name} -n {namespace}`"
        ),
        "undo": Verb(
            undo,
            "Puts the pod templates of all zones back to those of an earlier revision of the group, which is shown and"
            " asked for first. The zones then roll as after any change; pods that never left that revision stay.",
            (TO_REVISION,),
        ),
        "retry": Instead(
            "a rollout of zones goes on by itself when what is in its way is gone: `fairlead explain {name} -n"
            " {namespace}` says what that is, `fairlead restart {name} -n {namespace}` replaces pods"
        ),
        "restart": Verb(
            restart,
            f"Marks the pods of the group with the label {ROTATE}: they are replaced like outdated ones, zone by zone"
            " and within their budgets.",
            (ZONE,),
        ),
        "history": Verb(
            history,
            "Shows the revisions of the group, the newest first: when each was made, which zones want it, how many pods"
            " of each zone run it, and what changed in the pod template.",
        ),
    },
)
