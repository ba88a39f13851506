"""How a generation was made, as its own objects say: what it was made from is no longer what the spec says."""

from __future__ import annotations

from datetime import datetime

from fairlead.contracts.environments.decide.leader import Made, UnreadableGeneration, leader_by_objects
from fairlead.contracts.environments.decide.moments import soon
from fairlead.contracts.environments.decide.objects.names import environmentd_name, listeners_name
from fairlead.contracts.environments.decide.standing import Standing
from fairlead.core.ask import Ask, Bad, Good, Need, Read
from fairlead.core.decision import Hold, Verdict
from fairlead.core.reason import Reason
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import Ref


def made_of(stand: Standing, generation: int, now: datetime) -> Made | Verdict | Need:
    """What the objects of a generation say about it, read live."""
    environment = stand.environment
    one = Ref(STATEFULSETS, environment.namespace, environmentd_name(environment.resource_id, generation))
    other = Ref(CONFIGMAPS, environment.namespace, listeners_name(environment.resource_id, generation))
    questions = (Ask(Read(one)), Ask(Read(other)))
    if todo := stand.seen.answers.lacking(questions):
        return Need(todo)
    bodies = []
    for question, ref in zip(questions, (one, other), strict=True):
        match stand.seen.answers[question]:
            case Good(value=value):
                bodies.append(value)
            case Bad(kind="absent"):
                return Hold(Reason.CACHE_BEHIND, soon(stand.uid, now), ((str(ref), "it is gone"),))
            case Bad(kind=kind, text=text):
                return Hold(Reason.READ_FAILED, details=((str(ref), text or kind),))
    try:
        return leader_by_objects(stand, generation, *bodies)
    except UnreadableGeneration as error:
        sentence = f"it does not say how environmentd is reached ({error}): delete it, and it is created again"
        return Hold(Reason.READ_FAILED, details=((str(other), sentence),))
