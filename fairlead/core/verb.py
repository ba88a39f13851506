"""Verbs: what a person may ask of a rollout, as a table per contract.

A row is a pure function from what is read live to what is to be written, or to a sentence about why nothing is. It asks
for what it reads as decisions do, with a Need. Whoever carries it out binds every write to what was read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from importlib import import_module
from typing import Any, TypeAlias

from msgspec import Struct

from fairlead.core.ask import Answers, Need
from kubeloop.objects.meta import Ref

VERBS = ("pause", "resume", "promote", "abort", "undo", "retry", "restart", "history")
"""Every contract has a row for each of them; what stands in the explain document needs none."""

Tree: TypeAlias = dict[str, Any]


class VerbOption(Struct, frozen=True):
    """An option that only some rows have."""

    flag: str
    """With its dashes."""
    help: str
    metavar: str = ""
    """Empty: it takes no value, and is `true` where it is given."""
    repeated: bool = False


class VerbRequest(Struct, frozen=True):
    """What a person asks for."""

    namespace: str
    name: str
    """Of a rollout; the contract knows which names it has."""
    options: Mapping[str, tuple[str, ...]] = {}
    """By flag: what was given."""
    noun: str = ""
    """Of the rollout, where it was named by that; empty: any that the contract has."""

    def option(self, flag: str) -> str:
        """What was given last; empty when it was not given."""
        return self.options.get(flag, ("",))[-1]


class VerbWrite(Struct, frozen=True):
    """A merge patch of one object."""

    ref: Ref
    """With its UID."""
    patch: Tree
    """Holds the version that was read, or at least the UID."""
    shown: tuple[str, ...] = ()
    """What it changes, in lines for people."""
    skipped_when_gone: bool = False
    """Whether nothing is left to do once the object is gone or another has its name; else it is decided anew."""


class VerbPlan(Struct, frozen=True, kw_only=True):
    """These writes, in this order: all of them, as far as the API allows."""

    rollout: str
    writes: tuple[VerbWrite, ...]
    said: str
    """Told when all are written."""
    did: str
    """What the Event says after the name of who asked for it."""
    event: str
    """Reason of the Event."""
    about: tuple[Ref, ...] = ()
    """What the Event is about; otherwise what is written."""
    before: str = ""
    """What is shown, and asked for on a terminal, before anything is written; empty where nobody need be asked."""
    pinned: Mapping[str, tuple[str, ...]] = {}
    """Options by which the same is meant when it is decided anew, after some of it is written."""
    attempts: int = 5
    """How often in a row it is begun because somebody else changed an object meanwhile."""
    unfinished: str = ""
    """What helps where only some of it could be written; otherwise to run the same again."""
    warnings: tuple[str, ...] = ()

    @property
    def subjects(self) -> tuple[Ref, ...]:
        return self.about or tuple(write.ref for write in self.writes)


class Nothing(Struct, frozen=True):
    """All is as it is asked for."""

    sentence: str


class Refused(Struct, frozen=True):
    """It is not done, and why: one sentence that says what helps."""

    sentence: str


class Absent(Struct, frozen=True):
    """The contract has no rollout of this name."""


class VerbTable(Struct, frozen=True):
    """Something to look at: rows for people, items for programs."""

    rollout: str
    kind: str
    """Of the document for programs."""
    rows: tuple[Mapping[str, str], ...]
    """Columns by their titles."""
    items: tuple[Tree, ...]


class VerbDocument(Struct, frozen=True):
    """One thing to look at."""

    rollout: str
    kind: str
    """Of the document for programs."""
    shown: str | Tree
    """For people: lines, or a tree that they see as YAML."""
    item: Tree


VerbAnswer: TypeAlias = VerbPlan | Nothing | Refused | Absent | VerbTable | VerbDocument
VerbDecide: TypeAlias = Callable[[VerbRequest, Answers, datetime], VerbAnswer | Need]


class Verb(Struct, frozen=True):
    """A row: the verb as this contract has it."""

    decide: VerbDecide
    about: str
    """What it does, in full sentences, for the help."""
    options: tuple[VerbOption, ...] = ()


class Instead(Struct, frozen=True):
    """A row of a contract that does not have the verb: one sentence that says what to do instead."""

    sentence: str
    """`{name}` and `{namespace}` stand for those of the rollout."""


class Verbs(Struct, frozen=True):
    """The table of a contract."""

    noun: str
    """What one of its rollouts is called."""
    find: Callable[[VerbRequest, Answers, datetime], bool | Need]
    """Whether there is a rollout of this name."""
    rows: Mapping[str, Verb | Instead]
    rolls: str = ""
    """Their noun in documents, where the contract rolls something else besides that has no verbs; empty: all."""

    def __post_init__(self) -> None:
        if set(self.rows) != set(VERBS):
            raise ValueError(f"rows for {sorted(set(VERBS) ^ set(self.rows))} are missing, or too many")


def loaded(module: str, attribute: str) -> Callable[[VerbRequest, Answers, datetime], Any]:
    """The function of this name, imported when it is first called: help, and other contracts' verbs, do without it."""

    def call(request: VerbRequest, answers: Answers, now: datetime) -> Any:
        return getattr(import_module(module), attribute)(request, answers, now)

    return call


def follow(namespace: str, name: str) -> str:
    """How to see what comes of it."""
    return f"follow it with `fairlead watch {name} -n {namespace}`"
