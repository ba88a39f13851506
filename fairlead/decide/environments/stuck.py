"""The pod of N that does not become ready: what keeps it, and whether waiting still makes sense.

It is about words only: what is written, and when, does not depend on it. The pod is read live, since nobody watches the
pods of environments; where that is not permitted, this is said.
"""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import structs

from fairlead.api.core import PODS, Pod
from fairlead.api.meta import Ref
from fairlead.decide.ask import Ask, Bad, Need, Read
from fairlead.decide.environments.readiness import NotReady
from fairlead.decide.environments.standing import Standing
from fairlead.decide.pod_trouble import PodTrouble, trouble_of
from fairlead.decide.progress_deadline import deadline_of
from fairlead.decide.reason import Reason


def pod_question(stand: Standing, wait: NotReady) -> Ask:
    return Ask(Read(Ref(PODS, stand.environment.namespace, wait.about.partition("/")[2])), is_expected_to_fail=True)


def told_of(stand: Standing, wait: NotReady, now: datetime) -> NotReady | Need:
    """The same wait, with what the pod itself tells: Reason.POD_STUCK where it does not become ready by waiting."""
    if wait.reason is not Reason.PODS_NOT_READY:
        return wait
    question = pod_question(stand, wait)
    if todo := stand.seen.answers.lacking((question,)):
        return Need(todo)
    answer = stand.seen.answers[question]
    if isinstance(answer, Bad):
        told = "it is not ready; grant the operator to get pods, and it says why" if answer.kind == "refused" else ""
        return structs.replace(wait, detail=told or wait.detail)
    deadline, _ = deadline_of(stand.seen.environment.metadata.annotations)
    try:
        trouble = trouble_of(msgspec.json.decode(answer.value, type=Pod), now, deadline)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return wait
    if trouble is None:
        return wait
    if not trouble.is_past:
        return structs.replace(wait, detail=_brief(trouble))
    return NotReady(Reason.POD_STUCK, wait.about, f"{_brief(trouble)}; see `{trouble.advice[0]}`")


def _brief(trouble: PodTrouble) -> str:
    """Without the count of restarts, so that the same trouble is told once and not with every restart."""
    return f"{trouble.cause} ({trouble.detail})" if trouble.detail else trouble.cause
