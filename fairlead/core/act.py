"""Writes as values: five wire verbs; what a write means is its `does`, so that forecast, audit and tests read one word.

Every Delete is bound to a UID and every Replace to a resource version, and an Apply or a Patch may be: a write decided
on an old view fails instead of hitting what came after it.
"""

from __future__ import annotations

from enum import Enum
from typing import TypeAlias

from msgspec import Struct

from kubeloop.objects.meta import Ref, Resource
from kubeloop.sealed import Sealed


class Does(Enum):
    TERMINATE_POD = "terminate-pod"
    COMPLETE_REVISION = "complete-revision"
    SCALE = "scale"
    REPORT_REPLICAS = "report-replicas"
    """The number of replicas written into the status of a reference resource."""
    STAMP_DOWNSCALE = "stamp-downscale"
    TRACK_DOWNSCALE = "track-downscale"
    NOTE_PREPARATION = "note-preparation"
    """Which pods may be prepared for a downscale, so that whoever comes after a crash can tell them that they stay."""
    STAMP_READY = "stamp-ready"
    STAMP_HEALTH_CHECK = "stamp-health-check"
    RELEASE_DEPLOYMENT = "release-deployment"
    BLOCK_DEPLOYMENT = "block-deployment"
    INJECT_CA = "inject-ca"
    STORE_CERTIFICATE = "store-certificate"
    """What webhooks are served with, or how far its exchange is."""
    APPLY_DEFINITION = "apply-definition"
    REPAIR_DEFINITION = "repair-definition"
    """Somebody had changed it."""
    REWRITE_OBJECT = "rewrite-object"
    """Unchanged, so that it is stored in the storage version."""
    FORGET_VERSIONS = "forget-versions"
    """The definition says no longer that objects may be stored in any but the storage version."""
    RESTORE_OBJECT = "restore-object"
    """As it is in a backup."""
    REWRITE_OWNERS = "rewrite-owners"
    """Who manages which field of an object is told in the words of another version, or as it was before."""
    POINT_DEPENDENT = "point-dependent"
    """A dependent is told the UID of an owner that was made again."""
    CONVERT_OBJECT = "convert-object"
    """Written in another version, its payload with it."""
    FREEZE = "freeze"
    """Nobody else may write objects of a kind."""
    UNFREEZE = "unfreeze"
    TELL_OUTCOME = "tell-outcome"
    """By an Event that a command makes itself."""
    MOVE_REFERENCES = "move-references"
    """managedFields or ownerReferences name a version that stays, in the place of one that goes."""
    MIGRATE_BUILT_IN = "migrate-built-in"
    """The cluster is asked to store all objects of a kind in the storage version."""
    ADD_FINALIZER = "add-finalizer"
    REMOVE_FINALIZER = "remove-finalizer"
    REPORT_STATUS = "report-status"
    """The status of an object of ours; what it says may also be what later rounds go by."""
    SET_ENVIRONMENT_ID = "set-environment-id"
    APPLY_OBJECT = "apply-object"
    """An object that goes with what is rolled, whatever its generation."""
    REMOVE_OBJECT = "remove-object"
    """An object that nobody describes any more."""
    HAND_OVER = "hand-over"
    """An object passes from one who controls it to another."""
    APPLY_GENERATION = "apply-generation"
    MOVE_SERVICE = "move-service"
    """The public Service selects another generation."""
    REMOVE_GENERATION = "remove-generation"
    REMOVE_COMPANION = "remove-companion"
    """A Balancer or Console that is switched off."""
    RECORD_REVISION = "record-revision"
    """What a spec says is kept, before anything carries its key."""
    RENEW_REVISION = "renew-revision"
    """A revision of earlier becomes the newest again."""
    FORGET_REVISION = "forget-revision"
    APPLY_LEADERS = "apply-leaders"
    """The StatefulSet of the leaders of all groups: its template, how many there are, and which may be replaced."""
    CREATE_WORKERS = "create-workers"
    REMOVE_WORKERS = "remove-workers"
    """Of a leader that is going."""
    CREATE_SERVICE = "create-service"
    REMOVE_SERVICE = "remove-service"
    CREATE_ROLE = "create-role"
    """The workload of one of several roles that are rolled together."""
    REMOVE_ROLE = "remove-role"
    NOTE_REPLICAS = "note-replicas"
    """How many a workload has, before any is taken away."""
    CREATE_SCALER = "create-scaler"
    REMOVE_SCALER = "remove-scaler"
    CREATE_POD_GROUP = "create-pod-group"
    RECREATE_GROUP = "recreate-group"
    """The leader is deleted with all that goes with it, and the group is made again."""
    REPLACE_LEADER = "replace-leader"
    """One that is not ready is deleted for another revision, where its StatefulSet does not do that."""
    COUNT_RECREATION = "count-recreation"
    KEEP_DISRUPTION_BUDGET = "keep-disruption-budget"
    """A PodDisruptionBudget is made, or says again what it should."""
    REMOVE_DISRUPTION_BUDGET = "remove-disruption-budget"
    MIGRATE_SELECTOR = "migrate-selector"
    """A Deployment whose selector cannot be changed gets another one, its pods staying."""
    CLAIM_WORKLOAD = "claim-workload"
    """A workload of somebody else's is the rollout's alone from now on, and starts from the values that it needs."""
    RELEASE_WORKLOAD = "release-workload"
    RESIZE_WORKLOAD = "resize-workload"
    ADVANCE_PARTITION = "advance-partition"
    """More pods of a workload may be updated."""
    RESTORE_WORKLOAD = "restore-workload"
    """It is made again what it was before the rollout."""
    ROUTE_TRAFFIC = "route-traffic"
    KEEP_RULES = "keep-rules"
    """The text of the rules that convert a kind, as they were found to be good last."""
    ASK_RIGHT = "ask-right"
    """The API server is asked whether the operator may do something; nothing is stored."""
    STAMP_VERSION = "stamp-version"
    """An object says which version of the operator handles it."""


