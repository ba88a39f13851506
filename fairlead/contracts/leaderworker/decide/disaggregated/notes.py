"""Events of DisaggregatedSets, in the words of the contract (section 6.7)."""

from __future__ import annotations

from fairlead.contracts.leaderworker.disaggregated.kinds import DISAGGREGATED_SETS, DisaggregatedSet
from fairlead.core.act import EventNote
from kubeloop.objects.meta import Ref

_CREATE, _UPDATE, _DELETE, _CONFLICT = "Create", "Update", "Delete", "Conflict"


def set_ref(given: DisaggregatedSet) -> Ref:
    return Ref(DISAGGREGATED_SETS, given.metadata.namespace, given.metadata.name, given.metadata.uid)


def started(given: DisaggregatedSet, revision: str) -> EventNote:
    return _note(given, "RollingUpdateStarted", _UPDATE, f"Started rolling update to revision {revision}")


def completed(given: DisaggregatedSet, revision: str) -> EventNote:
    return _note(given, "RollingUpdateCompleted", _UPDATE, f"Completed rolling update to revision {revision}")


def scaling_up(given: DisaggregatedSet, role: str, name: str, before: int, after: int) -> EventNote:
    text = f"Scaling up {role} LWS {name} from {before} to {after} replicas"
    return _note(given, "ScalingUp", _UPDATE, text)


def scaling_down(given: DisaggregatedSet, role: str, name: str, before: int, after: int) -> EventNote:
    text = f"Scaling down {role} LWS {name} from {before} to {after} replicas"
    return _note(given, "ScalingDown", _UPDATE, text)


def deleted_drained(given: DisaggregatedSet, name: str) -> EventNote:
    return _note(given, "LWSDeleted", _DELETE, f"Deleted drained LWS {name}")


def deleted_with_slice(given: DisaggregatedSet, name: str, index: int) -> EventNote:
    return _note(given, "LWSDeleted", _DELETE, f"Deleted LWS {name} for removed slice {index}")


def deleted_for_slices(given: DisaggregatedSet, name: str) -> EventNote:
    return _note(given, "LWSDeleted", _DELETE, f"Deleted LWS {name} to make it anew with its slice")


def created_scaler(given: DisaggregatedSet, name: str, role: str) -> EventNote:
    return _note(given, "ScalerCreated", _CREATE, f"Created scaler {name} for role {role}")


def deleted_scaler(given: DisaggregatedSet, name: str, role: str) -> EventNote:
    return _note(given, "ScalerDeleted", _DELETE, f"Deleted scaler {name} (role {role} is no longer External)")


def scaler_taken(given: DisaggregatedSet, name: str) -> EventNote:
    text = f"Scaler {name} exists but is not controlled by this DisaggregatedSet; not adopting"
    return _warning(given, "ScalerConflict", _CONFLICT, text)


def not_created(given: DisaggregatedSet, name: str, error: str) -> EventNote:
    return _warning(given, "FailedCreate", _CREATE, f"Failed to create {name}: {error}")


def not_updated(given: DisaggregatedSet, name: str, error: str) -> EventNote:
    return _warning(given, "FailedUpdate", _UPDATE, f"Failed to update {name}: {error}")


def not_deleted(given: DisaggregatedSet, name: str, error: str) -> EventNote:
    return _warning(given, "FailedDelete", _DELETE, f"Failed to delete {name}: {error}")


def _note(given: DisaggregatedSet, reason: str, action: str, text: str) -> EventNote:
    return EventNote(set_ref(given), False, reason, text, action=action)


def _warning(given: DisaggregatedSet, reason: str, action: str, text: str) -> EventNote:
    return EventNote(set_ref(given), True, reason, text, action=action)
