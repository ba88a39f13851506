"""The CustomResourceDefinition of LeaderWorkerSets (sections 2.1 and 2.2 and 2.3).

Pod templates and claims have the schemas of the types that they are, so that server-side apply merges them entry by
entry; fields are described where they are the kind's own.
"""

from __future__ import annotations

from fairlead.contracts.leaderworker.install.core_schemas import core_schema
from fairlead.contracts.leaderworker.kinds import (
    DEFAULT_RESTART,
    GROUP,
    LARGEST_REPLICAS,
    LEADER_CREATED,
    LEADER_EXCLUDED,
    LEADER_READY,
    LEADER_WORKER,
    LEADER_WORKER_SETS,
    NO_RESTART,
    RECREATE_AFTER_START_POLICY,
    RECREATE_ON_RESTART,
    ROLLING_UPDATE,
    SHARED,
    UNIQUE_PER_REPLICA,
    Json,
)

_INT32: Json = {"type": "integer", "format": "int32"}
_INT64: Json = {"type": "integer", "format": "int64"}
_TEXT: Json = {"type": "string"}
_INT_OR_PERCENT: Json = {"anyOf": [{"type": "integer"}, {"type": "string"}], "x-kubernetes-int-or-string": True}
_CONDITION_TYPE = (
    r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
    r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
)

COLUMNS: tuple[Json, ...] = (
    {
        "name": "Ready",
        "type": "integer",
        "jsonPath": ".status.readyReplicas",
        "description": "Number of ready replicas",
    },
    {
        "name": "Desired",
        "type": "integer",
        "jsonPath": ".spec.replicas",
        "description": "Number of desired replicas",
    },
    {
        "name": "Up-to-date",
        "type": "integer",
        "jsonPath": ".status.updatedReplicas",
        "description": "Number of up-to-date replicas",
    },
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
)


def definitions() -> tuple[Json, ...]:
    return (leader_worker_sets(),)


def leader_worker_sets() -> Json:
    resource = LEADER_WORKER_SETS
    names = {
        "kind": resource.kind,
        "listKind": f"{resource.kind}List",
        "plural": resource.plural,
        "shortNames": ["lws"],
        "singular": resource.kind.lower(),
    }
    scale = {
        "labelSelectorPath": ".status.hpaPodSelector",
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
    }
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _schema()},
        "subresources": {"scale": scale, "status": {}},
        "additionalPrinterColumns": list(COLUMNS),
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{resource.plural}.{GROUP}"},
        "spec": {"group": GROUP, "names": names, "scope": "Namespaced", "versions": [version]},
    }


def _schema() -> Json:
    about = "Groups of pods, each with one leader, that are started, updated, recreated and placed as one."
    return _object(
        about,
        apiVersion=_described(_TEXT, "The version of the API that this object is written in."),
        kind=_described(_TEXT, "The kind of this object."),
        metadata={"type": "object"},
        spec=_spec(),
        status=_status(),
    )


def _spec() -> Json:
    groups = {**_INT32, "minimum": 0, "maximum": LARGEST_REPLICAS, "default": 1}
    startup = _one_of(LEADER_CREATED, LEADER_READY)
    return _object(
        "What is wanted.",
        ("leaderWorkerTemplate",),
        replicas=_described(groups, "How many groups there are; also set through the scale subresource."),
        startupPolicy=_described(
            {**startup, "default": LEADER_CREATED},
            "When the workers of a group are created: once its leader is created, or once it is ready.",
        ),
        rolloutStrategy=_rollout_strategy(),
        networkConfig=_object(
            "How pods find one another.",
            ("subdomainPolicy",),
            subdomainPolicy=_described(
                _one_of(SHARED, UNIQUE_PER_REPLICA),
                "Whether all groups share one headless Service, or each has its own; a change is rolled out.",
            ),
        ),
        leaderWorkerTemplate=_leader_worker_template(),
    )


