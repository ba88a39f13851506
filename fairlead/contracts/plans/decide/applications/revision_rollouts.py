"""A Rollout as a rollout: the workloads that its component revisions describe take the place of their names.

Until they are known, and once other revisions are named, the references are to the revisions themselves. So a change of
a name is a change of the target or the source, as of any rollout.
"""

from __future__ import annotations

from fairlead.contracts.plans.applications.kinds import RevisionNames, RolloutSpec, StoredObject
from fairlead.contracts.plans.decide.applications.planned import PlannedSeen, as_rollout
from fairlead.contracts.plans.decide.reading import read, rollout_status
from fairlead.contracts.plans.decide.seen import RolloutObject
from fairlead.contracts.plans.kinds import (
    CONFIGURATIONS,
    LOCATING,
    ROLLOUT_FINALIZER,
    ROLLOUTS,
    Json,
    RolloutStatus,
    WorkloadReference,
)
from kubeloop.objects.apps import CONTROLLER_REVISIONS


class RolloutSeen(PlannedSeen, frozen=True, kw_only=True):
    """Everything that a pass over one Rollout may read."""

    @property
    def spec(self) -> RolloutSpec:
        return read(RolloutSpec, self.object.spec, "spec")[0]

    @property
    def names(self) -> RevisionNames:
        return read(RevisionNames, self.object.status, "status")[0]


def of_rollout(rollout: StoredObject) -> RolloutObject:
    spec, _ = read(RolloutSpec, rollout.spec, "spec")
    names, _ = read(RevisionNames, rollout.status, "status")
    owners = rollout.metadata.owner_references
    return as_rollout(
        rollout,
        (ROLLOUTS, ROLLOUT_FINALIZER),
        _references(spec, names, rollout_status(rollout.status)),
        configurations=frozenset(each.name for each in owners if each.kind == CONFIGURATIONS.kind),
        first_state=LOCATING,
    )


def source_of(spec: RolloutSpec, names: RevisionNames) -> str:
    """The revision that the next attempt comes from: what the last one went to, where none is named."""
    if spec.source_revision_name:
        return spec.source_revision_name
    last = names.last_target_revision
    return names.last_source_revision if last == spec.target_revision_name else last


def is_recorded(spec: RolloutSpec, names: RevisionNames) -> bool:
    """Whether the attempt is about the revisions that the spec names; a source that is not named is any."""
    is_source = spec.source_revision_name in ("", names.last_source_revision)
    return spec.target_revision_name == names.last_target_revision and is_source


def revision_reference(name: str) -> WorkloadReference:
    return WorkloadReference(CONTROLLER_REVISIONS.api_version, CONTROLLER_REVISIONS.kind, name)


def names_tree(names: RevisionNames) -> Json:
    """Both of its fields, so that one that is empty is taken off."""
    return {
        "lastTargetRevision": names.last_target_revision or None,
        "LastSourceRevision": names.last_source_revision or None,
    }


def _references(
    spec: RolloutSpec, names: RevisionNames, status: RolloutStatus
) -> tuple[WorkloadReference, tuple[WorkloadReference, ...]]:
    if is_recorded(spec, names) and status.last_target_ref is not None:
        return status.last_target_ref, status.last_source_ref
    source = source_of(spec, names)
    return revision_reference(spec.target_revision_name), (revision_reference(source),) if source else ()
