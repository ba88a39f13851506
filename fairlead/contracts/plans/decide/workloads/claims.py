"""Claims (R-20): one rollout controls a workload at a time, and deleting that rollout never deletes the workload.

A claim is a controller reference to the rollout, a guard beside it, and a note of what was there before. The guard is a
reference to the namespace: as long as one of its owners lives, the garbage collector only takes references away.
"""

from __future__ import annotations

from typing import Any

import msgspec

from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads.answers import Fail, Purpose, WorkloadChange
from fairlead.contracts.plans.decide.workloads.attempt import Claimant
from fairlead.contracts.plans.decide.workloads.live import Workload
from fairlead.contracts.plans.kinds import CONFIGURATIONS, CORE_GROUP, ORIGINAL, Json
from kubeloop.unreadable import UNREADABLE

_OWNERS = "metadata.ownerReferences"


def is_claimed(workload: Workload, owner: Claimant) -> bool:
    return any(_is_claim(each, owner) for each in workload.owners)


def controlled(workload: Workload, owner: Claimant, gone: frozenset[str]) -> Fail | None:
    """Why it cannot be claimed; a controller that exists no more does not count."""
    for each in workload.owners:
        if _is_yielding(each, owner):
            continue
        if each.get("controller") is True and not _is_claim(each, owner) and each.get("uid") not in gone:
            shown = f"{each.get('kind')} {each.get('name')}"
            return Fail(Why.CONTROLLED, f"the {workload.shown} has a controller owner {shown}")
    return None


def claim(
    workload: Workload,
    owner: Claimant,
    gone: frozenset[str],
    values: dict[str, Any],
    original: Json,
    *,
    is_first: bool = False,
) -> WorkloadChange | None:
    """The claim with the values that the attempt starts from, as one patch; None where it is claimed already.

    A claim of another release has no guard, and gets one. `is_first`: no attempt of this rollout has had the workload
    before, so that a note which is there is that of another rollout and tells nothing of what was before this one.
    """
    if is_claimed(workload, owner) and any(_is_guard(each, owner) for each in workload.owners):
        return None
    kept = [
        {**each, "controller": False} if _is_yielding(each, owner) else each
        for each in workload.owners
        if not (_is_claim(each, owner) or _is_guard(each, owner))
        and not (each.get("controller") is True and each.get("uid") in gone)
    ]
    note = None
    if original_of(workload) is None or (is_first and not is_claimed(workload, owner)):
        note = (ORIGINAL, msgspec.json.encode(original, order="sorted").decode())
    owners = [*kept, _claim(owner), _guard(owner)]
    return workload.changed({**values, _OWNERS: owners}, Purpose.CLAIM, ("free", "claimed"), note)


def release(
    workload: Workload, owner: Claimant, values: dict[str, Any], *, keeps_original: bool = False
) -> WorkloadChange | None:
    """The claim, its guard and the note taken off, with these values; None where nothing of it is left.

    What another controls is left alone. What lost its claim to the garbage collector is released like the rest.
    """
    claimed = is_claimed(workload, owner)
    if not claimed and any(each.get("controller") is True for each in workload.owners):
        return None
    kept = [each for each in workload.owners if not _is_claim(each, owner) and not _is_guard(each, owner)]
    has_note = ORIGINAL in workload.annotations and not keeps_original
    if len(kept) == len(workload.owners) and not has_note:
        return None
    note = (ORIGINAL, None) if has_note else None
    return workload.changed({**values, _OWNERS: kept or None}, Purpose.RELEASE, ("claimed", "free"), note)


def original_of(workload: Workload) -> Json | None:
    """What the first attempt noted; None where there is no note that can be read."""
    try:
        found = msgspec.json.decode(workload.annotations.get(ORIGINAL, "null"))
    except UNREADABLE:
        return None
    return found if isinstance(found, dict) else None


def _is_claim(reference: Json, owner: Claimant) -> bool:
    return reference.get("uid") == owner.ref.uid


def _is_yielding(reference: Json, owner: Claimant) -> bool:
    """T-3 and C-2: a configuration whose component is rolled gives up its control when the workload is claimed."""
    kind = (str(reference.get("apiVersion", "")).rpartition("/")[0], reference.get("kind"))
    is_meant = owner.takes_over or reference.get("name") in owner.yielding
    return is_meant and kind == (CORE_GROUP, CONFIGURATIONS.kind) and reference.get("controller") is True


def _is_guard(reference: Json, owner: Claimant) -> bool:
    """Whichever UID it has: a namespace that was made again has another one than a workload from a backup says."""
    return (reference.get("apiVersion"), reference.get("kind"), reference.get("name")) == _guard_name(owner)


def _guard_name(owner: Claimant) -> tuple[str, str, str]:
    return "v1", "Namespace", owner.ref.namespace


def _claim(owner: Claimant) -> Json:
    return {
        "apiVersion": owner.ref.resource.api_version,
        "kind": owner.ref.resource.kind,
        "name": owner.ref.name,
        "uid": owner.ref.uid,
        "controller": True,
        "blockOwnerDeletion": False,
    }


def _guard(owner: Claimant) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "name": owner.ref.namespace, "uid": owner.namespace_uid}
