"""What a round does about a definition: at the start until it is in force, later whenever somebody has changed it.

Whoever overwrites a definition without its conversion would have objects of one version read as another, so that is
repaired at once, but more and more slowly where somebody keeps doing it. Another bundle of authorities is the
operator's own wish and waits for nothing. A definition that somebody deletes stays deleted.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from fairlead.core.act import Apply, Does, EventNote
from fairlead.core.ask import Answers, Ask, Bad, Discover, Good, Need, Read
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from fairlead.engine.decide.joined_definitions import joined, unknown_versions
from fairlead.engine.decide.owned_definitions import DefinitionOwner
from fairlead.engine.decide.registration import (
    DEFINITIONS,
    ConversionWebhook,
    Established,
    Pending,
    Tree,
    authority_of,
    differs,
    is_converted,
    is_injected,
    standing,
    wanted,
)
from fairlead.engine.decide.replicas import ReplicaQuestion
from kubeloop.objects.meta import Ref, ServedVersion

FIRST_REPAIR_SECONDS, LONGEST_REPAIR_SECONDS = 1.0, 300.0
"""Between two repairs of one definition, doubling while it is overwritten again and again."""
CALM = timedelta(minutes=10)
"""Without a repair, after which the next one is the first again."""
MOST_CONFLICTS = 10
"""Times that a definition is read and merged again because somebody else wrote it in between."""
REPAIRED = "somebody changed its versions or its conversion; the operator has put them back"

_SERVED = msgspec.json.Decoder(tuple[ServedVersion, ...])


class Repairs(Struct, frozen=True):
    """How often a definition was repaired lately."""

    count: int = 0
    last: datetime | None = None
    authority: bytes = b""
    """The bundle that was last written or found in order."""

    def earliest(self, now: datetime) -> datetime | None:
        """When the next one may be; None: at any time, as after a clock that was set back."""
        if self.last is None or not self.count or now < self.last:
            return None
        seconds = min(FIRST_REPAIR_SECONDS * 2.0 ** min(self.count, 20), LONGEST_REPAIR_SECONDS)
        return self.last + timedelta(seconds=seconds)

    def after(self, now: datetime) -> Repairs:
        """With one more."""
        lately = self.last is not None and now - self.last < CALM
        return Repairs(self.count + 1 if lately else 1, now, self.authority)


class DefinitionSnapshot(Struct, frozen=True, kw_only=True):
    name: str
    definition: Tree
    """As this operator wants it, but for its conversion."""
    webhook: ConversionWebhook | None
    manager: str
    """Who the API server is told owns what is written."""
    bundle: bytes
    """Of the authorities to trust."""
    bundle_changes: datetime | None
    """When another one is wanted only because time has passed."""
    enough: frozenset[bytes]
    """Those of the bundles seen that hold the same authorities."""
    repairs: Repairs = Repairs()
    joins: bool = False
    """Whether others bring the definition as well, so that nothing of theirs is taken away."""
    owner: DefinitionOwner | None = None
    """As whom it is written beside others (`owned_rounds`); None: it is ours alone, and applied with force."""
    replicas: ReplicaQuestion | None = None
    """Who must be able to convert a version before the definition names it; None: nobody is asked."""
    cached: Tree | None = None
    """As a watch shows it."""
    live: Tree | None = None
    """As it was read in this round."""
    answers: Answers = Answers()

    @property
    def read(self) -> Ask:
        return Ask(Read(Ref(DEFINITIONS, "", self.name)))

    def to_apply(self, live: Tree | None) -> Tree:
        if self.joins:
            return joined(self.definition, live)
        if self.webhook is None or not is_converted(self.definition):
            return wanted(self.definition, None, live)
        return wanted(self.definition, self.webhook.conversion(b"" if is_injected(live) else self.bundle), live)

    def is_in_order(self, live: Tree) -> bool:
        """Or has versions that others must know about."""
        if self.joins and unknown_versions(self.definition, live):
            return True
        injected = is_injected(live)
        return not differs(self.to_apply(live), live, lambda _, held: injected or held in self.enough)


def register(seen: DefinitionSnapshot, now: datetime) -> Decision | Need:
    """Has the definition written and in force: established, and shown by discovery in every served version."""
    applied = _applied(seen, Does.APPLY_DEFINITION)
    if applied is not None:
        return applied
    if (live := seen.live) is None:
        raise TypeError("a definition that is in order exists")
    return in_force(seen, live)


def repair(seen: DefinitionSnapshot, now: datetime) -> Decision | Need:
    """Puts back what somebody changed; what the watch shows decides whether to look closer."""
    cached = seen.cached
    if cached is None or cached["metadata"].get("deletionTimestamp"):
        return Decision("leave_deleted", Hold(Reason.COMPLETE))
    if seen.is_in_order(cached):
        return in_order(seen)
    is_own = (authority_of(seen.to_apply(cached)) or b"") != seen.repairs.authority
    earliest = None if is_own else seen.repairs.earliest(now)
    if earliest is not None and now < earliest:
        return Decision("space_repairs", Hold(Reason.REPAIR_SPACING, earliest))
    if is_own:
        return _applied(seen, Does.APPLY_DEFINITION) or in_order(seen)
    note = EventNote(Ref(DEFINITIONS, "", seen.name), warning=True, reason="DefinitionRepaired", text=REPAIRED)
    return _applied(seen, Does.REPAIR_DEFINITION, note) or in_order(seen)


def _applied(seen: DefinitionSnapshot, does: Does, tell: EventNote | None = None) -> Decision | Need | None:
    """Reads the definition and writes what differs; None when it is in order."""
    if (unread := read_first(seen)) is not None:
        return unread
    live = seen.live
    if live is not None and seen.is_in_order(live):
        return None
    refusals = sum(isinstance(each, Apply) for each in seen.answers.known)
    if refusals >= MOST_CONFLICTS:
        return pending("somebody writes it faster than it can be read and merged")
    write = Apply(
        ref=Ref(DEFINITIONS, "", seen.name),
        body=msgspec.json.encode(seen.to_apply(live)),
        manager=seen.manager,
        force=True,
        does=does,
        tell=tell,
        refusable=True,
        change_to=f"generation after {live['metadata'].get('generation', 0)}" if live is not None else "new",
    )
    return Decision("apply", Move(Reason.REGISTERING, (write,)))


def read_first(seen: DefinitionSnapshot) -> Decision | Need | None:
    """Has the definition read; None when it was, or when there is none."""
    if todo := seen.answers.lacking((seen.read,)):
        return Need(todo)
    found = seen.answers[seen.read]
    if isinstance(found, Bad) and found.kind != "absent":
        return unread(advised(found.text or found.kind, is_refused=found.kind == "refused"))
    if isinstance(found, Good) and seen.live is None:
        return unread("what the API server answers is no definition; does a proxy answer in its place?")
    if seen.live is not None and seen.live["metadata"].get("deletionTimestamp"):
        return pending("it is being deleted; it can be registered when its last object is gone")
    return None


def in_force(seen: DefinitionSnapshot, live: Tree) -> Decision | Need:
    """Whether a definition that is as it should be is established, and shown by discovery in every served version."""
    match standing(live):
        case Pending(text):
            return pending(text)
        case Established(versions):
            return _discovered(seen, live, versions)


def _discovered(seen: DefinitionSnapshot, live: Tree, versions: tuple[str, ...]) -> Decision | Need:
    names = live["spec"]["names"]
    ask = Ask(Discover(live["spec"]["group"], names["kind"]))
    if todo := seen.answers.lacking((ask,)):
        return Need(todo)
    match seen.answers[ask]:
        case Bad(kind, text):
            return pending(text or kind)
        case Good(value):
            served = {(each.resource.plural, each.resource.version) for each in _SERVED.decode(value)}
    missing = [version for version in versions if (names["plural"], version) not in served]
    if missing:
        return pending(f"discovery does not show its version {missing[0]} yet")
    return in_order(seen)


def in_order(seen: DefinitionSnapshot) -> Decision:
    return Decision("in_order", Hold(Reason.COMPLETE, seen.bundle_changes))


def pending(text: str) -> Decision:
    return Decision("wait_for_definition", Hold(Reason.DEFINITION_PENDING, details=(("definition", text),)))


def unread(text: str) -> Decision:
    return Decision("read_again", Hold(Reason.READ_FAILED, details=(("definition", text),)))


def problem_of(decision: Decision) -> str:
    """What is missing before a definition is in force, or nothing."""
    match decision.verdict:
        case Hold(Reason.COMPLETE):
            return ""
        case Hold(reason, _, details):
            return details[0][1] if details else reason.clears
        case Move():
            return "it was written a moment ago"


def advised(problem: str, *, is_refused: bool) -> str:
    """The problem, and what to do about it where a right is missing."""
    advice = "; grant the operator's account what its role lists for customresourcedefinitions"
    return problem + advice if is_refused else problem
