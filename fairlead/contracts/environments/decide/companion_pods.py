"""The pods of a Balancer or a Console that do not become ready: which, why, and what shows more.

They are listed live, since nobody watches them, and only while not all of them are as they should be. It is about words
only.
"""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import Struct

from fairlead.contracts.environments.decide.objects.owner import Owner, owner_of_balancer, owner_of_console
from fairlead.contracts.environments.decide.standing import Standing
from fairlead.contracts.environments.kinds import NAME, Balancer, Console
from fairlead.contracts.environments.words import text_of
from fairlead.core.ask import Answers, Ask, Bad, Listing, Need
from fairlead.core.decision import SideNote
from fairlead.core.pod_trouble import PodTrouble, trouble_of
from fairlead.core.progress_deadline import deadline_of
from fairlead.core.reason import Reason
from kubeloop.objects.core import PODS, Pod
from kubeloop.objects.meta import Ref
from kubeloop.unreadable import UNREADABLE

LIST_SERVES = 5.0
"""Seconds for which a list serves: a Balancer that a Console waits for is looked at every second."""


class _Pods(Struct, frozen=True):
    items: tuple[Pod, ...] = ()


def pods_question(owner: Owner) -> Ask:
    labels = f"{NAME}={owner.prefixed(owner.app)}"
    return Ask(Listing(PODS, owner.namespace, labels), max_age=LIST_SERVES, is_expected_to_fail=True)


def stuck_pod(owner: Owner, companion: Balancer | Console, answers: Answers, now: datetime) -> PodTrouble | Need | None:
    """The first of its pods, by name, that does not become ready by waiting."""
    question = pods_question(owner)
    if todo := answers.lacking((question,)):
        return Need(todo)
    answer = answers[question]
    if isinstance(answer, Bad):
        return None
    try:
        pods = msgspec.json.decode(answer.value, type=_Pods).items
    except UNREADABLE:
        return None
    deadline, _ = deadline_of(companion.metadata.annotations)
    found = (trouble_of(pod, now, deadline) for pod in sorted(pods, key=lambda pod: pod.metadata.name))
    return next((trouble for trouble in found if trouble is not None and trouble.is_past), None)


def told_of_companions(stand: Standing, now: datetime) -> tuple[SideNote, ...] | Need:
    """Why the Balancer and the Console of an environment are not ready, where one of their pods is stuck."""
    told = []
    for owner, companion in _unready(stand):
        match stuck_pod(owner, companion, stand.seen.answers, now):
            case Need() as need:
                return need
            case PodTrouble() as trouble:
                told.append(_aside(owner, trouble))
    return tuple(told)


def _unready(stand: Standing) -> list[tuple[Owner, Balancer | Console]]:
    found: list[tuple[Owner, Balancer | Console]] = []
    balancer, console = stand.seen.balancer, stand.seen.console
    if balancer is not None and balancer.status is not None and not balancer.status.is_ready:
        found.append((owner_of_balancer(balancer), balancer))
    if console is not None and console.status is not None and not console.status.is_ready:
        found.append((owner_of_console(console), console))
    return found


def _aside(owner: Owner, trouble: PodTrouble) -> SideNote:
    about, reason = Ref(owner.resource, owner.namespace, owner.name), Reason.DEPLOYMENT_NOT_READY
    text = text_of(reason, f"{owner.resource.kind} {owner.name}", f"pod {trouble.pod}: {trouble.cause}")
    return SideNote(about, reason, text, advice=trouble.advice)
