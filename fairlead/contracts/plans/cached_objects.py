"""What the caches hold of the objects that plans are about: whole workloads, and little of anything else."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from fairlead.contracts.plans.kinds import CONFIGURATION_GENERATION, ORIGINAL, Json
from kubeloop.objects.meta import Condition, Meta, OwnerReference

WORKLOAD_ANNOTATIONS = frozenset({ORIGINAL, CONFIGURATION_GENERATION})
"""All that anybody reads of them; others may be as large as the rest of the object."""


def tree_of(value: Struct) -> Json:
    """As the API writes it: `msgspec.to_builtins` would leave tuples where lists are."""
    found: Json = msgspec.json.decode(msgspec.json.encode(value))
    return found


class WholeOwner(OwnerReference, frozen=True, rename="camel", omit_defaults=True, gc=False):
    """With everything that it holds, because a list of owners is written as a whole."""

    block_owner_deletion: bool | None = None


class WorkloadMeta(Meta, frozen=True, rename="camel", omit_defaults=True):
    generation: int = 0
    annotations: dict[str, str] = {}
    owner_references: tuple[WholeOwner, ...] = ()


class StoredWorkload(Struct, frozen=True):
    """Of any kind."""

    metadata: WorkloadMeta
    spec: Any = None
    status: Any = None

    @property
    def tree(self) -> Json:
        """As decisions read it."""
        parts = {"metadata": tree_of(self.metadata), "spec": self.spec, "status": self.status}
        return {key: value for key, value in parts.items() if value is not None}


class _PodSpec(Struct, frozen=True, rename="camel", omit_defaults=True):
    node_name: str = ""


class _PodStatus(Struct, frozen=True, omit_defaults=True):
    conditions: tuple[Condition, ...] = ()


class StoredPod(Struct, frozen=True):
    """Of a workload whose status does not tell old pods from new ones."""

    metadata: Meta
    spec: _PodSpec = _PodSpec()
    status: _PodStatus = _PodStatus()


class StoredRevision(Struct, frozen=True):
    """A ControllerRevision, without its data."""

    metadata: Meta
    revision: int = 0


class _ScaleTarget(Struct, frozen=True, rename="camel"):
    api_version: str = ""
    kind: str = ""
    name: str = ""


class _AutoscalerSpec(Struct, frozen=True, rename="camel"):
    scale_target_ref: _ScaleTarget = _ScaleTarget()


class StoredAutoscaler(Struct, frozen=True):
    metadata: Meta
    spec: _AutoscalerSpec = _AutoscalerSpec()
