"""What a deletion does: at once, after a grace period, or when the last finalizer is gone."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from kubeloop import clock
from kubeloop.objects.meta import Resource
from kubesim.errors import Cause, StatusError, conflict, invalid_options, precondition, unsupported, wrong
from kubesim.kinds.registry import DEFINITIONS, NAMESPACES, Kind
from kubesim.store.versions import Tree, Version

ORPHAN = "orphan"
FOREGROUND = "foregroundDeletion"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
_POLICIES = ("Foreground", "Background", "Orphan")
_TIME = "%Y-%m-%dT%H:%M:%SZ"


class Options(Struct, frozen=True):
    """What the caller asked for; empty means no precondition, no wish."""

    uid: str = ""
    resource_version: str = ""
    grace: int | None = None
    propagation: str = ""

    def shown(self) -> Tree:
        """As a request says it."""
        options: Tree = {} if self.grace is None else {"gracePeriodSeconds": self.grace}
        wanted = {"uid": self.uid, "resourceVersion": self.resource_version}
        if preconditions := {key: value for key, value in wanted.items() if value}:
            options["preconditions"] = preconditions
        return options | ({"propagationPolicy": self.propagation} if self.propagation else {})


def options_of(wishes: Tree) -> tuple[Options, bool]:
    """What a request asks for, and whether nothing is to be done; raises when that is not sound.

    The older `orphanDependents` is one of two policies by another name.
    """
    policy, orphans, dry_run = (wishes.get(key) for key in ("propagationPolicy", "orphanDependents", "dryRun"))
    causes: list[Cause] = []
    if policy is not None and orphans is not None:
        why = "orphanDependents and deletionPropagation cannot be both set"
        causes.append(wrong("propagationPolicy", policy, why))
    if policy is not None and policy not in _POLICIES:
        causes.append(unsupported("propagationPolicy", policy, (*_POLICIES, "nil")))
    if dry_run and set(dry_run) != {"All"}:
        causes.append(unsupported("dryRun", dry_run, ("All",)))
    if causes:
        raise invalid_options("DeleteOptions", causes)
    if policy is None and orphans is not None:
        policy = "Orphan" if orphans else "Background"
    preconditions = wishes.get("preconditions") or {}
    uid, version = preconditions.get("uid") or "", preconditions.get("resourceVersion") or ""
    return Options(uid, version, wishes.get("gracePeriodSeconds"), policy or ""), bool(dry_run)


class Plan(Struct, frozen=True):
    """What to write before (None: nothing), and whether the object goes right after."""

    tree: Tree | None
    gone: bool


def plan(kind: Kind, old: Version, tree: Tree, options: Options, now: datetime) -> Plan:
    """The steps of a deletion; raises when a precondition fails. The tree is `old` as clients see it; it is changed."""
    check(kind.resource, old, options)
    before = dict(tree["metadata"])
    metadata = tree["metadata"]
    if kind.resource == NAMESPACES:
        return _namespace(tree, options, now)
    if kind.resource == DEFINITIONS and "deletionTimestamp" not in metadata:
        return _definition(tree, now)
    graceful = False
    if kind.graceful:
        if _is_pending(old, options.grace):
            return Plan(None, gone=False)
        graceful = _start_grace(tree, options.grace, now)
    finalizers = _finalizers(old.head.finalizers, options.propagation, orphans=kind.orphans)
    metadata["finalizers"] = finalizers
    if not finalizers:
        del metadata["finalizers"]
    if graceful:
        return Plan(tree, gone=not finalizers and metadata["deletionGracePeriodSeconds"] == 0)
    if not finalizers:
        return Plan(None, gone=True)
    _mark(metadata, now)
    return Plan(None if metadata == before else tree, gone=False)


def _namespace(tree: Tree, options: Options, now: datetime) -> Plan:
    """A namespace is marked once; it goes when it is empty."""
    metadata = tree["metadata"]
    if "deletionTimestamp" in metadata:
        return Plan(None, gone=False)
    metadata["deletionTimestamp"] = now.strftime(_TIME)
    if finalizers := _finalizers(tuple(metadata.get("finalizers") or ()), options.propagation):
        metadata["finalizers"] = finalizers
    tree["status"] = (tree.get("status") or {}) | {"phase": "Terminating"}
    return Plan(tree, gone=False)


def _definition(tree: Tree, now: datetime) -> Plan:
    """A definition is marked first; it goes after its objects."""
    stamp = now.strftime(_TIME)
    metadata, status = tree["metadata"], tree.setdefault("status", {})
    metadata["deletionTimestamp"] = stamp
    if CLEANUP not in metadata.setdefault("finalizers", []):
        metadata["finalizers"].append(CLEANUP)
    condition = {
        "type": "Terminating",
        "status": "True",
        "lastTransitionTime": stamp,
        "reason": "InstanceDeletionPending",
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    }
    others = [each for each in status.get("conditions") or [] if each["type"] != condition["type"]]
    status["conditions"] = [*others, condition]
    return Plan(tree, gone=False)


def check(resource: Resource, old: Version, options: Options) -> None:
    """Raises when the object is not the one that the options mean."""
    if options.uid and options.uid != old.head.uid:
        raise _another(resource, old.head.name, "UID", options.uid, old.head.uid)
    if options.resource_version and options.resource_version != str(old.revision):
        raise _another(resource, old.head.name, "ResourceVersion", options.resource_version, str(old.revision))


def _another(resource: Resource, name: str, field: str, wanted: str, found: str) -> StatusError:
    """Deletions of some kinds are checked in a place of their own, in words of its own."""
    if resource in (NAMESPACES, DEFINITIONS):
        why = f"Precondition failed: {field} in precondition: {wanted}, {field} in object meta: {found}"
        return conflict(resource, name, why)
    return precondition(resource, name, field, wanted, found)


def is_under_way(kind: Kind, old: Version, options: Options) -> bool:
    """Whether the deletion has begun already and this request adds nothing to it."""
    if kind.resource == NAMESPACES:
        return old.head.deletion_timestamp is not None
    return kind.graceful and _is_pending(old, options.grace)


def _is_pending(old: Version, grace: int | None) -> bool:
    """Whether it is already being deleted and this request does not hurry it."""
    known = old.head.deletion_grace_period_seconds
    if old.head.deletion_timestamp is None or not known:
        return False
    return grace is None or (1 if grace < 0 else grace) >= known


def _start_grace(tree: Tree, grace: int | None, now: datetime) -> bool:
    """Sets or shortens the time the object has left; False when it has none to set."""
    metadata = tree["metadata"]
    if grace is not None and grace < 0:
        grace = 1
    if "deletionTimestamp" in metadata:
        known = metadata.get("deletionGracePeriodSeconds") or 0
        if not known or grace is None:
            return False
        until = datetime.fromisoformat(metadata["deletionTimestamp"])
        until += timedelta(seconds=grace - known)
        if until < now:
            until, grace = now, min(grace, 1)
    else:
        grace = _grace_of(tree, grace)
        until = now + timedelta(seconds=grace)
        if "generation" in metadata:
            metadata["generation"] += 1
    metadata["deletionTimestamp"] = clock.seconds(until)
    metadata["deletionGracePeriodSeconds"] = grace
    return True


def _grace_of(pod: Tree, wanted: int | None) -> int:
    """Seconds a pod gets; none when nobody runs it or it has ended."""
    spec = pod.get("spec") or {}
    if not spec.get("nodeName") or (pod.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
        return 0
    grace = spec.get("terminationGracePeriodSeconds") if wanted is None else wanted
    return 0 if grace is None else (1 if grace < 0 else int(grace))


def _finalizers(known: tuple[str, ...], propagation: str, *, orphans: bool = False) -> list[str]:
    """The finalizers that the propagation policy leaves or adds; without a policy they stay as they are.

    A kind that orphans does so unless the object says something else.
    """
    if not propagation:
        is_said = ORPHAN in known or FOREGROUND in known
        return [*known, ORPHAN] if orphans and not is_said else list(known)
    rest = [name for name in known if name not in (ORPHAN, FOREGROUND)]
    added = {"Orphan": [ORPHAN], "Foreground": [FOREGROUND]}.get(propagation, [])
    return rest + added


def _mark(metadata: Tree, now: datetime) -> None:
    """Being deleted from now on, waiting for finalizers alone."""
    if "deletionTimestamp" not in metadata and "generation" in metadata:
        metadata["generation"] += 1
    stamp = now.strftime(_TIME)
    if metadata.get("deletionTimestamp", "9999") > stamp:
        metadata["deletionTimestamp"] = stamp
    metadata["deletionGracePeriodSeconds"] = 0


def ends_with(old: Version, after: Tree) -> bool:
    """Whether this update takes the last finalizer off an object that waits for nothing else.

    A namespace has further finalizers in its spec.
    """
    if after["metadata"].get("finalizers") or old.head.deletion_timestamp is None:
        return False
    if (after["apiVersion"], after["kind"]) == ("v1", "Namespace") and (after.get("spec") or {}).get("finalizers"):
        return False
    return not old.head.deletion_grace_period_seconds


def success(resource: Resource, old: Version) -> Tree:
    """The answer for an object that is gone."""
    details = {"name": old.head.name, "group": resource.group, "kind": resource.plural, "uid": old.head.uid}
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": {key: value for key, value in details.items() if value},
    }
