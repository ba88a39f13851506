"""What is done in the scenes that are recorded: by file of recordings and name, one action per step.

What a cluster made of each step is in `recorded_*`, which `python -m tools.traces` writes.
"""

from __future__ import annotations

from kubesim.standins.cloneset_plan import CLONESETS
from tests.kubesim.controllers.acting import (
    PARALLEL,
    Scenario,
    at,
    both,
    changed,
    daemons,
    ended,
    family,
    image,
    made,
    on,
    ready,
    rolling,
)
from tests.kubesim.controllers.scenarios_claims import CLAIMING
from tests.kubesim.controllers.scenarios_clones import CLONES
from tests.kubesim.controllers.scenarios_reviewed import REVIEWED
from tests.kubesim.controllers.scenarios_sets import DAEMONS, ORDERED_SETS, REPLICAS, ROLLOUTS

BUDGETS: dict[str, Scenario] = {
    "a number that must be available": (
        made("rs", replicas=2),
        lambda scene: scene.make_budget("rs", minAvailable=1),
        ready(1),
        ready(1),
        at(0, "evict"),
        lambda scene: scene.evict(scene.pods(ready=True)[0]),
        ready(),
        ended("pb"),
        ended("rs"),
    ),
    "a share of a rollout that may be missing": (
        made("de", replicas=3),
        lambda scene: scene.make_budget("de", maxUnavailable="34%"),
        ready(2),
        ready(1),
        changed("de", replicas=5),
        ready(),
        ended("pb"),
        ended("de"),
    ),
    "one missing of an ordered set": (
        made("st", replicas=2, podManagementPolicy=PARALLEL),
        lambda scene: scene.make_budget("st", maxUnavailable=1),
        ready(),
        lambda scene: scene.evict("st-0"),
        lambda scene: scene.evict("st-1"),
        ready(),
        ended("pb"),
        ended("st"),
    ),
    "daemons, which have no scale": (
        daemons(),
        ready(),
        lambda scene: scene.make_budget("da", maxUnavailable=1),
        on("n1", "evict"),
        changed("pb", maxUnavailable=None, minAvailable=1),
        on("n1", "evict"),
        ended("pb"),
        ended("da"),
    ),
    "pods that nobody controls": (
        lambda scene: scene.make_pod("one", app="x"),
        lambda scene: scene.make_pod("two", app="x"),
        lambda scene: scene.make_budget("x", minAvailable=1),
        ready(),
        changed("pb", minAvailable="50%"),
        changed("pb", minAvailable=2),
        lambda scene: scene.evict("one"),
        changed("pb", minAvailable=0),
        lambda scene: scene.evict("one"),
        ended("pb"),
    ),
    "no pods at all": (
        lambda scene: scene.make_budget("nobody", minAvailable=0),
        changed("pb", minAvailable=2),
        ended("pb"),
    ),
    "pods that are not ready": (
        made("rs", replicas=2),
        ready(),
        lambda scene: scene.make_budget("rs", minAvailable=2),
        at(0, "set_ready", "False"),
        lambda scene: scene.evict(scene.pods(ready=False)[0]),
        changed("pb", unhealthyPodEvictionPolicy="AlwaysAllow"),
        lambda scene: scene.evict(scene.pods(ready=False)[0]),
        ended("pb"),
        ended("rs"),
    ),
    "two budgets for one pod": (
        lambda scene: scene.make_pod("one", app="x"),
        ready(),
        both(
            lambda scene: scene.make_budget("x", minAvailable=0),
            lambda scene: scene.make_budget("x", "second", minAvailable=0),
        ),
        lambda scene: scene.evict("one"),
        ended("pb"),
    ),
    "an evicted pod that takes its time": (
        made("rs", replicas=2, finalizers=("test/hold",)),
        ready(),
        lambda scene: scene.make_budget("rs", maxUnavailable=1),
        at(0, "evict"),
        lambda scene: scene.release(),
        ready(),
        ended("pb"),
        ended("rs", "Orphan"),
    ),
    "pods of a set that rolls": (
        made("de", replicas=2, strategy=rolling(maxSurge=1, maxUnavailable=0)),
        ready(),
        lambda scene: scene.make_budget("de", minAvailable="50%"),
        image("de", "2"),
        ready(),
        ready(),
        ended("pb"),
        ended("de"),
    ),
}

GARBAGE: dict[str, Scenario] = {
    "in the background": (family("a", "b", "c"), ended("a")),
    "in the foreground, dependents first": (family("a", "b", "c", blocking=True), ended("a", "Foreground")),
    "in the foreground, waiting for one that is held": (
        family("a", "b", blocking=True, held="b"),
        ended("a", "Foreground"),
        lambda scene: scene.hold("b"),
    ),
    "in the foreground, without those that block nothing": (
        family("a", "b", held="b"),
        ended("a", "Foreground"),
        lambda scene: scene.hold("b"),
    ),
    "leaving dependents behind": (family("a", "b", "c"), ended("a", "Orphan"), ended("b")),
    "one owner of two": (
        both(family("a"), family("b"), lambda scene: scene.make_thing("c", "a", "b")),
        ended("a"),
        ended("b"),
    ),
    "one owner of two, in the foreground": (
        both(family("a"), family("b"), lambda scene: scene.make_thing("c", "a", "b", blocking=True)),
        ended("a", "Foreground"),
        ended("b"),
    ),
    "an owner that is held": (
        family("a", "b", held="a"),
        ended("a"),
        lambda scene: scene.hold("a"),
    ),
    "a rollout, its sets and its pods": (
        made("de", replicas=2),
        ended("de", "Foreground"),
    ),
}

SCENARIOS: dict[str, dict[str, Scenario]] = {
    "recorded_daemons": DAEMONS,
    "recorded_replicas": REPLICAS,
    "recorded_ordered": ORDERED_SETS,
    "recorded_claims": CLAIMING,
    "recorded_deployments": ROLLOUTS,
    "recorded_budgets": BUDGETS,
    "recorded_garbage": GARBAGE,
    "recorded_reviewed": REVIEWED,
    "recorded_clones": CLONES,
}
"""By the module that holds the recordings."""
OF_OTHERS = {"recorded_clones": (CLONESETS,)}
"""Those about kinds of others, whose own manager runs them on a real control plane."""
