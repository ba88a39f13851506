"""How many pods each ReplicaSet of a Deployment shall have next: pure arithmetic over what was seen.

Words: the new set is the one with the Deployment's template, all others are old; a set is active when it shall have
pods. Percentages of surge round up and those of unavailability round down.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from fractions import Fraction

from msgspec import Struct

from kubeloop.go_json import go_json
from kubeloop.objects.apps import DEPLOYMENTS, REPLICASETS
from kubeloop.objects.meta import LabelSelector, LabelSelectorRequirement
from kubesim.controllers.replicas import TEMPLATE_HASH, ReplicaSet, SetMeta, Tree, owner_reference
from kubesim.controllers.revisions import hash_of

REVISION = "deployment.kubernetes.io/revision"
REVISION_HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MOST = "deployment.kubernetes.io/max-replicas"
OWN_ANNOTATIONS = (
    "kubectl.kubernetes.io/last-applied-configuration",
    "deprecated.deployment.rollback.to",
    REVISION,
    REVISION_HISTORY,
    DESIRED,
    MOST,
)
"""Not copied from a Deployment to its sets."""

NO_LIMIT = 2**31 - 1
"""A history limit or a deadline of this size is none."""
LONGEST_HISTORY = 2000
"""Characters in the annotation of the revisions that a set has been."""
LONGEST_NAME = 253
_BEGINNING = datetime.min.replace(tzinfo=UTC)


class RollingUpdate(Struct, frozen=True, rename="camel", gc=False):
    max_surge: int | str = 0
    max_unavailable: int | str = 0


class Strategy(Struct, frozen=True, rename="camel"):
    type: str = "RollingUpdate"
    rolling_update: RollingUpdate | None = None


class Spec(Struct, frozen=True, rename="camel"):
    selector: LabelSelector
    template: Tree
    replicas: int = 1
    strategy: Strategy = Strategy()
    min_ready_seconds: int = 0
    paused: bool = False
    revision_history_limit: int = NO_LIMIT
    progress_deadline_seconds: int = NO_LIMIT

    @property
    def rolls(self) -> bool:
        return self.strategy.type == "RollingUpdate"

    @property
    def has_deadline(self) -> bool:
        return self.progress_deadline_seconds != NO_LIMIT


class Condition(Struct, frozen=True, rename="camel", omit_defaults=True):
    type: str
    status: str
    reason: str = ""
    message: str = ""
    last_update_time: datetime | None = None
    last_transition_time: datetime | None = None


class Status(Struct, frozen=True, rename="camel", omit_defaults=True):
    """Written as the real one is: what is zero is left out, but for the pods that are going, once they are counted."""

    observed_generation: int = 0
    replicas: int = 0
    updated_replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    unavailable_replicas: int = 0
    terminating_replicas: int | None = None
    collision_count: int | None = None
    conditions: tuple[Condition, ...] = ()


class Deployment(Struct, frozen=True):
    metadata: SetMeta
    spec: Spec
    status: Status = Status()

    @property
    def size(self) -> int:
        return self.spec.replicas


class Resize(Struct, frozen=True):
    """A set and the size it shall have."""

    set: ReplicaSet
    size: int


def by_age(sets: Iterable[ReplicaSet]) -> list[ReplicaSet]:
    """Oldest first."""
    return sorted(sets, key=lambda each: (each.metadata.creation_timestamp or _BEGINNING, each.metadata.name))


def active(sets: Iterable[ReplicaSet]) -> list[ReplicaSet]:
    return [each for each in sets if each.size > 0]


def total_size(sets: Iterable[ReplicaSet]) -> int:
    return sum(each.size for each in sets)


def total_available(sets: Iterable[ReplicaSet]) -> int:
    return sum(each.status.available_replicas for each in sets)


def limits(spec: Spec) -> tuple[int, int]:
    """How many pods more than wanted there may be, and how many fewer available.

    Of 10 pods `25%` are 3 of surge and 2 unavailable; of 2 pods they are 1 and 0.
    """
    if not spec.rolls:
        return 0, 0
    rolling = spec.strategy.rolling_update or RollingUpdate()
    surge = math.ceil(_share(rolling.max_surge, spec.replicas))
    unavailable = math.floor(_share(rolling.max_unavailable, spec.replicas))
    if not surge and not unavailable:
        unavailable = 1  # rounding must not leave a rollout without room to move
    return surge, min(unavailable, spec.replicas)


def _share(value: int | str, whole: int) -> Fraction:
    """A number, or a percentage of the whole."""
    return Fraction(value) if isinstance(value, int) else Fraction(value.removesuffix("%")) * whole / 100


def new_set(deployment: Deployment, sets: Iterable[ReplicaSet]) -> ReplicaSet | None:
    """The oldest that has the Deployment's template."""
    template = without_hash(deployment.spec.template)
    return next((each for each in by_age(sets) if without_hash(each.spec.template) == template), None)


