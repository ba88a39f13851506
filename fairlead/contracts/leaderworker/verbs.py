"""The table of verbs of LeaderWorkerSets."""

from __future__ import annotations

from fairlead.contracts.leaderworker.kinds import NOUN, PAUSED
from fairlead.contracts.leaderworker.verb_options import DIFF, REVISION, TO_REVISION, WITH_NETWORK
from fairlead.core.verb import Instead, Verb, Verbs, loaded

_ROWS = "fairlead.contracts.leaderworker.decide.verbs"

VERBS = Verbs(
    noun="LeaderWorkerSet",
    rolls=NOUN,
    find=loaded(f"{_ROWS}.targets", "find"),
    rows={
        "pause": Verb(
            loaded(f"{_ROWS}.pause", "pause"),
            f"Sets the annotation {PAUSED} on the LeaderWorkerSet: no group of it is updated and none is removed until"
            " it is resumed. Groups that are on their way finish, and one that fails is recreated.",
        ),
        "resume": Verb(
            loaded(f"{_ROWS}.pause", "resume"), f"Removes the annotation {PAUSED} from the LeaderWorkerSet."
        ),
        "promote": Instead(
            "groups follow one another by themselves: `fairlead explain {name} -n {namespace}` says what the next one"
            " waits for, `fairlead resume {name} -n {namespace}` ends a pause, and groups below the partition of the"
            " spec move when it is lowered"
        ),
        "abort": Instead(
            "a rollout of groups is taken back with `fairlead undo {name} -n {namespace}`, and stopped where it is with"
            " `fairlead pause {name} -n {namespace}`"
        ),
        "undo": Verb(
            loaded(f"{_ROWS}.undo", "undo"),
            "Puts spec.leaderWorkerTemplate of a LeaderWorkerSet back to that of an earlier revision, which is shown"
            " and asked for first; spec.networkConfig stays unless --with-network is given. The groups then roll as"
            " after any change; groups that never left that revision stay.",
            (TO_REVISION, WITH_NETWORK),
        ),
        "retry": Instead(
            "a rollout of groups goes on by itself when what is in its way is gone: `fairlead explain {name} -n"
            " {namespace}` says what that is, `fairlead restart {name} -n {namespace}` replaces all groups"
        ),
        "restart": Verb(
            loaded(f"{_ROWS}.pause", "restart"),
            "Stamps both pod templates of the LeaderWorkerSet: its groups are replaced by a rolling update within their"
            " budget.",
        ),
        "history": Verb(
            loaded(f"{_ROWS}.history", "history"),
            "Of a LeaderWorkerSet, shows the revisions that are kept: when each was made, how many groups carry it and"
            " which one the spec says; with --revision what one of them stores, and with --diff what differs in it"
            " from another.",
            (REVISION, DIFF),
        ),
    },
)
