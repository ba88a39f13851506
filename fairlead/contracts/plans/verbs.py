"""The table of verbs of plans."""

from __future__ import annotations

from fairlead.contracts.plans.kinds import ACTION
from fairlead.contracts.plans.verb_options import FULL, REVERT, TO_BATCH, TO_SOURCE
from fairlead.core.verb import Instead, Verb, Verbs, loaded

_ROWS = "fairlead.contracts.plans.decide.verbs"

VERBS = Verbs(
    noun="RolloutTrait",
    find=loaded(f"{_ROWS}.targets", "find"),
    rows={
        "pause": Verb(
            loaded(f"{_ROWS}.pause", "pause"),
            "Sets spec.rolloutPlan.paused of a plan: nothing is written and nobody is asked until it is resumed. Pods"
            " that are on their way become ready.",
        ),
        "resume": Verb(loaded(f"{_ROWS}.pause", "resume"), "Unsets spec.rolloutPlan.paused of a plan."),
        "promote": Verb(
            loaded(f"{_ROWS}.gates", "promote"),
            "Raises the partition of a plan, lastBatchToRollout or batchPartition, by one batch, so that its next gate"
            " is open; with --to-batch up to that batch, with --full up to its last one.",
            (FULL, TO_BATCH),
        ),
        "abort": Verb(
            loaded(f"{_ROWS}.actions", "abort"),
            f"Asks by the annotation {ACTION} that a plan is given up: its workloads stay as they are and are released;"
            " with --revert they go back first, old pods before new ones go.",
            (REVERT,),
        ),
        "undo": Verb(
            loaded(f"{_ROWS}.undo", "undo"),
            "Exchanges target and source of a plan, in the middle of it or afterwards, which is shown and asked for"
            " first: the pods go back in its batches. What is updated in place has no source to go back to.",
            (TO_SOURCE, FULL),
        ),
        "retry": Verb(
            loaded(f"{_ROWS}.actions", "retry"),
            f"Asks by the annotation {ACTION} that a plan that failed is tried again from where its workloads stand.",
        ),
        "restart": Instead(
            "a plan moves pods from one template to another and restarts none: restart the workload itself with"
            " `kubectl rollout restart`, or name another target in {name}"
        ),
        "history": Verb(
            loaded(f"{_ROWS}.history", "history"),
            "Of a plan, lists what its conditions and its Events tell, attempt by attempt, with who asked for what and"
            " why; a cluster forgets Events after a while.",
        ),
    },
)
