"""What a DisaggregatedSet says of itself (section 6.7): counts of its roles, and whether all is as wanted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

import msgspec
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.disaggregated import notes
from fairlead.contracts.leaderworker.decide.disaggregated.children import Child
from fairlead.contracts.leaderworker.disaggregated.kinds import DisaggregatedSet, DisaggregatedSetStatus, RoleStatus
from fairlead.contracts.leaderworker.kinds import SetCondition
from fairlead.core.act import Does, Patch, PatchKind

AVAILABLE, PROGRESSING = "Available", "Progressing"
_SAID = {
    AVAILABLE: (
        "AllRolesReady",
        "All roles have reached their desired replica count, ready and updated to the current revision",
    ),
    PROGRESSING: (
        "RolloutInProgress",
        "Not all roles have reached their desired replica count, ready and updated to the current revision",
    ),
}


def status_of(
    given: DisaggregatedSet,
    children: Iterable[Child],
    target: str,
    targets: Mapping[str, int | None],
    now: datetime,
) -> DisaggregatedSetStatus:
    children = tuple(children)
    roles = tuple(_counted(each.name, children, target) for each in given.spec.roles)
    is_available = all(_is_reached(each, targets[each.name], given.spec.slices) for each in roles)
    return DisaggregatedSetStatus(
        observed_generation=given.metadata.generation,
        role_statuses=roles,
        conditions=_turned(given, AVAILABLE if is_available else PROGRESSING, now),
    )


def is_available(status: DisaggregatedSetStatus) -> bool:
    return any(each.type == AVAILABLE and each.status == "True" for each in status.conditions)


def _counted(role: str, children: Iterable[Child], target: str) -> RoleStatus:
    found = [(each.found.status, each.revision) for each in children if each.role == role]
    return RoleStatus(
        name=role,
        replicas=sum(each.replicas for each, _ in found),
        ready_replicas=sum(each.ready_replicas for each, _ in found),
        updated_replicas=sum(each.updated_replicas for each, revision in found if revision == target),
    )


def _is_reached(counted: RoleStatus, wanted: int | None, slices: int) -> bool:
    if wanted is None:
        return False
    return {counted.replicas, counted.ready_replicas, counted.updated_replicas} == {wanted * slices}


def _turned(given: DisaggregatedSet, kind: str, now: datetime) -> tuple[SetCondition, ...]:
    """The one holds and the other does not; what turns to False says why in the words of what holds."""
    reason, message = _SAID[kind]
    generation = given.metadata.generation
    found = {each.type: each for each in given.status.conditions}
    before = found.get(kind)
    since = before.last_transition_time if before is not None and before.status == "True" else now
    found[kind] = SetCondition(kind, "True", reason, message, since, generation)
    other = found.get(PROGRESSING if kind == AVAILABLE else AVAILABLE)
    if other is not None:
        if other.status == "True":
            other = SetCondition(other.type, "False", reason, message, now)
        found[other.type] = replace(other, observed_generation=generation)
    return tuple(found.values())


def _is_all_that_fits(given: DisaggregatedSet, status: DisaggregatedSetStatus) -> bool:
    """Definitions of earlier releases drop the generation of the status; its conditions carry it then."""
    kept = given.status
    return kept.observed_generation == 0 and replace(status, observed_generation=0) == kept


def reported(given: DisaggregatedSet, status: DisaggregatedSetStatus) -> tuple[Patch, ...]:
    """The status where it changed, bound to the version that it was made from."""
    if status == given.status or _is_all_that_fits(given, status):
        return ()
    return (
        Patch(
            ref=notes.set_ref(given),
            kind=PatchKind.MERGE,
            body=msgspec.json.encode({"status": status}, order="sorted"),
            subresource="status",
            resource_version=given.metadata.resource_version,
            does=Does.REPORT_STATUS,
            scope=given.metadata.uid,
            contested=True,
        ),
    )
