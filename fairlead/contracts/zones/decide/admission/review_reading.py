"""What the webhooks about downscales share: reading a review, and the words of their answers.

Section 3.10 steps 1 to 4, and section 2.11.

Whatever stands in the objects of a review is data: a null, a text in the place of a number or a missing object leads to
an answer with a warning and never to an exception, because a webhook that does not answer blocks every update.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec
from msgspec import Raw, Struct

from fairlead.contracts.zones.settings import Settings
from fairlead.core.ask import Answers, Ask, Bad, Read
from fairlead.core.decision import Admit
from kubeloop.objects.apps import DEPLOYMENTS, REPLICASETS, STATEFULSETS
from kubeloop.objects.meta import Ref, Resource
from kubeloop.objects.review import Review
from kubeloop.unreadable import UNREADABLE

T = TypeVar("T")

WORKLOADS: dict[str, Resource] = {each.plural: each for each in (STATEFULSETS, DEPLOYMENTS, REPLICASETS)}
SCALE = "Scale"
KINDS = {SCALE: "autoscaling", **{each.kind: each.group for each in WORKLOADS.values()}}
"""Kinds whose replicas are understood, with their API group."""


class ReviewSnapshot(Struct, frozen=True):
    """All that the answer to a review is made of, whichever webhook of zones it comes to."""

    review: Review
    answers: Answers = Answers()
    settings: Settings = Settings()


class _Meta(Struct, frozen=True):
    labels: dict[str, str] | None = None


class _Spec(Struct, frozen=True):
    replicas: int | None = None


class ReviewedWorkload(Struct, frozen=True, rename="camel"):
    """An object with replicas, as far as all kinds of them agree."""

    api_version: str = ""
    kind: str = ""
    metadata: _Meta | None = None
    spec: _Spec | None = None

    @property
    def labels(self) -> dict[str, str]:
        return (self.metadata and self.metadata.labels) or {}

    @property
    def replicas(self) -> int | None:
        """A Scale leaves out a number of zero, so one without a number asks for none at all."""
        wanted = self.spec.replicas if self.spec else None
        return 0 if wanted is None and self.kind == SCALE else wanted


class Downscale(Struct, frozen=True):
    """A review that asks for fewer replicas."""

    kind: str
    old: int
    new: int
    labels: dict[str, str]
    """Of the old object, so that taking a label away and scaling down do not go together."""


def decoded(body: Raw | bytes, kind: type[T]) -> T | None:
    """None when the body is not of this shape."""
    try:
        return msgspec.json.decode(body, type=kind)
    except (*UNREADABLE, msgspec.MsgspecError):
        return None


def workload_of(body: Raw) -> ReviewedWorkload | None:
    """None when it is not one of KINDS."""
    found = decoded(body, ReviewedWorkload)
    if found is None or KINDS.get(found.kind) != found.api_version.partition("/")[0]:
        return None
    return found


def downscale_of(review: Review) -> Downscale | Admit:
    """Section 3.10 steps 1 to 4: the downscale, or why there is nothing to judge."""
    old, new = workload_of(review.old_object), workload_of(review.object)
    if old is None or new is None or old.kind != new.kind:
        return unjudged(
            "undecodable",
            f"{name_of(review)} was not checked for a downscale: its old or new object is no Deployment, StatefulSet, "
            "ReplicaSet or Scale that can be read",
        )
    match old.replicas, new.replicas:
        case None, None:
            return ignored("replicas-unset")
        case (None, _) | (_, None):
            return unjudged(
                "replicas-half-unset",
                f"{name_of(review)} was not checked for a downscale: spec.replicas is set in only one of its old and "
                f"new object (old {shown(old.replicas)}, new {shown(new.replicas)})",
            )
        case int(before), int(after) if after < before:
            return Downscale(old.kind, before, after, old.labels)
    return ignored("not-a-downscale")


def ignored(word: str) -> Admit:
    """Allowed without anything to say."""
    return Admit(allowed=True, word=word)


def unjudged(word: str, warning: str) -> Admit:
    """Allowed because it could not be judged, which the user is told."""
    return Admit(allowed=True, word=word, warnings=(warning,), level="warn")


def denied(word: str, message: str) -> Admit:
    return Admit(allowed=False, word=word, message=message, level="warn")


def parent_question(review: Review, resource: Resource) -> Ask:
    """The live read of what a Scale belongs to."""
    return Ask(Read(Ref(resource, review.namespace, review.name)))


def unread_parent(review: Review, answer: Bad | None) -> Admit:
    """Of a Scale whose parent could not be read; None when the answer was not understood."""
    detail = (answer.text or answer.kind) if answer is not None else "the answer is not of its kind"
    return unjudged(
        "parent-unread",
        f"{name_of(review)} was not checked for a downscale: it could not be read: {detail}",
    )


def name_of(review: Review) -> str:
    return f"{review.resource.resource}/{review.name}"


def sentence(review: Review, change: Downscale) -> str:
    """What was asked for, in the words that every denial contains."""
    where = f"in namespace {review.namespace}"
    return f"downscale of {name_of(review)} {where} from {change.old} to {change.new} replicas"


def log_keys(seen: ReviewSnapshot) -> dict[str, str]:
    """Keys of every log record about a review, with the replicas where an object has them (section 2.11)."""
    review = seen.review
    keys = {
        "object.name": review.name,
        "object.namespace": review.namespace,
        "object.resource": review.resource.resource,
        "request.uid": review.uid,
    }
    old, new = workload_of(review.old_object), workload_of(review.object)
    if old is not None and new is not None:
        keys |= {"object.old_replicas": shown(old.replicas), "object.new_replicas": shown(new.replicas)}
    return keys


def shown(replicas: int | None) -> str:
    return "<nil>" if replicas is None else str(replicas)
