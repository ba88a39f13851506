"""Handlers of custom kinds that other packages bring, by the entry points of the group `fairlead.workloads`.

The name of an entry point is the group and the kind, as `toys.example.com/Gizmo`; what it names is a Plugin.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from fairlead.contracts.plans.decide.facts import BUILT_IN
from fairlead.contracts.plans.decide.workloads.plugged import Plugin, plug

GROUP = "fairlead.workloads"


class PluginUnusable(Exception):
    """An entry point that cannot be served; the text says which one, and why."""


def load() -> tuple[str, ...]:
    """Plugs in all of them; their names."""
    return tuple(_loaded(each) for each in entry_points(group=GROUP))


def _loaded(point: EntryPoint) -> str:
    group, _, kind = point.name.rpartition("/")
    if not group or not kind:
        raise PluginUnusable(f"the entry point {point.name} of {GROUP} is named wrongly: write GROUP/KIND")
    if (group, kind) in BUILT_IN:
        raise PluginUnusable(f"the entry point {point.name} of {GROUP} names a built-in kind: take it out")
    try:
        found = point.load()
    except (ImportError, AttributeError) as error:
        raise PluginUnusable(f"the entry point {point.name} of {GROUP} cannot be loaded: {error}") from error
    if not isinstance(found, Plugin):
        raise PluginUnusable(f"the entry point {point.name} of {GROUP} is no Plugin: see docs/plans.md")
    plug(group, kind, found)
    return point.name
