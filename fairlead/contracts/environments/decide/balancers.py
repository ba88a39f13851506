"""What is done for a Balancer, whoever made it (section 2.15)."""

from __future__ import annotations

from datetime import datetime

from fairlead.contracts.environments.decide.deployments import Companion, decide_companion
from fairlead.contracts.environments.decide.objects.balancer import balancer_objects, balancer_trouble
from fairlead.contracts.environments.decide.objects.owner import BALANCERD
from fairlead.contracts.environments.decide.seen import CompanionSnapshot
from fairlead.contracts.environments.decide.serving import serving_of
from fairlead.contracts.environments.kinds import BALANCERS, Balancer
from fairlead.core.ask import Need
from fairlead.core.decision import Decision


def decide_balancer(seen: CompanionSnapshot[Balancer], now: datetime) -> Decision | Need:
    """What is to be done now for the Balancer that is seen."""
    trouble = balancer_trouble(seen.own, seen.settings)
    can_be_built = seen.own.status is not None and not trouble
    objects = balancer_objects(seen.own, seen.settings, serving_of(seen)) if can_be_built else ()
    companion = Companion(resource=BALANCERS, app=BALANCERD, seen=seen, trouble=trouble, objects=objects)
    return decide_companion(companion, now)
