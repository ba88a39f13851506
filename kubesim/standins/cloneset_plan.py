"""What a CloneSet (apps.kruise.io/v1alpha1) wants done with its pods, and the status it shows: pure functions.

As OpenKruise has it: `partition` is how many pods stay at older revisions, an update takes no more pods away than
`maxUnavailable` allows and adds no more than `maxSurge`, pods in `podsToDelete` go whatever happens, and a paused set
is scaled but not updated. Pods that are updated already are not taken back when the partition is raised.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from datetime import datetime, timedelta

from msgspec import Struct, to_builtins

from kubeloop.objects.meta import LabelSelector, Meta, Resource

CLONESETS = Resource("apps.kruise.io", "v1alpha1", "clonesets", "CloneSet")
REVISION = "controller-revision-hash"
INSTANCE = "apps.kruise.io/cloneset-instance-id"
MAX_UNAVAILABLE = "20%"
RECREATE = "ReCreate"
_ALWAYS_SHOWN = ("replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "updatedReadyReplicas")

Tree = dict[str, object]
Share = int | str
"""A number, or a percentage of all pods."""


class SetMeta(Meta, frozen=True, rename="camel"):
    generation: int = 0
    annotations: dict[str, str] = {}


class ScaleStrategy(Struct, frozen=True, rename="camel"):
    pods_to_delete: tuple[str, ...] = ()


class UpdateStrategy(Struct, frozen=True, rename="camel"):
    type: str = RECREATE
    partition: Share = 0
    max_unavailable: Share = MAX_UNAVAILABLE
    max_surge: Share = 0
    paused: bool = False


class Spec(Struct, frozen=True, rename="camel"):
    selector: LabelSelector
    template: Tree
    replicas: int = 1
    scale_strategy: ScaleStrategy = ScaleStrategy()
    update_strategy: UpdateStrategy = UpdateStrategy()
    revision_history_limit: int = 10
    min_ready_seconds: int = 0


class Status(Struct, frozen=True, rename="camel", omit_defaults=True):
    replicas: int = 0
    ready_replicas: int = 0
    available_replicas: int = 0
    updated_replicas: int = 0
    updated_ready_replicas: int = 0
    observed_generation: int = 0
    updated_available_replicas: int = 0
    expected_updated_replicas: int = 0
    update_revision: str = ""
    current_revision: str = ""
    collision_count: int | None = None
    label_selector: str = ""

    def shown(self) -> Tree:
        """As it is written: some counts even when they are zero."""
        shown: Tree = dict.fromkeys(_ALWAYS_SHOWN, 0)
        shown |= to_builtins(self)
        return shown


class CloneSet(Struct, frozen=True):
    metadata: SetMeta
    spec: Spec
    status: Status = Status()


class Condition(Struct, frozen=True, rename="camel", gc=False):
    type: str
    status: str
    last_transition_time: datetime | None = None


class PodStatus(Struct, frozen=True):
    phase: str = ""
    conditions: tuple[Condition, ...] = ()


class Pod(Struct, frozen=True):
    metadata: Meta
    status: PodStatus = PodStatus()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def revision(self) -> str:
        return self.metadata.labels.get(REVISION, "")

    @property
    def is_active(self) -> bool:
        return self.metadata.deletion_timestamp is None and self.status.phase not in ("Succeeded", "Failed")

    @property
    def ready_since(self) -> datetime | None:
        """None while it is not ready."""
        ready = next((each for each in self.status.conditions if each.type == "Ready"), None)
        return ready.last_transition_time if ready is not None and ready.status == "True" else None

    def available_at(self, patience: int) -> datetime | None:
        """When it has been ready for so many seconds; None while it is not ready."""
        return None if self.ready_since is None else self.ready_since + timedelta(seconds=patience)


class Plan(Struct, frozen=True):
    """What to do next; pods are of the old revision or of the one that the template says."""

    create_old: int = 0
    create_new: int = 0
    delete: tuple[Pod, ...] = ()
    update: tuple[Pod, ...] = ()


def scaled(share: Share, total: int, *, up: bool) -> int:
    """A number as it is, a percentage of the total rounded up or down: 20% of 3 is 1 or 0."""
    if isinstance(share, int):
        return share
    part = total * int(share.removesuffix("%")) / 100
    return math.ceil(part) if up else math.floor(part)


def kept_old(spec: Spec) -> int:
    """How many pods the partition keeps at older revisions; a percentage below 100 never keeps all of several."""
    partition, total = spec.update_strategy.partition, spec.replicas
    kept = max(0, min(scaled(partition, total, up=True), total))
    if kept == total > 1 and isinstance(partition, str) and partition != "100%":
        return total - 1
    return kept


def plan(set_: CloneSet, pods: Sequence[Pod], update: str, now: datetime) -> Plan:
    """Scales first; updates only with the number of pods that is wanted."""
    spec, strategy = set_.spec, set_.spec.update_strategy
    active = [pod for pod in pods if pod.is_active]
    old = [pod for pod in active if pod.revision != update]
    new = [pod for pod in active if pod.revision == update]
    doomed = [pod for pod in active if pod.name in spec.scale_strategy.pods_to_delete]
    keep = kept_old(spec)
    missing_new = 0 if strategy.paused else max(0, min(spec.replicas - keep - len(new), len(old)))
    surge = scaled(strategy.max_surge, spec.replicas, up=True)
    wanted = spec.replicas + min(surge, missing_new)
    if len(active) < wanted:
        lack = wanted - len(active)
        of_old = min(lack, max(0, min(keep, spec.replicas) - len(old)))
        return Plan(create_old=of_old, create_new=lack - of_old)
    allowance = scaled(strategy.max_unavailable, spec.replicas, up=not surge)
    budget = len([pod for pod in active if _is_available(set_, pod, now)]) - (spec.replicas - allowance)
    if len(active) > wanted:
        surplus = _surplus(set_, active, update, len(active) - wanted, now)
        # At the end of a surge the last new pod may not be ready for the old one to go.
        spared = _affordable(set_, [pod for pod in surplus if pod not in doomed], budget, now)
        return Plan(delete=tuple(pod for pod in surplus if pod in doomed or pod in spared))
    chosen = _affordable(set_, doomed, budget, now)
    if chosen or not missing_new:
        return Plan(delete=tuple(chosen))
    turn = _affordable(set_, sorted(old, key=lambda pod: _worth(set_, pod, now)), budget, now)[:missing_new]
    return Plan(delete=tuple(turn)) if strategy.type == RECREATE else Plan(update=tuple(turn))


def _is_available(set_: CloneSet, pod: Pod, now: datetime) -> bool:
    moment = pod.available_at(set_.spec.min_ready_seconds)
    return moment is not None and moment <= now


def _worth(set_: CloneSet, pod: Pod, now: datetime) -> tuple[bool, bool, str]:
    """Pods with less go first: those that serve nobody."""
    return _is_available(set_, pod, now), pod.ready_since is not None, pod.name


def _surplus(set_: CloneSet, active: Sequence[Pod], update: str, count: int, now: datetime) -> list[Pod]:
    """The pods to lose when there are so many too many: those asked for, then of the revision that has too many."""
    old = sum(pod.revision != update for pod in active)
    too_old = old > kept_old(set_.spec)
    named = set_.spec.scale_strategy.pods_to_delete

    def order(pod: Pod) -> tuple[bool, bool, tuple[bool, bool, str]]:
        return pod.name not in named, (pod.revision != update) != too_old, _worth(set_, pod, now)

    return sorted(active, key=order)[:count]


def _affordable(set_: CloneSet, pods: Sequence[Pod], budget: int, now: datetime) -> list[Pod]:
    """Those that may go now: who is not available costs nothing."""
    chosen = []
    for pod in pods:
        cost = int(_is_available(set_, pod, now))
        if cost <= max(budget, 0):
            budget -= cost
            chosen.append(pod)
    return chosen


def status_of(
    set_: CloneSet, pods: Sequence[Pod], revisions: tuple[str, str], collisions: int | None, now: datetime
) -> Status:
    """The status that these pods amount to; `revisions` are the current one and that of the template.

    The template's revision becomes the current one as soon as all pods are of it, ready or not.
    """
    current, update = revisions
    active = [pod for pod in pods if pod.is_active]
    updated = [pod for pod in active if pod.revision == update]
    if len(updated) == len(active):
        current = update
    expected = set_.spec.replicas if current == update else set_.spec.replicas - kept_old(set_.spec)
    return Status(
        replicas=len(active),
        ready_replicas=sum(pod.ready_since is not None for pod in active),
        available_replicas=sum(_is_available(set_, pod, now) for pod in active),
        updated_replicas=len(updated),
        updated_ready_replicas=sum(pod.ready_since is not None for pod in updated),
        observed_generation=set_.metadata.generation,
        updated_available_replicas=sum(_is_available(set_, pod, now) for pod in updated),
        expected_updated_replicas=expected,
        update_revision=update,
        current_revision=current,
        collision_count=collisions,
        label_selector=_selector_text(set_.spec.selector),
    )


def next_look(set_: CloneSet, pods: Sequence[Pod], now: datetime) -> float | None:
    """Seconds until a ready pod becomes available; None when no time changes anything."""
    moments = (pod.available_at(set_.spec.min_ready_seconds) for pod in pods if pod.is_active)
    waits = [(moment - now).total_seconds() for moment in moments if moment is not None and moment > now]
    return min(waits, default=None)


def images_that_differ(before: Tree, after: Tree) -> dict[str, str] | None:
    """New images by container, where nothing else is different between the templates; else None."""
    one, other = _containers(before), _containers(after)
    if list(one) != list(other) or _without_images(before) != _without_images(after):
        return None
    return {name: image for name, image in other.items() if one[name] != image}


def _containers(template: Tree) -> dict[str, str]:
    spec = template.get("spec")
    found = spec.get("containers") if isinstance(spec, dict) else None
    return {str(each.get("name")): str(each.get("image", "")) for each in found or []}


def _without_images(template: Tree) -> Tree:
    bare = copy.deepcopy(template)
    spec = bare.get("spec")
    for container in (spec.get("containers") or []) if isinstance(spec, dict) else []:
        container.pop("image", None)
    return bare


def _selector_text(selector: LabelSelector) -> str:
    """As a query carries it, for whoever scales by it."""
    terms = [(key, f"{key}={value}") for key, value in selector.match_labels.items()]
    for each in selector.match_expressions:
        values = ",".join(sorted(each.values))
        forms = {"In": f"{each.key} in ({values})", "NotIn": f"{each.key} notin ({values})", "Exists": each.key}
        terms.append((each.key, forms.get(each.operator, f"!{each.key}")))
    return ",".join(text for _, text in sorted(terms))
