"""Why a rollout does or does not move: one internal vocabulary for all parts.

A Reason names a state of the world, not a part or a wire word; each part's `words.py` maps it to the words of its
contract. Its kind says who can end the wait, `clears` says how.
"""

from __future__ import annotations

from enum import Enum


class ReasonKind(Enum):
    WAITING = "waiting"
    HELD = "held"
    BLOCKED = "blocked"
    INVALID = "invalid"
    FAILED = "failed"
    MOVING = "moving"
    DONE = "done"


class Reason(Enum):
    """Members are `(word, kind, what clears it)`."""

    POD_TERMINATING = "PodTerminating", ReasonKind.WAITING, "the pod finishes shutting down"
    POD_MISSING = "PodMissing", ReasonKind.WAITING, "the StatefulSet controller creates the pod"
    PODS_NOT_READY = "PodsNotReady", ReasonKind.WAITING, "the pod becomes ready"
    POD_UNRIPE = "PodUnripe", ReasonKind.WAITING, "the pod has been ready for minReadySeconds"
    POD_STUCK = "PodStuck", ReasonKind.BLOCKED, "the pod becomes ready, or the pod template changes"
    LABEL_CHANGED = "LabelChanged", ReasonKind.BLOCKED, "the label is put back, or the object is deleted"
    ZONES_NOT_READY = "ZonesNotReady", ReasonKind.WAITING, "at most one of these zones is not ready"
    STATUS_STALE = "StatusStale", ReasonKind.WAITING, "the StatefulSet controller observes the newest generation"
    CACHE_BEHIND = "CacheBehind", ReasonKind.WAITING, "the watch delivers the newest version of the object"
    ZONE_LEAVING = "ZoneLeaving", ReasonKind.WAITING, "the StatefulSet is gone"
    PAUSED = "Paused", ReasonKind.HELD, "the pause is removed"
    OTHER_ZONE_AHEAD = "OtherZoneAhead", ReasonKind.WAITING, "the zone before it is done"
    OTHER_ZONE_NOT_READY = "OtherZoneNotReady", ReasonKind.BLOCKED, "the other zone is ready again"
    PAUSED_ZONE_NOT_READY = "PausedZoneNotReady", ReasonKind.WAITING, "the pods of the paused zone become ready"
    TWO_ZONES_NOT_READY = "TwoZonesNotReady", ReasonKind.BLOCKED, "at most one of these zones is not ready"
    SOAKING = "Soaking", ReasonKind.WAITING, "the zone before it has been ready for its soak time"
    HEALTH_CHECK_FAILING = (
        "HealthCheckFailing",
        ReasonKind.BLOCKED,
        "the health check passes, or is removed from the zone",
    )
    HEALTH_CHECK_UNASKED = "HealthCheckUnasked", ReasonKind.WAITING, "the operator asks Prometheus"
    HEALTH_CHECK_WARNING = "HealthCheckWarning", ReasonKind.HELD, "the health check passes"
    HEALTH_CHECK_UNUSABLE = (
        "HealthCheckUnusable",
        ReasonKind.HELD,
        "the annotation names a valid RolloutHealthCheck for it",
    )
    SOAK_IGNORED = "SoakIgnored", ReasonKind.HELD, "the annotation is corrected or removed"
    DEADLINE_IGNORED = "DeadlineIgnored", ReasonKind.HELD, "the annotation is corrected or removed"
    ROTATION_IGNORED = "RotationIgnored", ReasonKind.HELD, "the label is removed from the pod template"
    BUDGET_USED = "BudgetUsed", ReasonKind.WAITING, "a pod of the zone becomes ready"
    DISRUPTION_BUDGET = (
        "DisruptionBudget",
        ReasonKind.WAITING,
        "enough pods in the scope of the disruption budget are ready",
    )
    DISRUPTION_STUCK = (
        "DisruptionStuck",
        ReasonKind.BLOCKED,
        "somebody corrects the disruption budget or deletes the pod",
    )
    BUDGETS_OVERLAP = "BudgetsOverlap", ReasonKind.INVALID, "no more than one disruption budget selects the pod"
    WRONG_STRATEGY = "WrongStrategy", ReasonKind.INVALID, "spec.updateStrategy.type is set to OnDelete"
    REVISION_UNKNOWN = (
        "RevisionUnknown",
        ReasonKind.INVALID,
        "the StatefulSet controller records its revisions in the status",
    )
    DOWNSCALE_SPACING = (
        "DownscaleSpacing",
        ReasonKind.WAITING,
        "the minimum time between downscales of zones has passed",
    )
    LEADER_NOT_READY = "LeaderNotReady", ReasonKind.WAITING, "all replicas of the leader are ready"
    DELAY_NOT_ELAPSED = "DelayNotElapsed", ReasonKind.WAITING, "the delay since the pod was prepared has passed"
    PREPARE_FAILED = (
        "PrepareFailed",
        ReasonKind.WAITING,
        "every pod to be removed answers with the time of its preparation",
    )
    NEEDS_ANSWER = "NeedsAnswer", ReasonKind.WAITING, "the operator asks the pods"
    DELAY_INVALID = "DelayInvalid", ReasonKind.HELD, "the annotations of the delayed downscale are corrected or removed"
    TOO_MANY_PODS = "TooManyPods", ReasonKind.HELD, "the delay is removed, or the zone is scaled by hand"
    ANNOTATION_IGNORED = "AnnotationIgnored", ReasonKind.HELD, "the annotation is corrected or removed"
    LEADER_MISSING = "LeaderMissing", ReasonKind.INVALID, "the leader annotation names a StatefulSet of the group"
    INVALID_ANNOTATION = "InvalidAnnotation", ReasonKind.INVALID, "the annotation is corrected"
    REFERENCE_UNREADABLE = "ReferenceUnreadable", ReasonKind.FAILED, "the scale of the reference resource can be read"
    SCALING_UNDONE = "ScalingUndone", ReasonKind.FAILED, "only one of the two writers changes the replicas"
    SCALING_REFUSED = "ScalingRefused", ReasonKind.FAILED, "the API server accepts the number of replicas"
    SCALING_FAILED = "ScalingFailed", ReasonKind.FAILED, "the API server answers the read"
    READ_FAILED = "ReadFailed", ReasonKind.FAILED, "the API server answers the read"
    DEPENDENCY_NOT_ROLLED = "DependencyNotRolled", ReasonKind.WAITING, "the Deployment it depends on has rolled out"
    DEPENDENCY_SOAKING = "DependencySoaking", ReasonKind.WAITING, "the soak duration has passed"
    SOAK_FAILED = (
        "SoakFailed",
        ReasonKind.BLOCKED,
        "a person sets the annotation rollout-resume, or the template changes",
    )
    GATE_INVALID = "GateInvalid", ReasonKind.HELD, "the annotations of the phased Deployment are corrected"
    ENVIRONMENT_LEAVING = "EnvironmentLeaving", ReasonKind.WAITING, "the object is gone"
    SPEC_INVALID = "SpecInvalid", ReasonKind.INVALID, "the spec is corrected"
    SECRET_MISSING = "SecretMissing", ReasonKind.INVALID, "the Secret exists, or the spec names another"
    LICENSE_INVALID = "LicenseInvalid", ReasonKind.INVALID, "the Secret holds a valid license key"
    ENVIRONMENT_MISMATCH = (
        "EnvironmentMismatch",
        ReasonKind.INVALID,
        "the Secret holds the license key of this environment",
    )
    DUPLICATE_ENVIRONMENT = "DuplicateEnvironment", ReasonKind.INVALID, "only one object has this environment id"
    STATUS_CONTRADICTED = (
        "StatusContradicted",
        ReasonKind.INVALID,
        "the status and the public Service name the same generation",
    )
    OBJECT_UNREADABLE = "ObjectUnreadable", ReasonKind.INVALID, "the field is corrected"
    KIND_MISSING = "KindMissing", ReasonKind.FAILED, "the kind is installed in the cluster"
    OBJECT_REFUSED = "ObjectRefused", ReasonKind.FAILED, "the API server accepts the object"
    WRITE_REFUSED = "WriteRefused", ReasonKind.FAILED, "the API server allows it"
    OBJECT_UNDONE = "ObjectUndone", ReasonKind.BLOCKED, "only one of the two writers changes the object"
    GENERATION_REFUSED = "GenerationRefused", ReasonKind.FAILED, "what refuses the generation lets it pass"
    UPGRADE_REFUSED = "UpgradeRefused", ReasonKind.BLOCKED, "the spec names an image that may follow the running one"
    ROLLOUT_TIMED_OUT = "RolloutTimedOut", ReasonKind.BLOCKED, "the spec, or the annotation force-rollout, changes"
    OBJECTS_GOING = "ObjectsGoing", ReasonKind.WAITING, "the object is gone"
    LEADER_SILENT = "LeaderSilent", ReasonKind.WAITING, "environmentd answers"
    LEADER_INITIALIZING = (
        "LeaderInitializing",
        ReasonKind.WAITING,
        "environmentd has caught up, or is told to skip that",
    )
    CATCH_UP_KEPT = "CatchUpKept", ReasonKind.WAITING, "environmentd is far enough to skip the rest of its catching up"
    SIGN_IN_FAILED = "SignInFailed", ReasonKind.WAITING, "environmentd accepts the password in the Secret"
    AWAITING_PROMOTION = "AwaitingPromotion", ReasonKind.HELD, "a person approves the promotion"
    PROMOTE_FAILED = "PromoteFailed", ReasonKind.FAILED, "environmentd accepts the promotion"
    NOT_YET_LEADER = "NotYetLeader", ReasonKind.WAITING, "environmentd says that it leads"
    BALANCER_NOT_READY = "BalancerNotReady", ReasonKind.WAITING, "the Balancer is ready"
    DEPLOYMENT_NOT_READY = "DeploymentNotReady", ReasonKind.WAITING, "the Deployment is available"
    SELECTOR_CHANGING = (
        "SelectorChanging",
        ReasonKind.WAITING,
        "all pods of the Deployment carry the labels of its selector",
    )
    SET_LEAVING = "SetLeaving", ReasonKind.WAITING, "the object is gone"
    LEADERS_LEAVING = "LeadersLeaving", ReasonKind.WAITING, "the StatefulSet of the leaders is gone"
    NAME_TAKEN = "NameTaken", ReasonKind.BLOCKED, "the object of that name is gone"
    REVISION_UNREADABLE = "RevisionUnreadable", ReasonKind.BLOCKED, "the ControllerRevision is deleted"
    REVISION_MISSING = "RevisionMissing", ReasonKind.WAITING, "the ControllerRevision of the leader's key is there"
    GROUPS_NOT_READY = "GroupsNotReady", ReasonKind.WAITING, "the group becomes ready"
    OLD_GROUPS_NOT_READY = (
        "OldGroupsNotReady",
        ReasonKind.BLOCKED,
        "these groups become ready, or more groups may be unavailable",
    )
    PARTITION_REACHED = "PartitionReached", ReasonKind.HELD, "the partition is lowered"
    LEADER_UNBOUND = "LeaderUnbound", ReasonKind.WAITING, "the leader has a node"
    NODE_UNLABELLED = "NodeUnlabelled", ReasonKind.FAILED, "the node of the leader has the label of the topology"
    LEADER_STARTING = "LeaderStarting", ReasonKind.WAITING, "the leader is ready"
    WORKERS_LEAVING = "WorkersLeaving", ReasonKind.WAITING, "the workers of the leader before are gone"
    GROUP_LEAVING = "GroupLeaving", ReasonKind.WAITING, "the leader is gone"
    GROUP_NESTED = "GroupNested", ReasonKind.BLOCKED, "the pod is deleted"
    RECREATION_SPACING = "RecreationSpacing", ReasonKind.WAITING, "the time between two recreations has passed"
    RESTARTS_EXCEEDED = "RestartsExceeded", ReasonKind.HELD, "somebody deletes the leader, or the spec changes"
    RECREATING = "Recreating", ReasonKind.MOVING, ""
    WORKLOAD_MISSING = "WorkloadMissing", ReasonKind.WAITING, "the workload is there"
    WORKLOAD_SCALING = "WorkloadScaling", ReasonKind.WAITING, "the workload has as many pods as its spec says"
    WORKLOAD_STALE = "WorkloadStale", ReasonKind.WAITING, "the controller of the workload observes its newest spec"
    SOURCE_NOT_SHRUNK = "SourceNotShrunk", ReasonKind.WAITING, "the old pods of the batch are gone"
    INSTANCE_SPACING = "InstanceSpacing", ReasonKind.WAITING, "the time between two pods of the batch has passed"
    BATCH_SOAKING = "BatchSoaking", ReasonKind.WAITING, "the batch has stayed available for its soak time"
    GATE_CLOSED = "GateClosed", ReasonKind.HELD, "somebody lets the next batch go"
    HOOK_REFUSED = "HookRefused", ReasonKind.WAITING, "the hook accepts"
    METRIC_PENDING = "MetricPending", ReasonKind.WAITING, "the metric has been in its range for long enough"
    METRIC_UNKNOWN = "MetricUnknown", ReasonKind.WAITING, "the metric can be read"
    TRAFFIC_PENDING = "TrafficPending", ReasonKind.WAITING, "the route sends the traffic of the batch"
    APPLICATION_PENDING = "ApplicationPending", ReasonKind.WAITING, "the workloads of the application are prepared"
    ANSWER_UNKNOWN = "AnswerUnknown", ReasonKind.WAITING, "the operator is answered"
    ROLLOUT_FAILED = "RolloutFailed", ReasonKind.BLOCKED, "somebody retries or undoes it, or names another target"
    ROLLOUT_REVERTED = "RolloutReverted", ReasonKind.BLOCKED, "somebody retries it, or names another target"
    NOT_LEADING = "NotLeading", ReasonKind.WAITING, "this replica holds its Lease again"
    JOURNAL_UNAVAILABLE = "JournalUnavailable", ReasonKind.WAITING, "the journal can be read and written"
    STORAGE_SETTLING = "StorageSettling", ReasonKind.WAITING, "every API server has heard of the storage version"
    MIGRATION_INCOMPLETE = "MigrationIncomplete", ReasonKind.WAITING, "every object can be written"
    OBJECTS_FAILED = "ObjectsFailed", ReasonKind.BLOCKED, "these objects can be written, and somebody tries again"
    DEFINITION_CHANGED = "DefinitionChanged", ReasonKind.BLOCKED, "somebody begins again with the CRD as it is now"
    JOB_INTERRUPTED = "JobInterrupted", ReasonKind.HELD, "somebody goes on with it"
    DEFINITION_PENDING = "DefinitionPending", ReasonKind.WAITING, "the API server has the definition in force"
    REPLICAS_BEHIND = (
        "ReplicasBehind",
        ReasonKind.WAITING,
        "every replica behind the Service can convert the versions of the definition",
    )
    OBJECTS_UNSEEN = "ObjectsUnseen", ReasonKind.WAITING, "all objects of the definition have been looked at"
    PAYLOADS_FOREIGN = (
        "PayloadsForeign",
        ReasonKind.BLOCKED,
        "these objects are written in the storage version, or a person says that they are converted as they are",
    )
    RULES_INCOMPLETE = "RulesIncomplete", ReasonKind.BLOCKED, "the rule set names every version of the definition"
    DEFINITION_FOREIGN = "DefinitionForeign", ReasonKind.HELD, "whoever else writes the definition gives it up"
    DETACH_BLOCKED = (
        "DetachBlocked",
        ReasonKind.BLOCKED,
        "all objects are stored in one version, and no other is served that would lose something of it",
    )
    RIGHT_MISSING = "RightMissing", ReasonKind.BLOCKED, "a role of the operator has the right"
    DETACHING = "Detaching", ReasonKind.MOVING, ""
    REPAIR_SPACING = "RepairSpacing", ReasonKind.WAITING, "some time has passed since the last repair"
    TRUST_INCOMPLETE = "TrustIncomplete", ReasonKind.WAITING, "every webhook configuration can be listed and patched"
    CERTIFICATE_UNUSABLE = "CertificateUnusable", ReasonKind.BLOCKED, "there is a certificate that can be served"
    AUTHORITY_UNPUBLISHED = (
        "AuthorityUnpublished",
        ReasonKind.BLOCKED,
        "whoever keeps the bundle of authorities adds the new one",
    )
    AUTHORITY_POSTPONED = "AuthorityPostponed", ReasonKind.WAITING, "the objects of the definition have been migrated"
    AUTHORITY_SETTLING = "AuthoritySettling", ReasonKind.WAITING, "all API servers have seen the new authority"
    CERTIFICATE_UNSHOWN = "CertificateUnshown", ReasonKind.WAITING, "every ready replica shows the new certificate"
    REPLICA_UNREACHED = (
        "ReplicaUnreached",
        ReasonKind.BLOCKED,
        "the leader sees the new certificate at this replica, or the replica is gone",
    )
    AUTHORITY_RETIRING = "AuthorityRetiring", ReasonKind.WAITING, "the authority before has been left for long enough"
    ROTATING = "Rotating", ReasonKind.MOVING, ""
    OBJECT_UNMANAGED = "ObjectUnmanaged", ReasonKind.HELD, "the annotation is removed from the object"
    HANDLED_BY_OLDER = (
        "HandledByOlderOperator",
        ReasonKind.BLOCKED,
        "the operator runs with --adopt=always, or the annotation of the object is removed",
    )
    HANDLED_BY_NEWER = (
        "HandledByNewerOperator",
        ReasonKind.BLOCKED,
        "an operator of that version runs, or this one with --on-newer=handle",
    )
    PAYLOAD_AMBIGUOUS = (
        "AmbiguousPayload",
        ReasonKind.BLOCKED,
        "the spec is written as the newest version of its kind has it",
    )
    STAMPING = "Stamping", ReasonKind.MOVING, ""
    TRUSTING = "Trusting", ReasonKind.MOVING, ""
    REGISTERING = "Registering", ReasonKind.MOVING, ""
    MIGRATING = "Migrating", ReasonKind.MOVING, ""
    IDENTIFYING = "Identifying", ReasonKind.MOVING, ""
    APPLYING = "Applying", ReasonKind.MOVING, ""
    PROMOTING = "Promoting", ReasonKind.MOVING, ""
    RETIRING = "Retiring", ReasonKind.MOVING, ""
    SETTLING = "Settling", ReasonKind.MOVING, ""
    GATE_PASSED = "GatePassed", ReasonKind.MOVING, ""
    SCALING = "Scaling", ReasonKind.MOVING, ""
    ROLLING = "Rolling", ReasonKind.MOVING, ""
    COMPLETE = "Complete", ReasonKind.DONE, ""

    def __init__(self, word: str, kind: ReasonKind, clears: str) -> None:
        self.word = word
        self.kind = kind
        self.clears = clears

    @property
    def blocks(self) -> bool:
        """Whether nothing goes on until somebody acts."""
        return self.kind in (ReasonKind.BLOCKED, ReasonKind.INVALID, ReasonKind.FAILED)

    @property
    def fails(self) -> bool:
        """Whether a round that ends so counts as failed and is retried with back-off."""
        return self.kind in (ReasonKind.INVALID, ReasonKind.FAILED)
