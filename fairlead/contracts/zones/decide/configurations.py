"""Which configuring objects are in force: a fold over what is observed of them.

The newest valid version of each counts. Observations may come late or twice: an older generation changes nothing,
unless it is of another object under the same name (H-13). An invalid version leaves the valid one before it in force.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Generic, Protocol, TypeVar

from msgspec import Struct

from fairlead.contracts.zones.configuration_kinds import ConfigurationMeta, ConfigurationObject


class InvalidConfiguration(ValueError):
    """The object breaks a rule; the text begins with the field."""


class Valid(Protocol):
    """What has been read of an object in one version."""

    @property
    def uid(self) -> str: ...

    @property
    def generation(self) -> int: ...


C = TypeVar("C", bound=Valid)
Reader = Callable[[ConfigurationMeta, object], C]
"""What the metadata and the spec of an object mean; raises InvalidConfiguration."""


class Configurations(Struct, Generic[C], frozen=True):
    in_force: Mapping[tuple[str, str], C] = {}
    """By namespace and name."""

    def of(self, namespace: str) -> tuple[C, ...]:
        """Those of one namespace, by name."""
        return tuple(self._in(namespace))

    def _in(self, namespace: str) -> Iterator[C]:
        return (self.in_force[key] for key in sorted(self.in_force) if key[0] == namespace)


class Observed(Struct, frozen=True):
    """What became of an observation, in the contract's word, and why where it is not plain."""

    result: str
    """`updated`, `ignored`, `invalid`, `deleted` or `delete-ignored`."""
    why: str = ""


def observe(state: Configurations[C], item: ConfigurationObject, read: Reader[C]) -> tuple[Configurations[C], Observed]:
    """The object is there in this version."""
    key = (item.metadata.namespace, item.metadata.name)
    try:
        newest = read(item.metadata, item.spec)
    except InvalidConfiguration as error:
        return state, Observed("invalid", str(error))
    held = state.in_force.get(key)
    if held is not None and held.uid == newest.uid and newest.generation <= held.generation:
        return state, Observed("ignored")
    return Configurations({**state.in_force, key: newest}), Observed("updated")


def forget(state: Configurations[C], item: ConfigurationObject) -> tuple[Configurations[C], Observed]:
    """The object is gone; this is the last that was seen of it."""
    key = (item.metadata.namespace, item.metadata.name)
    held = state.in_force.get(key)
    if held is None or held.uid != item.metadata.uid or item.metadata.generation < held.generation:
        return state, Observed("delete-ignored")
    return Configurations({name: other for name, other in state.in_force.items() if name != key}), Observed("deleted")
