"""What is done to ordered sets whose pods have claims: by name, one action per step."""

from __future__ import annotations

from tests.kubesim.controllers.acting import PARALLEL, Scenario, changed, claiming, ended, image, ready, retaining

CLAIMING: dict[str, Scenario] = {
    "claims that stay": (
        claiming(replicas=2),
        ready(),
        ready(),
        changed("st", replicas=1),
        changed("st", replicas=2),
        ended("st"),
    ),
    "claims that go with the set": (
        claiming("Delete", replicas=2, podManagementPolicy=PARALLEL),
        ready(),
        changed("st", replicas=1),
        image("st", "2"),
        ready(),
        ended("st"),
    ),
    "claims that go with their place": (
        claiming(scaled="Delete", replicas=2, podManagementPolicy=PARALLEL),
        ready(),
        changed("st", replicas=1),
        changed("st", replicas=2),
        ready(),
        ended("st"),
    ),
    "claims that go with either": (
        claiming("Delete", "Delete", replicas=2),
        ready(),
        ready(),
        changed("st", replicas=1),
        ended("st"),
    ),
    "a policy that changes": (
        claiming(replicas=2, podManagementPolicy=PARALLEL),
        ready(),
        changed("st", **retaining("Delete", "Delete")),
        changed("st", **retaining("Retain", "Delete")),
        changed("st", replicas=1),
        ended("st"),
    ),
    "a claim that is lost while its pod is pending": (
        claiming(replicas=1, podManagementPolicy=PARALLEL),
        lambda scene: scene.delete_claim("data-st-0"),
        changed("st", replicas=2),
        ready(),
        lambda scene: scene.delete_claim("data-st-0"),
        changed("st", replicas=1),
        ended("st"),
    ),
    "a pod without a claim that is taken on": (
        lambda scene: scene.make_pod("st-0", app="st"),
        claiming(replicas=1, podManagementPolicy=PARALLEL),
        ended("st"),
    ),
}
