"""What a round does about a definition of others whose objects this operator converts, or is to (section 3.13).

It is attached when a rule set asks for that and nothing would be converted wrongly, corrected when somebody overwrites
its conversion, and detached when nobody asks any more, as soon as it can do without.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from msgspec import Struct, structs

from fairlead.contracts.apiversions.decide.convert import KindConversion
from fairlead.contracts.apiversions.decide.detaching import blockers
from fairlead.contracts.apiversions.decide.payload_look import LookFailed, PayloadLook, looked, told
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.core.act import AnyWrite, Apply, Does, EventNote, Patch
from fairlead.core.amounts import counted
from fairlead.core.ask import Answers, Ask, Bad, Need, Read
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from fairlead.engine.decide import conversion_probe
from fairlead.engine.decide.conversion_probe import Probed, ProbeResult
from fairlead.engine.decide.definition_rounds import MOST_CONFLICTS, Repairs
from fairlead.engine.decide.definition_writes import DefinitionStep, DefinitionWish, conversion_patch, next_step
from fairlead.engine.decide.owned_definitions import DefinitionOwner, is_foreign, is_ours, obstacle, wrote_conversion
from fairlead.engine.decide.owned_rounds import LOST, foreign_note, overwritten_note
from fairlead.engine.decide.registration import DEFINITIONS, NOT_CONVERTED, ConversionWebhook
from fairlead.engine.decide.replicas import ReplicaQuestion
from kubeloop.objects.meta import Ref

LOOK_AGAIN = timedelta(seconds=5)
"""Until it is looked again whether other replicas have caught up."""
TRY_AGAIN = timedelta(seconds=30)
SPACED = "space_repairs"
"""Of a definition that somebody overwrites again and again: the next repair is waited for."""


class AttachSet(Struct, frozen=True, kw_only=True):
    """What this replica knows of the rule set of a definition."""

    wants: bool = False
    """Whether a set that counts asks to have the definition attached."""
    is_gone: bool = False
    """Whether no source is left that has a set for it; one that is wrong is not gone."""
    versions: tuple[str, ...] = ()
    """That this replica converts."""
    kind: KindConversion | None = None
    anyway: bool = False
    """Whether a person has said that objects are converted whatever version their fields are of."""
    about: Ref | None = None
    """The ConfigMap of the set; None: people are told about the definition."""


class AttachSnapshot(Struct, frozen=True, kw_only=True):
    name: str
    rules: AttachSet
    webhook: ConversionWebhook
    bundle: bytes
    enough: frozenset[bytes]
    owner: DefinitionOwner
    replicas: ReplicaQuestion
    repairs: Repairs = Repairs()
    was_ours: bool = False
    """Whether this process has seen it attached."""
    was_attached: bool = False
    """Whether a leader before this one has."""
    probed: ProbeResult | None = None
    """What the probe of its present state said; None: there was none yet."""
    samples: Mapping[str, Tree] = {}
    """By version: a body for the probe."""
    home: str = ""
    """The operator's namespace."""
    cached: Tree | None = None
    live: Tree | None = None
    """As it was read in this round."""
    answers: Answers = Answers()

    @property
    def read(self) -> Ask:
        return Ask(Read(Ref(DEFINITIONS, "", self.name)))

    @property
    def wish(self) -> DefinitionWish:
        return DefinitionWish(
            name=self.name,
            definition=None,
            webhook=self.webhook,
            bundle=self.bundle,
            enough=self.enough,
            owner=self.owner,
        )

    @property
    def about(self) -> Ref:
        return self.rules.about or Ref(DEFINITIONS, "", self.name)


def attach(seen: AttachSnapshot, now: datetime) -> Decision | Need:
    """One look at a definition that is, or is to be, attached."""
    cached = seen.cached
    if cached is None or cached["metadata"].get("deletionTimestamp"):
        return Decision("leave_deleted", Hold(Reason.COMPLETE))
    if not seen.rules.wants:
        return _released(seen, cached)
    return (
        _left_alone(seen, cached)
        or _uncovered(seen, cached)
        or _kept(seen, cached, now)
        or _awaited(seen, now)
        or _looked(seen, cached, now)
        or _written(seen, is_repair=False)
        or Decision("in_order", Hold(Reason.COMPLETE))
    )


