"""The Eviction that is posted to a pod: disruption budgets may refuse it."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from kubeloop.objects.meta import LabelSelector, Resource
from kubesim.api.posted import review, same_name, success
from kubesim.errors import (
    StatusError,
    budget_exhausted,
    forbidden,
    internal,
    invalid,
    invalid_options,
    unsupported,
    wrong,
)
from kubesim.kinds.registry import DISRUPTION_BUDGETS, PODS, Kind
from kubesim.patches import managed_fields
from kubesim.pods.budgets import SYNC_FAILED, condition_in, note_allowance
from kubesim.store.versions import Author, Tree, Version, timestamp
from kubesim.strategies import subresources
from kubesim.writes import deletion
from kubesim.writes.asking import VALIDATING, Write, reviewed, unreviewed
from kubesim.writes.storing import Writes

EVICTION = Resource("policy", "v1", "evictions", "Eviction")
_EVICTED = {"reason": "EvictionByEvictionAPI", "message": "Eviction API: evicting"}
_UNREADABLE = "ignoreStoreReadErrorWithClusterBreakingPotential"
_NOT_EVICTED = "can not be set for pod eviction, try after removing the option"
_PAST = ("Succeeded", "Failed")
_MOST_DISRUPTED = 2000
_RETRY_SECONDS = 10


def evict(writes: Writes, namespace: str, name: str, eviction: Tree, *, user: str, dry_run: bool = False) -> Write:
    """Says in the pod's status why it goes, then deletes it under the options that the Eviction carries."""
    question = review(writes, "eviction", EVICTION, namespace, name, eviction, dry_run)
    eviction = (yield from reviewed(question)) or eviction
    same_name(eviction, name, "Eviction")
    options: Tree = dict(eviction.get("deleteOptions") or {})
    if options.get(_UNREADABLE):
        cause = wrong(f"deleteOptions.{_UNREADABLE}", value=True, detail=_NOT_EVICTED)
        raise invalid(EVICTION, name, [cause])
    if dry_run:
        asked = options.get("dryRun") or ["All"]
        if asked != ["All"]:
            why = f"Non-matching dry-run options in request and content: [All] and [{' '.join(asked)}]"
            raise internal(why)
        options["dryRun"] = asked
        if eviction.get("deleteOptions") is not None:
            eviction = eviction | {"deleteOptions": options}
    yield replace(question, phase=VALIDATING, object=eviction)
    old = writes.current(question.kind, namespace, name)
    dry = bool(options.get("dryRun"))
    if not _needs_no_budget(old.tree()) and not _spend(writes, old, dry):
        # As the real server does, whatever version the caller named: the pod is the one that was found not to be ready.
        given = options.get("preconditions") or {}
        options["preconditions"] = given | {"resourceVersion": str(old.revision)}
    return _evicted(writes, question.kind, old, options, user, dry)


def _evicted(writes: Writes, kind: Kind, old: Version, options: Tree, user: str, dry_run: bool) -> Tree:
    preconditions = options.get("preconditions") or {}
    uid, version = preconditions.get("uid") or "", preconditions.get("resourceVersion") or ""
    if dry_run and options["dryRun"] != ["All"]:
        raise invalid_options("DeleteOptions", [unsupported("dryRun", options["dryRun"], ("All",))])
    deletion.check(PODS, old, deletion.Options(uid, version))
    if not dry_run:
        pod = old.tree()
        subresources.set_condition(pod, {"type": "DisruptionTarget", "status": "True"} | _EVICTED)
        if pod != old.tree():
            old = writes.store.table(PODS).write(pod, old, Author(user, "create", "eviction"))
    wanted = deletion.Options(
        uid,
        str(old.revision) if version else "",
        options.get("gracePeriodSeconds"),
        options.get("propagationPolicy") or "",
    )
    unreviewed(writes.removals.delete(kind.resource, *old.key, wanted, user=user, dry_run=dry_run))
    return success()


def _needs_no_budget(pod: Tree) -> bool:
    """Whether the pod serves nobody: it has not started, has ended, or is going anyway."""
    phase = (pod.get("status") or {}).get("phase")
    return phase in (*_PAST, "Pending") or "deletionTimestamp" in pod["metadata"]


def _spend(writes: Writes, pod: Version, dry_run: bool) -> bool:
    """Takes one disruption from the budget that selects the pod; refuses when there is none left.

    Answers with whether the pod counts for any budget; False means that it goes because it is not ready.
    """
    table = writes.store.table(DISRUPTION_BUDGETS)
    found = [budget for budget in table.live.values() if _selects(budget, pod)]
    if not found:
        return True
    if len(found) > 1:
        text = "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support."
        raise StatusError(500, "", text)
    tree = found[0].tree()
    status: Tree = tree.setdefault("status", {})
    if not _is_ready(pod.tree()) and _unready_may_go(tree["spec"], status):
        return False
    _check(tree, status)
    status["disruptionsAllowed"] -= 1
    if dry_run:
        return True
    status["disruptedPods"] = (status.get("disruptedPods") or {}) | {pod.head.name: timestamp()}
    if not status["disruptionsAllowed"]:
        note_allowance(status)
    subject = managed_fields.Subject(writes.registry.kind(DISRUPTION_BUDGETS), "status")
    managed_fields.written_by(managed_fields.SERVER, subject, found[0].tree(), tree)
    table.write(tree, found[0], Author("system:apiserver", "update", "status"))
    return True


def _selects(budget: Version, pod: Version) -> bool:
    selector = (budget.tree().get("spec") or {}).get("selector")
    if budget.head.namespace != pod.head.namespace or selector is None:
        return False
    return msgspec.convert(selector, LabelSelector).matches(pod.head.labels)


def _is_ready(pod: Tree) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or []
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def _unready_may_go(spec: Tree, status: Tree) -> bool:
    if spec.get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    wanted = status.get("desiredHealthy") or 0
    return wanted > 0 and (status.get("currentHealthy") or 0) >= wanted


def _check(budget: Tree, status: Tree) -> None:
    name, allowed = budget["metadata"]["name"], status.get("disruptionsAllowed") or 0
    if (status.get("observedGeneration") or 0) < budget["metadata"].get("generation", 0):
        why = f"The disruption budget {name} is still being processed by the server."
        raise budget_exhausted(why, retry_after=_RETRY_SECONDS)
    subject = Resource("policy", "v1", "poddisruptionbudget", "PodDisruptionBudget")
    if allowed < 0:
        raise forbidden(subject, name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or {}) > _MOST_DISRUPTED:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise forbidden(subject, name, why)
    if allowed == 0:
        raise budget_exhausted(_why_none(name, status))


def _why_none(name: str, status: Tree) -> str:
    healthy, wanted = status.get("currentHealthy") or 0, status.get("desiredHealthy") or 0
    told = condition_in(status) or {}
    denied = told.get("status") == "False" and bool(told.get("message"))
    nothing = f"The disruption budget {name} does not allow evicting pods currently"
    if denied and told.get("reason") == SYNC_FAILED:
        return f"{nothing} because it failed sync: {told['message']}"
    if healthy <= wanted:
        return f"The disruption budget {name} needs {wanted} healthy pods and has {healthy} currently"
    return f"{nothing} ({told.get('reason')}): {told['message']}" if denied else nothing
