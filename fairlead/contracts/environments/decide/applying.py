"""Objects that are not as they are wanted, and what became of trying to have them so.

What was applied and has not been touched since is left alone. A refusal stands until it is tried again; an object that
somebody changes back right after it was applied is left to that somebody for a while, so that two writers do not keep
each other and the API server busy. That goes for one that somebody deletes again, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct, structs

from fairlead.contracts.environments.decide.objects.wanted import Wanted
from fairlead.contracts.environments.decide.seen import Applied
from fairlead.contracts.environments.kinds import MANAGER
from fairlead.core.act import AnyWrite, Apply, Create, Delete, Does
from fairlead.core.ask import Answers, Bad, Good
from kubeloop.objects.meta import Meta, Ref

Existing = Callable[[Ref], Meta | None]


class ApplyFacts(Struct, frozen=True):
    """What decides whether an object must be applied."""

    scope: str
    """UID of whom the objects belong to."""
    applied: Applied | None
    answers: Answers
    existing: Existing
    """What the caches show of an object."""
    occasion: str = ""
    """What the writes are made for. Whoever comes back to an earlier wish, as when a spec is changed to and fro, makes
    other writes than before, and is not taken for somebody who undoes them."""


class Refusal(Struct, frozen=True):
    ref: Ref
    answer: Bad

    @property
    def text(self) -> str:
        return self.answer.text or self.answer.kind


class Lacking(Struct, frozen=True):
    """The writes that are to be sent, those that were refused, those that somebody undid, and those that no write
    keeps: such an object is being deleted, and comes back once it is gone."""

    writes: tuple[AnyWrite, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    undone: tuple[Ref, ...] = ()
    going: tuple[Ref, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.writes or self.refusals or self.is_left)

    @property
    def is_left(self) -> bool:
        """Whether something is left for a while to whoever has changed it."""
        return bool(self.undone or self.going)


def lacking(objects: Iterable[Wanted], does: Does, facts: ApplyFacts) -> Lacking:
    """What must be applied for these objects to be as they are wanted."""
    if facts.applied is None:
        return Lacking()
    outdated = [each for each in objects if facts.applied.get(each.ref) != each.digest]
    return sorted_out((applied(each, does, facts) for each in outdated), facts)


def missing(objects: Iterable[Wanted], does: Does, facts: ApplyFacts) -> Lacking:
    """What must be created because it is not there; what is there is left as it is."""
    absent = [each for each in objects if facts.existing(each.ref) is None]
    return sorted_out((created(each, does, facts) for each in absent), facts)


def applied(wanted: Wanted, does: Does, facts: ApplyFacts) -> Apply:
    """It tells what was there before, so that an answer about one incarnation is not taken for that about another."""
    found = facts.existing(wanted.ref)
    before = (facts.applied or {}).get(wanted.ref) or ("nothing" if found is None else found.uid)
    return Apply(
        repeatable=True,
        ref=wanted.ref,
        body=wanted.body,
        manager=MANAGER,
        force=True,
        does=does,
        scope=facts.scope,
        change_from=f"{before} {facts.occasion}".strip(),
        change_to=wanted.digest,
        refusable=True,
    )


def created(wanted: Wanted, does: Does, facts: ApplyFacts) -> Create:
    return Create(
        repeatable=True,
        resource=wanted.resource,
        namespace=wanted.namespace,
        name=wanted.name,
        body=wanted.body,
        does=does,
        scope=facts.scope,
        change_from=facts.occasion,
        change_to=wanted.digest,
        refusable=True,
    )


def sorted_out(writes: Iterable[Apply | Create], facts: ApplyFacts) -> Lacking:
    """By what is known of trying each."""
    fresh: list[AnyWrite] = []
    refusals: list[Refusal] = []
    undone: list[Ref] = []
    going: list[Ref] = []
    for write in writes:
        ref = Ref(write.resource, write.namespace, write.name) if isinstance(write, Create) else write.ref
        match facts.answers.known.get(write):
            case Bad() as bad:
                refusals.append(Refusal(ref, bad))
            case Good() if (found := facts.existing(ref)) is not None and found.deletion_timestamp is not None:
                going.append(ref)
            case Good() if found is not None or not is_removed(ref, facts.answers):
                undone.append(ref)
            case _:
                fresh.append(write)
    return Lacking(tuple(fresh), tuple(refusals), tuple(undone), tuple(going))


def is_removed(ref: Ref, answers: Answers) -> bool:
    """Whether we deleted it ourselves a moment ago, whichever incarnation of it that was."""
    removals = (write.ref for write, each in answers.known.items() if isinstance(write, Delete) and each == Good())
    return any(structs.replace(each, uid="") == ref for each in removals)
