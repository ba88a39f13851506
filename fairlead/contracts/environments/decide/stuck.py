"""The pod of N that does not become ready: what keeps it, and whether waiting still makes sense.

It is about words only: what is written, and when, does not depend on it. The pod is read live, since nobody watches the
pods of environments; where that is not permitted, this is said.
"""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import structs

from fairlead.contracts.environments.decide.readiness import NotReady
from fairlead.contracts.environments.decide.standing import Standing
from fairlead.core.ask import Ask, Bad, Good, Need, Read
from fairlead.core.pod_trouble import TERMINATING, PodTrouble, trouble_of
from fairlead.core.progress_deadline import deadline_of
from fairlead.core.reason import Reason
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import Ref
from kubeloop.unreadable import UNREADABLE


def pod_question(stand: Standing, about: str) -> Ask:
    return Ask(Read(Ref(PODS, stand.environment.namespace, about.partition("/")[2])), is_expected_to_fail=True)


def told_of(stand: Standing, wait: NotReady, now: datetime) -> NotReady | Need:
    """The same wait, with what the pod itself tells: Reason.POD_STUCK where it does not become ready by waiting.

    In words that stay the same from restart to restart, so that the same trouble is told once.
    """
    if wait.reason is not Reason.PODS_NOT_READY:
        return wait
    question = pod_question(stand, wait.about)
    if todo := stand.seen.answers.lacking((question,)):
        return Need(todo)
    answer = stand.seen.answers[question]
    if isinstance(answer, Bad) and answer.kind == "refused":
        return structs.replace(wait, detail="it is not ready; allow the operator to get pods to see why")
    trouble = trouble_at(stand, wait.about, now)
    if trouble is None:
        return wait
    return NotReady(Reason.POD_STUCK if trouble.is_past else wait.reason, wait.about, trouble.cause)


def trouble_at(stand: Standing, about: str, now: datetime) -> PodTrouble | None:
    """Why the pod is not ready, as far as it was read."""
    pod = pod_at(stand, about)
    deadline, _ = deadline_of(stand.seen.environment.metadata.annotations)
    return None if pod is None else trouble_of(pod, now, deadline)


def pod_at(stand: Standing, about: str) -> Pod | None:
    """The pod, if it was read."""
    answer = stand.seen.answers.known.get(pod_question(stand, about))
    if not isinstance(answer, Good):
        return None
    try:
        return msgspec.json.decode(answer.value, type=Pod)
    except UNREADABLE:
        return None


def advice_for(stand: Standing, trouble: PodTrouble) -> tuple[str, ...]:
    """What shows more of a stuck pod, then what helps against it."""
    if trouble.reason == TERMINATING:
        return trouble.advice
    name, namespace = stand.environment.name, stand.environment.namespace
    if stand.is_promoting:
        maker = f"kubectl -n {namespace} delete statefulset {trouble.pod.removesuffix('-0')}"
        return (
            *trouble.advice,
            f"it cannot be taken back; correct the spec, and have it made again from that: {maker}",
        )
    if stand.active < 1 or stand.completed is None:
        return (*trouble.advice, f"correct the spec: kubectl -n {namespace} edit materialize {name}")
    return (*trouble.advice, f"go back to generation {stand.active}: fairlead abort {name} -n {namespace}")
