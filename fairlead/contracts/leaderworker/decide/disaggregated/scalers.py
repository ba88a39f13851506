"""Who says how many replicas a role has (section 6.7): its spec, or the scaler that is made for it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec
from msgspec import Struct

from fairlead.contracts.leaderworker.decide.disaggregated import notes
from fairlead.contracts.leaderworker.decide.disaggregated.children import Child, owner_of
from fairlead.contracts.leaderworker.decide.disaggregated.seen import DisaggregatedSeen
from fairlead.contracts.leaderworker.decide.disaggregated.steps import Steps
from fairlead.contracts.leaderworker.disaggregated.kinds import (
    NAME,
    ROLE,
    ROLE_SCALERS,
    DisaggregatedSet,
    Role,
    RoleScaler,
    RoleScalerStatus,
)
from fairlead.contracts.leaderworker.kinds import WORKER_INDEX, SetCondition
from fairlead.core.act import AnyWrite, Create, Delete, Does, EventNote, Patch, PatchKind
from fairlead.core.reason import Reason
from kubeloop.objects.meta import Ref

READY, BOUND = "Ready", "Bound"
_BOUND_MESSAGE = "Scaler bound to a live DisaggregatedSet role"


class RoleTargets(Struct, frozen=True):
    """Where every role is to come to, and what is done about scalers."""

    targets: dict[str, int | None]
    """By role; None where it is External and its scaler is somebody else's."""
    steps: Steps


def scaler_name(given: DisaggregatedSet, role: str) -> str:
    return f"{given.metadata.name}-{role}"


def scaling_of(seen: DisaggregatedSeen, children: Iterable[Child]) -> RoleTargets:
    """A scaler that is made now starts with the replicas that there are, so that nothing is taken away by it."""
    children = tuple(children)
    by_name = {each.metadata.name: each for each in seen.scalers}
    writes: list[AnyWrite] = []
    told: list[EventNote] = []
    details: list[tuple[str, str]] = []
    targets: dict[str, int | None] = {}
    for role in seen.set.spec.roles:
        if not role.is_external:
            targets[role.name] = role.replicas
            continue
        name = scaler_name(seen.set, role.name)
        found = by_name.get(name)
        if found is None:
            seed = _seed(role, children)
            targets[role.name] = seed
            writes.append(_created(seen.set, role, seed))
        elif _is_own(seen.set, found):
            targets[role.name] = found.spec.replicas
        else:
            targets[role.name] = None
            told.append(notes.scaler_taken(seen.set, name))
            problem = f"a DisaggregatedSetRoleScaler {name} exists that this DisaggregatedSet does not control"
            details.append((f"{ROLE_SCALERS.kind.lower()}/{name}", problem))
    writes += [_deleted(seen.set, each) for each in _surplus(seen)]
    reason = Reason.SCALING if writes else Reason.NAME_TAKEN if details else Reason.COMPLETE
    return RoleTargets(targets, Steps(reason, tuple(writes), tuple(told), tuple(details)))


def _is_own(given: DisaggregatedSet, found: RoleScaler) -> bool:
    return found.metadata.controller_uid == given.metadata.uid


def _surplus(seen: DisaggregatedSeen) -> list[RoleScaler]:
    """Own ones of roles that are not External, or are gone."""
    kept = {scaler_name(seen.set, each.name) for each in seen.set.spec.roles if each.is_external}
    return [
        each
        for each in seen.scalers
        if _is_own(seen.set, each) and each.metadata.name not in kept and each.metadata.deletion_timestamp is None
    ]


def _seed(role: Role, children: Iterable[Child]) -> int:
    """An autoscaler that reads 0 does nothing, so that a role that has nothing starts with 1."""
    found = [each.replicas for each in children if each.role == role.name and not each.is_leaving]
    return sum(found) if found else 1


def _created(given: DisaggregatedSet, role: Role, seed: int) -> Create:
    name = scaler_name(given, role.name)
    body = {
        "apiVersion": ROLE_SCALERS.api_version,
        "kind": ROLE_SCALERS.kind,
        "metadata": {
            "name": name,
            "namespace": given.metadata.namespace,
            "labels": {NAME: given.metadata.name, ROLE: role.name},
            "ownerReferences": [owner_of(given, blocks=True)],
        },
        "spec": {"replicas": seed},
    }
    return Create(
        resource=ROLE_SCALERS,
        namespace=given.metadata.namespace,
        name=name,
        body=msgspec.json.encode(body, order="sorted"),
        does=Does.CREATE_SCALER,
        scope=given.metadata.uid,
        change_to=f"replicas {seed}",
        refusable=True,
        contested=True,
        tell=notes.created_scaler(given, name, role.name),
    )


def _ref(found: RoleScaler) -> Ref:
    given = found.metadata
    return Ref(ROLE_SCALERS, given.namespace, given.name, given.uid)


def _deleted(given: DisaggregatedSet, found: RoleScaler) -> Delete:
    name = found.metadata.name
    role = found.metadata.labels.get(ROLE) or name.removeprefix(f"{given.metadata.name}-")
    return Delete(
        ref=_ref(found),
        does=Does.REMOVE_SCALER,
        scope=given.metadata.uid,
        refusable=True,
        tell=notes.deleted_scaler(given, name, role),
    )


def scaler_reports(seen: DisaggregatedSeen, children: Iterable[Child], now: datetime) -> tuple[Patch, ...]:
    """What autoscalers read: how many there are, and which pods to ask; written where it changes."""
    children = tuple(children)
    found = {each.metadata.name: each for each in seen.scalers if _is_own(seen.set, each)}
    reports = []
    for role in seen.set.spec.roles:
        scaler = found.get(scaler_name(seen.set, role.name)) if role.is_external else None
        if scaler is None or scaler.metadata.deletion_timestamp is not None:
            continue
        status = _status(seen.set, role, scaler, children, now)
        if status != scaler.status:
            reports.append(_reported(seen.set, scaler, status))
    return tuple(reports)


def _status(
    given: DisaggregatedSet, role: Role, scaler: RoleScaler, children: Iterable[Child], now: datetime
) -> RoleScalerStatus:
    generation = scaler.metadata.generation
    before = next((each for each in scaler.status.conditions if each.type == READY), None)
    since = before.last_transition_time if before is not None and before.status == "True" else now
    others = [each for each in scaler.status.conditions if each.type != READY]
    return RoleScalerStatus(
        replicas=sum(each.found.status.replicas for each in children if each.role == role.name),
        selector=f"{NAME}={given.metadata.name},{ROLE}={role.name},{WORKER_INDEX}=0",
        observed_generation=generation,
        conditions=(*others, SetCondition(READY, "True", BOUND, _BOUND_MESSAGE, since, generation)),
    )


def _reported(given: DisaggregatedSet, scaler: RoleScaler, status: RoleScalerStatus) -> Patch:
    return Patch(
        ref=_ref(scaler),
        kind=PatchKind.MERGE,
        body=msgspec.json.encode({"status": status}, order="sorted"),
        subresource="status",
        resource_version=scaler.metadata.resource_version,
        does=Does.REPORT_STATUS,
        scope=given.metadata.uid,
        contested=True,
    )
