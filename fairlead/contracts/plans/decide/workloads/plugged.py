"""Kinds of workloads that code of others rolls (section 3.7): how one keeps what plans read, and what each step does.

A process knows them from its start on. Steps are functions of an attempt, as those of the built-in kinds are: they
read, and answer with what is to be written.
"""

from __future__ import annotations

from msgspec import Struct

from fairlead.contracts.plans.decide.workloads.handlers import Handler, handler_for
from fairlead.contracts.plans.decide.workloads.live import WorkloadKind
from fairlead.contracts.plans.kinds import WorkloadReference


class Plugin(Struct, frozen=True):
    kind: WorkloadKind
    """Its style also says how a rollout goes back, and its paths where sizes and the pod template are."""
    handler: Handler
    """For upgrades; a workload without a source is scaled as all kinds are."""


_PLUGGED: dict[tuple[str, str], Plugin] = {}


def plug(group: str, kind: str, plugin: Plugin) -> None:
    _PLUGGED[group, kind] = plugin


def unplug(group: str, kind: str) -> None:
    _PLUGGED.pop((group, kind), None)


def plugged(reference: WorkloadReference) -> Plugin | None:
    return _PLUGGED.get((reference.group, reference.kind))


def handler_of(reference: WorkloadReference, kind: WorkloadKind, *, is_scale: bool) -> Handler:
    found = plugged(reference)
    return handler_for(kind.style, is_scale=is_scale) if found is None or is_scale else found.handler
