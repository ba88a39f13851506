"""Section 3.13, what Balancers and Consoles have in common: a resource id, objects, and whether they are ready.

A Deployment's selector cannot be changed. One with another selector gets the labels of the right one onto its pods, is
deleted without them, and is made anew, which takes the pods over.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec
from msgspec import Struct, structs

from fairlead.api.apps import DEPLOYMENTS, Deployment
from fairlead.api.environments import CERTIFICATES, Balancer, CompanionStatus, Condition, Console
from fairlead.api.meta import LabelSelector, Meta, Ref, Resource
from fairlead.decide.act import Delete, Does, Patch, PatchKind, Replace, Tell
from fairlead.decide.ask import Answers
from fairlead.decide.decision import Decision, Hold, Move, Rule, Verdict
from fairlead.decide.environments.applying import Facts, lacking
from fairlead.decide.environments.identity import resource_id_of
from fairlead.decide.environments.moments import later, soon
from fairlead.decide.environments.objects.wanted import Wanted, encoded
from fairlead.decide.environments.reconcile import failures_of, first_answer, kind_missing
from fairlead.decide.environments.refusals import refusal_of, undone
from fairlead.decide.environments.seen import Applied, Children
from fairlead.decide.environments.statuses import status_body, whole_seconds
from fairlead.decide.reason import Reason

READY = "Ready"
DEPLOYMENT_STATUS = "DeploymentStatus"


class Companion(Struct, frozen=True, kw_only=True):
    """A Balancer or a Console, and all that is seen of it."""

    resource: Resource
    app: str
    own: Balancer | Console
    deployment: Deployment | None
    children: Children
    has_certificates: bool
    applied: Applied | None
    answers: Answers
    trouble: str = ""
    """Why its objects cannot be built, in a sentence."""
    objects: tuple[Wanted, ...] = ()
    """The Deployment is the last."""

    @property
    def uid(self) -> str:
        return self.own.metadata.uid

    @property
    def ref(self) -> Ref:
        return Ref(self.resource, self.own.metadata.namespace, self.own.metadata.name, self.uid)

    @property
    def facts(self) -> Facts:
        return Facts(self.uid, self.applied, self.answers, self.existing)

    def existing(self, ref: Ref) -> Meta | None:
        if ref.resource == DEPLOYMENTS:
            return None if self.deployment is None else self.deployment.metadata
        child = self.children.get((ref.resource, ref.name))
        return None if child is None else child.metadata


def leaving(seen: Companion, now: datetime) -> Verdict | None:
    return None if seen.own.metadata.deletion_timestamp is None else Hold(Reason.ENVIRONMENT_LEAVING)


def begun(seen: Companion, now: datetime) -> Verdict | None:
    """It has a resource id: the one it is given, else one of its own."""
    if seen.own.status is not None:
        return None
    chosen = seen.own.spec.resource_id or resource_id_of(seen.own.metadata)
    return Move(Reason.IDENTIFYING, (_status_write(seen, CompanionStatus(resource_id=chosen)),))


def buildable(seen: Companion, now: datetime) -> Verdict | None:
    if seen.trouble:
        return Hold(Reason.SPEC_INVALID, details=((str(seen.ref), seen.trouble),))
    unserved = [each for each in seen.objects if each.resource == CERTIFICATES and not seen.has_certificates]
    return kind_missing(unserved[0].ref) if unserved else None


def reselected(seen: Companion, now: datetime) -> Verdict | None:
    """A Deployment that is there selects its pods as it should; None also where there is none."""
    found, wanted = seen.deployment, seen.objects[-1]
    if found is None:
        return None
    ref = Ref(DEPLOYMENTS, wanted.namespace, wanted.name, found.metadata.uid)
    if found.metadata.deletion_timestamp is not None:
        return Hold(Reason.OBJECTS_GOING, soon(seen.uid, now), ((str(ref), "it is being deleted"),))
    selector = _selector_of(wanted)
    if found.spec.selector == selector:
        return None
    labels = found.spec.template.metadata.labels
    if not selector.matches(labels):
        return Move(Reason.SELECTOR_CHANGING, (_labelled(seen, found, ref, selector.match_labels),))
    if not has_rolled_out(found):
        detail = "its pods are being replaced by ones with the labels of that selector"
        return Hold(Reason.SELECTOR_CHANGING, soon(seen.uid, now), ((str(ref), detail),))
    orphaning = Delete(ref=ref, propagation="Orphan", does=Does.MIGRATE_SELECTOR, scope=seen.uid)
    return Move(Reason.SELECTOR_CHANGING, (orphaning,))


def applied(seen: Companion, now: datetime) -> Verdict | None:
    outdated = lacking(seen.objects, Does.APPLY_OBJECT, seen.facts)
    if outdated.refusals:
        return refusal_of(outdated)
    if outdated.writes:
        return Move(Reason.APPLYING, outdated.writes)
    return undone(outdated, now)


def reported(seen: Companion, now: datetime) -> Verdict:
    """Whether the Deployment is available, written when that changes and not before the Deployment says it."""
    found, status = seen.deployment, seen.own.status
    if status is None:
        raise RuntimeError("a companion without a status is given one first")
    if found is None or not found.status.conditions:
        about = str(Ref(DEPLOYMENTS, seen.objects[-1].namespace, seen.objects[-1].name))
        return Hold(Reason.DEPLOYMENT_NOT_READY, later(seen.uid, now), ((about, "it has no conditions yet"),))
    available = any(each.type == "Available" and each.status == "True" for each in found.status.conditions)
    value = str(available)
    stored = next((each for each in status.conditions if each.type == READY), None)
    if stored is None or stored.status != value:
        condition = Condition(
            type=READY,
            status=value,
            reason=DEPLOYMENT_STATUS,
            message=f"{seen.app} deployment is {'ready' if available else 'not ready'}",
            last_transition_time=whole_seconds(now),
        )
        written = _status_write(seen, structs.replace(status, conditions=(condition,)), condition)
        return Move(Reason.SETTLING, (written,))
    if available:
        return Hold(Reason.COMPLETE, later(seen.uid, now))
    detail = f"{found.status.available_replicas} of {found.spec.replicas} pods are available"
    about = f"deployment/{found.metadata.name}"
    return Hold(Reason.DEPLOYMENT_NOT_READY, later(seen.uid, now), ((about, detail),))


RULES: tuple[Rule[Companion], ...] = (
    Rule("leaving", leaving),
    Rule("begun", begun),
    Rule("buildable", buildable),
    Rule("reselected", reselected),
    Rule("applied", applied),
    Rule("reported", reported),
)


def decide_companion(seen: Companion, now: datetime) -> Decision:
    answer = first_answer(RULES, seen, now)
    if not isinstance(answer, tuple):
        raise TypeError("companions are decided about without asking")
    rule, verdict = answer
    return Decision(rule, verdict, failures_of(seen.ref, verdict))


def has_rolled_out(deployment: Deployment) -> bool:
    """Whether all its pods are of its newest template and available, and no other is left."""
    status, wanted = deployment.status, deployment.spec.replicas
    return (
        (status.observed_generation or 0) >= deployment.metadata.generation
        and status.updated_replicas >= wanted
        and status.replicas <= status.updated_replicas
        and status.available_replicas >= status.updated_replicas
    )


class _Selecting(Struct, frozen=True):
    selector: LabelSelector


class _Made(Struct, frozen=True):
    spec: _Selecting


def _selector_of(wanted: Wanted) -> LabelSelector:
    return msgspec.json.decode(wanted.body, type=_Made).spec.selector


def _labelled(seen: Companion, found: Deployment, ref: Ref, labels: Mapping[str, str]) -> Patch:
    """New pods get the labels beside those they are selected by so far."""
    body = {
        "metadata": {"resourceVersion": found.metadata.resource_version},
        "spec": {"template": {"metadata": {"labels": dict(labels)}}},
    }
    return Patch(ref=ref, kind=PatchKind.MERGE, body=encoded(body), does=Does.MIGRATE_SELECTOR, scope=seen.uid)


def _status_write(seen: Companion, status: CompanionStatus, says: Condition | None = None) -> Replace:
    metadata = seen.own.metadata
    tell = None if says is None else Tell(seen.ref, False, READY if says.status == "True" else "NotReady", says.message)
    return Replace(
        ref=seen.ref,
        body=status_body(seen.resource, metadata, seen.own.spec, status),
        resource_version=metadata.resource_version,
        subresource="status",
        does=Does.REPORT_STATUS,
        scope=seen.uid,
        change_to="" if says is None else f"{READY}={says.status}",
        tell=tell,
    )
