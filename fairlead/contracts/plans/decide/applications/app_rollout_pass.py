"""A pass over an AppRollout (section 3.21): that of any rollout, with its ApplicationRevisions around it.

Its target is made before the plan is verified; the source stays without pods after a success.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from fairlead.contracts.plans.applications.kinds import AppRolloutSpec
from fairlead.contracts.plans.decide.applications import locating_pass
from fairlead.contracts.plans.decide.applications.app_locating import located
from fairlead.contracts.plans.decide.applications.app_rollouts import AppRolloutSeen, names_tree
from fairlead.contracts.plans.decide.applications.asking import Flow
from fairlead.contracts.plans.decide.applications.revision_workloads import LocatingStep
from fairlead.contracts.plans.decide.reading import read
from fairlead.contracts.plans.decide.turns import Pass, Turn
from fairlead.contracts.plans.kinds import Json
from fairlead.core.act import AnyWrite
from fairlead.core.decision import Outcome


def decide(seen: AppRolloutSeen, now: datetime) -> Outcome:
    return locating_pass.decide(seen, now, _Snapshots)


class _Snapshots(Struct, frozen=True):
    """What is around the plan."""

    seen: AppRolloutSeen

    def wrong(self) -> tuple[str, ...]:
        return read(AppRolloutSpec, self.seen.object.spec, "spec")[1]

    def is_recorded(self) -> bool:
        return self.seen.wanted.are_those_of(self.seen.last)

    def begun(self) -> Json:
        return names_tree(self.seen.wanted.after(self.seen.last))

    def recorded(self, source: str | None) -> Json:
        return names_tree(self.seen.last.found_at(source))

    def located(self) -> Flow[LocatingStep]:
        return located(self.seen)

    def closed(self, _given: Pass, _turn: Turn) -> Flow[tuple[AnyWrite, ...]]:
        """B-4: nothing but the workloads was touched."""
        yield from ()
        return ()
