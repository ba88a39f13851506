"""What the pods of a copied cluster have lived through, and how those behave that come after them.

A pod that was copied stays as it is. One that is made later behaves like the pod of its name, or like its siblings: it
becomes ready after the time that they needed from creation to ready, and where none of its revision ever became ready
it gets stuck as they are. Of several times the lower of the two in the middle counts: a pod that lost its readiness for
a while, long after its start, seems to have needed all that time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime

from msgspec import Struct, structs

from kubesim.pods.behaviour import Behaviour, Defaults, Shape, behaviour_of

_OF_ONE_REVISION = ("controller-revision-hash", "pod-template-hash")
_OF_ONE_POD = (
    *_OF_ONE_REVISION,
    "apps.kubernetes.io/pod-index",
    "pod-template-generation",
    "statefulset.kubernetes.io/pod-name",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
)


class CopiedPod(Struct, frozen=True):
    """A pod as it was copied."""

    uid: str
    version: str
    namespace: str
    name: str
    labels: Mapping[str, str]
    owner: str
    """The UID of its controller; empty where it has none."""
    shape: Shape
    created: datetime
    ready_since: datetime | None
    deleted: datetime | None = None
    """When it is to be gone by, for one that is being deleted."""
    has_ended: bool = False
    """It has done its work, or failed, for good."""

    @property
    def ready_after(self) -> float | None:
        """Seconds from its creation; None for one that is not ready."""
        if self.ready_since is None:
            return None
        return max((self.ready_since - self.created).total_seconds(), 0.0)


class Past(Struct, frozen=True):
    """What is known of a pod, or of several that are alike."""

    ready_after: float | None = None
    stuck: Shape | None = None
    """Where none of them is ready: how they are instead. New ones have no node."""


class Histories(Struct, frozen=True):
    """Of the pods of one copy."""

    resting: dict[str, str] = {}
    """UIDs and resource versions of pods that stay as they are, until somebody changes them."""
    pasts: dict[str, Past] = {}
    """By what pods have in common; see `_keys`."""

    def behaviour(
        self,
        place: tuple[str, str],
        labels: Mapping[str, str],
        owner: str,
        annotations: Mapping[str, str],
        usual: Defaults,
    ) -> Behaviour:
        """Of a pod that was made since; what its annotations say goes before."""
        past = self.past_of(place, labels, owner)
        if past is None:
            return behaviour_of(annotations, usual)
        after = usual.ready_after if past.ready_after is None else past.ready_after
        told = behaviour_of(annotations, Defaults(after, usual.gone_after))
        match past.stuck:
            case None | Shape.READY:
                return told
            case Shape.NEW:
                return structs.replace(told, pending=True)
            case Shape.IMAGE:
                return structs.replace(told, image_fails=True)
            case Shape.CRASHED:
                return structs.replace(told, crash_after=told.crash_after or max(after, 1.0))
            case Shape.RUNNING:
                return structs.replace(told, hold=True)

    def past_of(self, place: tuple[str, str], labels: Mapping[str, str], owner: str) -> Past | None:
        """Of the pod in this place, or of those that are like it; None where there were none."""
        same, siblings, *others = _keys(place, labels, owner)
        found = self.pasts.get(same) or self.pasts.get(siblings)
        if found is not None:
            return found
        # Of another revision, which may mend what was wrong with this one.
        known = (past for key in others if (past := self.pasts.get(key)) is not None)
        return next((Past(past.ready_after) for past in known if past.ready_after is not None), None)


def measured(pods: Iterable[CopiedPod], now: datetime, *, go_on: bool = False) -> Histories:
    """What these pods tell at this moment.

    With `go_on` those do not rest that were on their way: starting, for no longer than those like them needed, or
    ending, with time left.
    """
    seen = tuple(pods)
    times: dict[str, list[float]] = {}
    for pod in seen:
        if (after := pod.ready_after) is not None:
            for key in _keys((pod.namespace, pod.name), pod.labels, pod.owner):
                times.setdefault(key, []).append(after)
    pasts = {key: Past(sorted(each)[(len(each) - 1) // 2]) for key, each in times.items()}
    ready = Histories(pasts=pasts)
    under_way = {pod.uid for pod in seen if _is_under_way(pod, ready, now)}
    stuck: dict[str, Counter[Shape]] = {}
    for pod in seen:
        if pod.ready_after is None and pod.deleted is None and not pod.has_ended and pod.uid not in under_way:
            for key in _keys((pod.namespace, pod.name), pod.labels, pod.owner)[:2]:
                stuck.setdefault(key, Counter())[pod.shape] += 1
    for key, shapes in stuck.items():
        pasts.setdefault(key, Past(stuck=shapes.most_common(1)[0][0]))
    return Histories({pod.uid: pod.version for pod in seen if not (go_on and pod.uid in under_way)}, pasts)


def _is_under_way(pod: CopiedPod, known: Histories, now: datetime) -> bool:
    if pod.deleted is not None:
        return pod.deleted > now
    if pod.ready_since is not None or pod.has_ended or pod.shape not in (Shape.NEW, Shape.RUNNING):
        return False
    past = known.past_of((pod.namespace, pod.name), pod.labels, pod.owner)
    usual = past.ready_after if past is not None else None
    return usual is not None and (now - pod.created).total_seconds() <= usual


def _keys(place: tuple[str, str], labels: Mapping[str, str], owner: str) -> tuple[str, ...]:
    """The closest first: the same place in the same revision, siblings of the revision, the place, siblings, kin."""
    namespace, name = place
    revision = next((labels[key] for key in _OF_ONE_REVISION if key in labels), "")
    kin = ",".join(f"{key}={value}" for key, value in sorted(labels.items()) if key not in _OF_ONE_POD)
    return (
        f"pod {namespace}/{name} {revision}",
        f"of {owner or f'{namespace}/{name}'} {revision}",
        f"pod {namespace}/{name}",
        f"of {owner or f'{namespace}/{name}'}",
        f"like {namespace}/{kin or name}",
    )
