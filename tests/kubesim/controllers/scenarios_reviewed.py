"""Scenes in which webhooks review what controllers write."""

from __future__ import annotations

from tests.kubesim.controllers.acting import (
    PARALLEL,
    Scenario,
    absent,
    both,
    changed,
    claiming,
    daemons,
    denying,
    ended,
    labelling,
    late,
    made,
    passing,
    pods_gone,
    ready,
    unlabelling,
)

NEW_PODS = denying("CREATE", "pods")

REVIEWED: dict[str, Scenario] = {
    "a set whose pods are labelled": (
        labelling("7"),
        made("rs", replicas=3),
        ready(),
        changed("rs", replicas=1),
        ended("rs"),
    ),
    "an ordered set whose pods are labelled": (
        labelling("7"),
        made("st", replicas=2),
        ready(1),
        ready(1),
        both(passing, changed("st", replicas=3)),
        ended("st"),
    ),
    "daemons that are labelled": (labelling("7"), daemons(), ready(), ended("da")),
    "a rollout whose pods are labelled": (labelling("7"), made("de", replicas=2), ready(), ended("de")),
    "a set whose pods are refused": (
        NEW_PODS,
        made("rs", replicas=3),
        both(passing, changed("rs", replicas=2)),
        ended("rs"),
    ),
    "an ordered set whose pods are refused": (
        NEW_PODS,
        made("st", replicas=2),
        both(passing, changed("st", replicas=1)),
        ended("st"),
    ),
    "daemons that are refused": (NEW_PODS, daemons(), ended("da")),
    "a rollout whose pods are refused": (NEW_PODS, made("de", replicas=2), ended("de")),
    "an ordered set whose pods a policy denies": (
        lambda scene: scene.forbid_pods(),
        made("st", replicas=2),
        both(passing, changed("st", replicas=1)),
        ended("st"),
    ),
    "a parallel set of which one pod is refused": (
        denying("CREATE", "pods", "st-1"),
        made("st", replicas=5, podManagementPolicy=PARALLEL),
        both(passing, changed("st", replicas=6)),
        ended("st"),
    ),
    "a rollout whose set is refused": (
        denying("CREATE", "replicasets"),
        made("de", replicas=1),
        both(passing, changed("de", replicas=2)),
        ended("de"),
    ),
    "revisions that are refused": (
        denying("CREATE", "controllerrevisions"),
        made("st", replicas=1),
        both(passing, changed("st", replicas=2)),
        ended("st"),
    ),
    "claims that are refused": (
        denying("CREATE", "persistentvolumeclaims"),
        claiming(replicas=1),
        both(passing, changed("st", replicas=2)),
        ended("st"),
    ),
    "a status that is refused": (
        denying("UPDATE", "statefulsets/status"),
        made("st", replicas=2, podManagementPolicy=PARALLEL),
        both(passing, changed("st", replicas=3)),
        ended("st"),
    ),
    "pods of a set that may not be deleted": (
        made("rs", replicas=2),
        denying("DELETE", "pods"),
        changed("rs", replicas=1),
        both(passing, changed("rs", replicas=0)),
        ended("rs"),
    ),
    "pods of an ordered set that may not be deleted": (
        made("st", replicas=3, podManagementPolicy=PARALLEL),
        denying("DELETE", "pods", "st-1"),
        changed("st", replicas=0),
        both(passing, changed("st", revisionHistoryLimit=5)),
        ended("st"),
    ),
    "garbage that may not be deleted": (
        made("rs", replicas=1),
        denying("DELETE", "pods"),
        ended("rs"),
        both(passing, pods_gone),
    ),
    "pods that lose the label of their set": (unlabelling("app"), made("st", replicas=1), ended("st")),
    "a webhook that is not there and not needed": (absent("Ignore"), made("rs", replicas=2), ended("rs")),
    "a webhook that is not there and needed": (absent("Fail"), made("rs", replicas=2), ended("rs")),
    "a webhook that is late and not needed": (late("Ignore"), made("rs", replicas=3), ended("rs")),
    "a webhook that is late and needed": (late("Fail"), made("st", replicas=1), ended("st")),
}