def _rollout_strategy() -> Json:
    unavailable = (
        "The most groups that a rollout makes unavailable: a number, or a percentage of replicas rounded down."
    )
    surge = "The most groups beyond replicas during a rollout: a number, or a percentage of replicas rounded up."
    return _object(
        "How a change of the template is rolled out.",
        ("type",),
        type=_described({**_one_of(ROLLING_UPDATE), "default": ROLLING_UPDATE}, "How groups are replaced."),
        rollingUpdateConfiguration=_object(
            "The limits of a rollout.",
            maxUnavailable=_described({**_INT_OR_PERCENT, "default": 1}, unavailable),
            maxSurge=_described({**_INT_OR_PERCENT, "default": 0}, surge),
            partition=_described({**_INT32, "default": 0}, "Groups with a lower index keep their revision."),
        ),
    )


def _leader_worker_template() -> Json:
    template = core_schema("core.v1.PodTemplateSpec")
    retention = core_schema("apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy")
    claims = {"type": "array", "items": core_schema("core.v1.PersistentVolumeClaim")}
    restart = _one_of(DEFAULT_RESTART, RECREATE_ON_RESTART, RECREATE_AFTER_START_POLICY, NO_RESTART)
    return _object(
        "What the pods of a group are made from; a change is rolled out.",
        ("workerTemplate",),
        leaderTemplate=_described(template, "The pod of a leader; without it leaders are made from workerTemplate."),
        workerTemplate=_described(template, "The pod of a worker."),
        size=_described({**_INT32, "default": 1}, "How many pods a group has, its leader included."),
        restartPolicy=_described(
            {**restart, "default": RECREATE_ON_RESTART},
            "What becomes of a group of which a pod fails: it is recreated, recreated if all of its pods had started, "
            "or left as it is (None; Default is an old name of it).",
        ),
        subGroupPolicy=_object(
            "How the pods of a group are parted into subgroups; it cannot be added or removed later.",
            subGroupPolicyType=_described(
                {**_one_of(LEADER_WORKER, LEADER_EXCLUDED), "default": LEADER_WORKER},
                "Whether the leader belongs to the first subgroup or to none.",
            ),
            subGroupSize=_described(
                _INT32, "How many pods a subgroup has; the size of the group, or one less, is a multiple of it."
            ),
        ),
        volumeClaimTemplates=_described(claims, "Claims that every pod gets for itself; some container mounts each."),
        persistentVolumeClaimRetentionPolicy=_described(
            retention, "Whether claims are kept when a group is removed, or the whole set is."
        ),
    )


def _status() -> Json:
    return _object(
        "What there is.",
        conditions=_described(
            {
                "type": "array",
                "items": _condition(),
                "x-kubernetes-list-map-keys": ["type"],
                "x-kubernetes-list-type": "map",
            },
            "Whether all groups are ready, some are not yet, or a rollout is in progress.",
        ),
        replicas=_described(_INT32, "Groups that exist."),
        readyReplicas=_described(_INT32, "Groups of which every pod is ready, whatever their revision."),
        updatedReplicas=_described(_INT32, "Groups of the newest revision, ready or not."),
        hpaPodSelector=_described(_TEXT, "Selects the leaders, for autoscalers."),
        observedGeneration=_described(_INT64, "The generation of the spec that has been acted on."),
    )


def _condition() -> Json:
    return _object(
        "One aspect of the state.",
        ("lastTransitionTime", "message", "reason", "status", "type"),
        lastTransitionTime={"type": "string", "format": "date-time"},
        message={**_TEXT, "maxLength": 32768},
        observedGeneration={**_INT64, "minimum": 0},
        reason={**_TEXT, "maxLength": 1024, "minLength": 1, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"},
        status=_one_of("True", "False", "Unknown"),
        type={**_TEXT, "maxLength": 316, "pattern": _CONDITION_TYPE},
    )


def _object(about: str, required: tuple[str, ...] = (), /, **properties: Json) -> Json:
    needed = {"required": list(required)} if required else {}
    return {"type": "object", "description": about, **needed, "properties": properties}


def _one_of(*words: str) -> Json:
    return {"type": "string", "enum": list(words)}


def _described(schema: Json, about: str) -> Json:
    return {**schema, "description": about}
