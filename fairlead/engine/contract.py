"""A Contract: everything that one contract brings, as a value.

Operator, commands, manifests and metrics go over the contracts that there are and know none of them by name. What a
contract brings is found in its rooms only when somebody wants it, so that a command loads what it needs and no more.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar, cast

from msgspec import Struct

from kubeloop.objects.meta import Resource

T = TypeVar("T")


class Room(Struct, Generic[T], frozen=True):
    """Something of a contract that is loaded when it is wanted: `attribute` of `module`."""

    module: str
    attribute: str

    def get(self) -> T:
        return cast("T", getattr(import_module(self.module), self.attribute))


class TrustLabels(Struct, frozen=True):
    """By which labels a webhook configuration asks for the authority of the certificate of webhooks."""

    wish: str
    """Exactly `true`: it is to have it."""
    namespace: str
    """Which operator it asks, by its namespace."""


class Root(Struct, frozen=True):
    """Objects whose presence tells that there is something to roll."""

    resource: Resource
    labels: str = ""
    """Selects those that matter; empty: all of the resource."""
    names: tuple[str, ...] = ()
    """Labels whose value people call a rollout by, besides the names of the objects."""
    optional: bool = False
    """Whether a cluster may lack the resource, or withhold it; there is none of it then."""


class Contract(Struct, frozen=True, kw_only=True):
    name: str
    """As options, sections of a configuration, metrics and explain documents have it."""
    about: str
    """What it rolls, in a few words, for help texts."""
    lease: str = ""
    """Held by whoever acts for it, under any name; empty: the contract has none."""
    labels: Mapping[str, str] = {}
    """Of what an operator makes for itself, so that whoever removes it finds that."""
    groups: frozenset[str] = frozenset()
    """API groups of the kinds that its operator defines."""
    trust: TrustLabels | None = None
    """None: no webhook configuration is written to for it."""
    kinds: Room[Any] | None = None
    """Makes the CustomResourceDefinitions."""

    # For commands.
    roots: tuple[Root, ...] = ()
    """What commands look for first; the rest of a look is loaded and read where one of them has objects."""
    look: Room[Any] | None = None
    """The Look at its rollouts; None: it has none to look at."""
    nothing: str = ""
    """What a namespace lacks in which it rolls nothing, after "no"."""
