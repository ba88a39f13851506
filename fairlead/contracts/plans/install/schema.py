"""How the types of plans become schemas (section 2.2 to section 2.6, section 2.9).

The schema says what a value is, and admission whether it will do, so that an object which was stored without webhooks
can still be written; only what upstream's definitions demand is demanded here.
"""

from __future__ import annotations

from typing import Any

from fairlead.contracts.plans.install.descriptions import DESCRIPTIONS
from fairlead.contracts.plans.kinds import (
    CanaryMetric,
    Json,
    RolloutPlan,
    RolloutStatus,
    RolloutWebhook,
    TraitSpec,
)
from fairlead.core.schema_parts import INT64, TEXT, described, object_of
from fairlead.core.schema_types import SchemaTypes


def reference(*required: str) -> Json:
    """An ObjectReference of core/v1, all of its fields, so that none is lost."""
    return object_of(
        "An object of the cluster.",
        required,
        apiVersion=described(TEXT, "Its API version, such as apps/v1."),
        kind=described(TEXT, "Its kind."),
        name=described(TEXT, "Its name."),
        namespace=described(TEXT, "Its namespace; absent: that of this object."),
        uid=described(TEXT, "Its UID; it is not read."),
        resourceVersion=described(TEXT, "Its version; it is not read."),
        fieldPath=described(TEXT, "A part of it; it is not read."),
    )


_WORKLOAD = reference("apiVersion", "kind", "name")
_TYPES = SchemaTypes(
    descriptions=DESCRIPTIONS,
    integer_format="int32",
    shapes={
        "targetRef": _WORKLOAD,
        "sourceRef": _WORKLOAD,
        "templateRef": reference("name"),
        "expectedStatus": {"type": "integer"},
        **dict.fromkeys(("lastTargetRef", "lastSourceRef", "ref", "refs"), reference()),
    },
    refined={"observedGeneration": INT64},
    required={
        TraitSpec: ("targetRef", "rolloutPlan"),
        RolloutWebhook: ("type", "name", "url"),
        CanaryMetric: ("name",),
    },
)


def trait_spec() -> Json:
    return _TYPES.schema_of(TraitSpec)


def plan(about: str) -> Json:
    return described(_TYPES.schema_of(RolloutPlan), about)


def status(**more: Json) -> Json:
    """Of every kind of rollout; `more` are fields of one."""
    made = _TYPES.schema_of(RolloutStatus)
    properties: dict[str, Any] = {**made["properties"], **more}
    return {**made, "description": "How far the rollout is.", "properties": properties}
