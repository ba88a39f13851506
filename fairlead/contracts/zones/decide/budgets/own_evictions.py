"""What the disruption budgets answered to a pass of our own, for metrics (section 2.6), in the words of the webhook.

It is worked out again from what the pass saw, answers included, and so says what the pass went by.
"""

from __future__ import annotations

from datetime import datetime

from fairlead.contracts.zones.decide.budgets.permits import Permits, permits
from fairlead.contracts.zones.decide.groups import Zone, group_of
from fairlead.contracts.zones.decide.rollout.roll import Terminate
from fairlead.contracts.zones.decide.rollout.zone_order import zone_order_of
from fairlead.contracts.zones.decide.seen import Snapshot
from fairlead.core.eviction_request import takes_nothing

ALLOWED, DENIED = ("allowed", 200), ("denied", 429)
NOT_READY, OUT_OF_SCOPE = ("pod-not-ready", 200), ("pod-not-in-scope", 200)


def own_evictions(seen: Snapshot, now: datetime) -> tuple[tuple[str, int], ...]:
    """Reason and status of each pod that was to be deleted, where there are budgets to ask."""
    if not seen.budgets:
        return ()
    group = group_of(seen, now)
    order = zone_order_of(group)
    if not isinstance(order.step, Terminate) or not isinstance(zone := order.active, Zone):
        return ()
    permitted = permits(order.step.pods, zone, group, now)
    if not isinstance(permitted, Permits):
        return ()
    answers = [DENIED] * len(permitted.denials)
    for pod in permitted.pods:
        in_scope = any(guard.selects(pod.metadata.labels) for guard in seen.budgets)
        answers.append(OUT_OF_SCOPE if not in_scope else NOT_READY if takes_nothing(pod) else ALLOWED)
    return tuple(answers)
