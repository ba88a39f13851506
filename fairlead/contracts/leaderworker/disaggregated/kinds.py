"""DisaggregatedSets and the scalers of their roles: where they live, what is written on their children, what is read.

Roles stay trees: a child gets the spec of its role as it was written.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from fairlead.contracts.leaderworker.kinds import Json, LeaderWorkerSetMeta, SetCondition
from kubeloop.objects.meta import Meta, Resource

GROUP = "disaggregatedset.x-k8s.io"
DISAGGREGATED_SETS = Resource(GROUP, "v1", "disaggregatedsets", "DisaggregatedSet")
ROLE_SCALERS = Resource(GROUP, "v1", "disaggregatedsetrolescalers", "DisaggregatedSetRoleScaler")
EVENT_SOURCE = "disaggregatedset"
"""Who Events come from, and the controller of its metrics."""
CONTROLLER = "leaderworker-disaggregated"
NOUN = "disaggregatedset"
"""A DisaggregatedSet as documents and logs name it."""

# Labels.
NAME = f"{GROUP}/name"
ROLE = f"{GROUP}/role"
SLICE = f"{GROUP}/slice"
REVISION = f"{GROUP}/revision"
APP = "app"
INITIAL_REPLICAS = f"{GROUP}/initial-replicas"
"""Annotation of an old child: its replicas when the rollout began."""
SERVICE_SUFFIX = "-prv"

STATIC, EXTERNAL = "Static", "External"
NO_PLACEMENT, EXCLUSIVE_SLICE, EXCLUSIVE_TOPOLOGY = "None", "ExclusiveSlice", "ExclusiveTopology"
MOST_SLICES = 100


class RoleScaling(Struct, frozen=True):
    mode: str = STATIC


class Role(Struct, frozen=True):
    name: str
    scaling: RoleScaling | None = None
    metadata: Json = {}
    """Labels and annotations of its LeaderWorkerSets."""
    spec: Json = {}
    """That of its LeaderWorkerSets, as it was written."""

    @property
    def is_external(self) -> bool:
        return self.scaling is not None and self.scaling.mode == EXTERNAL

    @property
    def replicas(self) -> int:
        """As the spec has them; only the schema says that they are a number."""
        found: Any = self.spec.get("replicas")
        return found if isinstance(found, int) else 1

    @property
    def template(self) -> Json:
        found: Any = self.spec.get("leaderWorkerTemplate")
        return found if isinstance(found, dict) else {}


class PlacementPolicy(Struct, frozen=True):
    type: str = NO_PLACEMENT
    topology: str = ""


class DisaggregatedSetSpec(Struct, frozen=True, rename="camel"):
    roles: tuple[Role, ...] = ()
    slices: int = 1
    placement_policy: PlacementPolicy | None = None


class RoleStatus(Struct, frozen=True, rename="camel"):
    name: str
    replicas: int = 0
    ready_replicas: int = 0
    updated_replicas: int = 0


class DisaggregatedSetStatus(Struct, frozen=True, rename="camel"):
    observed_generation: int = 0
    role_statuses: tuple[RoleStatus, ...] = ()
    conditions: tuple[SetCondition, ...] = ()


class DisaggregatedSet(Struct, frozen=True):
    metadata: LeaderWorkerSetMeta
    spec: DisaggregatedSetSpec = DisaggregatedSetSpec()
    status: DisaggregatedSetStatus = DisaggregatedSetStatus()


class ScalerMeta(Meta, frozen=True, rename="camel"):
    generation: int = 0


class RoleScalerSpec(Struct, frozen=True):
    replicas: int = 0


class RoleScalerStatus(Struct, frozen=True, rename="camel"):
    replicas: int = 0
    selector: str = ""
    observed_generation: int = 0
    conditions: tuple[SetCondition, ...] = ()


class RoleScaler(Struct, frozen=True):
    metadata: ScalerMeta
    spec: RoleScalerSpec = RoleScalerSpec()
    status: RoleScalerStatus = RoleScalerStatus()
