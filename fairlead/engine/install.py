"""How `fairlead manifests` is told what to install of a contract, and what it then prints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from msgspec import Struct

from fairlead import __version__
from fairlead.core.flags import Flag, Given
from fairlead.engine.charts import Object

V = TypeVar("V")


class InstallPlace(Struct, frozen=True):
    """What every installation is told."""

    namespace: str
    image: str = f"fairlead:{__version__}"


class PassedOn(Struct, Generic[V], frozen=True, kw_only=True):
    """Flags of the contract's program that an installation passes on to it, checked before anything is printed."""

    flag: Flag[Any]
    """By which they are given."""
    program: str
    words: Callable[[V], list[str]]
    """All that the program is started with."""
    check: Callable[[Given], None]
    """Raises FlagError for flags that do not fit each other."""


class Install(Struct, Generic[V], frozen=True, kw_only=True):
    flags: tuple[Flag[Any], ...]
    values: Callable[[InstallPlace, Given], V]
    """What the flags come down to; raises FlagError."""
    objects: Callable[[V], tuple[Object, ...]]
    """In the order in which they are to be applied."""
    one_namespace: bool = False
    """Whether the operator looks after the namespace that it is installed in, and no other."""
    passed_on: PassedOn[V] | None = None
