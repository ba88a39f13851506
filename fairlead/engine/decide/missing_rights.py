"""What is told of a right that the operator lacks, and whether it is there by now.

The API server is asked: what needs the right may not be tried again for hours. Where it may not be asked, the right is
there when something that needs it succeeds.
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from fairlead.core import outcome
from fairlead.core.act import Create, Does, EventNote
from fairlead.core.ask import Answers, Good, Need
from fairlead.core.decision import Decision, Hold
from fairlead.core.explain import Block, Explain, Lane, Stands
from fairlead.core.reason import Reason
from kubeloop.objects.meta import Ref, Resource
from kubeloop.rights import Missed
from kubeloop.unreadable import UNREADABLE

ACCESS_REVIEWS = Resource(
    "authorization.k8s.io", "v1", "selfsubjectaccessreviews", "SelfSubjectAccessReview", namespaced=False
)
LOOK_AGAIN = timedelta(seconds=10)
LOOK_AGAIN_LATEST = timedelta(minutes=5)
EVENT = "RightMissing"
UNIT = "rights"


class RightSnapshot(Struct, frozen=True, kw_only=True):
    missed: Missed
    since: datetime
    """When it was missed there for the first time."""
    about: Ref
    """What Events are about."""
    home: str
    """The operator's namespace."""
    part: str
    """The contract, as its documents have it."""
    noun: str
    """What documents call a right."""
    answers: Answers = Answers()

    @property
    def question(self) -> Create:
        missed = self.missed
        resource, _, subresource = missed.right.resource.partition("/")
        attributes = {
            "verb": missed.right.verb,
            "group": missed.right.group,
            "resource": resource,
            "subresource": subresource,
            "namespace": missed.namespace,
            "name": missed.name,
        }
        spec = {"resourceAttributes": {key: value for key, value in attributes.items() if value}}
        body = {"apiVersion": ACCESS_REVIEWS.api_version, "kind": ACCESS_REVIEWS.kind, "spec": spec}
        return Create(
            resource=ACCESS_REVIEWS,
            namespace="",
            name="",
            body=msgspec.json.encode(body),
            does=Does.ASK_RIGHT,
            dry_run=True,
        )


class _Status(Struct, frozen=True):
    allowed: bool = False


class _Review(Struct, frozen=True):
    status: _Status = _Status()


def decide(seen: RightSnapshot, now: datetime) -> Decision | Need:
    if todo := seen.answers.lacking((seen.question,)):
        return Need(todo)
    if is_granted(seen):
        return Decision("granted", Hold(Reason.COMPLETE))
    text = sentence(seen.missed)
    note = EventNote(seen.about, warning=True, reason=EVENT, text=text)
    details = ((seen.missed.right.of, text),)
    return Decision("await_right", Hold(Reason.RIGHT_MISSING, look_again(seen, now), details), tell=(note,))


def look_again(seen: RightSnapshot, now: datetime) -> datetime:
    """Each wait is as long as all before it: 10, 10, 20, 40, 80, 160 seconds, and then five minutes each."""
    return now + min(max(now - seen.since, LOOK_AGAIN), LOOK_AGAIN_LATEST)


def is_granted(seen: RightSnapshot) -> bool:
    answer = seen.answers[seen.question]
    try:
        return isinstance(answer, Good) and msgspec.json.decode(answer.value, type=_Review).status.allowed
    except UNREADABLE:
        return False


def sentence(missed: Missed) -> str:
    """What the operator may not do, where, and what to grant."""
    right = missed.right
    where = f" in namespace {missed.namespace}" if missed.namespace else ""
    name = f" {missed.name}" if missed.name else ""
    role = f"a role in namespace {missed.namespace}" if missed.namespace else "a cluster role"
    return f"the operator may not {right.verb} {right.of}{name}{where}: grant {right.verb} of {right.of} by {role}"


def explained(seen: RightSnapshot, decision: Decision, _: datetime) -> Explain:
    reason, right = decision.verdict.reason, seen.missed.right
    waits: tuple[Block, ...] = ()
    if reason is Reason.RIGHT_MISSING:
        advice = (
            f"add {right.verb} of {right.of} to the role that the operator's account is bound to",
            "what waits for it goes on by itself then",
        )
        text = sentence(seen.missed)
        waits = (
            Block(
                rule=decision.rule,
                reason=reason.word,
                object=right.of,
                text=text,
                clears=reason.clears,
                kind=reason.kind.value,
                advice=advice,
            ),
        )
    phase, done = ("missing", 0) if waits else ("granted", 1)
    return Explain(
        part=seen.part,
        noun=seen.noun,
        namespace=seen.home,
        rollout=right.name,
        outcome=outcome.outcome_of(reason),
        stands=Stands(
            phase=phase,
            done=done,
            total=1,
            unit=UNIT,
            lanes=(Lane(name=right.of, phase=phase, done=done, total=1, waits=waits),),
        ),
        blocked_by=waits,
    )
