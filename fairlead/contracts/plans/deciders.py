"""What decides the passes of plans, and from what, for whoever decides them again."""

from __future__ import annotations

from fairlead.contracts.plans.applications.controllers import DECIDERS as OF_FAMILY
from fairlead.contracts.plans.applications.controllers import NAMES, PLANNED
from fairlead.contracts.plans.decide import trait_round
from fairlead.contracts.plans.decide.admission.reviews import ReviewSnapshot
from fairlead.contracts.plans.decide.applications.seen import FamilySeen
from fairlead.contracts.plans.decide.seen import TraitSeen
from fairlead.contracts.plans.kinds import PART
from fairlead.contracts.plans.webhooks import JUDGES
from fairlead.core.replay import Decider

DECIDERS = {
    PART: Decider(TraitSeen, trait_round.decide),
    **{NAMES[resource]: Decider(FamilySeen, decide) for resource, decide in OF_FAMILY.items()},
    **{NAMES[resource]: Decider(each.seen, each.decide) for resource, each in PLANNED.items()},
    **{path: Decider(ReviewSnapshot, judge) for path, judge in JUDGES.items()},
}
"""By controller, and by the path of a webhook."""
