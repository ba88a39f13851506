"""What a round does about a definition that others write as well: registered at the start, then repaired.

Where the definition is somebody else's, or newer than ours, nothing is written and people are told so. A version is
named only when every replica that may be asked for it can convert it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import structs

from fairlead.core.act import AnyWrite, Apply, Does, EventNote, Patch
from fairlead.core.ask import Bad, Need
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from fairlead.engine.decide import conversion_probe
from fairlead.engine.decide.conversion_probe import Probed
from fairlead.engine.decide.definition_rounds import (
    MOST_CONFLICTS,
    REPAIRED,
    DefinitionSnapshot,
    in_force,
    pending,
    read_first,
    unread,
)
from fairlead.engine.decide.definition_writes import DefinitionStep, DefinitionWish, has_our_address, next_step
from fairlead.engine.decide.owned_definitions import (
    DefinitionOwner,
    disputed,
    is_foreign,
    is_ours,
    left_to_others,
    obstacle,
    place_of,
)
from fairlead.engine.decide.registration import DEFINITIONS, Tree, authority_of, is_converted
from kubeloop.objects.meta import Ref

LOOK_AGAIN = timedelta(seconds=5)
"""After which replicas are asked about again: that one can convert by now is told by nobody."""
LOST = "somebody changed its conversion; the operator has put it back, and what was written meanwhile nobody converted"
OVERWRITTEN = (
    "somebody changes its conversion again and again, and the operator puts it back ever more seldom; nobody converts"
    " its objects now, and what is written in another version loses fields: have whoever applies it leave"
    " spec.conversion out"
)


def register_owned(seen: DefinitionSnapshot, now: datetime) -> Decision | Need:
    """Has the definition written, as far as that is ours to do, and in force."""
    if (written := _written(seen, now)) is not None:
        return written
    if (live := seen.live) is None:
        raise TypeError("a definition that is in order exists")
    if missing := _missing(seen, live):
        return pending(f"it is not ours to write, and lacks version {missing[0]}; have its owner install our text")
    outcome = in_force(seen, live)
    if isinstance(outcome, Need) or outcome.verdict.reason is not Reason.COMPLETE:
        return outcome
    probed = _probed(seen, live)
    return probed if isinstance(probed, Need) else structs.replace(outcome, tell=(*notes(seen, live), *probed))


def repair_owned(seen: DefinitionSnapshot, now: datetime) -> Decision | Need:
    """Puts back what somebody changed of what is ours; what the watch shows decides whether to look closer."""
    cached, owner = seen.cached, _owner(seen)
    if cached is None or cached["metadata"].get("deletionTimestamp"):
        return Decision("leave_deleted", Hold(Reason.COMPLETE))
    step = None if obstacle(seen.definition, cached, owner) else next_step(wish_of(seen), cached)
    if step is None:
        return _in_order(seen, cached)
    is_repair = _is_repair(seen, step, cached)
    earliest = seen.repairs.earliest(now) if is_repair else None
    if earliest is not None and now < earliest:
        told = (overwritten_note(seen.name),) if _is_lost(seen, cached) else ()
        return Decision("space_repairs", Hold(Reason.REPAIR_SPACING, earliest), tell=told)
    return _written(seen, now, is_repair=is_repair) or _in_order(seen, seen.live or cached)


def wish_of(seen: DefinitionSnapshot) -> DefinitionWish:
    return DefinitionWish(
        name=seen.name,
        definition=seen.definition,
        webhook=seen.webhook if is_converted(seen.definition) else None,
        bundle=seen.bundle,
        enough=seen.enough,
        owner=_owner(seen),
    )


def notes(seen: DefinitionSnapshot, live: Tree) -> tuple[EventNote, ...]:
    """What people are told of a definition that is left as it is, or of parts of it."""
    owner, about = _owner(seen), Ref(DEFINITIONS, "", seen.name)
    if blocked := obstacle(seen.definition, live, owner):
        return (EventNote(about, warning=True, reason=blocked.reason, text=blocked.text),)
    found = []
    if is_foreign(live, wish_of(seen).webhook, owner):
        found.append(foreign_note(seen.name, live))
    if fields := left_to_others(_disputed(seen)):
        text = f"others own {', '.join(fields)} with another value, which stays; have them give it up to change that"
        found.append(EventNote(about, warning=True, reason="FieldsForeign", text=text))
    return tuple(found)


def overwritten_note(name: str) -> EventNote:
    """While a repair is waited for: the last one was told as done."""
    return EventNote(Ref(DEFINITIONS, "", name), warning=True, reason="ConversionLost", text=OVERWRITTEN)


def foreign_note(name: str, live: Tree) -> EventNote:
    text = f"its conversion names {place_of(live)} and stays; --take-over-conversion has the operator overwrite it"
    return EventNote(Ref(DEFINITIONS, "", name), warning=True, reason="ConversionForeign", text=text)


def refusals_in(seen: DefinitionSnapshot) -> tuple[str, ...]:
    """What the server said to the writes of this pass."""
    known = seen.answers.known.items()
    return tuple(bad.text for write, bad in known if isinstance(write, Apply | Patch) and isinstance(bad, Bad))


def _written(seen: DefinitionSnapshot, now: datetime, *, is_repair: bool = False) -> Decision | Need | None:
    """Reads the definition and writes what differs; None when it is in order, or not ours to write."""
    if (asked := read_first(seen)) is not None:
        return asked
    live = seen.live
    if live is not None and obstacle(seen.definition, live, _owner(seen)) is not None:
        return None
    refusals = refusals_in(seen)
    step = next_step(wish_of(seen), live, refusals)
    if step is None:
        return None
    if (behind := _awaited(seen, live, now)) is not None:
        return behind
    if len(refusals) >= MOST_CONFLICTS:
        return pending("somebody writes it faster than it can be read and merged")
    return Decision("apply", Move(Reason.REGISTERING, (_told(step, seen, live, is_repair=is_repair),)))


def _probed(seen: DefinitionSnapshot, live: Tree) -> Need | tuple[EventNote, ...]:
    """Whether the API server reaches the webhook, where there are objects; that it does not stops nothing."""
    webhook = wish_of(seen).webhook
    if webhook is None or not is_ours(live, webhook, _owner(seen)):
        return ()
    asked = conversion_probe.listings(live)
    if todo := seen.answers.lacking(asked):
        return Need(todo)
    found = conversion_probe.result(asked, seen.answers)
    if found.result is not Probed.FAILS:
        return ()
    about = Ref(DEFINITIONS, "", seen.name)
    return (EventNote(about, warning=True, reason=conversion_probe.event_reason(found.text), text=found.text),)


def _awaited(seen: DefinitionSnapshot, live: Tree | None, now: datetime) -> Decision | Need | None:
    """None when every replica can convert what the definition is about to name."""
    wish = wish_of(seen)
    if seen.replicas is None or wish.webhook is None or not _names_more(wish, live):
        return None
    if todo := seen.answers.lacking(seen.replicas.asks):
        return Need(todo)
    needed = {seen.name: [str(each["name"]) for each in seen.definition["spec"]["versions"]]}
    match seen.replicas.behind(seen.answers, needed):
        case Bad("refused"):
            return None  # a right that is missing is no reason to register nothing
        case Bad(kind, text):
            return unread(text or kind)
        case ():
            return None
        case names:
            details = tuple((f"pod/{each}", f"cannot convert all versions of {seen.name} yet") for each in names)
            return Decision("wait_for_replicas", Hold(Reason.REPLICAS_BEHIND, now + LOOK_AGAIN, details))


def _names_more(wish: DefinitionWish, live: Tree | None) -> bool:
    """Whether a version, or the webhook, is new to the definition: at an address that we wrote earlier others may serve
    than at that of today."""
    if live is None or wish.definition is None or not has_our_address(wish, live):
        return True
    there = {each["name"] for each in live["spec"]["versions"]}
    return any(each["name"] not in there for each in wish.definition["spec"]["versions"])


def _told(step: DefinitionStep, seen: DefinitionSnapshot, live: Tree | None, *, is_repair: bool) -> AnyWrite:
    about = Ref(DEFINITIONS, "", seen.name)
    if is_repair:
        lost = live is not None and _is_lost(seen, live)
        reason, text = ("ConversionLost", LOST) if lost else ("DefinitionRepaired", REPAIRED)
        note = EventNote(about, warning=True, reason=reason, text=text)
        return structs.replace(step.write, does=Does.REPAIR_DEFINITION, tell=note)
    if live is None or step.corrects:
        text = "the operator has registered its versions and its conversion"
        return structs.replace(step.write, tell=EventNote(about, warning=False, reason="CRDRegistered", text=text))
    return step.write


def _is_lost(seen: DefinitionSnapshot, tree: Tree) -> bool:
    """Whether its objects are to be converted here and are not."""
    return seen.webhook is not None and not is_ours(tree, seen.webhook, _owner(seen))


def _is_repair(seen: DefinitionSnapshot, step: DefinitionStep, cached: Tree) -> bool:
    """Another bundle of authorities is the operator's own wish and waits for nothing."""
    lost = (authority_of(cached) or b"") not in seen.enough and seen.bundle == seen.repairs.authority
    return step.corrects or lost


def _missing(seen: DefinitionSnapshot, live: Tree) -> tuple[str, ...]:
    """Versions that controllers need of a definition which others keep."""
    served = {each["name"] for each in live["spec"]["versions"] if each.get("served")}
    return tuple(
        each["name"] for each in seen.definition["spec"]["versions"] if each["storage"] and each["name"] not in served
    )


def _in_order(seen: DefinitionSnapshot, live: Tree) -> Decision:
    return Decision("in_order", Hold(Reason.COMPLETE, seen.bundle_changes), tell=notes(seen, live))


def _disputed(seen: DefinitionSnapshot) -> tuple[str, ...]:
    return disputed(refusals_in(seen))


def _owner(seen: DefinitionSnapshot) -> DefinitionOwner:
    if seen.owner is None:
        raise TypeError("a definition is decided about beside others without anybody who writes it")
    return seen.owner
