"""A group whose leader is there and is the set's, with the revision that the leader was made of."""

from __future__ import annotations

from msgspec import Struct

from fairlead.contracts.leaderworker.decide.groups import key_on
from fairlead.contracts.leaderworker.decide.normal_form import UnreadableData
from fairlead.contracts.leaderworker.decide.revisions import readable, usable, with_key
from fairlead.contracts.leaderworker.decide.seen import GroupSeen
from fairlead.contracts.leaderworker.decide.set_view import SetView, of_revision, of_spec
from fairlead.contracts.leaderworker.kinds import LeaderWorkerSet, Pod, Revision
from fairlead.core.act import AnyWrite
from fairlead.core.ask import Bad
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from kubeloop.objects.meta import Meta


class LivingGroup(Struct, frozen=True):
    """A group that is there, with the revision of its leader."""

    seen: GroupSeen
    set: LeaderWorkerSet
    leader: Pod
    revision: Revision | None
    """That of the leader's key."""
    view: SetView
    """Of the leader's revision; of the live set where that is not known."""
    is_known: bool

    @property
    def scope(self) -> str:
        return self.leader.metadata.uid


def living_group(seen: GroupSeen) -> LivingGroup | None:
    """None where there is no leader, and where set and leader are going or are not of one another."""
    if seen.set is None or seen.set.metadata.deletion_timestamp is not None or seen.leader is None:
        return None
    if not _is_of_the_set(seen, seen.set, seen.leader):
        return None
    found = with_key(readable(seen.set, seen.revisions), key_on(seen.leader.metadata))
    view = None if found is None else _view(found)
    return LivingGroup(seen, seen.set, seen.leader, found, view or of_spec(seen.set), view is not None)


def _is_of_the_set(seen: GroupSeen, given: LeaderWorkerSet, leader: Pod) -> bool:
    """By the UIDs of its owners: whoever else carries the labels is no business of ours (section 4, S10)."""
    leaders = seen.leaders
    return (
        leaders is not None
        and leaders.metadata.controller_uid == given.metadata.uid
        and leader.metadata.controller_uid == leaders.metadata.uid
    )


def _view(revision: Revision) -> SetView | None:
    try:
        return of_revision(usable(revision))
    except UnreadableData:
        return None


def named(meta: Meta) -> str:
    return f"pod/{meta.name}"


def moved(group: LivingGroup, rule: str, reason: Reason, writes: tuple[AnyWrite, ...]) -> Decision:
    """What is done to a group, unless it was refused."""
    return Decision(rule, refusal(group, writes) or Move(reason, writes))


def refusal(group: LivingGroup, writes: tuple[AnyWrite, ...]) -> Hold | None:
    """That one of the writes was refused stands with the group, where people look for it."""
    for write in writes:
        if isinstance(answer := group.seen.answers.known.get(write), Bad):
            return Hold(Reason.WRITE_REFUSED, details=((named(group.leader.metadata), answer.text),))
    return None
