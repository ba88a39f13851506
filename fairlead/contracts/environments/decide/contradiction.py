"""The status says which generation serves, and the public Service which one users reach.

They differ only where somebody wrote one of them by hand, or restored it from a backup. Every step would then be taken
from the wrong place, and could take down what users reach, or write over it. So nothing is done to any generation, and
a person says which of the two is right.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import structs

from fairlead.contracts.environments.decide.moments import soon
from fairlead.contracts.environments.decide.objects.names import environmentd_service_name
from fairlead.contracts.environments.decide.standing import Standing
from fairlead.core.decision import Hold, Verdict
from fairlead.core.reason import Reason


def hold_contradicted(stand: Standing, now: datetime) -> Verdict | None:
    """While something runs that users are led to, and that by the status cannot be."""
    selected = stand.selected
    known = (stand.active, stand.target) if stand.is_promoting else (stand.active,)
    if selected is None or selected in known or stand.statefulset(selected) is None:
        return None
    about = f"service/{environmentd_service_name(stand.environment.resource_id)}"
    detail = f"it leads to generation {selected}, which exists, and status.activeGeneration is {stand.active}"
    hold = Hold(Reason.STATUS_CONTRADICTED, details=((about, detail),))
    # A status alone does not end the wait after a failure.
    return structs.replace(hold, again=soon(stand.uid, now))


def advice_on(stand: Standing) -> str:
    """What makes the status right, where it is the status that is wrong."""
    place = f"kubectl -n {stand.environment.namespace} patch materialize {stand.environment.name}"
    patch = f'{{"status":{{"activeGeneration":{stand.selected}}}}}'
    return (
        f"if generation {stand.selected} is the one that leads: {place} --subresource=status --type=merge -p '{patch}';"
        f" else let the Service select generation {stand.active}"
    )
