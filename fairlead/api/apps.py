"""The apps group: StatefulSets, as decisions see them."""

from __future__ import annotations

from msgspec import Struct

from fairlead.api.meta import LabelSelector, Meta, Resource

STATEFULSETS = Resource("apps", "v1", "statefulsets", "StatefulSet")

REVISION_LABEL = "controller-revision-hash"
"""On each pod of a StatefulSet: the revision it was made from."""


class StatefulSetMeta(Meta, frozen=True, rename="camel"):
    generation: int = 0
    annotations: dict[str, str] = {}


class TemplateMeta(Struct, frozen=True):
    labels: dict[str, str] = {}


class Template(Struct, frozen=True):
    metadata: TemplateMeta = TemplateMeta()


class UpdateStrategy(Struct, frozen=True):
    type: str = "RollingUpdate"


class Ordinals(Struct, frozen=True):
    start: int = 0


class StatefulSetSpec(Struct, frozen=True, rename="camel"):
    replicas: int = 1
    selector: LabelSelector = LabelSelector()
    template: Template = Template()
    update_strategy: UpdateStrategy = UpdateStrategy()
    ordinals: Ordinals = Ordinals()


class StatefulSetStatus(Struct, frozen=True, rename="camel"):
    observed_generation: int | None = None
    replicas: int = 0
    ready_replicas: int = 0
    current_revision: str = ""
    update_revision: str = ""


class StatefulSet(Struct, frozen=True):
    metadata: StatefulSetMeta
    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()