class PatchKind(Enum):
    JSON = "application/json-patch+json"
    MERGE = "application/merge-patch+json"


class EventNote(Struct, frozen=True):
    """An Event for people, told once what it speaks of has happened; the contract may let it go elsewhere as well.

    That of a write is told once, when the write has succeeded. That of a decision is told when it is new, and again by
    the next process; elsewhere it goes when all writes of the decision have succeeded.
    """

    about: Ref
    warning: bool
    reason: str
    """Empty: it is no Event, and only goes elsewhere."""
    text: str
    repeated: bool = False
    """Whether every pass that comes to it tells it, and not only the first of several: an Event counts how often."""
    item: str = ""
    """Names what it speaks of where that is one of many of which the same is told."""
    several: str = ""
    """What is said of several items in one Event, with `{count}` and `{items}` in it."""
    occurrence: str = ""
    """Tells it from other times when the same is said; then a restarted process does not tell it again."""
    action: str = ""
    """What was done, or failed; empty: the reason says it."""
    related: Ref | None = None
    """Another object that it is about."""
    facts: tuple[tuple[str, str], ...] = ()
    """By name: what is told elsewhere and has no place in an Event, such as how severe it is."""
    to: str = ""
    """Whom it goes to elsewhere: notices to one do not wait for those to another."""


class Write(Struct, frozen=True, kw_only=True):
    """What all verbs share; `change` is what the audit line shows."""

    does: Does
    scope: str = ""
    """UID of what is rolled (a zone, a set, an environment): nothing is decided about it before the caches show this.

    It is bound to the object and not to the key of the round, because an object may move from one group to another
    while its writes are still on their way into the caches.
    """
    change_from: str = ""
    change_to: str = ""
    tell: EventNote | None = None
    optional: bool = False
    """Whether its failure is only logged and the writes after it are still sent."""
    refusable: bool = False
    """Whether what became of it is a fact to decide on: a refusal in the same round, and a success in those that follow
    soon, should they want the same write again because somebody undid it."""
    contested: bool = False
    """Whether it is an ordinary fact that somebody else was faster: the object exists already, or is no longer of the
    version that the write is bound to. The round then ends there, without a failure and without a back-off, and the
    next one is decided on what the other has written."""
    dry_run: bool = False
    """Whether the server only says what would become of it: defaults, admission and all, and nothing is stored."""
    repeatable: bool = False
    """Whether it is sent again at once when the server fails at it: twice it does what it does once."""
    min_timeout_seconds: float = 0.0
    """Seconds that it may take even where others may not: for a write that waits for admission and is bound to what it
    changes, so that one that arrives late does no harm."""
    uncounted: bool = False
    """Whether it goes past the client-side limit: for a note of our own that somebody waits for who did not ask for
    it."""


class Delete(Write, frozen=True, kw_only=True, tag=True):
    ref: Ref
    """With its UID, which becomes the precondition."""
    propagation: str = ""
    resource_version: str = ""
    """The only version that may be deleted; empty: any."""


class Patch(Write, frozen=True, kw_only=True, tag=True):
    ref: Ref
    kind: PatchKind
    body: bytes
    subresource: str = ""
    resource_version: str = ""
    """The only version that it may be carried out on, and with the UID of `ref` the only object; empty: any."""
    sealed: tuple[tuple[str, Sealed], ...] = ()
    """As of a Create; for a merge patch of a Secret."""


class Apply(Write, frozen=True, kw_only=True, tag=True):
    ref: Ref
    body: bytes
    manager: str
    force: bool = False
    resource_version: str = ""
    """As of a Patch; then it makes no object where there is none."""
    subresource: str = ""


class Create(Write, frozen=True, kw_only=True, tag=True):
    resource: Resource
    namespace: str
    name: str
    body: bytes
    sealed: tuple[tuple[str, Sealed], ...] = ()
    """Entries of a Secret's `data` that are put in when it is sent, so that no decision holds them open."""
    manager: str = ""
    """Whose the fields become; empty: the server takes it from the name of the program."""


class Replace(Write, frozen=True, kw_only=True, tag=True):
    ref: Ref
    body: bytes
    """Carries the resource version it was made from."""
    resource_version: str
    subresource: str = ""
    sealed: tuple[tuple[str, Sealed], ...] = ()
    """As of a Create."""
    manager: str = ""
    """As of a Create."""


AnyWrite: TypeAlias = Delete | Patch | Apply | Create | Replace
