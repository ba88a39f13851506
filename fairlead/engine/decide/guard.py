"""Objects that another version of the operator has handled: who may act on them.

The guard stands before the rounds of a part. An object that says nothing, or that an older version has handled and this
one can take over, is handled; it gets the stamp of this version before the first thing that is done about it, and none
while nothing is to be done. Objects of versions that are too old or too new are left alone, with an Event that says so.
An object that goes away is always let go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct, structs

from fairlead import MINIMUM_COMPATIBLE, __version__
from fairlead.core.act import Does, EventNote, Patch, PatchKind
from fairlead.core.ask import Answers, Bad
from fairlead.core.controller_version import CONTROLLER_VERSION, LEGACY_VERSION
from fairlead.core.decision import Decision, Hold, Move, Outcome
from fairlead.core.domain import DOMAIN
from fairlead.core.reason import Reason
from fairlead.core.semantic_versions import SemanticVersion, parse
from kubeloop.objects.meta import Meta, Ref, Resource

RULE = "guard"
"""Of decisions that are made here."""
UNMANAGED = (
    ("eck.k8s.elastic.co/managed", "false"),
    ("common.k8s.elastic.co/pause", "true"),
    (f"{DOMAIN}/managed", "false"),
)
"""Annotations of objects that nobody touches."""
UNKNOWN = "0.0.0-UNKNOWN"
"""Of an object that something older than the stamp has handled."""


class Adopt(Enum):
    COMPATIBLE = "compatible"
    NEVER = "never"
    ALWAYS = "always"


class OnNewer(Enum):
    IGNORE = "ignore"
    HANDLE = "handle"


class VersionPolicy(Struct, frozen=True, kw_only=True):
    own: str = __version__
    minimum: str = MINIMUM_COMPATIBLE
    """The oldest version whose objects are taken over."""
    adopt: Adopt = Adopt.COMPATIBLE
    on_newer: OnNewer = OnNewer.IGNORE
    legacy: bool = False
    """Whether the stamp is written under its old name as well."""
    allow_downgrade: bool = False
    """Whether this version leads after one of a higher minor has."""


USUAL_POLICY = VersionPolicy()


class GuardedObject(Struct, frozen=True, kw_only=True):
    """What the guard reads of an object."""

    ref: Ref
    """With its UID."""
    resource_version: str
    annotations: Mapping[str, str]
    is_leaving: bool = False
    has_children: bool = False
    """Whether something is there that was made for it, by its UID."""
    has_predecessors: bool = True
    """Whether other operators served the kind before us, so that what is there may be theirs."""
    may_be_stamped: bool = True
    """Whether the object gets the stamp: not where its contract lets the operator write its status alone, or where it
    is made for another one that has it."""
    answers: Answers = Answers()
    is_told: bool = True
    """Whether its Events come from here; rounds about parts of an object leave them to those about the object."""


def subject_of(
    resource: Resource,
    meta: Meta,
    annotations: Mapping[str, str],
    made: Iterable[Meta],
    answers: Answers,
    *,
    may_be_stamped: bool = True,
) -> GuardedObject:
    """Of a kind that other operators served before us; `made` is what may have been made for the object."""
    return GuardedObject(
        ref=Ref(resource, meta.namespace, meta.name, meta.uid),
        resource_version=meta.resource_version,
        annotations=annotations,
        is_leaving=meta.deletion_timestamp is not None,
        has_children=any(owner.uid == meta.uid for each in made for owner in each.owner_references),
        may_be_stamped=may_be_stamped,
        answers=answers,
    )


class Handled(Struct, frozen=True):
    stamp: Patch | None = None
    """To be written before anything else is."""
    tell: tuple[EventNote, ...] = ()


class Ignored(Struct, frozen=True):
    decision: Decision
    why: str = ""
    """`older`, `newer` or `unknown`; empty where a person wants the object to be left alone."""


Standing: TypeAlias = Handled | Ignored


def standing(subject: GuardedObject, policy: VersionPolicy) -> Standing:
    """Whether the object is handled by this version."""
    found = _standing(subject, policy)
    if subject.is_told:
        return found
    if isinstance(found, Ignored):
        return structs.replace(found, decision=structs.replace(found.decision, tell=()))
    return structs.replace(found, tell=())


def _standing(subject: GuardedObject, policy: VersionPolicy) -> Standing:
    if subject.is_leaving:
        return Handled()
    unmanaged = next((name for name, value in UNMANAGED if subject.annotations.get(name) == value), "")
    if unmanaged:
        return Ignored(_held(subject, Reason.OBJECT_UNMANAGED, f"annotation {unmanaged} says to leave it alone"))
    return _compatible(subject, policy)


def _compatible(subject: GuardedObject, policy: VersionPolicy) -> Standing:
    given = subject.annotations.get(CONTROLLER_VERSION) or subject.annotations.get(LEGACY_VERSION, "")
    version, own = parse(given), _known(policy.own)
    if version is None:
        return _unstamped(subject, policy, given)
    if version.precedence == own.precedence:
        return Handled()
    if version.precedence < own.precedence:
        return _older(subject, policy, given, version)
    if version.line == own.line or policy.on_newer is OnNewer.HANDLE:
        return Handled()
    text = f"version {given} of the operator has handled it, which is newer than {policy.own}"
    note = EventNote(subject.ref, True, "HandledByNewerOperator", f"{text}: it is left alone", occurrence=given)
    return Ignored(_held(subject, Reason.HANDLED_BY_NEWER, text, note), "newer")


def _unstamped(subject: GuardedObject, policy: VersionPolicy, given: str) -> Standing:
    tell: tuple[EventNote, ...] = ()
    if given:
        text = f"annotation {CONTROLLER_VERSION} is no semantic version: it counts as absent"
        tell = (EventNote(subject.ref, True, "CompatCheckError", text, occurrence=given),)
    if not subject.has_children:
        return Handled(_stamp(subject, policy, policy.own), tell)
    if subject.has_predecessors or policy.adopt is Adopt.ALWAYS:
        return Handled(_stamp(subject, policy, policy.own, _adopted(subject, "another operator", policy)), tell)
    text = (
        f"it was handled before versions were noted on objects, and {policy.minimum} is the oldest that is taken over"
    )
    note = EventNote(subject.ref, True, "HandledByOlderOperator", f"{text}: it is left alone", occurrence=UNKNOWN)
    decision = _held(subject, Reason.HANDLED_BY_OLDER, text, *tell, note)
    stamp = _stamp(subject, policy, UNKNOWN)
    return Ignored(decision if stamp is None else structs.replace(decision, reports=(stamp,)), "unknown")


def _older(subject: GuardedObject, policy: VersionPolicy, given: str, version: SemanticVersion) -> Standing:
    is_compatible = version.precedence >= _known(policy.minimum).precedence
    if policy.adopt is Adopt.ALWAYS or (is_compatible and policy.adopt is Adopt.COMPATIBLE):
        return Handled(_stamp(subject, policy, policy.own, _adopted(subject, f"version {given}", policy)))
    limit = "nothing is taken over" if is_compatible else f"{policy.minimum} is the oldest that is taken over"
    text = f"version {given} of the operator has handled it, and {limit}"
    note = EventNote(subject.ref, True, "HandledByOlderOperator", f"{text}: it is left alone", occurrence=given)
    return Ignored(_held(subject, Reason.HANDLED_BY_OLDER, text, note), "unknown" if given == UNKNOWN else "older")


def _adopted(subject: GuardedObject, whose: str, policy: VersionPolicy) -> EventNote:
    return EventNote(subject.ref, False, "Adopted", f"taken over from {whose} by version {policy.own} of the operator")


def _known(text: str) -> SemanticVersion:
    version = parse(text)
    if version is None:
        raise ValueError(f"the operator's own version {text} is no semantic version")
    return version


def _stamp(subject: GuardedObject, policy: VersionPolicy, version: str, tell: EventNote | None = None) -> Patch | None:
    """None where the contract forbids it, or the API server has refused it, of a kind that others served before us."""
    if not subject.may_be_stamped or _is_refused(subject):
        return None
    names = (CONTROLLER_VERSION, LEGACY_VERSION) if policy.legacy else (CONTROLLER_VERSION,)
    return Patch(
        ref=subject.ref,
        does=Does.STAMP_VERSION,
        scope=subject.ref.uid,
        kind=PatchKind.MERGE,
        body=msgspec.json.encode({"metadata": {"annotations": dict.fromkeys(names, version)}}),
        resource_version=subject.resource_version,
        change_from=subject.annotations.get(CONTROLLER_VERSION, ""),
        change_to=version,
        tell=tell,
        # Without the note, what is made for a kind of our own would be taken for that of something older.
        refusable=subject.has_predecessors,
        contested=True,
    )


def _is_refused(subject: GuardedObject) -> bool:
    """Whether a stamp was refused in this pass or a moment ago, whatever the version of the object was."""
    return any(
        isinstance(question, Patch) and question.does is Does.STAMP_VERSION and isinstance(answer, Bad)
        for question, answer in subject.answers.known.items()
    )


def stamping(stamp: Patch, outcome: Outcome, tell: tuple[EventNote, ...] = ()) -> Decision:
    """The stamp, before anything else is done: what is decided next is bound to the version of the object that has it.

    Where the only thing to be done is a change of the metadata of the same object, that goes into the same write.
    """
    if isinstance(outcome, Decision) and (change := _own_metadata(outcome, stamp)) is not None:
        body = {"metadata": {**change.metadata, **_Change.of(stamp).metadata}}
        shown = f"{stamp.change_to}, {change.does.value}"
        stamp = structs.replace(stamp, body=msgspec.json.encode(body), change_to=shown)
        tell = (*tell, *outcome.tell)
    return Decision(RULE, Move(Reason.STAMPING, (stamp,)), tell)


class _Change(Struct, frozen=True):
    """A change of metadata alone."""

    metadata: dict[str, Any]
    does: Does

    @classmethod
    def of(cls, patch: Patch) -> _Change:
        return cls(msgspec.json.decode(patch.body)["metadata"], patch.does)


def _own_metadata(decision: Decision, stamp: Patch) -> _Change | None:
    """What the decision does, where that is one patch of the same object as it was seen, and not of its annotations."""
    writes = decision.verdict.writes if isinstance(decision.verdict, Move) else ()
    match (*writes, *decision.reports):
        case (Patch(kind=PatchKind.MERGE, subresource="", sealed=(), tell=None) as patch,):
            is_same = (patch.ref, patch.resource_version) == (stamp.ref, stamp.resource_version)
            body = msgspec.json.decode(patch.body) if is_same else {}
            if [*body] == ["metadata"] and "annotations" not in body["metadata"]:
                return _Change.of(patch)
    return None


def _held(subject: GuardedObject, reason: Reason, text: str, *tell: EventNote) -> Decision:
    return Decision(RULE, Hold(reason, details=((str(subject.ref), text),)), tell)
