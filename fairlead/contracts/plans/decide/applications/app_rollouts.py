"""An AppRollout as a rollout: the workloads that its ApplicationRevisions describe take the place of their names.

Until they are known, and once other revisions are named, the references are to the revisions themselves. So a change of
a name is a change of the target or the source, as of any rollout.
"""

from __future__ import annotations

from fairlead.contracts.plans.applications.kinds import AppRevisionNames, AppRolloutSpec, StoredObject
from fairlead.contracts.plans.decide.applications.planned import PlannedSeen, as_rollout
from fairlead.contracts.plans.decide.applications.trees import mapping
from fairlead.contracts.plans.decide.reading import read, rollout_status
from fairlead.contracts.plans.decide.seen import RolloutObject
from fairlead.contracts.plans.kinds import (
    APP_ROLLOUT_FINALIZER,
    APP_ROLLOUTS,
    APPLICATION_REVISIONS,
    LOCATING,
    Json,
    RolloutStatus,
    WorkloadReference,
)


class AppRolloutSeen(PlannedSeen, frozen=True, kw_only=True):
    """Everything that a pass over one AppRollout may read."""

    @property
    def spec(self) -> AppRolloutSpec:
        return read(AppRolloutSpec, self.object.spec, "spec")[0]

    @property
    def names(self) -> AppRevisionNames:
        return read(AppRevisionNames, self.object.status, "status")[0]


def is_snapshot(reference: WorkloadReference) -> bool:
    """Whether it stands for an ApplicationRevision whose workload is not known yet."""
    return (reference.api_version, reference.kind) == (APPLICATION_REVISIONS.api_version, APPLICATION_REVISIONS.kind)


def of_app_rollout(rollout: StoredObject) -> RolloutObject:
    spec, _ = read(AppRolloutSpec, rollout.spec, "spec")
    names, _ = read(AppRevisionNames, rollout.status, "status")
    return as_rollout(
        rollout,
        (APP_ROLLOUTS, APP_ROLLOUT_FINALIZER),
        _references(spec, names, rollout_status(rollout.status)),
        reverts=spec.revert_on_delete,
        first_state=LOCATING,
        first_names={} if "lastTargetAppRevision" in mapping(rollout.status) else names_tree(begun(spec)),
    )


def is_recorded(spec: AppRolloutSpec, names: AppRevisionNames) -> bool:
    """Whether the attempt is about the revisions that the spec names."""
    return begun(spec) == names


def begun(spec: AppRolloutSpec) -> AppRevisionNames:
    """What the next attempt is about."""
    return AppRevisionNames(spec.target_app_revision_name, spec.source_app_revision_name)


def names_tree(names: AppRevisionNames) -> Json:
    """Both of its fields, so that a source which is empty is taken off; the target is there always."""
    return {
        "lastTargetAppRevision": names.last_target_app_revision,
        "LastSourceAppRevision": names.last_source_app_revision or None,
    }


def _references(
    spec: AppRolloutSpec, names: AppRevisionNames, status: RolloutStatus
) -> tuple[WorkloadReference, tuple[WorkloadReference, ...]]:
    if is_recorded(spec, names) and status.last_target_ref is not None:
        return status.last_target_ref, status.last_source_ref
    source = spec.source_app_revision_name
    return _revision(spec.target_app_revision_name), (_revision(source),) if source else ()


def _revision(name: str) -> WorkloadReference:
    return WorkloadReference(APPLICATION_REVISIONS.api_version, APPLICATION_REVISIONS.kind, name)
