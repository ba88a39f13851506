"""What the leader does about the rules of a definition: it keeps the set that is good, and says which are not
(section 2.6 and section 2.9)."""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import Struct

from fairlead.contracts.apiversions.decide.loaded_rules import Loaded, State
from fairlead.contracts.apiversions.kinds import KEPT_RULES_LABEL, MANAGER, OWN_LABELS, kept_rules_name
from fairlead.core.act import Apply, Does, EventNote
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import Ref

KEY, ATTACHED = "rules.yaml", "attached"
REJECTED, UNKNOWN = "RulesRejected", "UnknownVersion"
LONGEST = 900
"""Characters of an Event's text, of which the API server takes 1024."""


class Unused(Struct, frozen=True):
    """Another set for the same definition."""

    about: Ref | None
    """The ConfigMap."""
    why: str


class RulesSeen(Struct, frozen=True):
    loaded: Loaded | None
    """None: there is something that is about no definition."""
    home: str
    """The namespace of what is kept."""
    kept: str = ""
    """The text that is kept; empty: none is."""
    unused: tuple[Unused, ...] = ()
    attached: str = ""
    """UID of the definition while it names this operator; empty: it does not."""
    noted: str = ""
    """The UID that is kept of it: whoever leads next knows by it that somebody overwrote the conversion meanwhile."""


def decide(seen: RulesSeen, _: datetime) -> Decision:
    loaded, notes = seen.loaded, _notes(seen)
    if loaded is not None and loaded.text and (loaded.text, _note_of(seen, loaded)) != (seen.kept, seen.noted):
        return Decision("keep", Move(Reason.APPLYING, (_kept(loaded, seen.home, _note_of(seen, loaded)),)), notes)
    # Nothing to do about a set that is wrong: whoever wrote it is told, and a change of it is a new round.
    return Decision("complete", Hold(Reason.COMPLETE), notes)


def _note_of(seen: RulesSeen, loaded: Loaded) -> str:
    """What was noted stays while the rules ask for it: that is how a loss is known."""
    return seen.attached or (seen.noted if loaded.wants_attachment and loaded.has_source else "")


def _kept(loaded: Loaded, home: str, attached: str) -> Apply:
    noted = {ATTACHED: attached} if attached else {}
    name = kept_rules_name(loaded.crd)
    tree = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": home, "labels": {**OWN_LABELS, KEPT_RULES_LABEL: "true"}},
        "data": {KEY: loaded.text, "crd": loaded.crd, **noted},
    }
    return Apply(
        does=Does.KEEP_RULES,
        ref=Ref(CONFIGMAPS, home, name),
        body=msgspec.json.encode(tree),
        manager=MANAGER,
        force=True,
        change_to=loaded.crd,
    )


def _notes(seen: RulesSeen) -> tuple[EventNote, ...]:
    loaded = seen.loaded
    definition = None if loaded is None else loaded.definition
    notes = [_note(each.about or definition, REJECTED, _cut(each.why)) for each in seen.unused]
    if loaded is not None and loaded.problem:
        after = "; the set before it stays in force" if loaded.state is State.LAST_GOOD else "; nothing is converted"
        notes.append(_note(loaded.source or loaded.definition, REJECTED, _cut(loaded.problem) + after))
    if loaded is not None and loaded.uncovered:
        text = f"no rules lead to {', '.join(loaded.uncovered)} of {loaded.crd}: reviews that name it fail"
        notes.append(_note(loaded.definition, UNKNOWN, text))
    return tuple(each for each in notes if each is not None)


def _note(about: Ref | None, reason: str, text: str) -> EventNote | None:
    return None if about is None else EventNote(about, True, reason, text)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
