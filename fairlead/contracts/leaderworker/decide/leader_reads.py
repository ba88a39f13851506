"""What is read live before leaders are written: a StatefulSet that the cache lacks, and leaders that may just go."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from fairlead.contracts.leaderworker.decide.seen import SetSeen
from fairlead.contracts.leaderworker.kinds import NAME, WORKER_INDEX, Pod, StatefulSet
from fairlead.core.ask import Ask, Bad, Good, Listing, Need, Read
from fairlead.core.decision import Decision, Hold
from fairlead.core.reason import Reason
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import PODS
from kubeloop.objects.meta import Ref


def live_leaders(seen: SetSeen) -> Ask:
    """Asked before they are made: the cache has no StatefulSet without our label, and one may have the name."""
    return Ask(Read(leaders_ref(seen)), is_expected_to_fail=True)


def unseen_leaders(seen: SetSeen, answer: Good | Bad) -> Decision | StatefulSet | None:
    """The StatefulSet of the name that the cache lacks: another's, or ours without its label."""
    if isinstance(answer, Good):
        return msgspec.json.decode(answer.value, type=StatefulSet)
    if answer.kind == "absent":
        return None
    details = ((f"statefulset/{seen.set.metadata.name}", answer.text),)
    return Decision("read_leaders", Hold(Reason.READ_FAILED, details=details))


class _Pods(Struct, frozen=True):
    items: tuple[Pod, ...]


def live_pods(seen: SetSeen) -> tuple[Pod, ...] | Need | Decision:
    """Leaders as they are. A rollout before this one may have taken some away that the cache still shows as ready."""
    given = seen.set.metadata
    question = Ask(Listing(PODS, given.namespace, f"{NAME}={given.name},{WORKER_INDEX}=0"))
    if stages := seen.answers.lacking((question,)):
        return Need(stages)
    answer = seen.answers[question]
    if isinstance(answer, Bad):
        return Decision("read_leaders", Hold(Reason.READ_FAILED, details=((named(seen), answer.text),)))
    return msgspec.json.decode(answer.value, type=_Pods).items


def leaders_ref(seen: SetSeen, uid: str = "") -> Ref:
    return Ref(STATEFULSETS, seen.set.metadata.namespace, seen.set.metadata.name, uid)


def named(seen: SetSeen) -> str:
    return f"leaderworkerset/{seen.set.metadata.name}"
