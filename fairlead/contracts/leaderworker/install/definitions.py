"""The CustomResourceDefinitions: that of LeaderWorkerSets (sections 2.1 and 2.2 and 2.3), and those of section 6.7.

Pod templates and claims have the schemas of the types that they are, so that server-side apply merges them entry by
entry; fields are described where they are the kind's own.
"""

from __future__ import annotations

from fairlead.contracts.leaderworker.install.core_schemas import core_schema
from fairlead.contracts.leaderworker.install.disaggregated_definitions import disaggregated_sets, role_scalers
from fairlead.contracts.leaderworker.kinds import (
    DEFAULT_RESTART,
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
from fairlead.core.schema_parts import (
    INT32,
    INT64,
    INT_OR_PERCENT,
    TEXT,
    conditions,
    definition,
    described,
    object_of,
    one_of,
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
    return leader_worker_sets(), disaggregated_sets(_spec()), role_scalers()


def leader_worker_sets() -> Json:
    scale = {
        "labelSelectorPath": ".status.hpaPodSelector",
        "specReplicasPath": ".spec.replicas",
        "statusReplicasPath": ".status.replicas",
    }
    return definition(LEADER_WORKER_SETS, _schema(), {"scale": scale, "status": {}}, COLUMNS, ("lws",))


def _schema() -> Json:
    about = "Groups of pods, each with one leader, that are started, updated, recreated and placed as one."
    return object_of(
        about,
        apiVersion=described(TEXT, "The version of the API that this object is written in."),
        kind=described(TEXT, "The kind of this object."),
        metadata={"type": "object"},
        spec=_spec(),
        status=_status(),
    )


def _spec() -> Json:
    groups = {**INT32, "minimum": 0, "maximum": LARGEST_REPLICAS, "default": 1}
    startup = one_of(LEADER_CREATED, LEADER_READY)
    return object_of(
        "What is wanted.",
        ("leaderWorkerTemplate",),
        replicas=described(groups, "How many groups there are; also set through the scale subresource."),
        startupPolicy=described(
            {**startup, "default": LEADER_CREATED},
            "When the workers of a group are created: once its leader is created, or once it is ready.",
        ),
        rolloutStrategy=_rollout_strategy(),
        networkConfig=object_of(
            "How pods find one another.",
            ("subdomainPolicy",),
            subdomainPolicy=described(
                one_of(SHARED, UNIQUE_PER_REPLICA),
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
    return object_of(
        "How a change of the template is rolled out.",
        ("type",),
        type=described({**one_of(ROLLING_UPDATE), "default": ROLLING_UPDATE}, "How groups are replaced."),
        rollingUpdateConfiguration=object_of(
            "The limits of a rollout.",
            maxUnavailable=described({**INT_OR_PERCENT, "default": 1}, unavailable),
            maxSurge=described({**INT_OR_PERCENT, "default": 0}, surge),
            partition=described({**INT32, "default": 0}, "Groups with a lower index keep their revision."),
        ),
    )


def _leader_worker_template() -> Json:
    template = core_schema("core.v1.PodTemplateSpec")
    retention = core_schema("apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy")
    claims = {"type": "array", "items": core_schema("core.v1.PersistentVolumeClaim")}
    restart = one_of(DEFAULT_RESTART, RECREATE_ON_RESTART, RECREATE_AFTER_START_POLICY, NO_RESTART)
    return object_of(
        "What the pods of a group are made from; a change is rolled out.",
        ("workerTemplate",),
        leaderTemplate=described(template, "The pod of a leader; without it leaders are made from workerTemplate."),
        workerTemplate=described(template, "The pod of a worker."),
        size=described({**INT32, "default": 1}, "How many pods a group has, its leader included."),
        restartPolicy=described(
            {**restart, "default": RECREATE_ON_RESTART},
            "What becomes of a group of which a pod fails: it is recreated, recreated if all of its pods had started, "
            "or left as it is (None; Default is an old name of it).",
        ),
        subGroupPolicy=object_of(
            "How the pods of a group are parted into subgroups; it cannot be added or removed later.",
            subGroupPolicyType=described(
                {**one_of(LEADER_WORKER, LEADER_EXCLUDED), "default": LEADER_WORKER},
                "Whether the leader belongs to the first subgroup or to none.",
            ),
            subGroupSize=described(
                INT32, "How many pods a subgroup has; the size of the group, or one less, is a multiple of it."
            ),
        ),
        volumeClaimTemplates=described(claims, "Claims that every pod gets for itself; some container mounts each."),
        persistentVolumeClaimRetentionPolicy=described(
            retention, "Whether claims are kept when a group is removed, or the whole set is."
        ),
    )


def _status() -> Json:
    return object_of(
        "What there is.",
        conditions=described(
            conditions(), "Whether all groups are ready, some are not yet, or a rollout is in progress."
        ),
        replicas=described(INT32, "Groups that exist."),
        readyReplicas=described(INT32, "Groups of which every pod is ready, whatever their revision."),
        updatedReplicas=described(INT32, "Groups of the newest revision, ready or not."),
        hpaPodSelector=described(TEXT, "Selects the leaders, for autoscalers."),
        observedGeneration=described(INT64, "The generation of the spec that has been acted on."),
    )
