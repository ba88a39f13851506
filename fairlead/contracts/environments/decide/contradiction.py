"""The status says which generation serves, and the public Service which one users reach.

They differ only where somebody wrote one of them by hand, or restored it from a backup. Every step would then be taken
from the wrong place, and could take down what users reach, or write over it. So nothing is done to any generation, and
a person says which of the two is right.
"""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import Struct

from fairlead.contracts.environments.decide.moments import soon
from fairlead.contracts.environments.decide.objects.names import environmentd_service_name
from fairlead.contracts.environments.decide.serving import selected_by
from fairlead.contracts.environments.decide.standing import Standing
from fairlead.contracts.environments.kinds import Child
from fairlead.core.ask import Answer, Ask, Bad, Good, Need, Read
from fairlead.core.decision import Hold, Verdict
from fairlead.core.reason import Reason
from kubeloop.objects.core import SERVICES
from kubeloop.objects.meta import Meta, Ref


class _Own(Struct, frozen=True):
    metadata: Meta


def hold_contradicted(stand: Standing, now: datetime) -> Verdict | Need | None:
    """While something runs that users are led to, and that by the status cannot be."""
    if not _contradicts(stand, stand.selected):
        return None
    about = Ref(SERVICES, stand.environment.namespace, environmentd_service_name(stand.environment.resource_id))
    questions = Ask(Read(stand.ref)), Ask(Read(about))
    if todo := stand.seen.answers.lacking(questions):
        return Need(todo)
    again = soon(stand.uid, now)
    if _is_behind(stand, *(stand.seen.answers[question] for question in questions)):
        return Hold(Reason.CACHE_BEHIND, again, ((str(about), "the status, or what it selects, has changed"),))
    detail = f"it leads to generation {stand.selected}, which exists, and status.activeGeneration is {stand.active}"
    # A status alone does not end the wait after a failure.
    return Hold(Reason.STATUS_CONTRADICTED, again, ((str(about), detail),))


def _contradicts(stand: Standing, selected: int | None) -> bool:
    known = (stand.active, stand.target) if stand.is_promoting else (stand.active,)
    return selected is not None and selected not in known and stand.statefulset(selected) is not None


def _is_behind(stand: Standing, own: Answer, service: Answer) -> bool:
    """Whether the caches of the two are of different moments: a promotion moves the Service before it ends."""
    if isinstance(own, Good):
        version = msgspec.json.decode(own.value, type=_Own).metadata.resource_version
        if version != stand.seen.environment.metadata.resource_version:
            return True
    if isinstance(service, Good):
        found = msgspec.json.decode(service.value, type=Child)
        return not _contradicts(stand, selected_by(stand.environment.resource_id, found))
    return isinstance(service, Bad) and service.kind == "absent"


def advice_on(stand: Standing) -> str:
    """What makes the status right, where it is the status that is wrong."""
    place = f"kubectl -n {stand.environment.namespace} patch materialize {stand.environment.name}"
    patch = f'{{"status":{{"activeGeneration":{stand.selected}}}}}'
    return (
        f"if generation {stand.selected} is the one that leads: {place} --subresource=status --type=merge -p '{patch}';"
        f" else let the Service select generation {stand.active}"
    )
