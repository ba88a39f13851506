"""What is done for a Balancer, whoever made it."""

from __future__ import annotations

from datetime import datetime

from fairlead.api.environments import BALANCERS
from fairlead.decide.decision import Decision
from fairlead.decide.environments.deployments import Companion, decide_companion
from fairlead.decide.environments.objects.balancer import balancer_objects, balancer_trouble
from fairlead.decide.environments.objects.owner import BALANCERD
from fairlead.decide.environments.seen import BalancerSnapshot


def decide_balancer(seen: BalancerSnapshot, now: datetime) -> Decision:
    """What is to be done now for the Balancer that is seen."""
    own = seen.balancer
    trouble = balancer_trouble(own, seen.settings)
    can_be_built = own.status is not None and not trouble
    companion = Companion(
        resource=BALANCERS,
        app=BALANCERD,
        own=own,
        deployment=seen.deployment,
        children=seen.children,
        has_certificates=seen.has_certificates,
        applied=seen.applied,
        answers=seen.answers,
        trouble=trouble,
        objects=balancer_objects(own, seen.settings) if can_be_built else (),
    )
    return decide_companion(companion, now)
