"""What is done with CloneSets in the scenes that are recorded of OpenKruise's manager."""

from __future__ import annotations

from typing import Any

from kubesim.standins.cloneset_plan import SPECIFIED_DELETE
from tests.kubesim.controllers.acting import Scenario, at, both, changed, ended, image, made, older, started
from tests.kubesim.controllers.scenes import Action, Scene

IN_PLACE = "InPlaceIfPossible"


def clones(replicas: int, **strategy: Any) -> Action:
    return made("cs", replicas=replicas, updateStrategy=strategy)


def strategy(**values: Any) -> Action:
    return changed("cs", updateStrategy=values)


def labelled(**labels: str) -> Action:
    """Pods get other labels by their template."""
    return changed("cs", template={"metadata": {"labels": labels}})


def naming(index: int, **spec: Any) -> Action:
    """The pod that is so many-th in age is named for deletion."""

    async def act(scene: Scene) -> None:
        await scene.change("cs", scaleStrategy={"podsToDelete": [scene.pods()[index]]}, **spec)

    return act


CLONES: dict[str, Scenario] = {
    "scaled up and down": (
        clones(2),
        started(),
        changed("cs", replicas=4),
        started(1),
        changed("cs", replicas=1),
        changed("cs", replicas=0),
    ),
    "a partition in numbers": (
        clones(5, partition=5, maxUnavailable=2),
        started(),
        image("cs", "2"),
        strategy(partition=4),
        started(),
        strategy(partition=2),
        started(),
        strategy(partition=3),
        strategy(partition=0),
        started(),
        ended("cs"),
    ),
    "a partition in percent": (
        clones(4, partition="100%", maxUnavailable="50%"),
        started(),
        image("cs", "2"),
        strategy(partition="99%"),
        started(),
        strategy(partition="50%"),
        started(),
        strategy(partition="0%"),
        started(),
    ),
    "paused, then the rest": (
        clones(3),
        started(),
        both(strategy(paused=True), image("cs", "2")),
        changed("cs", replicas=4),
        started(),
        strategy(paused=False, maxUnavailable=4),
        started(),
    ),
    "paused with a partition": (
        clones(3, paused=True, partition=3),
        started(),
        image("cs", "2"),
        strategy(paused=False),
        strategy(partition=2),
        started(),
        strategy(paused=True, partition=0),
        strategy(paused=False),
        started(),
        started(),
    ),
    "one at a time": (
        clones(3, maxUnavailable=1),
        started(),
        image("cs", "2"),
        started(),
        started(),
        started(),
    ),
    "who is not ready goes first": (
        clones(3, maxUnavailable=1),
        started(2),
        image("cs", "2"),
        started(),
        started(),
        started(),
    ),
    "one more before one less": (
        clones(2, maxSurge=1, maxUnavailable=0),
        started(),
        image("cs", "2"),
        started(),
        started(),
        ended("cs"),
    ),
    "one more with a partition": (
        clones(3, maxSurge=1, maxUnavailable=0, partition=2),
        started(),
        image("cs", "2"),
        started(),
        strategy(partition=0),
        started(),
        started(),
    ),
    "ready for a while": (
        made("cs", replicas=2, minReadySeconds=1, updateStrategy={"maxUnavailable": 1}),
        started(),
        image("cs", "2"),
        started(),
        started(),
    ),
    "pods that are named": (
        clones(3),
        started(),
        naming(1, replicas=2),
        naming(0),
        started(),
        at(0, "label", {SPECIFIED_DELETE: "true"}),
        started(),
    ),
    "named before others at a partition": (
        clones(3, partition=2),
        started(),
        image("cs", "2"),
        started(),
        naming(0, replicas=2),
        changed("cs", replicas=1),
    ),
    "in place": (
        clones(3, type=IN_PLACE, maxUnavailable=2),
        started(),
        image("cs", "2"),
        started(),
        started(),
        image("cs", "1"),
        started(),
        started(),
    ),
    "in place with a partition": (
        clones(3, type=IN_PLACE, partition=3),
        started(),
        image("cs", "2"),
        strategy(partition=2),
        started(),
        strategy(partition=0),
        started(),
        started(),
    ),
    "labels in place, and what cannot be": (
        clones(2, type=IN_PLACE, maxUnavailable=2),
        started(),
        labelled(more="1"),
        started(),
        changed("cs", template={"spec": {"hostname": "h"}}),
        started(),
    ),
    "in place or not at all": (
        clones(2, type="InPlaceOnly", maxUnavailable=2),
        started(),
        image("cs", "2"),
        started(),
    ),
    "in place before pods run": (
        clones(1, type=IN_PLACE, maxUnavailable=1),
        image("cs", "2"),
        started(),
    ),
    "taken back midway": (
        clones(4, partition=2, maxUnavailable=2),
        started(),
        image("cs", "2"),
        started(),
        image("cs", "1"),
        started(),
        strategy(partition=0),
        started(),
    ),
    "changed again midway": (
        clones(3, maxUnavailable=1),
        started(),
        image("cs", "2"),
        started(),
        image("cs", "3"),
        started(),
        started(),
        started(),
    ),
    "scaled with a partition": (
        clones(3, partition=2),
        started(),
        image("cs", "2"),
        started(),
        changed("cs", replicas=5),
        started(),
        changed("cs", replicas=3),
        changed("cs", replicas=1),
    ),
    "pods that are lost": (
        clones(3),
        started(),
        at(0, "delete_pod"),
        started(),
        at(0, "fail"),
        started(),
    ),
    "a pod that is let go": (
        clones(2),
        started(),
        older(at(0, "label", app="x")),
        started(),
    ),
    "only so many new at once": (
        made("cs", replicas=3, scaleStrategy={"maxUnavailable": 1}),
        started(),
        started(),
        started(),
    ),
    "revisions beyond the limit": (
        made("cs", replicas=1, revisionHistoryLimit=1),
        image("cs", "2"),
        image("cs", "3"),
        image("cs", "4"),
        image("cs", "2"),
    ),
    "deleted without its pods": (clones(2), started(), ended("cs", "Orphan")),
}
