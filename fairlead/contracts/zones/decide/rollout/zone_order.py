"""How a pass goes through the zones of a group: in which order, and how far (P5 and P6)."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from fairlead.contracts.zones.decide.groups import Group, Zone, group_of
from fairlead.contracts.zones.decide.once import once
from fairlead.contracts.zones.decide.rollout.roll import Done, Finish, Step, Terminate, Wait, step_of
from fairlead.contracts.zones.decide.rollout.starting import Start, start_of
from fairlead.contracts.zones.decide.seen import Snapshot
from fairlead.core.ask import Need
from fairlead.core.reason import Reason


class ZoneOrder(Struct, frozen=True):
    """Past the zones that are done, up to one that is not."""

    order: tuple[Zone, ...]
    finishing: tuple[Zone, ...]
    """Done but for the record of their revision."""
    active: Zone | None
    """The first zone that is not done."""
    step: Step
    """What the active zone asks for; Done when there is none."""
    starts: tuple[Start, ...] = ()
    """The zones on the way whose start was looked at; those that are held were passed by."""
    asks: Need | None = None
    """What must be known before the order can be told further than this."""

    @property
    def held(self) -> tuple[Start, ...]:
        return tuple(start for start in self.starts if start.reason is not None)

    @property
    def again(self) -> datetime | None:
        """When one of the held may be free."""
        return min((start.until for start in self.held if start.until is not None), default=None)

    @property
    def touched(self) -> tuple[Zone, ...]:
        """The zones that a pass on this order writes to."""
        if self.active is not None and isinstance(self.step, Terminate):
            return (*self.finishing, self.active)
        return self.finishing


def order_of(group: Group) -> tuple[Zone, ...]:
    """P5: the zone that is not ready goes first, because no other may be touched before it is ready again."""
    return tuple(sorted(group.zones, key=lambda zone: zone.is_ready))


def moved_first(group: Group) -> Zone | None:
    """The zone that P5 puts before others whose names come first; None when the order is that of the names."""
    order = order_of(group)
    return None if order[:1] == group.zones[:1] else order[0]


def zone_order_of(group: Group) -> ZoneOrder:
    return _zone_order(group.seen, group.at)


@once
def _zone_order(seen: Snapshot, now: datetime) -> ZoneOrder:
    """P6: zone after zone until one is ongoing.

    A paused zone is passed by unless it is not ready: then it holds the others back (H-8) like any zone that is not
    ready, except that nothing is done in it. So is a zone that may not start yet.
    """
    group = group_of(seen, now)
    order = order_of(group)
    finishing: list[Zone] = []
    starts: list[Start] = []
    for zone in order:
        step = step_of(zone)
        match step:
            case Done() if zone.is_paused and not zone.is_ready:
                return ZoneOrder(order, (), zone, Wait(held_by(zone, group)))
            case Done():
                continue
            case Finish():
                finishing.append(zone)
                continue
            case Terminate():
                start = start_of(zone, group)
                if isinstance(start, Need):
                    return ZoneOrder(order, tuple(finishing), zone, step, tuple(starts), start)
                starts.append(start)
                if start.reason is not None and zone.is_ready:
                    continue
                step = step if start.reason is None else Wait(start.reason)
        return ZoneOrder(order, tuple(finishing), zone, step, tuple(starts))
    for start in starts:
        if start.reason is not None:
            return ZoneOrder(order, tuple(finishing), start.zone, Wait(start.reason), tuple(starts))
    return ZoneOrder(order, tuple(finishing), None, Done())


def held_by(paused: Zone, group: Group) -> Reason:
    """What a paused zone that is not ready means: it holds back others that have work, or just waits."""
    if any(not zone.is_current and not zone.is_paused for zone in group.zones):
        return Reason.PAUSED_ZONE_NOT_READY
    return Reason.PODS_NOT_READY if paused.is_current else Reason.PAUSED