def without_hash(template: Tree) -> Tree:
    metadata = template.get("metadata")
    if not isinstance(metadata, dict) or TEMPLATE_HASH not in (metadata.get("labels") or {}):
        return template
    labels = {key: value for key, value in metadata["labels"].items() if key != TEMPLATE_HASH}
    return {**template, "metadata": {**metadata, "labels": labels}}


def grown(deployment: Deployment, sets: Iterable[ReplicaSet], size: int) -> int:
    """The size that the new set may have; `size` is what it has, `sets` are all there are, the new one included."""
    if not deployment.spec.rolls:
        return deployment.size
    room = deployment.size + limits(deployment.spec)[0] - total_size(sets)
    return size + min(room, deployment.size - size) if room > 0 else size


def removable(deployment: Deployment, sets: Iterable[ReplicaSet], new: ReplicaSet) -> int:
    """How many pods of old sets may go at most.

    Of 10 wanted, 2 unavailable and 13 there, of which the new set's 5 are not available: 13 - 8 - 5 = 0.
    """
    least = deployment.size - limits(deployment.spec)[1]
    return total_size(sets) - least - (new.size - new.status.available_replicas)


def unhealthy(old: Iterable[ReplicaSet], most: int) -> list[Resize]:
    """Old sets without their pods that are not available, oldest set first: losing those costs nothing."""
    plan = []
    for each in by_age(active(old)):
        count = min(most, each.size - each.status.available_replicas)
        if count > 0:
            plan.append(Resize(each, each.size - count))
            most -= count
    return plan


def replaced(deployment: Deployment, old: Iterable[ReplicaSet], new: ReplicaSet) -> list[Resize]:
    """Old sets without as many pods as are available beyond the least, oldest set first."""
    least = deployment.size - limits(deployment.spec)[1]
    old = active(old)
    surplus = total_available([*old, new]) - least
    plan = []
    for each in by_age(old):
        count = min(surplus, each.size)
        if count > 0:
            plan.append(Resize(each, each.size - count))
            surplus -= count
    return plan


def active_or_latest(new: ReplicaSet | None, old: Sequence[ReplicaSet]) -> ReplicaSet | None:
    """The one set that a change of size concerns; None when several are active, or there is none at all."""
    there = active([*old, *([new] if new is not None else [])])
    if len(there) > 1:
        return None
    return there[0] if there else new or next(reversed(by_age(old)), None)


def is_saturated(deployment: Deployment, new: ReplicaSet | None) -> bool:
    """Whether the new set has all pods that are wanted, and they are available."""
    if new is None:
        return False
    size = deployment.size
    said = new.metadata.annotations.get(DESIRED)
    return said == str(size) and new.size == size and new.status.available_replicas == size


def in_proportion(deployment: Deployment, sets: Iterable[ReplicaSet]) -> list[Resize]:
    """Every active set with its share of a new size, so that a change of size does not hasten a rollout.

    From 10 to 15 wanted with a surge of 3, sets of 8 and 5 (of 13 at most) become 11 and 7 of 18: 8 x 18 / 13 = 11.1.
    The largest set takes what rounding leaves over.
    """
    sets = active(sets)
    most = deployment.size + limits(deployment.spec)[0] if deployment.size else 0
    change = most - total_size(sets)
    # Of two sets of one size the newer grows first and the older shrinks first.
    ordered = by_age(sets) if change < 0 else by_age(sets)[::-1]
    ordered.sort(key=lambda each: -each.size)
    sizes, left = [], change
    for each in ordered:
        part = _part(deployment, each) if left else 0
        part = min(part, left) if change > 0 else max(part, left)
        sizes.append(each.size + part)
        left -= part
    if ordered:
        sizes[0] = max(sizes[0] + left, 0)
    return [Resize(each, size) for each, size in zip(ordered, sizes, strict=True)]


def _part(deployment: Deployment, set_: ReplicaSet) -> int:
    """What a set gains or loses so that its share of the whole stays the same."""
    if not deployment.size:
        return -set_.size
    most = deployment.size + limits(deployment.spec)[0]
    before = number(set_.metadata.annotations.get(MOST)) or deployment.status.replicas
    return _rounded(Fraction(set_.size * most, before)) - set_.size if before else 0


