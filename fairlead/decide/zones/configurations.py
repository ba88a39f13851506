"""Which budgets are in force: a fold over what is observed of their objects.

The newest valid version of each counts. Observations may come late or twice: an older generation changes nothing,
unless it is of another object under the same name (H-13). An invalid version leaves the valid one before it in force.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct

from fairlead.api.zpdb import Zpdb
from fairlead.decide.zones.zpdb import Guard, Invalid, guard_of


class Configurations(Struct, frozen=True):
    in_force: Mapping[tuple[str, str], Guard] = {}
    """By namespace and name."""

    def of(self, namespace: str) -> tuple[Guard, ...]:
        """Those of one namespace, by name."""
        return tuple(self._in(namespace))

    def _in(self, namespace: str) -> Iterator[Guard]:
        return (self.in_force[key] for key in sorted(self.in_force) if key[0] == namespace)


NONE = Configurations()


class Observed(Struct, frozen=True):
    """What became of an observation, in the contract's word, and why where it is not plain."""

    result: str
    """`updated`, `ignored`, `invalid`, `deleted` or `delete-ignored`."""
    why: str = ""


def observe(state: Configurations, item: Zpdb) -> tuple[Configurations, Observed]:
    """The object is there in this version."""
    key = (item.metadata.namespace, item.metadata.name)
    try:
        guard = guard_of(item.metadata, item.spec)
    except Invalid as error:
        return state, Observed("invalid", str(error))
    held = state.in_force.get(key)
    if held is not None and held.uid == guard.uid and guard.generation <= held.generation:
        return state, Observed("ignored")
    return Configurations({**state.in_force, key: guard}), Observed("updated")


def forget(state: Configurations, item: Zpdb) -> tuple[Configurations, Observed]:
    """The object is gone; this is the last that was seen of it."""
    key = (item.metadata.namespace, item.metadata.name)
    held = state.in_force.get(key)
    if held is None or held.uid != item.metadata.uid or item.metadata.generation < held.generation:
        return state, Observed("delete-ignored")
    return Configurations({name: guard for name, guard in state.in_force.items() if name != key}), Observed("deleted")
