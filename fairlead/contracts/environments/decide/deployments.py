"""Section 3.13: what Balancers and Consoles have in common: a resource id, objects, and whether they are ready.

A Deployment's selector cannot be changed. One with another selector is made as it is wanted in all else, so that its
pods get the labels of the right one beside those it selects by; then it is deleted without them and created again,
which takes the pods over. Where that cannot be, or nobody would miss the pods, they go with it.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct, structs

from fairlead.contracts.environments.decide.applying import ApplyFacts, lacking, sorted_out
from fairlead.contracts.environments.decide.applying import applied as apply
from fairlead.contracts.environments.decide.companion_pods import stuck_pod
from fairlead.contracts.environments.decide.identity import resource_id_of
from fairlead.contracts.environments.decide.live import is_owned
from fairlead.contracts.environments.decide.moments import later, soon
from fairlead.contracts.environments.decide.objects.owner import Owner, owner_of_balancer, owner_of_console
from fairlead.contracts.environments.decide.objects.wanted import Wanted, encoded
from fairlead.contracts.environments.decide.reconcile import certificates_missing, failures_of, first_answer
from fairlead.contracts.environments.decide.refusals import refusal_of, undone
from fairlead.contracts.environments.decide.seen import CompanionSnapshot
from fairlead.contracts.environments.decide.statuses import status_body, whole_seconds
from fairlead.contracts.environments.kinds import Balancer, CompanionStatus, Condition, Console
from fairlead.core.act import Delete, Does, EventNote, Replace
from fairlead.core.ask import Need
from fairlead.core.decision import Decision, Hold, Move, Rule, Verdict
from fairlead.core.reason import Reason
from kubeloop.objects.apps import DEPLOYMENTS, Deployment
from kubeloop.objects.meta import LabelSelector, Meta, Ref, Resource

READY = "Ready"
DEPLOYMENT_STATUS = "DeploymentStatus"
INVALID = 422


class Companion(Struct, frozen=True, kw_only=True):
    """A Balancer or a Console, all that is seen of it, and what is wanted for it."""

    resource: Resource
    app: str
    seen: CompanionSnapshot[Balancer] | CompanionSnapshot[Console]
    trouble: str = ""
    """Why its objects cannot be built, in a sentence."""
    objects: tuple[Wanted, ...] = ()
    """The Deployment is the last."""

    @property
    def owner(self) -> Owner:
        return owner_of_balancer(self.own) if isinstance(self.own, Balancer) else owner_of_console(self.own)

    @property
    def own(self) -> Balancer | Console:
        return self.seen.own

    @property
    def uid(self) -> str:
        return self.own.metadata.uid

    @property
    def ref(self) -> Ref:
        return Ref(self.resource, self.own.metadata.namespace, self.own.metadata.name, self.uid)

    @property
    def facts(self) -> ApplyFacts:
        return ApplyFacts(
            self.uid, self.seen.applied, self.seen.answers, self.existing, str(self.own.metadata.generation)
        )

    @property
    def held(self) -> tuple[tuple[Ref, Meta], ...]:
        """All that is seen with its resource id, its own and that of others who have the same."""
        namespace = self.own.metadata.namespace
        metas: dict[tuple[Resource, str], Meta] = {key: each.metadata for key, each in self.seen.children.items()}
        if self.seen.deployment is not None:
            metas[DEPLOYMENTS, self.seen.deployment.metadata.name] = self.seen.deployment.metadata
        return tuple((Ref(resource, namespace, name), found) for (resource, name), found in metas.items())

    def existing(self, ref: Ref) -> Meta | None:
        if ref.resource == DEPLOYMENTS:
            return None if self.seen.deployment is None else self.seen.deployment.metadata
        child = self.seen.children.get((ref.resource, ref.name))
        return None if child is None else child.metadata


def release_companion(seen: Companion, now: datetime) -> Verdict | None:
    return None if seen.own.metadata.deletion_timestamp is None else Hold(Reason.ENVIRONMENT_LEAVING)


def begin_status(seen: Companion, now: datetime) -> Verdict | None:
    """It has a resource id: the one it is given, else one of its own."""
    if seen.own.status is not None:
        return None
    chosen = seen.own.spec.resource_id or resource_id_of(seen.own.metadata)
    return Move(Reason.IDENTIFYING, (_status_write(seen, CompanionStatus(resource_id=chosen)),))


def rename_objects(seen: Companion, now: datetime) -> Verdict | None:
    """Given another resource id, it gives up what it has under the one before: afterwards nobody would find it."""
    status, given = seen.own.status, seen.own.spec.resource_id
    if status is None or not given or given == status.resource_id:
        return None
    held = [(ref, found) for ref, found in seen.held if is_owned(found, seen.uid)]
    writes = tuple(_removed(seen, ref, found) for ref, found in held if found.deletion_timestamp is None)
    if writes:
        return Move(Reason.IDENTIFYING, writes)
    if held:
        details = tuple((str(ref), "it is being deleted") for ref, _ in held)
        return Hold(Reason.OBJECTS_GOING, soon(seen.uid, now), details)
    return Move(Reason.IDENTIFYING, (_status_write(seen, CompanionStatus(resource_id=given)),))


def check_buildable(seen: Companion, now: datetime) -> Verdict | None:
    if seen.trouble:
        return Hold(Reason.SPEC_INVALID, details=((str(seen.ref), seen.trouble),))
    return certificates_missing(seen.objects, seen.seen)


def change_selector(seen: Companion, now: datetime) -> Verdict | None:
    """A Deployment that is there selects its pods as it should; None also where there is none."""
    found, wanted = seen.seen.deployment, seen.objects[-1]
    if found is None:
        return None
    ref = Ref(DEPLOYMENTS, wanted.namespace, wanted.name, found.metadata.uid)
    if found.metadata.deletion_timestamp is not None:
        return Hold(Reason.OBJECTS_GOING, soon(seen.uid, now), ((str(ref), "it is being deleted"),))
    selector = _selector_of(wanted)
    if found.spec.selector == selector:
        return None
    bridge = _bridge(wanted, found)
    if bridge is None or (is_observed(found) and found.status.available_replicas == 0):
        return _deleted(seen, ref, "Background")
    outdated = lacking((bridge,), Does.MIGRATE_SELECTOR, seen.facts)
    if not outdated and not selector.matches(found.spec.template.metadata.labels):
        outdated = sorted_out((apply(bridge, Does.MIGRATE_SELECTOR, seen.facts),), seen.facts)
    if any(refusal.answer.code == INVALID for refusal in outdated.refusals):
        return _deleted(seen, ref, "Background")
    if outdated.refusals:
        return refusal_of(outdated)
    if outdated.writes:
        return Move(Reason.SELECTOR_CHANGING, outdated.writes)
    return undone(outdated, now) or relabelled(seen, found, ref, now)


def relabelled(seen: Companion, found: Deployment, ref: Ref, now: datetime) -> Verdict:
    """All its pods have the labels of the right selector; until then it tells how it is, like any other."""
    if has_rolled_out(found):
        return _deleted(seen, ref, "Orphan")
    said = report_status(seen, now)
    if isinstance(said, Move):
        return said
    detail = "its pods are being replaced by ones with the labels of that selector"
    return Hold(Reason.SELECTOR_CHANGING, soon(seen.uid, now), ((str(ref), detail),))


def apply_objects(seen: Companion, now: datetime) -> Verdict | None:
    outdated = lacking(seen.objects, Does.APPLY_OBJECT, seen.facts)
    if outdated.refusals:
        return refusal_of(outdated)
    if outdated.writes:
        return Move(Reason.APPLYING, outdated.writes)
    return undone(outdated, now)


def report_status(seen: Companion, now: datetime) -> Verdict | Need:
    """Whether the Deployment is available, written when that changes and not before the Deployment says it."""
    found, status = seen.seen.deployment, seen.own.status
    if status is None:
        raise RuntimeError("a companion without a status is given one first")
    if found is None or not found.status.conditions:
        about = str(Ref(DEPLOYMENTS, seen.objects[-1].namespace, seen.objects[-1].name))
        return Hold(Reason.DEPLOYMENT_NOT_READY, later(seen.uid, now), ((about, "it has no conditions yet"),))
    available = any(each.type == "Available" and each.status == "True" for each in found.status.conditions)
    stored = next((each for each in status.conditions if each.type == READY), None)
    if stored is None or stored.status != str(available):
        return Move(Reason.SETTLING, (_readiness(seen, status, now, available=available),))
    if available and has_rolled_out(found):
        return Hold(Reason.COMPLETE, later(seen.uid, now))
    return unfinished(seen, found, now, available=available)


def lost(seen: Companion, verdict: Verdict, now: datetime) -> tuple[Replace, ...]:
    """The status of one that was ready and has no Deployment any more, where that is not made again at once."""
    status = seen.own.status
    is_waiting = isinstance(verdict, Hold) and seen.own.metadata.deletion_timestamp is None
    if status is None or not status.is_ready or seen.seen.deployment is not None or not is_waiting:
        return ()
    return (_readiness(seen, status, now, available=False),)


def _readiness(seen: Companion, status: CompanionStatus, now: datetime, *, available: bool) -> Replace:
    condition = Condition(
        type=READY,
        status=str(available),
        reason=DEPLOYMENT_STATUS,
        message=f"{seen.app} deployment is {'ready' if available else 'not ready'}",
        last_transition_time=whole_seconds(now),
    )
    return _status_write(seen, structs.replace(status, conditions=(condition,)), condition)


def unfinished(seen: Companion, found: Deployment, now: datetime, *, available: bool) -> Hold | Need:
    """What its pods wait for; looked at again soon, since a pod that gets stuck changes nothing of its Deployment.

    Pods of an earlier template keep it available while those of the newest do not become ready.
    """
    again = soon(seen.uid, now)
    stuck = stuck_pod(seen.owner, seen.own, seen.seen.answers, now)
    if isinstance(stuck, Need):
        return stuck
    if stuck is not None:
        return Hold(Reason.POD_STUCK, again, ((f"pod/{stuck.pod}", stuck.cause),))
    if available:
        return Hold(Reason.COMPLETE, again)
    detail = f"{found.status.available_replicas} of {found.spec.replicas} pods are available"
    return Hold(Reason.DEPLOYMENT_NOT_READY, again, ((f"deployment/{found.metadata.name}", detail),))


RULES: tuple[Rule[Companion], ...] = (
    Rule("release_companion", release_companion),
    Rule("begin_status", begin_status),
    Rule("rename_objects", rename_objects),
    Rule("check_buildable", check_buildable),
    Rule("change_selector", change_selector),
    Rule("apply_objects", apply_objects),
    Rule("report_status", report_status),
)


def decide_companion(seen: Companion, now: datetime) -> Decision | Need:
    answer = first_answer(RULES, seen, now)
    if isinstance(answer, Need):
        return answer
    if not isinstance(answer, tuple):
        raise TypeError("no rule answered, although the last one always does")
    rule, verdict = answer
    return Decision(rule, verdict, failures_of(seen.ref, verdict), reports=lost(seen, verdict, now))


def has_rolled_out(deployment: Deployment) -> bool:
    """Whether all its pods are of its newest template and available, and no other is left."""
    status, wanted = deployment.status, deployment.spec.replicas
    return (
        is_observed(deployment)
        and status.updated_replicas >= wanted
        and status.replicas <= status.updated_replicas
        and status.available_replicas >= status.updated_replicas
    )


def is_observed(deployment: Deployment) -> bool:
    return (deployment.status.observed_generation or 0) >= deployment.metadata.generation


class _Selecting(Struct, frozen=True):
    selector: LabelSelector


class _Made(Struct, frozen=True):
    spec: _Selecting


def _selector_of(wanted: Wanted) -> LabelSelector:
    return msgspec.json.decode(wanted.body, type=_Made).spec.selector


def _bridge(wanted: Wanted, found: Deployment) -> Wanted | None:
    """As it is wanted, on the move and with the selector that it has; None where no pod can suit both selectors."""
    body = msgspec.json.decode(wanted.body, type=dict[str, Any])
    spec = body["spec"]
    metadata = spec["template"]["metadata"]
    metadata["labels"] = {**found.spec.template.metadata.labels, **metadata["labels"]}
    if not found.spec.selector.matches(metadata["labels"]):
        return None
    selector = msgspec.to_builtins(found.spec.selector)
    spec |= {"selector": {key: value for key, value in selector.items() if value}, "paused": False}
    return structs.replace(wanted, body=encoded(body))


def _deleted(seen: Companion, ref: Ref, propagation: str) -> Move:
    """The next pass creates it again."""
    write = Delete(ref=ref, propagation=propagation, does=Does.MIGRATE_SELECTOR, scope=seen.uid, repeatable=True)
    return Move(Reason.SELECTOR_CHANGING, (write,))


def _removed(seen: Companion, ref: Ref, found: Meta) -> Delete:
    bound = structs.replace(ref, uid=found.uid)
    return Delete(ref=bound, propagation="Background", does=Does.REMOVE_COMPANION, scope=seen.uid, repeatable=True)


def _status_write(seen: Companion, status: CompanionStatus, says: Condition | None = None) -> Replace:
    metadata = seen.own.metadata
    tell = (
        None
        if says is None
        else EventNote(seen.ref, False, READY if says.status == "True" else "NotReady", says.message)
    )
    return Replace(
        repeatable=True,
        ref=seen.ref,
        body=status_body(seen.resource, metadata, seen.own.spec, status),
        resource_version=metadata.resource_version,
        subresource="status",
        does=Does.REPORT_STATUS,
        scope=seen.uid,
        change_to="" if says is None else f"{READY}={says.status}",
        tell=tell,
    )
