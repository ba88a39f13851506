"""An AppRollout as a rollout: the workloads that its ApplicationRevisions describe take the place of their names.

Until they are known, and once other revisions are named, the references are to the revisions themselves. So a change of
a name is a change of the target or the source, as of any rollout.
"""

from __future__ import annotations

from fairlead.contracts.plans.applications.kinds import AppRevisionNames, AppRolloutSpec, StoredObject
from fairlead.contracts.plans.decide.applications.planned import Names, RevisionSeen, as_rollout, references
from fairlead.contracts.plans.decide.applications.trees import mapping
from fairlead.contracts.plans.decide.reading import read, rollout_status
from fairlead.contracts.plans.decide.seen import RolloutObject
from fairlead.contracts.plans.kinds import (
    APP_ROLLOUT_FINALIZER,
    APP_ROLLOUTS,
    APPLICATION_REVISIONS,
    LOCATING,
    Json,
    WorkloadReference,
)


class AppRolloutSeen(RevisionSeen, frozen=True, kw_only=True):
    """Everything that a pass over one AppRollout may read."""

    @property
    def spec(self) -> AppRolloutSpec:
        return read(AppRolloutSpec, self.object.spec, "spec")[0]

    def names(self) -> tuple[Names, Names]:
        return asked_for(self.spec), last_of(self.object.status)


def is_snapshot(reference: WorkloadReference) -> bool:
    """Whether it stands for an ApplicationRevision whose workload is not known yet."""
    return (reference.api_version, reference.kind) == (APPLICATION_REVISIONS.api_version, APPLICATION_REVISIONS.kind)


def of_app_rollout(rollout: StoredObject) -> RolloutObject:
    spec, _ = read(AppRolloutSpec, rollout.spec, "spec")
    wanted, last = asked_for(spec), last_of(rollout.status)
    return as_rollout(
        rollout,
        (APP_ROLLOUTS, APP_ROLLOUT_FINALIZER),
        references(wanted, last, rollout_status(rollout.status), _revision),
        reverts=spec.revert_on_delete,
        first_state=LOCATING,
        first_names={} if "lastTargetAppRevision" in mapping(rollout.status) else names_tree(wanted.after(last)),
    )


def asked_for(spec: AppRolloutSpec) -> Names:
    return Names(spec.target_app_revision_name, spec.source_app_revision_name)


def last_of(status: object) -> Names:
    names, _ = read(AppRevisionNames, status, "status")
    return Names(names.last_target_app_revision, names.last_source_app_revision)


def names_tree(names: Names) -> Json:
    """Both of its fields, so that a source which is empty is taken off; the target is there always."""
    return {"lastTargetAppRevision": names.target, "LastSourceAppRevision": names.source or None}


def _revision(name: str) -> WorkloadReference:
    return WorkloadReference(APPLICATION_REVISIONS.api_version, APPLICATION_REVISIONS.kind, name)
