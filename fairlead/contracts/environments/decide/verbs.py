"""What a person may ask of an environment: to let the next generation take over, or to take it back."""

from __future__ import annotations

from datetime import datetime

import msgspec

from fairlead.contracts.environments.decide.force_promotion import Force, force
from fairlead.contracts.environments.decide.objects.names import environmentd_name, listeners_name
from fairlead.contracts.environments.decide.undo import SpecChange, Undo, Unknown, undo
from fairlead.contracts.environments.kinds import MATERIALIZES, Json, Materialize
from fairlead.core.ask import Answers, Ask, Good, Need, Read
from fairlead.core.verb import Absent, Nothing, Refused, VerbAnswer, VerbPlan, VerbRequest, VerbWrite, follow
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.core import CONFIGMAPS
from kubeloop.objects.meta import Ref


def find(request: VerbRequest, answers: Answers, _: datetime) -> bool | Need:
    found = _environment(request, answers)
    return found if isinstance(found, Need) else isinstance(found, Materialize)


def promote(request: VerbRequest, answers: Answers, _: datetime) -> VerbAnswer | Need:
    """The patch that approves, and what comes of it."""
    environment = _environment(request, answers)
    if not isinstance(environment, Materialize):
        return environment
    name = environment.metadata.name
    match force(environment):
        case Force() as forced:
            how = "takes over now"
            if not forced.is_ready:
                how = "skips the rest of its catching up and takes over as soon as its pod runs"
            said = f"generation {forced.generation} of {name} ({forced.image}) {how}; {_follow(environment)}"
            did = f"approved generation {forced.generation}"
            return _plan(environment, forced.patch, said, did, "PromotionApproved")
        case Nothing(sentence):
            return Nothing(f"{name}: {sentence}")
        case Refused(sentence):
            return Refused(f"{name}: {sentence}")


def abort(request: VerbRequest, answers: Answers, _: datetime) -> VerbAnswer | Need:
    """The patch that takes the rollout back, and what comes of it."""
    environment = _environment(request, answers)
    if not isinstance(environment, Materialize):
        return environment
    serving = _serving(environment)
    if todo := answers.lacking(serving):
        return Need(todo)
    bodies = [_body(answers, question) for question in serving] or [None, None]
    name = environment.metadata.name
    match undo(environment, *bodies):
        case Undo() as found:
            did = f"took the rollout back to generation {found.active}"
            return _plan(environment, found.patch, _said(environment, found), did, "RolloutAborted")
        case Unknown() as unknown:
            return Refused(f"{name}: {_unknown(unknown)}")
        case Refused(sentence):
            return Refused(f"{name}: {sentence}")


def _environment(request: VerbRequest, answers: Answers) -> Materialize | Absent | Need:
    if not request.name:
        return Absent()  # a group of zones may have no name; read without one, the server would list
    question = Ask(Read(Ref(MATERIALIZES, request.namespace, request.name)))
    if todo := answers.lacking((question,)):
        return Need(todo)
    body = _body(answers, question)
    return Absent() if body is None else msgspec.json.decode(body, type=Materialize)


def _serving(environment: Materialize) -> tuple[Ask, ...]:
    """StatefulSet and listeners of the serving generation."""
    status = environment.status
    if status is None:
        return ()
    place, active = environment.metadata.namespace, status.active_generation
    return (
        Ask(Read(Ref(STATEFULSETS, place, environmentd_name(status.resource_id, active)))),
        Ask(Read(Ref(CONFIGMAPS, place, listeners_name(status.resource_id, active)))),
    )


def _body(answers: Answers, question: Ask) -> bytes | None:
    answer = answers[question]
    return answer.value if isinstance(answer, Good) else None


def _plan(environment: Materialize, patch: Json, said: str, did: str, event: str) -> VerbPlan:
    metadata = environment.metadata
    ref = Ref(MATERIALIZES, metadata.namespace, metadata.name, metadata.uid)
    return VerbPlan(rollout=metadata.name, writes=(VerbWrite(ref, patch),), said=said, did=did, event=event)


def _follow(environment: Materialize) -> str:
    return follow(environment.metadata.namespace, environment.metadata.name)


def _said(environment: Materialize, found: Undo) -> str:
    back = "\n".join(f"  {_change(change)}" for change in found.changes)
    return (
        f"{environment.metadata.name} goes back to generation {found.active}:\n{back}\n"
        f"Take the change out of your manifest as well, or it comes back with the next apply; {_follow(environment)}"
    )


def _change(change: SpecChange) -> str:
    if all(isinstance(value, str | int | None) for value in (change.before, change.after)):
        return f"{change.field}: {_shown(change.before)} -> {_shown(change.after)}"
    return f"{change.field}: {'taken away' if change.after is None else 'as it was'}"


def _shown(value: object) -> str:
    return "nothing" if value is None else str(value)


def _unknown(unknown: Unknown) -> str:
    return (
        f"what generation {unknown.active} was made from cannot be worked out, so nothing is changed; fields like"
        f" {', '.join(unknown.untraced)} leave no trace: apply the earlier manifest again"
        f" (`fairlead hash -f FILE` prints {unknown.hash} for the right one)"
    )
