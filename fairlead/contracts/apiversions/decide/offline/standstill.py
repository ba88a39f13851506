"""Stopping whoever works with the objects, and starting them again: the operator's workload, and the freeze.

The freeze is a policy of the API server that denies every write of the kind to everybody but the caller. It also denies
one write to the caller, which is only ever tried: so it is known when the policy is in force.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
from msgspec import structs

from fairlead.contracts.apiversions.decide.offline.step_context import StepContext
from fairlead.contracts.apiversions.decide.offline.upgrade_journal import (
    StoppedWorkload,
    UpgradeOutcome,
    UpgradePhase,
    moving,
    noted,
)
from fairlead.contracts.apiversions.decide.offline.walks import Unfit
from fairlead.contracts.apiversions.decide.trees import Tree
from fairlead.core.act import Create, Delete, Does, Patch, PatchKind
from fairlead.core.ask import Ask, Bad, Good, Listing, Read
from fairlead.core.domain import DOMAIN
from kubeloop.objects.core import LEASES, PODS
from kubeloop.objects.meta import Ref, Resource

ADMISSION = "admissionregistration.k8s.io"
POLICIES = Resource(ADMISSION, "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", namespaced=False)
BINDINGS = Resource(
    ADMISSION, "v1", "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding", namespaced=False
)
PROBE = f"{DOMAIN}/freeze-probe"
IN_FORCE = timedelta(seconds=10)
"""After which a policy counts as in force where nothing can be tried."""
LOOK = timedelta(seconds=0.5)
OPERATOR_LEASE = "fairlead-operator"


def stop(context: StepContext) -> UpgradeOutcome:
    """The operator has no pods and no Lease, and nobody else may write."""
    if (waiting := _stopped(context)) is not None:
        return waiting
    seen = structs.replace(context.journal, stopped_in=context.journal.run)
    return StepContext(context.seen, context.now, seen).enter(UpgradePhase.INTRODUCED)


def kept_stopped(context: StepContext) -> UpgradeOutcome | None:
    """None as long as it is so. Between two runs people may have started the operator again, because they had to, or
    have lifted the freeze; so every run sees to it anew. Who starts the operator under the eyes of a run is fought by
    nobody: the run ends and names it."""
    operator, journal = context.journal.operator, context.journal
    if operator is None and not journal.freeze:
        return None
    if journal.stopped_in != journal.run:
        if (waiting := _stopped(context)) is not None:
            return waiting
        return moving(structs.replace(journal, stopped_in=journal.run), "stay_stopped", context.now)
    if operator is not None and (live := _workload(context, operator)) is not None and _replicas(live) != 0:
        raise Unfit(
            f"somebody has scaled {operator.ref.resource.kind} {operator.ref.name} up meanwhile: keep whoever does that"
            " (a tool that applies manifests, an autoscaler) away from it"
        )
    return None


def _stopped(context: StepContext) -> UpgradeOutcome | None:
    if (waiting := _halted(context)) is not None:
        return waiting
    return _frozen(context) if context.journal.freeze else None


def start(context: StepContext, then: UpgradePhase) -> UpgradeOutcome:
    """Everybody may write again, and the operator is as many as before."""
    for resource in (BINDINGS, POLICIES):
        _removed(context, Ref(resource, "", context.world.freeze_name))
    operator = context.journal.operator
    if operator is not None:
        match context.told(_scaled(operator.ref, operator.replicas)):
            case Bad("absent"):
                note = (
                    f"{operator.ref.resource.kind} {operator.ref.name} is not there any more, so it was not scaled up"
                )
                return StepContext(context.seen, context.now, noted(context.journal, note)).enter(then)
            case Bad(kind, text):
                raise Unfit(f"the operator cannot be scaled up: {text or kind}")
    return context.enter(then)


def _halted(context: StepContext) -> UpgradeOutcome | None:
    operator = context.journal.operator
    if operator is None:
        return None
    live = _workload(context, operator)
    if live is None:
        return _released(context, operator)
    if _replicas(live) != 0:
        context.good(_scaled(operator.ref, 0))
    pods = context.good(Ask(Listing(PODS, operator.ref.namespace, selector_of(live), metadata_only=True)))
    if left := msgspec.json.decode(pods.value)["items"]:
        return context.wait(
            "await_pods", about=tuple((f"pod {each['metadata']['name']}", _stays(each)) for each in left)
        )
    return _released(context, operator)


def _stays(pod: Tree) -> str:
    metadata = pod["metadata"]
    if not metadata.get("deletionTimestamp"):
        return "is there still"
    held = ", ".join(metadata.get("finalizers") or ())
    return f"is being deleted since {metadata['deletionTimestamp']}" + (
        f", and waits for finalizers {held}" if held else ""
    )


def _workload(context: StepContext, operator: StoppedWorkload) -> Tree | None:
    """None where somebody has deleted it."""
    match context.told(Ask(Read(operator.ref))):
        case Bad("absent"):
            return None
        case Bad(kind, text):
            raise Unfit(f"the operator cannot be read: {text or kind}")
        case Good(body):
            live: Tree = msgspec.json.decode(body)
    return live


def _replicas(workload: Tree) -> int:
    return int(workload["spec"].get("replicas", 1))


def _released(context: StepContext, operator: StoppedWorkload) -> UpgradeOutcome | None:
    """None when no Lease of the operator is held; whether one has run out is told by how long it is seen unchanged."""
    listed = context.good(Ask(Listing(LEASES, operator.ref.namespace)))
    held = [each for each in msgspec.json.decode(listed.value)["items"] if _is_of(each, operator)]
    seen = dict(context.journal.leases)
    waits: list[tuple[str, str]] = []
    for lease in held:
        name, version = lease["metadata"]["name"], lease["metadata"]["resourceVersion"]
        known, since = seen.get(name, ("", context.now))
        if known != version or since > context.now:  # a clock that was ahead
            seen[name] = (version, context.now)
        lasts = timedelta(seconds=lease["spec"].get("leaseDurationSeconds") or 15)
        if context.now < seen[name][1] + lasts:
            waits.append((f"lease {name}", f"is held by {lease['spec']['holderIdentity']}"))
    if not waits:
        return None
    return context.wait("await_lease", structs.replace(context.journal, leases=seen), about=tuple(waits))


def _is_of(lease: Tree, operator: StoppedWorkload) -> bool:
    """Whether the operator holds it: by its own name, or as client-go calls holders, after their pods."""
    holder = (lease.get("spec") or {}).get("holderIdentity") or ""
    if not holder:
        return False
    return lease["metadata"]["name"] == OPERATOR_LEASE or holder.startswith(f"{operator.ref.name}-")


def _frozen(context: StepContext) -> UpgradeOutcome | None:
    """None when the policy is in force."""
    policy, binding = policy_of(context), _binding(context)
    for resource, tree in ((POLICIES, policy), (BINDINGS, binding)):
        _made(context, resource, tree)
    since = context.journal.frozen_at
    if since is None:
        return context.wait("await_freeze", structs.replace(context.journal, frozen_at=context.now), timedelta())
    if context.now - since >= IN_FORCE or _is_denied(context):
        return None
    return context.wait(
        "await_freeze", after=LOOK, about=((f"policy {context.world.freeze_name}", "is not in force yet"),)
    )


def _made(context: StepContext, resource: Resource, tree: Tree) -> None:
    name = tree["metadata"]["name"]
    create = Create(resource=resource, namespace="", name=name, body=msgspec.json.encode(tree), does=Does.FREEZE)
    match context.told(create):
        case Good():
            return
        case Bad(code=409):
            live: Tree = msgspec.json.decode(context.good(Ask(Read(Ref(resource, "", name)))).value)
        case Bad(kind, text):
            raise Unfit(f"the objects cannot be frozen: {text or kind}")
    if _rules_of(live) != _rules_of(tree):
        raise Unfit(
            f"there is a {resource.kind} {name} of another upgrade or caller: finish that one, or delete the policy"
        )


def _rules_of(tree: Tree) -> Any:
    spec = tree["spec"]
    return [each["expression"] for each in spec.get("validations") or ()], spec.get("policyName")


def _removed(context: StepContext, ref: Ref) -> None:
    match context.told(Ask(Read(ref))):
        case Bad("absent"):
            return
        case Bad(kind, text):
            if context.journal.freeze:
                raise Unfit(f"the freeze cannot be lifted: {text or kind}")
            return
        case Good(body):
            uid = msgspec.json.decode(body)["metadata"]["uid"]
    match context.told(Delete(ref=structs.replace(ref, uid=uid), does=Does.UNFREEZE)):
        case Bad(kind, text) if kind not in ("absent", "conflict"):
            raise Unfit(f"the freeze cannot be lifted: {text or kind}")


def _is_denied(context: StepContext) -> bool:
    """Whether the one write is denied that the policy denies to everybody; it is only tried."""
    for resource in (context.world.new.resource, context.world.old.resource):  # one of them may not be served
        listed = context.told(Ask(Listing(resource, "", limit=1, metadata_only=True)))
        if isinstance(listed, Good):
            break
    else:
        return False
    items = msgspec.json.decode(listed.value)["items"]
    if not items:
        return False
    metadata = items[0]["metadata"]
    write = Patch(
        ref=Ref(resource, metadata.get("namespace") or "", metadata["name"]),
        kind=PatchKind.MERGE,
        body=msgspec.json.encode({"metadata": {"annotations": {PROBE: "denied"}}}),
        does=Does.FREEZE,
        dry_run=True,
        change_to=context.now.isoformat(),
    )
    answer = context.told(write)
    return isinstance(answer, Bad) and context.world.freeze_name in answer.text


def policy_of(context: StepContext) -> Tree:
    resource, name = context.world.old.resource, context.world.freeze_name
    caller = msgspec.json.encode(context.world.caller).decode()
    marked = f'has(object.metadata.annotations) && "{PROBE}" in object.metadata.annotations'
    allowed = f'request.userInfo.username == {caller} && (request.operation != "UPDATE" || !({marked}))'
    rule = {
        "apiGroups": [resource.group],
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE", "DELETE"],
        "resources": [resource.plural, f"{resource.plural}/*"],
    }
    crd = context.journal.crd
    message = (
        f"{crd} is frozen by {name} while `fairlead api offline-upgrade` runs; try again later, and where no run is at"
        f" work any more, end it with `fairlead api offline-upgrade {crd} --resume`, or undo it with --rollback"
    )
    return {
        "apiVersion": POLICIES.api_version,
        "kind": POLICIES.kind,
        "metadata": {"name": name, "labels": dict(context.world.marks)},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": allowed, "message": message}],
        },
    }


def _binding(context: StepContext) -> Tree:
    name = context.world.freeze_name
    return {
        "apiVersion": BINDINGS.api_version,
        "kind": BINDINGS.kind,
        "metadata": {"name": name, "labels": dict(context.world.marks)},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }


def selector_of(workload: Tree) -> str:
    """Its label selector as lists take it."""
    selector = workload["spec"].get("selector") or {}
    parts = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for each in selector.get("matchExpressions") or ():
        values = ",".join(each.get("values") or ())
        match each["operator"]:
            case "In" | "NotIn" as operator:
                parts.append(f"{each['key']} {operator.lower()} ({values})")
            case "Exists":
                parts.append(each["key"])
            case _:
                parts.append(f"!{each['key']}")
    return ",".join(parts)


def _scaled(ref: Ref, replicas: int) -> Patch:
    return Patch(
        ref=ref,
        kind=PatchKind.MERGE,
        body=msgspec.json.encode({"spec": {"replicas": replicas}}),
        subresource="scale",
        does=Does.SCALE,
        change_to=str(replicas),
    )
