"""Stopping whoever works with the objects, and starting them again: the operator's workload, and the freeze.

The freeze is a policy of the API server that denies every write of the kind to everybody but the caller. It also denies
one write to the caller, which is only ever tried: so it is known when the policy is in force.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
from msgspec import structs

from fairlead.contracts.apiversions.decide.offline.scene import Scene
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


def stop(scene: Scene) -> UpgradeOutcome:
    """The operator has no pods and no Lease, and nobody else may write."""
    if (waiting := _stopped(scene)) is not None:
        return waiting
    seen = structs.replace(scene.journal, stopped_in=scene.journal.run)
    return Scene(scene.seen, scene.now, seen).enter(UpgradePhase.INTRODUCED)


def kept_stopped(scene: Scene) -> UpgradeOutcome | None:
    """None as long as it is so. Between two runs people may have started the operator again, because they had to, or
    have lifted the freeze; so every run sees to it anew. Who starts the operator under the eyes of a run is fought by
    nobody: the run ends and names it."""
    operator, journal = scene.journal.operator, scene.journal
    if operator is None and not journal.freeze:
        return None
    if journal.stopped_in != journal.run:
        if (waiting := _stopped(scene)) is not None:
            return waiting
        return moving(structs.replace(journal, stopped_in=journal.run), "stay_stopped", scene.now)
    if operator is not None and (live := _workload(scene, operator)) is not None and _replicas(live) != 0:
        raise Unfit(
            f"somebody has scaled {operator.ref.resource.kind} {operator.ref.name} up meanwhile: keep whoever does that"
            " (a tool that applies manifests, an autoscaler) away from it"
        )
    return None


def _stopped(scene: Scene) -> UpgradeOutcome | None:
    if (waiting := _halted(scene)) is not None:
        return waiting
    return _frozen(scene) if scene.journal.freeze else None


def start(scene: Scene, then: UpgradePhase) -> UpgradeOutcome:
    """Everybody may write again, and the operator is as many as before."""
    for resource in (BINDINGS, POLICIES):
        _removed(scene, Ref(resource, "", scene.world.freeze_name))
    operator = scene.journal.operator
    if operator is not None:
        match scene.told(_scaled(operator.ref, operator.replicas)):
            case Bad("absent"):
                note = (
                    f"{operator.ref.resource.kind} {operator.ref.name} is not there any more, so it was not scaled up"
                )
                return Scene(scene.seen, scene.now, noted(scene.journal, note)).enter(then)
            case Bad(kind, text):
                raise Unfit(f"the operator cannot be scaled up: {text or kind}")
    return scene.enter(then)


def _halted(scene: Scene) -> UpgradeOutcome | None:
    operator = scene.journal.operator
    if operator is None:
        return None
    live = _workload(scene, operator)
    if live is None:
        return _released(scene, operator)
    if _replicas(live) != 0:
        scene.good(_scaled(operator.ref, 0))
    pods = scene.good(Ask(Listing(PODS, operator.ref.namespace, selector_of(live), metadata_only=True)))
    if left := msgspec.json.decode(pods.value)["items"]:
        return scene.wait("await_pods", about=tuple((f"pod {each['metadata']['name']}", _stays(each)) for each in left))
    return _released(scene, operator)


def _stays(pod: Tree) -> str:
    metadata = pod["metadata"]
    if not metadata.get("deletionTimestamp"):
        return "is there still"
    held = ", ".join(metadata.get("finalizers") or ())
    return f"is being deleted since {metadata['deletionTimestamp']}" + (
        f", and waits for finalizers {held}" if held else ""
    )


def _workload(scene: Scene, operator: StoppedWorkload) -> Tree | None:
    """None where somebody has deleted it."""
    match scene.told(Ask(Read(operator.ref))):
        case Bad("absent"):
            return None
        case Bad(kind, text):
            raise Unfit(f"the operator cannot be read: {text or kind}")
        case Good(body):
            live: Tree = msgspec.json.decode(body)
    return live


def _replicas(workload: Tree) -> int:
    return int(workload["spec"].get("replicas", 1))


def _released(scene: Scene, operator: StoppedWorkload) -> UpgradeOutcome | None:
    """None when no Lease of the operator is held; whether one has run out is told by how long it is seen unchanged."""
    listed = scene.good(Ask(Listing(LEASES, operator.ref.namespace)))
    held = [each for each in msgspec.json.decode(listed.value)["items"] if _is_of(each, operator)]
    seen = dict(scene.journal.leases)
    waits: list[tuple[str, str]] = []
    for lease in held:
        name, version = lease["metadata"]["name"], lease["metadata"]["resourceVersion"]
        known, since = seen.get(name, ("", scene.now))
        if known != version or since > scene.now:  # a clock that was ahead
            seen[name] = (version, scene.now)
        lasts = timedelta(seconds=lease["spec"].get("leaseDurationSeconds") or 15)
        if scene.now < seen[name][1] + lasts:
            waits.append((f"lease {name}", f"is held by {lease['spec']['holderIdentity']}"))
    if not waits:
        return None
    return scene.wait("await_lease", structs.replace(scene.journal, leases=seen), about=tuple(waits))


def _is_of(lease: Tree, operator: StoppedWorkload) -> bool:
    """Whether the operator holds it: by its own name, or as client-go calls holders, after their pods."""
    holder = (lease.get("spec") or {}).get("holderIdentity") or ""
    if not holder:
        return False
    return lease["metadata"]["name"] == OPERATOR_LEASE or holder.startswith(f"{operator.ref.name}-")


def _frozen(scene: Scene) -> UpgradeOutcome | None:
    """None when the policy is in force."""
    policy, binding = policy_of(scene), _binding(scene)
    for resource, tree in ((POLICIES, policy), (BINDINGS, binding)):
        _made(scene, resource, tree)
    since = scene.journal.frozen_at
    if since is None:
        return scene.wait("await_freeze", structs.replace(scene.journal, frozen_at=scene.now), timedelta())
    if scene.now - since >= IN_FORCE or _is_denied(scene):
        return None
    return scene.wait("await_freeze", after=LOOK, about=((f"policy {scene.world.freeze_name}", "is not in force yet"),))


def _made(scene: Scene, resource: Resource, tree: Tree) -> None:
    name = tree["metadata"]["name"]
    create = Create(resource=resource, namespace="", name=name, body=msgspec.json.encode(tree), does=Does.FREEZE)
    match scene.told(create):
        case Good():
            return
        case Bad(code=409):
            live: Tree = msgspec.json.decode(scene.good(Ask(Read(Ref(resource, "", name)))).value)
        case Bad(kind, text):
            raise Unfit(f"the objects cannot be frozen: {text or kind}")
    if _rules_of(live) != _rules_of(tree):
        raise Unfit(
            f"there is a {resource.kind} {name} of another upgrade or caller: finish that one, or delete the policy"
        )


def _rules_of(tree: Tree) -> Any:
    spec = tree["spec"]
    return [each["expression"] for each in spec.get("validations") or ()], spec.get("policyName")


def _removed(scene: Scene, ref: Ref) -> None:
    match scene.told(Ask(Read(ref))):
        case Bad("absent"):
            return
        case Bad(kind, text):
            if scene.journal.freeze:
                raise Unfit(f"the freeze cannot be lifted: {text or kind}")
            return
        case Good(body):
            uid = msgspec.json.decode(body)["metadata"]["uid"]
    match scene.told(Delete(ref=structs.replace(ref, uid=uid), does=Does.UNFREEZE)):
        case Bad(kind, text) if kind not in ("absent", "conflict"):
            raise Unfit(f"the freeze cannot be lifted: {text or kind}")


def _is_denied(scene: Scene) -> bool:
    """Whether the one write is denied that the policy denies to everybody; it is only tried."""
    for resource in (scene.world.new.resource, scene.world.old.resource):  # one of them may not be served
        listed = scene.told(Ask(Listing(resource, "", limit=1, metadata_only=True)))
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
        change_to=scene.now.isoformat(),
    )
    answer = scene.told(write)
    return isinstance(answer, Bad) and scene.world.freeze_name in answer.text


def policy_of(scene: Scene) -> Tree:
    resource, name = scene.world.old.resource, scene.world.freeze_name
    caller = msgspec.json.encode(scene.world.caller).decode()
    marked = f'has(object.metadata.annotations) && "{PROBE}" in object.metadata.annotations'
    allowed = f'request.userInfo.username == {caller} && (request.operation != "UPDATE" || !({marked}))'
    rule = {
        "apiGroups": [resource.group],
        "apiVersions": ["*"],
        "operations": ["CREATE", "UPDATE", "DELETE"],
        "resources": [resource.plural, f"{resource.plural}/*"],
    }
    crd = scene.journal.crd
    message = (
        f"{crd} is frozen by {name} while `fairlead api offline-upgrade` runs; try again later, and where no run is at"
        f" work any more, end it with `fairlead api offline-upgrade {crd} --resume`, or undo it with --rollback"
    )
    return {
        "apiVersion": POLICIES.api_version,
        "kind": POLICIES.kind,
        "metadata": {"name": name, "labels": dict(scene.world.marks)},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": allowed, "message": message}],
        },
    }


def _binding(scene: Scene) -> Tree:
    name = scene.world.freeze_name
    return {
        "apiVersion": BINDINGS.api_version,
        "kind": BINDINGS.kind,
        "metadata": {"name": name, "labels": dict(scene.world.marks)},
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
