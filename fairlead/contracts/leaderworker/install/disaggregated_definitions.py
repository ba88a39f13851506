"""The CustomResourceDefinitions of DisaggregatedSets and of the scalers of their roles (section 6.7).

A role holds the spec of a LeaderWorkerSet whole, with all that its own definition says of it.
"""

from __future__ import annotations

from fairlead.contracts.leaderworker.disaggregated.kinds import (
    DISAGGREGATED_SETS,
    EXCLUSIVE_SLICE,
    EXCLUSIVE_TOPOLOGY,
    EXTERNAL,
    MOST_SLICES,
    NO_PLACEMENT,
    ROLE_SCALERS,
    STATIC,
)
from fairlead.contracts.leaderworker.kinds import Json
from fairlead.core.schema_parts import (
    INT32,
    INT64,
    TEXT,
    conditions,
    definition,
    described,
    object_of,
    one_of,
)

_NOT_EXTERNAL = "self.roles.filter(r, !has(r.scaling) || r.scaling.mode != 'External')"
REPLICAS_RULE = (
    f"{_NOT_EXTERNAL}.all(r, !has(r.spec.replicas) || r.spec.replicas == 0)"
    f" || {_NOT_EXTERNAL}.all(r, has(r.spec.replicas) && r.spec.replicas > 0)"
)
REPLICAS_MESSAGE = "replicas must be zero for all non-External roles or non-zero for all non-External roles"
_ROLE_NAME: Json = {**TEXT, "minLength": 1, "maxLength": 63, "pattern": "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"}
_TEXTS: Json = {"type": "object", "additionalProperties": TEXT}


def disaggregated_sets(set_spec: Json) -> Json:
    """`set_spec` is the schema of the spec of a LeaderWorkerSet."""
    about = "LeaderWorkerSets of several roles, such as prefill and decode, that are rolled out together."
    schema = _whole(about, spec=_spec(set_spec), status=_status())
    schema["required"] = ["spec"]
    return definition(DISAGGREGATED_SETS, schema, {"status": {}})


def role_scalers() -> Json:
    about = "How many replicas one role of a DisaggregatedSet has, for autoscalers; made for roles that are External."
    spec = object_of(
        "What an autoscaler wants.",
        ("replicas",),
        replicas=described({**INT32, "minimum": 0, "default": 0}, "Replicas of the role."),
    )
    status = object_of(
        "What there is.",
        replicas=described(INT32, "Replicas of the role that exist, of all revisions."),
        selector=described(TEXT, "Selects the leaders of the role, for autoscalers."),
        observedGeneration=described(INT64, "The generation of the spec that has been acted on."),
        conditions=described(conditions(), "Whether the scaler is bound to a role."),
    )
    scale = {
        "labelSelectorPath": ".status.selector",
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
    }
    columns = (
        {"name": "Desired", "type": "integer", "jsonPath": ".spec.replicas"},
        {"name": "Current", "type": "integer", "jsonPath": ".status.replicas"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    )
    schema = _whole(about, spec=spec, status=status)
    return definition(ROLE_SCALERS, schema, {"scale": scale, "status": {}}, columns, ("dsrs",))


def _whole(about: str, *, spec: Json, status: Json) -> Json:
    return object_of(
        about,
        apiVersion=described(TEXT, "The version of the API that this object is written in."),
        kind=described(TEXT, "The kind of this object."),
        metadata={"type": "object"},
        spec=spec,
        status=status,
    )


def _spec(set_spec: Json) -> Json:
    roles = {
        "type": "array",
        "items": _role(set_spec),
        "minItems": 2,
        "maxItems": 10,
        "x-kubernetes-list-map-keys": ["name"],
        "x-kubernetes-list-type": "map",
    }
    placement = object_of(
        "Which nodes a slice may share with others; it goes into the pods of new LeaderWorkerSets.",
        type=described(
            {**one_of(NO_PLACEMENT, EXCLUSIVE_SLICE, EXCLUSIVE_TOPOLOGY), "default": NO_PLACEMENT},
            "None; or a slice has a domain to itself among the slices of its set, or among those of all sets.",
        ),
        topology=described(TEXT, "The label of nodes whose values are the domains; needed unless the type is None."),
    )
    spec = object_of(
        "What is wanted.",
        ("roles",),
        roles=described(roles, "The roles, each made of LeaderWorkerSets of its own."),
        slices=described(
            {**INT32, "minimum": 1, "maximum": MOST_SLICES, "default": 1},
            "How many copies of all roles there are; each is rolled out by itself, and their number rolls nothing.",
        ),
        placementPolicy=placement,
    )
    spec["x-kubernetes-validations"] = [{"message": REPLICAS_MESSAGE, "rule": REPLICAS_RULE}]
    return spec


def _role(set_spec: Json) -> Json:
    scaling = object_of(
        "Where the number of replicas comes from.",
        mode=described(
            {**one_of(STATIC, EXTERNAL), "default": STATIC},
            "Static: spec.replicas of the role; External: the DisaggregatedSetRoleScaler that is made for it.",
        ),
    )
    metadata = object_of(
        "Labels and annotations of the LeaderWorkerSets of the role.",
        annotations=_TEXTS,
        finalizers={"type": "array", "items": TEXT},
        labels=_TEXTS,
        name=TEXT,
        namespace=TEXT,
    )
    return object_of(
        "One role.",
        ("name",),
        name=described(_ROLE_NAME, "Its name."),
        scaling=scaling,
        metadata=metadata,
        spec=described(set_spec, "The spec of the LeaderWorkerSets of the role."),
    )


def _status() -> Json:
    counts = {
        "type": "array",
        "items": object_of(
            "One role.",
            ("name",),
            name=described(TEXT, "Its name."),
            replicas=described(INT32, "Its groups that exist, of all slices and revisions."),
            readyReplicas=described(INT32, "Those of them that are ready."),
            updatedReplicas=described(INT32, "Groups of the newest revision, ready or not."),
        ),
        "x-kubernetes-list-map-keys": ["name"],
        "x-kubernetes-list-type": "map",
    }
    return object_of(
        "What there is.",
        observedGeneration=described(INT64, "The generation of the spec that has been acted on."),
        roleStatuses=described(counts, "The roles, in the order of the spec."),
        conditions=described(conditions(), "Whether all roles are as wanted, or some are not yet."),
    )
