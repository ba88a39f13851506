"""An ApplicationDeployment as a rollout: the workloads that its Applications stand for take the place of their names.

Until they are known, and once other Applications are named, the references are to the Applications themselves. So a
change of a name is a change of the target or the source, as of any rollout.
"""

from __future__ import annotations

from fairlead.contracts.plans.applications.kinds import DeploymentNames, DeploymentSpec, StoredObject
from fairlead.contracts.plans.decide.applications.planned import PlannedSeen, as_rollout
from fairlead.contracts.plans.decide.reading import read, rollout_status
from fairlead.contracts.plans.decide.seen import RolloutObject
from fairlead.contracts.plans.kinds import (
    APPLICATION_DEPLOYMENTS,
    APPLICATIONS,
    DEPLOYMENT_FINALIZER,
    Json,
    RolloutStatus,
    WorkloadReference,
)


class DeploymentSeen(PlannedSeen, frozen=True, kw_only=True):
    """Everything that a pass over one ApplicationDeployment may read."""

    @property
    def spec(self) -> DeploymentSpec:
        return read(DeploymentSpec, self.object.spec, "spec")[0]

    @property
    def names(self) -> DeploymentNames:
        return read(DeploymentNames, self.object.status, "status")[0]


def is_application(reference: WorkloadReference | None) -> bool:
    """Whether it stands for an Application whose workload is not known yet."""
    return reference is not None and (reference.api_version, reference.kind) == (
        APPLICATIONS.api_version,
        APPLICATIONS.kind,
    )


def of_deployment(deployment: StoredObject) -> RolloutObject:
    spec, _ = read(DeploymentSpec, deployment.spec, "spec")
    names, _ = read(DeploymentNames, deployment.status, "status")
    return as_rollout(
        deployment,
        (APPLICATION_DEPLOYMENTS, DEPLOYMENT_FINALIZER),
        _references(spec, names, rollout_status(deployment.status)),
        reverts=spec.revert_on_delete,
        configurations=frozenset(filter(None, (names.target_app_config, names.source_app_config))),
        source_application=names.last_source_application_name,
    )


def _references(
    spec: DeploymentSpec, names: DeploymentNames, status: RolloutStatus
) -> tuple[WorkloadReference, tuple[WorkloadReference, ...]]:
    if is_recorded(spec, names) and status.last_target_ref is not None:
        return status.last_target_ref, status.last_source_ref
    source = spec.source_application_name
    return _application(spec.target_application_name), (_application(source),) if source else ()


def is_recorded(spec: DeploymentSpec, names: DeploymentNames) -> bool:
    """Whether the attempt is about the Applications that the spec names."""
    return (spec.target_application_name, spec.source_application_name) == (
        names.last_target_application_name,
        names.last_source_application_name,
    )


def _application(name: str) -> WorkloadReference:
    return WorkloadReference(APPLICATIONS.api_version, APPLICATIONS.kind, name)


def names_tree(names: DeploymentNames) -> Json:
    """All of its fields, so that those that are empty are taken off."""
    return {
        "lastTargetApplicationName": names.last_target_application_name or None,
        "lastSourceApplicationName": names.last_source_application_name or None,
        "targetAppConfig": names.target_app_config or None,
        "sourceAppConfig": names.source_app_config or None,
    }
