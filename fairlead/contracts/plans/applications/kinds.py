"""The minimal OAM model (section 2.8) and ApplicationDeployments (section 2.7): the fields that are read and written.

Objects arrive as trees that anybody may have written; `decide.reading` makes these Structs of them.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import Struct, field

from fairlead.contracts.plans.kinds import Json, RolloutPlan, TraitMeta, WorkloadReference

MANUAL_SCALER_API, MANUAL_SCALER = "core.oam.dev/v1alpha2", "ManualScalerTrait"
"""What the trait `scaler` is in an ApplicationConfiguration: no object of the cluster, but the size of the workload."""

APPLIED = "app.oam.dev/last-applied-configuration"
"""Annotation of emitted objects: what was applied last, so that only what differs from it is written."""
TRAIT_DEFINITION = "trait.oam.dev/type"
"""Label of emitted traits: the definition that they are of."""

# Phases of an Application.
RENDERING, ROLLING_OUT, HEALTH_CHECKING, RUNNING = "rendering", "rollingOut", "healthChecking", "running"
# Types of its conditions.
PARSED, BUILT, WAS_APPLIED, HEALTH_CHECK, ROLLING_CONDITION = "Parsed", "Built", "Applied", "HealthCheck", "Rolling"
# `rollingStatus` of an ApplicationConfiguration.
TEMPLATING, TEMPLATED = "RollingTemplating", "RollingTemplated"
COMPLETED, INACTIVE_COMPLETED = "RollingCompleted", "InactiveAfterRollingCompleted"
SYNCED = "Synced"
"""Type of the condition of an ApplicationConfiguration: whether everything that it describes is there."""


class StoredObject(Struct, frozen=True):
    """Any kind of this family as it was stored: whatever its spec and status hold, it can be decoded."""

    metadata: TraitMeta
    spec: Any = None
    status: Any = None


class ApplicationTrait(Struct, frozen=True):
    name: str = ""
    properties: Any = None


class ApplicationComponent(Struct, frozen=True):
    name: str = ""
    type: str = ""
    settings: Any = None
    traits: tuple[ApplicationTrait, ...] = ()


class ApplicationSpec(Struct, frozen=True):
    components: tuple[ApplicationComponent, ...] = ()


class StateCondition(Struct, frozen=True, rename="camel"):
    """Of an Application or an ApplicationConfiguration."""

    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: datetime | None = None


class LatestConfiguration(Struct, frozen=True, rename="camel"):
    name: str = ""
    revision: int = 0
    revision_hash: str = ""


class ServiceHealth(Struct, frozen=True):
    name: str = ""
    healthy: bool = False
    message: str = ""


class ApplicationStatus(Struct, frozen=True, rename="camel"):
    status: str = ""
    conditions: tuple[StateCondition, ...] = ()
    components: tuple[WorkloadReference, ...] = ()
    services: tuple[ServiceHealth, ...] = ()
    latest_revision: LatestConfiguration | None = None


class Parameter(Struct, frozen=True, rename="camel"):
    """A value that is put into a tree; `type` only in definitions."""

    name: str = ""
    type: str = ""
    field_paths: tuple[str, ...] = ()
    required: bool = False


class ComponentSpec(Struct, frozen=True):
    workload: Any = None
    parameters: tuple[Parameter, ...] = ()


class LatestComponentRevision(Struct, frozen=True):
    name: str = ""
    revision: int = 0


class ComponentStatus(Struct, frozen=True, rename="camel"):
    observed_generation: int = 0
    latest_revision: LatestComponentRevision | None = None


class ParameterValue(Struct, frozen=True):
    name: str = ""
    value: Any = None


class ConfiguredTrait(Struct, frozen=True):
    trait: Any = None


class ConfiguredComponent(Struct, frozen=True, rename="camel"):
    component_name: str = ""
    revision_name: str = ""
    parameter_values: tuple[ParameterValue, ...] = ()
    traits: tuple[ConfiguredTrait, ...] = ()


class ConfigurationSpec(Struct, frozen=True):
    components: tuple[ConfiguredComponent, ...] = ()


class TraitStatus(Struct, frozen=True, rename="camel"):
    trait_ref: WorkloadReference = WorkloadReference()


class WorkloadStatus(Struct, frozen=True, rename="camel"):
    component_name: str = ""
    component_revision_name: str = ""
    workload_ref: WorkloadReference = WorkloadReference()
    traits: tuple[TraitStatus, ...] = ()


class HistoryWorkload(Struct, frozen=True, rename="camel"):
    component_name: str = ""
    component_revision_name: str = ""
    workload_ref: WorkloadReference = WorkloadReference()


class ConfigurationStatus(Struct, frozen=True, rename="camel"):
    conditions: tuple[StateCondition, ...] = ()
    observed_generation: int = 0
    rolling_status: str = ""
    workloads: tuple[WorkloadStatus, ...] = ()
    history_workloads: tuple[HistoryWorkload, ...] = ()


class DefinitionReference(Struct, frozen=True):
    name: str = ""


class KubeSchematic(Struct, frozen=True):
    template: Any = None
    parameters: tuple[Parameter, ...] = ()


class Schematic(Struct, frozen=True):
    kube: KubeSchematic | None = None


class WorkloadDefinitionSpec(Struct, frozen=True, rename="camel"):
    definition_ref: DefinitionReference = DefinitionReference()
    schematic: Schematic | None = None
    extension: Any = None


class TraitDefinitionSpec(Struct, frozen=True, rename="camel"):
    definition_ref: DefinitionReference = DefinitionReference()
    revision_enabled: bool = False
    manage_workload: bool = False
    workload_ref_path: str = ""
    applies_to_workloads: tuple[str, ...] = ()
    conflicts_with: tuple[str, ...] = ()
    schematic: Schematic | None = None


class DeploymentSpec(Struct, frozen=True, rename="camel"):
    """Section 2.7."""

    target_application_name: str = ""
    source_application_name: str = ""
    component_list: tuple[str, ...] = ()
    rollout_plan: RolloutPlan = RolloutPlan()
    revert_on_delete: bool = False


class DeploymentNames(Struct, frozen=True, rename="camel"):
    """What the status of an ApplicationDeployment holds beside that of every rollout."""

    last_target_application_name: str = ""
    last_source_application_name: str = ""
    target_app_config: str = ""
    source_app_config: str = ""


class RolloutSpec(Struct, frozen=True, rename="camel"):
    """Section 2.18."""

    target_revision_name: str = ""
    source_revision_name: str = ""
    component_name: str = ""
    rollout_plan: RolloutPlan = RolloutPlan()


class RevisionNames(Struct, frozen=True, rename="camel"):
    """What the status of a Rollout holds beside that of every rollout."""

    last_target_revision: str = ""
    last_source_revision: str = field(default="", name="LastSourceRevision")


class AppRolloutSpec(Struct, frozen=True, rename="camel"):
    """Section 2.19."""

    target_app_revision_name: str = ""
    source_app_revision_name: str = ""
    component_list: tuple[str, ...] = ()
    rollout_plan: RolloutPlan = RolloutPlan()
    revert_on_delete: bool = False


class AppRevisionNames(Struct, frozen=True, rename="camel"):
    """What the status of an AppRollout holds beside that of every rollout."""

    last_target_app_revision: str = ""
    last_source_app_revision: str = field(default="", name="LastSourceAppRevision")


class Adjustments(Struct, frozen=True):
    """What a rollout took out of a target Application, and of the cluster, to put it back (D-3)."""

    component: str = ""
    traits: tuple[ApplicationTrait, ...] = ()
    autoscalers: tuple[Json, ...] = ()
