"""What is done for a Balancer, whoever made it."""

from __future__ import annotations

from datetime import datetime

from fairlead.api.environments import BALANCERS, Balancer
from fairlead.decide.ask import Need
from fairlead.decide.decision import Decision
from fairlead.decide.environments.deployments import Companion, decide_companion
from fairlead.decide.environments.objects.balancer import balancer_objects, balancer_trouble
from fairlead.decide.environments.objects.owner import BALANCERD
from fairlead.decide.environments.seen import CompanionSnapshot


def decide_balancer(seen: CompanionSnapshot[Balancer], now: datetime) -> Decision | Need:
    """What is to be done now for the Balancer that is seen."""
    trouble = balancer_trouble(seen.own, seen.settings)
    can_be_built = seen.own.status is not None and not trouble
    objects = balancer_objects(seen.own, seen.settings) if can_be_built else ()
    companion = Companion(resource=BALANCERS, app=BALANCERD, seen=seen, trouble=trouble, objects=objects)
    return decide_companion(companion, now)