def _left_alone(seen: AttachSnapshot, cached: Tree) -> Decision | None:
    """Where somebody else's word counts."""
    if (blocked := obstacle(None, cached, seen.owner)) is not None:
        note = EventNote(Ref(DEFINITIONS, "", seen.name), warning=True, reason=blocked.reason, text=blocked.text)
        return _held("leave_to_owner", Reason.DEFINITION_FOREIGN, blocked.text, note)
    if is_foreign(cached, seen.webhook, seen.owner) and not seen.owner.takes_over:
        note = foreign_note(seen.name, cached)
        return _held("leave_conversion", Reason.DEFINITION_FOREIGN, note.text, note)
    return None


def _uncovered(seen: AttachSnapshot, cached: Tree) -> Decision | None:
    """Every version must be convertible, served or not: managed fields may name it. What was attached and is not any
    more is put back all the same: without conversion the versions that there were drop what they do not know."""
    attached = is_ours(cached, seen.webhook, seen.owner)
    if seen.was_ours and not attached:
        return None
    missing = [str(each["name"]) for each in cached["spec"]["versions"] if each["name"] not in seen.rules.versions]
    if not missing:
        return None
    text = f"no rules for version {', '.join(missing)} of {seen.name} are loaded: name it among the spokes"
    reason = "UnknownVersion" if attached else "RulesRejected"
    about = Ref(DEFINITIONS, "", seen.name) if reason == "UnknownVersion" else seen.about
    return _held("wait_for_rules", Reason.RULES_INCOMPLETE, text, EventNote(about, True, reason, text))


def _kept(seen: AttachSnapshot, cached: Tree, now: datetime) -> Decision | Need | None:
    """What is attached, or was a moment ago, stays so; None: it is to be attached for the first time."""
    if not is_ours(cached, seen.webhook, seen.owner) and not seen.was_ours:
        return None
    step = next_step(seen.wish, cached)
    if step is None:
        return _probed(seen, cached)
    earliest = seen.repairs.earliest(now) if step.corrects else None
    if earliest is not None and now < earliest:
        told = () if is_ours(cached, seen.webhook, seen.owner) else (overwritten_note(seen.name),)
        return Decision(SPACED, Hold(Reason.REPAIR_SPACING, earliest), tell=told)
    return _written(seen, is_repair=step.corrects) or _probed(seen, cached)


def _awaited(seen: AttachSnapshot, now: datetime) -> Decision | Need | None:
    """None when every ready replica converts all versions."""
    if todo := seen.answers.lacking(seen.replicas.asks):
        return Need(todo)
    match seen.replicas.behind(seen.answers, {seen.name: seen.rules.versions}):
        case Bad(kind, text):
            problem = f"whether all replicas can convert {seen.name} cannot be read: {text or kind}"
            return Decision("wait_for_replicas", _again(Reason.READ_FAILED, problem, now + TRY_AGAIN))
        case ():
            return None
        case names:
            problem = f"{', '.join(names)} cannot convert all versions of {seen.name} yet"
            return Decision("wait_for_replicas", _again(Reason.REPLICAS_BEHIND, problem, now + LOOK_AGAIN))


def _looked(seen: AttachSnapshot, cached: Tree, now: datetime) -> Decision | Need | None:
    """None when no object would be taken for something that it is not."""
    if seen.rules.anyway:
        return None
    if seen.rules.kind is None:
        raise TypeError("rules that are loaded make a kind")
    match looked(cached, seen.rules.kind, seen.answers, now):
        case Need() as need:
            return need
        case PayloadLook() as look if not look.foreign:
            return None
        case PayloadLook() as look:
            text = f"{told(look)}; see to them, or have them converted as they are: `fairlead api attach --yes`"
            note = EventNote(seen.about, warning=True, reason="AttachBlocked", text=text)
            return _held("wait_for_person", Reason.PAYLOADS_FOREIGN, text, note, now + timedelta(minutes=1))
        case LookFailed(text):
            problem = f"objects of {seen.name} cannot be looked at: {text}; grant get and list of them to the operator"
            note = EventNote(seen.about, warning=True, reason="AttachBlocked", text=problem)
            return _held("wait_for_look", Reason.OBJECTS_UNSEEN, problem, note, now + TRY_AGAIN)
        case looking:
            return Decision("look", _again(Reason.OBJECTS_UNSEEN, f"{counted(looking.seen, 'object')} looked at", now))


