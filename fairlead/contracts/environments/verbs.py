"""The table of verbs of environments.

An environment stores one spec, that which is wanted, and the hash of the one that serves. So there is no pause that
leaves the hash alone, and no earlier spec to go back to.
"""

from __future__ import annotations

from fairlead.contracts.environments.kinds import FORCE_ROLLOUT
from fairlead.core.verb import Instead, Verb, Verbs, loaded

_ROWS = "fairlead.contracts.environments.decide.verbs"
_AGAIN = f"kubectl annotate materialize {{name}} -n {{namespace}} --overwrite {FORCE_ROLLOUT}=$(uuidgen)"

VERBS = Verbs(
    noun="environment",
    find=loaded(_ROWS, "find"),
    rows={
        "pause": Instead(
            "an environment cannot be paused: a rollout with spec.rolloutStrategy ManuallyPromote waits for"
            " `fairlead promote {name} -n {namespace}`, and one that was not promoted is taken back with"
            " `fairlead abort {name} -n {namespace}`"
        ),
        "resume": Instead(
            "an environment is never paused: a generation that waits for approval goes on with"
            " `fairlead promote {name} -n {namespace}`"
        ),
        "promote": Verb(
            loaded(_ROWS, "promote"),
            "Sets spec.forcePromote to the hash of the rollout, status.requestedRolloutHash; it holds for this rollout"
            " alone. A generation that is ready takes over at once. One that is not skips the rest of its catching up"
            " and takes over as soon as its pod runs; users then wait for the rest.",
        ),
        "abort": Verb(
            loaded(_ROWS, "abort"),
            "Puts back the fields of the spec that the serving generation was made from. They are stored nowhere; they"
            " are worked out from the objects of that generation, and taken only if their hash is"
            " status.lastCompletedRolloutHash. Where they cannot be worked out nothing is changed and the code is 1.",
        ),
        "undo": Instead(
            "earlier specs of an environment are stored nowhere: apply the earlier manifest again, or take back a"
            " rollout that was not promoted with `fairlead abort {name} -n {namespace}`"
        ),
        "retry": Instead(f"a rollout that failed is tried again when its spec changes, or with `{_AGAIN}`"),
        "restart": Instead(f"the same spec is rolled out as a new generation with `{_AGAIN}`"),
        "history": Instead(
            "earlier specs of an environment are stored nowhere: `fairlead get -o wide` shows the generation that"
            " serves and the one that comes, your manifests have the rest"
        ),
    },
)
