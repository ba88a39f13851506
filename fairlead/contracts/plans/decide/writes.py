"""The writes of a pass in the vocabulary of the engine; each is bound to the version that it was decided on."""

from __future__ import annotations

from typing import Any

import msgspec

from fairlead.contracts.plans.decide.notes import Note
from fairlead.contracts.plans.decide.reading import written
from fairlead.contracts.plans.decide.seen import RolloutObject
from fairlead.contracts.plans.decide.workloads.answers import Purpose, Removal, WorkloadChange
from fairlead.contracts.plans.kinds import Json, RolloutStatus
from fairlead.core.act import AnyWrite, Delete, Does, EventNote, Patch, PatchKind
from fairlead.core.merge_patch import merge_patch

_DOES = {
    Purpose.CLAIM: Does.CLAIM_WORKLOAD,
    Purpose.RESIZE: Does.RESIZE_WORKLOAD,
    Purpose.ADVANCE: Does.ADVANCE_PARTITION,
    Purpose.RELEASE: Does.RELEASE_WORKLOAD,
}
_KNOWN = frozenset(each.encode_name for each in msgspec.structs.fields(RolloutStatus))


def workload_write(change: WorkloadChange | Removal, rollout: RolloutObject) -> AnyWrite:
    if isinstance(change, Removal):
        return Delete(
            ref=change.ref, does=Does.TERMINATE_POD, scope=rollout.metadata.uid, contested=True, refusable=True
        )
    return Patch(
        ref=change.ref,
        kind=PatchKind.MERGE,
        body=msgspec.json.encode(change.body, order="sorted"),
        resource_version=change.resource_version,
        does=_DOES[change.purpose],
        scope=rollout.metadata.uid,
        change_from=change.change_from,
        change_to=change.change_to,
        contested=True,
        refusable=True,
    )


def status_write(rollout: RolloutObject, status: RolloutStatus, more: Json | None = None) -> Patch | None:
    """None where nothing changed; fields that others keep in the status stay, and `more` of them are written."""
    before: dict[str, Any] = rollout.status if isinstance(rollout.status, dict) else {}
    foreign = {
        key: value for key, value in {**before, **rollout.first_names, **(more or {})}.items() if key not in _KNOWN
    }
    patch = merge_patch(before, {**foreign, **written(status)})
    if not patch:
        return None
    return Patch(
        ref=rollout.ref,
        kind=PatchKind.MERGE,
        body=msgspec.json.encode({"status": patch}, order="sorted"),
        subresource="status",
        resource_version=rollout.metadata.resource_version,
        does=Does.REPORT_STATUS,
        scope=rollout.metadata.uid,
        change_to=f"{status.rolling_state} {status.batch_rolling_state}".strip(),
        contested=True,
    )


def finalizer_write(rollout: RolloutObject, *, is_added: bool) -> Patch:
    others = [each for each in rollout.metadata.finalizers if each != rollout.finalizer]
    finalizers = [*others, rollout.finalizer] if is_added else others
    return Patch(
        ref=rollout.ref,
        kind=PatchKind.MERGE,
        body=msgspec.json.encode({"metadata": {"finalizers": finalizers}}),
        resource_version=rollout.metadata.resource_version,
        does=Does.ADD_FINALIZER if is_added else Does.REMOVE_FINALIZER,
        scope=rollout.metadata.uid,
        contested=True,
    )


def event(note: Note, rollout: RolloutObject, status: RolloutStatus) -> EventNote:
    """Told once for each batch and attempt, also by the process that comes after this one."""
    begun = "" if status.batch_start_time is None else status.batch_start_time.isoformat()
    return EventNote(
        about=rollout.ref,
        warning=note.warning,
        reason=note.reason,
        text=note.text,
        occurrence=f"{begun} {status.current_batch}",
    )
