"""A Contract: everything that one contract brings, as a value.

Operator, commands, manifests and metrics go over the contracts that there are and know none of them by name. What a
contract brings is found in its rooms only when somebody wants it, so that a command loads what it needs and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from msgspec import Struct

from fairlead.core.verb import Verbs
from kubeloop.objects.meta import Resource

if TYPE_CHECKING:
    from fairlead.core.replay import Decider
    from fairlead.engine.part import Part, PartContext  # commands that only look need no parts
    from fairlead.engine.shared_conversion import SharedConversion

T = TypeVar("T")


class Room(Struct, Generic[T], frozen=True):
    """Something of a contract that is loaded when it is wanted: `attribute` of `module`."""

    module: str
    attribute: str

    def get(self) -> T:
        return cast("T", getattr(import_module(self.module), self.attribute))


class Root(Struct, frozen=True):
    """Objects whose presence tells that there is something to roll."""

    resource: Resource
    noun: str
    """What is rolled where there is one, as documents and `NOUN/NAME` have it: one word in lower case."""
    labels: str = ""
    """Selects those that matter; empty: all of the resource."""
    names: tuple[str, ...] = ()
    """Labels whose value people call a rollout by, besides the names of the objects."""
    optional: bool = False
    """Whether a cluster may lack the resource, or withhold it; there is none of it then."""


class Mark(Struct, frozen=True):
    """A finalizer that stands for nothing but bookkeeping: without an operator it only keeps objects from going."""

    resource: Resource
    finalizer: str


class Contract(Struct, frozen=True, kw_only=True):
    name: str
    """As options, sections of a configuration, metrics and explain documents have it."""
    about: str
    """What it rolls, in a few words, for help texts."""
    labels: Mapping[str, str] = {}
    """Of what an operator makes for itself, so that whoever removes it finds that."""
    groups: frozenset[str] = frozenset()
    """API groups of its kinds."""

    # For the operator.
    part: Room[Callable[[PartContext, Any], Part]]
    """Makes what a process runs for it, from its settings."""
    home: Callable[[Any], str] = lambda _: ""
    """The namespace of what belongs to its operator when all namespaces are served, as its settings say; empty: the one
    that the operator runs in."""
    conversion: Room[Callable[[Any, str], SharedConversion | None]] | None = None
    """Makes the listener that converts for all parts of a process, from its settings and the operator's namespace; None
    where it has none."""
    deciders: Room[Mapping[str, Decider]] | None = None
    """By controller and by the first path of a webhook: what decides, and from what; None: nothing is recorded."""
    lease: str = ""
    """Held by whoever acts for it, under any name; empty: the contract has none."""
    rejoins: bool = False
    """Whether its operator stands again for a Lease that it lost; else the process ends with it."""
    keeps_records: bool = False
    """Whether its decisions keep records between rounds, reviews and replicas."""
    registers: bool = False
    """Whether its operator defines its kinds itself, once it leads."""
    trust_labels: tuple[str, str] | None = None
    """By which webhook configurations ask for the authority of the certificate of webhooks: one that is exactly `true`,
    and one that names the operator by its namespace; None: none asks by labels."""
    trust_names: tuple[str, ...] = ()
    """Of the webhook configurations that get the authority whatever their labels say."""

    # For commands.
    chart: str = ""
    """Name of its chart, of what that installs, and of the pods of its operator; empty: it has none."""
    installed_for: str = ""
    """Label by which what an installation has outside of its namespace tells whose it is; empty: nothing does, so that
    `uninstall` cannot know the installation."""
    holds_data: bool = False
    """Whether what its objects stand for is data of users: `uninstall` then leaves its kinds and all Secrets alone."""
    mark: Mark | None = None
    """What its operator puts on objects to hear of their deletion; None: nothing, or what stands for work to be done
    before an object goes."""
    letting_go: Room[Any] | None = None
    """How definitions, of whichever contract, are let go of before an installation is removed that they name."""
    about_kinds: str = ""
    """What is to be known about its kinds where they are printed."""
    install: Room[Any] | None = None
    """How its Installation is printed."""
    hashes: Room[Any] | None = None
    """The Hashes of its objects in files; None: they have none."""
    programs: Mapping[str, Room[Any]] = {}
    """By the name of the process: the Program that runs its operator under that name."""
    section: Room[Any] | None = None
    """The Section by which `fairlead operator` is told about it; None: it does not serve the contract."""
    rule_sets: Mapping[str, Room[Any]] = {}
    """By name: sets of conversion rules for definitions of its kinds that others register, as files have them."""
    kinds: Room[Any] | None = None
    """Makes the CustomResourceDefinitions."""
    demos: Mapping[str, Room[Any]] = {}
    """By name: a Demo that `fairlead up` plays."""
    hosted: Room[Any] | None = None
    """How it is Hosted by `fairlead up`; None: it is not."""
    roots: tuple[Root, ...] = ()
    """What commands look for first; the rest of a look is loaded and read where one of them has objects."""
    spoken: tuple[str, ...] = ()
    """What else documents are about, by their nouns, that only an operator knows: commands show what it says
    while it is not done."""
    look: Room[Any] | None = None
    """The Look at its rollouts; None: it has none to look at."""
    nothing: str = ""
    """What a namespace lacks in which it rolls nothing, after "no"."""
    lane: str = ""
    """The kind of the object that a lane is, where people may name it; empty: a lane is no object of its own."""
    gone: str = ""
    """How a rollout goes away without its objects being deleted; empty: it does not."""
    phases_are_conditions: bool = False
    """Whether phases are words of a condition, which stay as the API has them."""
    verbs: Room[Verbs] | None = None
    """What a person may ask of its rollouts."""
    commands: Mapping[str, Room[Any]] = {}
    """By the word after `fairlead`: the CommandGroup of its own that is found there."""


def deciders_of(contracts: Iterable[Contract]) -> Mapping[str, Decider]:
    """By controller and by the first path of a webhook: what decides, and from what."""
    rooms = [each.deciders for each in contracts if each.deciders is not None]
    return {controller: decider for room in rooms for controller, decider in room.get().items()}
