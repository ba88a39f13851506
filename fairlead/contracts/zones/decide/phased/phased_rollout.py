"""Phased Deployments (U-6): when a held template may roll out.

A gate waits until the Deployment it depends on has rolled out the same revision, lets it soak, and then passes or is
blocked. Everything but the mark is derived: the rollout was complete when the Deployment controller said so in the
condition Progressing, and a container that was restarted says when its predecessor ended. Only that a gate is blocked
is stored, because the pods that show why may be gone before a person looks.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from fractions import Fraction

import msgspec
from msgspec import Struct, structs

from fairlead.contracts.zones.decide.phased.gates import BLOCKED, PASSED, Gate, GateMark, gate_of, is_phased, mark_of
from fairlead.contracts.zones.decide.rollout.readiness import ready_since
from fairlead.contracts.zones.kinds import GATE, RESUME, REVISION
from fairlead.core.act import Does, EventNote, Patch, PatchKind
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.pod_readiness import is_ready
from fairlead.core.reason import Reason
from kubeloop.objects.apps import DEPLOYMENTS, Deployment
from kubeloop.objects.core import ContainerStatus, Pod
from kubeloop.objects.meta import Ref

ROLLED_OUT = "NewReplicaSetAvailable"
"""Reason of the condition Progressing from the moment at which a rollout is complete until the next one begins."""


class PhasedSnapshot(Struct, frozen=True):
    """One Deployment, those it depends on, and the pods of the first of them."""

    deployment: Deployment
    chain: tuple[Deployment, ...] = ()
    """What it depends on, what that depends on, and so on; ends where a name leads nowhere or to one named before."""
    pods: tuple[Pod, ...] = ()
    """Those of the first of the chain; more do no harm."""


class GateStanding(Struct, frozen=True):
    """Where a gate stands; no reason: it may be passed."""

    word: str
    """`waiting`, `soaking`, `blocked` or `complete`."""
    text: str
    reason: Reason | None = None
    until: datetime | None = None
    is_trouble: bool = False
    """Whether it does not end by waiting."""


def holding(deployment: Deployment) -> GateMark | None:
    """The mark of a gate that holds the Deployment; of one without the label, none does."""
    metadata = deployment.metadata
    mark = mark_of(metadata.annotations) if is_phased(metadata.labels) else None
    return mark if mark is not None and mark.holds and metadata.deletion_timestamp is None else None


def depends_on(deployment: Deployment) -> str:
    return gate_of(deployment.metadata.annotations).depends_on


def is_pod_of(deployment: Deployment, pod: Pod) -> bool:
    """Selected, and made by some ReplicaSet; selectors of Deployments do not overlap."""
    made = any(owner.controller and owner.kind == "ReplicaSet" for owner in pod.metadata.owner_references)
    return (
        made
        and pod.metadata.namespace == deployment.metadata.namespace
        and deployment.spec.selector.matches(pod.metadata.labels)
    )


def decide(seen: PhasedSnapshot, now: datetime) -> Decision:
    """Releases what may roll out, blocks what must not, and otherwise says what is waited for."""
    mark = holding(seen.deployment)
    if mark is None:
        return Decision("", Hold(Reason.COMPLETE))
    phase = phase_of(seen, mark, now)
    if phase.reason is None:
        return Decision("release", Move(Reason.GATE_PASSED, (_release(seen.deployment, mark, phase),)))
    if phase.word == BLOCKED and mark.state != BLOCKED:
        return Decision("block", Move(phase.reason, (_block(seen.deployment, mark, phase),)))
    name = str(reference(seen.deployment))
    return Decision(
        phase.word, Hold(phase.reason, phase.until, ((name, phase.text),)), (_told(seen.deployment, phase),)
    )


def phase_of(seen: PhasedSnapshot, mark: GateMark, now: datetime) -> GateStanding:
    gate = gate_of(seen.deployment.metadata.annotations)
    if not gate.depends_on:
        return GateStanding("complete", "it depends on no other Deployment any more")
    if gate.is_resumed(mark.template):
        return GateStanding("complete", f"annotation {RESUME} says so")
    if gate.problems:
        return GateStanding("waiting", "; ".join(gate.problems), Reason.GATE_INVALID, is_trouble=True)
    if mark.state == BLOCKED:
        restarted = f"too many pods of deployment/{gate.depends_on} restarted while it soaked"
        return GateStanding(BLOCKED, f"{restarted}; {_advice(gate, mark)}", Reason.SOAK_FAILED)
    if (wait := _waiting(seen, gate)) is not None:
        return wait
    return _soak(seen, gate, mark, now) or GateStanding("complete", _done(gate))


def _waiting(seen: PhasedSnapshot, gate: Gate) -> GateStanding | None:
    """None when what it depends on has once rolled out what it should."""
    name = f"deployment/{gate.depends_on}"
    if (ring := _ring(seen)) is not None:
        return GateStanding("waiting", f"it depends on itself, by way of {ring}", Reason.GATE_INVALID, is_trouble=True)
    dependency = seen.chain[0] if seen.chain else None
    if dependency is None or dependency.metadata.deletion_timestamp is not None:
        return GateStanding("waiting", f"{name} does not exist", Reason.DEPENDENCY_NOT_ROLLED, is_trouble=True)
    shown = gate_of(dependency.metadata.annotations).revision
    if gate.revision and shown != gate.revision:
        other = f"is at revision {shown}" if shown else f"has no annotation {REVISION}"
        return GateStanding("waiting", f"{name} {other}, and {gate.revision} is wanted", Reason.DEPENDENCY_NOT_ROLLED)
    if dependency.spec.paused:
        return GateStanding("waiting", f"{name} is paused", Reason.DEPENDENCY_NOT_ROLLED)
    if not _has_rolled_out(dependency):
        return GateStanding("waiting", f"{name} has not rolled out yet", Reason.DEPENDENCY_NOT_ROLLED)
    return None


def _soak(seen: PhasedSnapshot, gate: Gate, mark: GateMark, now: datetime) -> GateStanding | None:
    """None when it has soaked, is all available, and few enough pods restarted; blocked as soon as too many did.

    Restarts are looked at first: a pod that is down may be up again when its restarts lie behind the soak.
    """
    dependency, pods = seen.chain[0], _pods(seen)
    name, begun = f"deployment/{gate.depends_on}", _rolled_out_at(dependency, pods)
    until = None if begun is None else _later(begun, gate.soak)
    if begun is not None and until is not None:
        restarted = sum(1 for pod in pods if _restarted(pod, begun, until))
        count = max(len(pods), dependency.spec.replicas)
        if restarted > gate.threshold * count:
            share = f"{restarted} of {count} pods of {name} restarted while it soaked"
            text = f"{share}, more than {_percent(gate.threshold)}; {_advice(gate, mark)}"
            return GateStanding(BLOCKED, text, Reason.SOAK_FAILED, is_trouble=True)
    if not _is_available(dependency, pods):
        return GateStanding("waiting", f"not all pods of {name} are available", Reason.DEPENDENCY_NOT_ROLLED)
    if until is not None and now < until:
        return GateStanding(
            "soaking", f"{name} soaks until {until:%Y-%m-%dT%H:%M:%SZ}", Reason.DEPENDENCY_SOAKING, until
        )
    return None


def _has_rolled_out(deployment: Deployment) -> bool:
    """Whether the newest template was all rolled out once, as the Deployment controller says."""
    status = deployment.status
    observed = (status.observed_generation or 0) >= deployment.metadata.generation
    said = all(each.reason == ROLLED_OUT for each in status.conditions if each.type == "Progressing")
    return observed and said and status.updated_replicas == status.replicas


def _is_available(deployment: Deployment, pods: tuple[Pod, ...]) -> bool:
    """By the status, and by the pods themselves: no pod whose restart is not seen yet is taken for a good one."""
    wanted, status = deployment.spec.replicas, deployment.status
    counted = (status.replicas, status.updated_replicas, status.available_replicas)
    return counted == (wanted, wanted, wanted) and sum(map(is_ready, pods)) >= wanted


def _rolled_out_at(deployment: Deployment, pods: tuple[Pod, ...]) -> datetime | None:
    """When its rollout was complete: as its condition says, else when the last of its pods became ready.

    There is no condition where spec.progressDeadlineSeconds is the greatest number there is. None: it has no pods.
    """
    said = (each.last_update_time for each in deployment.status.conditions if each.type == "Progressing")
    times = [moment for moment in said if moment is not None]
    return max(times or [moment for pod in pods if (moment := ready_since(pod)) is not None], default=None)


def _restarted(pod: Pod, begun: datetime, until: datetime) -> bool:
    """Whether a container of the pod ended in this time."""
    return any(begun <= moment <= until for each in pod.status.container_statuses for moment in _ends(each))


def _ends(container: ContainerStatus) -> tuple[datetime, ...]:
    states = (container.state.terminated, container.last_state.terminated)
    return tuple(state.finished_at for state in states if state is not None and state.finished_at is not None)


def _pods(seen: PhasedSnapshot) -> tuple[Pod, ...]:
    dependency = seen.chain[0]
    return tuple(pod for pod in seen.pods if is_pod_of(dependency, pod) and pod.metadata.deletion_timestamp is None)


def _ring(seen: PhasedSnapshot) -> str | None:
    """The names on the way back to the Deployment itself."""
    names = [each.metadata.name for each in seen.chain]
    own = seen.deployment.metadata.name
    if gate_of(seen.deployment.metadata.annotations).depends_on == own:
        return own
    return ", ".join(names) if names and depends_on(seen.chain[-1]) == own else None


def _later(moment: datetime, seconds: float) -> datetime:
    try:
        return moment + timedelta(seconds=seconds)
    except OverflowError:
        return datetime.max.replace(tzinfo=moment.tzinfo)


def _percent(share: Fraction) -> str:
    return f"{float(share * 100):g}%"


def _done(gate: Gate) -> str:
    revision = f" revision {gate.revision}" * bool(gate.revision)
    return f"deployment/{gate.depends_on} has rolled out{revision} and soaked"


def _advice(gate: Gate, mark: GateMark) -> str:
    return f"to go on all the same, set annotation {RESUME} to {gate.resume_with(mark.template)}"


def reference(deployment: Deployment) -> Ref:
    metadata = deployment.metadata
    return Ref(DEPLOYMENTS, metadata.namespace, metadata.name, metadata.uid)


def _told(deployment: Deployment, phase: GateStanding) -> EventNote:
    if phase.reason is Reason.GATE_INVALID:
        event = "InvalidAnnotation"
    elif phase.is_trouble or phase.word == BLOCKED:
        event = "RolloutBlocked"
    else:
        event = "RolloutSoaking" if phase.word == "soaking" else "RolloutWaiting"
    warns = event in ("InvalidAnnotation", "RolloutBlocked")
    return EventNote(reference(deployment), warns, event, f"Stays paused: {phase.text}")


def _release(deployment: Deployment, mark: GateMark, phase: GateStanding) -> Patch:
    """Unpaused, unless its owner wants it paused."""
    passed = GateMark(PASSED, mark.template, "", mark.paused)
    held = "Stays paused by its owner" if mark.paused else "Rolls out its template"
    told = EventNote(reference(deployment), False, "RolloutReleased", f"{held}: {phase.text}")
    return _written(deployment, passed, {"paused": mark.paused}, Does.RELEASE_DEPLOYMENT, told)


def _block(deployment: Deployment, mark: GateMark, phase: GateStanding) -> Patch:
    return _written(
        deployment, structs.replace(mark, state=BLOCKED), {}, Does.BLOCK_DEPLOYMENT, _told(deployment, phase)
    )


def _written(deployment: Deployment, mark: GateMark, spec: dict[str, bool], does: Does, tell: EventNote) -> Patch:
    """Bound to the version that was decided on: a template that came later is held by its own gate."""
    metadata = deployment.metadata
    body = {
        "metadata": {
            "uid": metadata.uid,
            "resourceVersion": metadata.resource_version,
            "annotations": {GATE: str(mark)},
        },
        **({"spec": spec} if spec else {}),
    }
    return Patch(
        ref=reference(deployment),
        does=does,
        scope=metadata.uid,
        change_from=metadata.annotations.get(GATE, ""),
        change_to=str(mark),
        kind=PatchKind.MERGE,
        body=msgspec.json.encode(body),
        tell=tell,
    )