def _rounded(value: Fraction) -> int:
    """To the nearest number, halves away from zero."""
    return math.floor(value + Fraction(1, 2)) if value >= 0 else math.ceil(value - Fraction(1, 2))


def number(text: str | None) -> int | None:
    """A count in an annotation; None when it is absent or none."""
    return int(text) if text and text.isascii() and text.isdecimal() and int(text) <= NO_LIMIT else None


def is_resized(deployment: Deployment, sets: Iterable[ReplicaSet]) -> bool:
    """Whether an active set was last told another size of the Deployment."""
    told = (number(each.metadata.annotations.get(DESIRED)) for each in active(sets))
    return any(each is not None and each != deployment.size for each in told)


def last_revision(sets: Iterable[ReplicaSet]) -> int:
    return max((number(each.metadata.annotations.get(REVISION)) or 0 for each in sets), default=0)


def size_annotations(deployment: Deployment) -> dict[str, str]:
    """What a set is told of the size of the whole."""
    return {DESIRED: str(deployment.size), MOST: str(deployment.size + limits(deployment.spec)[0])}


def annotations_of(deployment: Deployment, known: dict[str, str], revision: int) -> dict[str, str]:
    """The annotations of the new set: the Deployment's, and its number, which never falls."""
    given = deployment.metadata.annotations
    made = known | {key: value for key, value in given.items() if key not in OWN_ANNOTATIONS}
    before = known.get(REVISION, "")
    if before and number(before) is None:
        return made
    if (number(before) or 0) < revision:
        made[REVISION] = str(revision)
        if before:
            made[REVISION_HISTORY] = _history(known.get(REVISION_HISTORY, ""), before)
    return made


def _history(known: str, revision: str) -> str:
    """The numbers that a set has had before, the oldest dropped where they become too many."""
    numbers = [*(known.split(",") if known else ()), revision]
    while len(",".join(numbers)) > LONGEST_HISTORY:
        del numbers[0]
    return ",".join(numbers)


def surplus_sets(old: Iterable[ReplicaSet], limit: int) -> list[ReplicaSet]:
    """Old sets beyond the history limit that have no pods and will have none, lowest revision first."""
    if limit == NO_LIMIT:
        return []
    alive = by_age(each for each in old if each.metadata.deletion_timestamp is None)
    alive.sort(key=lambda each: number(each.metadata.annotations.get(REVISION)) or 0)
    beyond = alive[: max(len(alive) - limit, 0)]
    return [each for each in beyond if not each.size and not each.count and _is_observed(each)]


def _is_observed(set_: ReplicaSet) -> bool:
    return set_.metadata.generation <= set_.status.observed_generation


def _expression(requirement: LabelSelectorRequirement) -> Tree:
    said: Tree = {"key": requirement.key, "operator": requirement.operator}
    return said | {"values": list(requirement.values)} if requirement.values else said


def new_set_tree(deployment: Deployment, collisions: int, revision: int, size: int) -> tuple[str, Tree]:
    """The set for the Deployment's template, and its name, which follows from the template."""
    template, meta = deployment.spec.template, deployment.metadata
    hashed = hash_of(go_json(template), collisions)
    name = f"{meta.name[: LONGEST_NAME - len(hashed) - 1]}-{hashed}"
    given = template.get("metadata")
    given = given if isinstance(given, dict) else {}
    labels = {**(given.get("labels") or {}), TEMPLATE_HASH: hashed}
    selector: Tree = {"matchLabels": {**deployment.spec.selector.match_labels, TEMPLATE_HASH: hashed}}
    if deployment.spec.selector.match_expressions:
        selector["matchExpressions"] = [_expression(each) for each in deployment.spec.selector.match_expressions]
    spec: Tree = {
        "replicas": size,
        "selector": selector,
        "template": {**template, "metadata": {**given, "labels": labels}},
    }
    if deployment.spec.min_ready_seconds:
        spec["minReadySeconds"] = deployment.spec.min_ready_seconds
    tree: Tree = {
        "apiVersion": REPLICASETS.api_version,
        "kind": REPLICASETS.kind,
        "metadata": {
            "name": name,
            "namespace": meta.namespace,
            "labels": labels,
            "annotations": annotations_of(deployment, {}, revision) | size_annotations(deployment),
            "ownerReferences": [owner_reference(DEPLOYMENTS, meta)],
        },
        "spec": spec,
    }
    return name, tree
