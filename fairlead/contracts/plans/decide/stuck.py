"""A batch whose new pods do not become ready by waiting: the rollout is blocked, and says by which pod and why.

It is about words only: what is written, and when, does not depend on it. Pods are listed once a wait has lasted for
some seconds, so that a batch whose pods come up costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import msgspec
from msgspec.structs import replace

from fairlead.contracts.plans.decide import conditions, states
from fairlead.contracts.plans.decide.notes import BLOCKED, Note
from fairlead.contracts.plans.decide.turns import Pass, Turn
from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads.live import Workload, at
from fairlead.contracts.plans.kinds import ROLLING
from fairlead.core.ask import Answer, Ask, Bad, Listing, Need
from fairlead.core.ordinals import natural_key
from fairlead.core.pod_trouble import PodTrouble, trouble_of
from fairlead.core.progress_deadline import deadline_of
from kubeloop.objects.apps import REVISION_LABEL
from kubeloop.objects.core import PODS, Pod
from kubeloop.unreadable import UNREADABLE

LOOKED_AFTER = timedelta(seconds=5)
FRESH = 5.0
"""Seconds for which what was seen of the pods serves."""


class _Pods(msgspec.Struct, frozen=True):
    items: tuple[Pod, ...] = ()


def told(given: Pass, turn: Turn) -> Turn | Need:
    """The same turn, unless it waits for a pod that is stuck."""
    target = given.found.attempt.target
    if turn.why is not Why.PODS_NOT_READY or turn.changes or target is None or not _has_lasted(given):
        return turn
    selector = selector_of(target)
    if not selector:
        return turn
    asked = Ask(Listing(PODS, target.ref.namespace, selector), max_age=FRESH, is_expected_to_fail=True)
    if stages := given.seen.answers.lacking((asked,)):
        return Need(stages)
    stuck = next(_stuck(given, target, given.seen.answers[asked]), None)
    if stuck is None:
        return turn
    text = f"pod {stuck.pod} is stuck: {stuck.cause}"
    before = replace(turn.status, conditions=given.status.conditions)
    status = states.retried(before, Why.POD_STUCK.word, text, given.now)
    note = Note(BLOCKED, f"{text}; correct the pod template, or stop the rollout", warning=True)
    return replace(turn, status=status, why=Why.POD_STUCK, text=text, notes=(*turn.notes, note))


def selector_of(target: Workload) -> str:
    """Of its pods; empty where labels alone do not say it."""
    labels = at(target.tree, "spec.selector.matchLabels")
    if not isinstance(labels, dict) or at(target.tree, "spec.selector.matchExpressions"):
        return ""
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


def _has_lasted(given: Pass) -> bool:
    if given.status.rolling_state != ROLLING:
        return False
    kind = conditions.condition_type(given.status)
    since = conditions.said_since(given.status, kind)
    if since is None:
        return False
    return given.now >= since + LOOKED_AFTER or conditions.reason_of(given.status, kind) == Why.POD_STUCK.word


def _stuck(given: Pass, target: Workload, answer: Answer) -> Iterator[PodTrouble]:
    deadline, _ = deadline_of(given.seen.rollout.metadata.annotations)
    newest = at(target.tree, "status.updateRevision")
    for pod in sorted(_read(answer), key=lambda each: natural_key(each.metadata.name)):
        if newest and pod.metadata.labels.get(REVISION_LABEL) != newest:
            continue
        trouble = trouble_of(pod, given.now, deadline)
        if trouble is not None and trouble.is_past:
            yield trouble


def _read(answer: Answer) -> tuple[Pod, ...]:
    """Who may not list pods knows of none."""
    if isinstance(answer, Bad):
        return ()
    try:
        return msgspec.json.decode(answer.value, type=_Pods).items
    except UNREADABLE:
        return ()