def _written(seen: AttachSnapshot, *, is_repair: bool) -> Decision | Need | None:
    """Reads the definition and writes what differs; None when it is in order."""
    if todo := seen.answers.lacking((seen.read,)):
        return Need(todo)
    found, live = seen.answers[seen.read], seen.live
    if isinstance(found, Bad) or live is None or live["metadata"].get("deletionTimestamp"):
        text = (found.text or found.kind) if isinstance(found, Bad) else "it is not there any more"
        return Decision("read_again", Hold(Reason.READ_FAILED, details=(("definition", text),)))
    refusals = _refusals(seen)
    if len(refusals) >= MOST_CONFLICTS:
        text = "somebody writes it faster than it can be read and merged"
        return Decision("wait_for_definition", Hold(Reason.DEFINITION_PENDING, details=(("definition", text),)))
    if is_foreign(live, seen.webhook, seen.owner) and not seen.owner.takes_over:
        return Decision("leave_conversion", Hold(Reason.DEFINITION_FOREIGN), tell=(foreign_note(seen.name, live),))
    step = next_step(seen.wish, live, refusals)
    return None if step is None else Decision("apply", Move(Reason.REGISTERING, (_told(seen, step, is_repair),)))


def _told(seen: AttachSnapshot, step: DefinitionStep, is_repair: bool) -> AnyWrite:
    about = Ref(DEFINITIONS, "", seen.name)
    if is_repair:
        note = EventNote(about, warning=True, reason="ConversionLost", text=LOST)
        return structs.replace(step.write, does=Does.REPAIR_DEFINITION, tell=note)
    if not step.corrects:
        return step.write
    if seen.was_attached:
        return structs.replace(step.write, tell=EventNote(about, warning=True, reason="ConversionLost", text=LOST))
    text = "the operator converts its objects from now on"
    return structs.replace(step.write, tell=EventNote(about, warning=False, reason="CRDRegistered", text=text))


def _probed(seen: AttachSnapshot, cached: Tree) -> Decision | Need:
    """In order, and told whether the API server reaches the webhook."""
    if seen.probed is None:
        asked = conversion_probe.questions(cached, seen.samples, seen.home, seen.answers)
        if todo := seen.answers.lacking(asked):
            return Need(todo)
        found = conversion_probe.result(asked, seen.answers)
    else:
        found = seen.probed
    notes: tuple[EventNote, ...] = ()
    if found.result is Probed.FAILS:
        about = Ref(DEFINITIONS, "", seen.name)
        notes = (EventNote(about, warning=True, reason=conversion_probe.event_reason(found.text), text=found.text),)
    return Decision("in_order", Hold(Reason.COMPLETE), tell=notes)


def _released(seen: AttachSnapshot, cached: Tree) -> Decision | Need:
    """Nobody asks for it: what this operator attached is detached where it can do without."""
    if not seen.rules.is_gone or not _is_attached_here(seen, cached):
        return Decision("leave_alone", Hold(Reason.COMPLETE))
    if todo := seen.answers.lacking((seen.read,)):
        return Need(todo)
    live = seen.live
    if live is None or not _is_attached_here(seen, live):
        return Decision("leave_alone", Hold(Reason.COMPLETE))
    if found := blockers(live):
        text = "; ".join(f"{each.text}: {' or '.join(each.commands)}" for each in found)
        text = f"its rules are gone and it cannot do without, so the last good ones stay in force: {text}"
        note = EventNote(Ref(DEFINITIONS, "", seen.name), warning=True, reason="DetachBlocked", text=text)
        return _held("keep_attached", Reason.DETACH_BLOCKED, text, note)
    if len(_refusals(seen)) >= MOST_CONFLICTS:
        return Decision("wait_for_definition", Hold(Reason.DEFINITION_PENDING))
    return Decision("detach", Move(Reason.DETACHING, (conversion_patch(seen.name, live, NOT_CONVERTED),)))


def _is_attached_here(seen: AttachSnapshot, tree: Tree) -> bool:
    """A conversion that a person wrote is a person's to remove, and an own definition is registered elsewhere."""
    own = seen.owner.owner_key in (tree["metadata"].get("annotations") or {})
    written = wrote_conversion(tree, seen.owner.manager)
    return written and not own and is_ours(tree, seen.webhook, seen.owner)


def _refusals(seen: AttachSnapshot) -> tuple[str, ...]:
    known = seen.answers.known.items()
    return tuple(bad.text for write, bad in known if isinstance(write, Apply | Patch) and isinstance(bad, Bad))


def _again(reason: Reason, text: str, again: datetime) -> Hold:
    return Hold(reason, again, (("definition", text),))


def _held(rule: str, reason: Reason, text: str, note: EventNote, again: datetime | None = None) -> Decision:
    return Decision(rule, Hold(reason, again, (("definition", text),)), tell=(note,))
