"""A Rollout as a rollout: the workloads that its component revisions describe take the place of their names.

Until they are known, and once other revisions are named, the references are to the revisions themselves. So a change of
a name is a change of the target or the source, as of any rollout.
"""

from __future__ import annotations

from fairlead.contracts.plans.applications.kinds import RevisionNames, RolloutSpec, StoredObject
from fairlead.contracts.plans.decide.applications.planned import Names, RevisionSeen, as_rollout, references
from fairlead.contracts.plans.decide.reading import read, rollout_status
from fairlead.contracts.plans.decide.seen import RolloutObject
from fairlead.contracts.plans.kinds import (
    CONFIGURATIONS,
    LOCATING,
    ROLLOUT_FINALIZER,
    ROLLOUTS,
    Json,
    WorkloadReference,
)
from kubeloop.objects.apps import CONTROLLER_REVISIONS


class RolloutSeen(RevisionSeen, frozen=True, kw_only=True):
    """Everything that a pass over one Rollout may read."""

    @property
    def spec(self) -> RolloutSpec:
        return read(RolloutSpec, self.object.spec, "spec")[0]

    def names(self) -> tuple[Names, Names]:
        return asked_for(self.spec), last_of(self.object.status)


def of_rollout(rollout: StoredObject) -> RolloutObject:
    spec, _ = read(RolloutSpec, rollout.spec, "spec")
    owners = rollout.metadata.owner_references
    return as_rollout(
        rollout,
        (ROLLOUTS, ROLLOUT_FINALIZER),
        references(asked_for(spec), last_of(rollout.status), rollout_status(rollout.status), revision_reference),
        configurations=frozenset(each.name for each in owners if each.kind == CONFIGURATIONS.kind),
        first_state=LOCATING,
    )


def asked_for(spec: RolloutSpec) -> Names:
    return Names(spec.target_revision_name, spec.source_revision_name)


def last_of(status: object) -> Names:
    names, _ = read(RevisionNames, status, "status")
    return Names(names.last_target_revision, names.last_source_revision)


def revision_reference(name: str) -> WorkloadReference:
    return WorkloadReference(CONTROLLER_REVISIONS.api_version, CONTROLLER_REVISIONS.kind, name)


def names_tree(names: Names) -> Json:
    """Both of its fields, so that one that is empty is taken off."""
    return {"lastTargetRevision": names.target or None, "LastSourceRevision": names.source or None}
