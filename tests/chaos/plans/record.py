"""Rollouts and workloads as they are, and what each attempt has come to, kept from the cluster's history."""

from __future__ import annotations

from collections import defaultdict

from msgspec import Struct, field

from kubesim.store.versions import Tree
from tests.chaos.plans.facts import ON_NODES, ORDINALS, PAIR, PARTITION, RolloutFact, WorkloadFact, app_of, is_ready

WORKLOADS = (PAIR, ORDINALS, PARTITION, ON_NODES)
Place = tuple[str, str]
"""Plural and name."""


class Attempt(Struct):
    """What happened since a rollout began anew."""

    is_disturbed: bool = False
    """Whether somebody else changed sizes, claims or the plan in ways that fail a rollout."""
    most: int = 0
    """Pods of all its workloads when the first batch began."""
    accepted: set[tuple[int, str]] = field(default_factory=set)
    """Batches and types of hooks that were accepted."""


class Record:
    def __init__(self) -> None:
        self.rollouts: dict[str, list[RolloutFact]] = {}
        """By UID: every version of those that are there, the newest last."""
        self.workloads: dict[Place, list[WorkloadFact]] = {}
        """Likewise, by place."""
        self.trees: dict[Place, Tree] = {}
        self.pods: dict[str, Tree] = {}
        self.attempts: dict[str, Attempt] = defaultdict(Attempt)
        """By UID of a rollout."""

    def rollout(self, name: str) -> RolloutFact | None:
        return next((each[-1] for each in self.rollouts.values() if each[-1].name == name), None)

    def workload(self, plural: str, name: str) -> WorkloadFact | None:
        found = self.workloads.get((plural, name))
        return None if found is None else found[-1]

    def naming(self, place: Place) -> list[RolloutFact]:
        """Rollouts that work on it."""
        newest = [each[-1] for each in self.rollouts.values()]
        return [each for each in newest if each.plural == place[0] and place[1] in each.workloads]

    def total(self, fact: RolloutFact) -> int | None:
        """Of the sizes of its workloads; None where one of them is missing."""
        found = [self.workload(fact.plural, each) for each in fact.workloads]
        return None if None in found else sum(each.size for each in found if each is not None)

    def ready(self, app: str) -> int:
        return sum(app_of(each) == app and is_ready(each) for each in self.pods.values())

    def new_pods(self, place: Place) -> int:
        """Those that were made from the present template."""
        image = _image(self.trees[place]["spec"]["template"])
        return sum(app_of(each) == place[1] and _image(each) == image for each in self.pods.values())

    def old_staying(self, place: Place) -> int:
        """Those of other templates that nobody has deleted."""
        image = _image(self.trees[place]["spec"]["template"])
        mine = [each for each in self.pods.values() if app_of(each) == place[1] and _image(each) != image]
        return sum("deletionTimestamp" not in each["metadata"] for each in mine)

    def is_new(self, place: Place, pod: Tree) -> bool:
        return _image(pod) == _image(self.trees[place]["spec"]["template"])

    def new_ready(self, place: Place) -> int:
        image = _image(self.trees[place]["spec"]["template"])
        mine = [each for each in self.pods.values() if app_of(each) == place[1] and _image(each) == image]
        return sum(map(is_ready, mine))


def _image(tree: Tree) -> str:
    image: str = tree["spec"]["containers"][0]["image"]
    return image


def since(facts: list[WorkloadFact], version: int) -> list[WorkloadFact]:
    """The newest that is not newer than the version, and all that came after."""
    older = [each for each in facts if each.version <= version]
    return [*older[-1:], *(each for each in facts if each.version > version)]


def rollouts_since(facts: list[RolloutFact], version: int) -> list[RolloutFact]:
    older = [each for each in facts if each.version <= version]
    return [*older[-1:], *(each for each in facts if each.version > version)]
