"""Why a rollout does or does not move: one internal vocabulary for all parts.

A Reason names a state of the world, not a part or a wire word; each part's `words.py` maps it to the words of its
contract. Its kind says who can end the wait, `clears` says how.
"""

from __future__ import annotations

from enum import Enum


class Kind(Enum):
    WAITING = "waiting"
    HELD = "held"
    BLOCKED = "blocked"
    INVALID = "invalid"
    FAILED = "failed"
    MOVING = "moving"
    DONE = "done"


class Reason(Enum):
    """Members are `(word, kind, what clears it)`."""

    POD_TERMINATING = "PodTerminating", Kind.WAITING, "the pod finishes shutting down"
    POD_MISSING = "PodMissing", Kind.WAITING, "the StatefulSet controller creates the pod"
    PODS_NOT_READY = "PodsNotReady", Kind.WAITING, "the pod becomes ready"
    POD_UNRIPE = "PodUnripe", Kind.WAITING, "the pod has been ready for minReadySeconds"
    POD_STUCK = "PodStuck", Kind.BLOCKED, "the pod becomes ready, or the pod template changes"
    ZONES_NOT_READY = "ZonesNotReady", Kind.WAITING, "at most one of these zones is not ready"
    STATUS_STALE = "StatusStale", Kind.WAITING, "the StatefulSet controller observes the newest generation"
    CACHE_BEHIND = "CacheBehind", Kind.WAITING, "the watch delivers the newest version of the object"
    ZONE_LEAVING = "ZoneLeaving", Kind.WAITING, "the StatefulSet is gone"
    PAUSED = "Paused", Kind.HELD, "the pause is removed"
    OTHER_ZONE_AHEAD = "OtherZoneAhead", Kind.WAITING, "the zone before it is done"
    OTHER_ZONE_NOT_READY = "OtherZoneNotReady", Kind.BLOCKED, "the other zone is ready again"
    TWO_ZONES_NOT_READY = "TwoZonesNotReady", Kind.BLOCKED, "at most one of these zones is not ready"
    SOAKING = "Soaking", Kind.WAITING, "the zone before it has been ready for its soak time"
    HEALTH_CHECK_FAILING = "HealthCheckFailing", Kind.BLOCKED, "the health check passes, or is removed from the zone"
    HEALTH_CHECK_UNASKED = "HealthCheckUnasked", Kind.WAITING, "the operator asks Prometheus"
    HEALTH_CHECK_WARNING = "HealthCheckWarning", Kind.HELD, "the health check passes"
    HEALTH_CHECK_UNUSABLE = "HealthCheckUnusable", Kind.HELD, "the annotation names a valid RolloutHealthCheck for it"
    SOAK_IGNORED = "SoakIgnored", Kind.HELD, "the annotation is corrected or removed"
    DEADLINE_IGNORED = "DeadlineIgnored", Kind.HELD, "the annotation is corrected or removed"
    ROTATION_IGNORED = "RotationIgnored", Kind.HELD, "the label is removed from the pod template"
    BUDGET_USED = "BudgetUsed", Kind.WAITING, "a pod of the zone becomes ready"
    DISRUPTION_BUDGET = "DisruptionBudget", Kind.WAITING, "enough pods in the scope of the disruption budget are ready"
    DISRUPTION_STUCK = "DisruptionStuck", Kind.BLOCKED, "somebody corrects the disruption budget or deletes the pod"
    BUDGETS_OVERLAP = "BudgetsOverlap", Kind.INVALID, "no more than one disruption budget selects the pod"
    WRONG_STRATEGY = "WrongStrategy", Kind.INVALID, "spec.updateStrategy.type is set to OnDelete"
    REVISION_UNKNOWN = "RevisionUnknown", Kind.INVALID, "the StatefulSet controller records its revisions in the status"
    DOWNSCALE_SPACING = "DownscaleSpacing", Kind.WAITING, "the minimum time between downscales of zones has passed"
    LEADER_NOT_READY = "LeaderNotReady", Kind.WAITING, "all replicas of the leader are ready"
    DELAY_NOT_ELAPSED = "DelayNotElapsed", Kind.WAITING, "the delay since the pod was prepared has passed"
    PREPARE_FAILED = "PrepareFailed", Kind.WAITING, "every pod to be removed answers with the time of its preparation"
    NEEDS_ANSWER = "NeedsAnswer", Kind.WAITING, "the operator asks the pods"
    DELAY_INVALID = "DelayInvalid", Kind.HELD, "the annotations of the delayed downscale are corrected or removed"
    TOO_MANY_PODS = "TooManyPods", Kind.HELD, "the delay is removed, or the zone is scaled by hand"
    ANNOTATION_IGNORED = "AnnotationIgnored", Kind.HELD, "the annotation is corrected or removed"
    LEADER_MISSING = "LeaderMissing", Kind.INVALID, "the leader annotation names a StatefulSet of the group"
    INVALID_ANNOTATION = "InvalidAnnotation", Kind.INVALID, "the annotation is corrected"
    REFERENCE_UNREADABLE = "ReferenceUnreadable", Kind.FAILED, "the scale of the reference resource can be read"
    SCALING_UNDONE = "ScalingUndone", Kind.FAILED, "only one of the two writers changes the replicas"
    SCALING_REFUSED = "ScalingRefused", Kind.FAILED, "the API server accepts the number of replicas"
    SCALING_FAILED = "ScalingFailed", Kind.FAILED, "the API server answers the read"
    READ_FAILED = "ReadFailed", Kind.FAILED, "the API server answers the read"
    DEPENDENCY_NOT_ROLLED = "DependencyNotRolled", Kind.WAITING, "the Deployment it depends on has rolled out"
    DEPENDENCY_SOAKING = "DependencySoaking", Kind.WAITING, "the soak duration has passed"
    SOAK_FAILED = "SoakFailed", Kind.BLOCKED, "a person sets the annotation rollout-resume, or the template changes"
    GATE_INVALID = "GateInvalid", Kind.HELD, "the annotations of the phased Deployment are corrected"
    ENVIRONMENT_LEAVING = "EnvironmentLeaving", Kind.WAITING, "the object is gone"
    SPEC_INVALID = "SpecInvalid", Kind.INVALID, "the spec is corrected"
    SECRET_MISSING = "SecretMissing", Kind.INVALID, "the Secret exists, or the spec names another"
    LICENSE_INVALID = "LicenseInvalid", Kind.INVALID, "the Secret holds a valid license key"
    ENVIRONMENT_MISMATCH = "EnvironmentMismatch", Kind.INVALID, "the Secret holds the license key of this environment"
    DUPLICATE_ENVIRONMENT = "DuplicateEnvironment", Kind.INVALID, "only one object has this environment id"
    KIND_MISSING = "KindMissing", Kind.FAILED, "the kind is installed in the cluster"
    OBJECT_REFUSED = "ObjectRefused", Kind.FAILED, "the API server accepts the object"
    OBJECT_UNDONE = "ObjectUndone", Kind.BLOCKED, "only one of the two writers changes the object"
    GENERATION_REFUSED = "GenerationRefused", Kind.FAILED, "what refuses the generation lets it pass"
    UPGRADE_REFUSED = "UpgradeRefused", Kind.BLOCKED, "the spec names an image that may follow the running one"
    ROLLOUT_TIMED_OUT = "RolloutTimedOut", Kind.BLOCKED, "the spec, or the annotation force-rollout, changes"
    OBJECTS_GOING = "ObjectsGoing", Kind.WAITING, "the object is gone"
    LEADER_SILENT = "LeaderSilent", Kind.WAITING, "environmentd answers"
    LEADER_INITIALIZING = "LeaderInitializing", Kind.WAITING, "environmentd has caught up, or is told to skip that"
    CATCH_UP_KEPT = "CatchUpKept", Kind.WAITING, "environmentd is far enough to skip the rest of its catching up"
    SIGN_IN_FAILED = "SignInFailed", Kind.WAITING, "environmentd accepts the password in the Secret"
    AWAITING_PROMOTION = "AwaitingPromotion", Kind.HELD, "a person approves the promotion"
    PROMOTE_FAILED = "PromoteFailed", Kind.FAILED, "environmentd accepts the promotion"
    NOT_YET_LEADER = "NotYetLeader", Kind.WAITING, "environmentd says that it leads"
    BALANCER_NOT_READY = "BalancerNotReady", Kind.WAITING, "the Balancer is ready"
    DEPLOYMENT_NOT_READY = "DeploymentNotReady", Kind.WAITING, "the Deployment is available"
    SELECTOR_CHANGING = "SelectorChanging", Kind.WAITING, "all pods of the Deployment carry the labels of its selector"
    IDENTIFYING = "Identifying", Kind.MOVING, ""
    APPLYING = "Applying", Kind.MOVING, ""
    PROMOTING = "Promoting", Kind.MOVING, ""
    RETIRING = "Retiring", Kind.MOVING, ""
    SETTLING = "Settling", Kind.MOVING, ""
    GATE_PASSED = "GatePassed", Kind.MOVING, ""
    SCALING = "Scaling", Kind.MOVING, ""
    ROLLING = "Rolling", Kind.MOVING, ""
    COMPLETE = "Complete", Kind.DONE, ""

    def __init__(self, word: str, kind: Kind, clears: str) -> None:
        self.word = word
        self.kind = kind
        self.clears = clears

    @property
    def blocks(self) -> bool:
        """Whether nothing goes on until somebody acts."""
        return self.kind in (Kind.BLOCKED, Kind.INVALID, Kind.FAILED)

    @property
    def fails(self) -> bool:
        """Whether a round that ends so counts as failed and is retried with back-off."""
        return self.kind in (Kind.INVALID, Kind.FAILED)
