"""The answers to reviews of sets and of their pods (section 2.10); they need nothing but the review.

Refusals are those of upstream: 403 with all that is wrong, 400 for what cannot be read.
"""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import Raw, Struct

from fairlead.contracts.leaderworker.decide.defaulting import defaulted
from fairlead.contracts.leaderworker.decide.disaggregated import validation as disaggregated
from fairlead.contracts.leaderworker.decide.pod_admission import admitted
from fairlead.contracts.leaderworker.decide.pod_view import PodRefusal
from fairlead.contracts.leaderworker.decide.trees import part
from fairlead.contracts.leaderworker.decide.validation import refusals, warnings
from fairlead.contracts.leaderworker.kinds import Json
from fairlead.core.decision import Admit
from fairlead.core.field_errors import together
from fairlead.core.json_patch import json_patch
from kubeloop.objects.review import Review
from kubeloop.unreadable import UNREADABLE

CREATE, UPDATE = "CREATE", "UPDATE"
ALLOWED = Admit(allowed=True)


class ReviewSnapshot(Struct, frozen=True):
    """All that the answer to a review is made of."""

    review: Review
    gang_scheduler: str = ""
    """Empty: pods are scheduled one by one."""


def default_set(seen: ReviewSnapshot, _now: datetime) -> Admit:
    """Section 2.4: the defaults, as a patch of what lacks them."""
    if seen.review.operation not in (CREATE, UPDATE):
        return ALLOWED
    given = _object(seen.review.object)
    return given if isinstance(given, Admit) else _patched(given, defaulted(given))


def validate_set(seen: ReviewSnapshot, _now: datetime) -> Admit:
    """Section 2.5. An object that is being deleted may always lose its finalizers, or it would stay for ever."""
    review = seen.review
    if review.operation not in (CREATE, UPDATE):
        return ALLOWED
    new = _object(review.object)
    old = _object(review.old_object) if review.operation == UPDATE else None
    if isinstance(new, Admit) or isinstance(old, Admit):
        return new if isinstance(new, Admit) else _unreadable("the review lacks the object that is replaced")
    if old is not None and part(new, "metadata").get("deletionTimestamp") and new.get("spec") == old.get("spec"):
        return ALLOWED
    told = tuple(warnings(new, old))
    if wrong := together(refusals(new, old)):
        return _denied("invalid", wrong, told)
    return Admit(allowed=True, warnings=told)


def validate_disaggregated(seen: ReviewSnapshot, _now: datetime) -> Admit:
    """Section 6.7; what is being deleted may always lose its finalizers."""
    review = seen.review
    if review.operation not in (CREATE, UPDATE):
        return ALLOWED
    new = _object(review.object)
    if isinstance(new, Admit):
        return new
    if part(new, "metadata").get("deletionTimestamp"):
        return ALLOWED
    told = tuple(disaggregated.warnings(new))
    if wrong := together(disaggregated.refusals(new)):
        return _denied("invalid", wrong, told)
    return Admit(allowed=True, warnings=told)


def default_pod(seen: ReviewSnapshot, _now: datetime) -> Admit:
    """Section 3.7: a pod of a set gets its place in it."""
    review = seen.review
    if review.operation != CREATE:
        return ALLOWED
    given = _object(review.object)
    if isinstance(given, Admit):
        return given
    try:
        return _patched(given, admitted(given, review.namespace, seen.gang_scheduler))
    except PodRefusal as refusal:
        return _denied("no-place", str(refusal))


def validate_pod(_seen: ReviewSnapshot, _now: datetime) -> Admit:
    return ALLOWED


def log_keys(seen: ReviewSnapshot) -> dict[str, str]:
    return {
        "object.name": seen.review.name,
        "object.namespace": seen.review.namespace,
        "object.resource": seen.review.resource.resource,
    }


def _object(body: Raw) -> Json | Admit:
    try:
        found = msgspec.json.decode(body)
    except UNREADABLE as error:
        return _unreadable(f"the object cannot be read: {error or type(error).__name__}")
    return found if isinstance(found, dict) else _unreadable("the review lacks an object to look at")


def _unreadable(message: str) -> Admit:
    return Admit(allowed=False, word="unreadable", code=400, reason="BadRequest", message=message, level="warn")


def _denied(word: str, message: str, told: tuple[str, ...] = ()) -> Admit:
    return Admit(allowed=False, word=word, code=403, reason="Forbidden", message=message, warnings=told, level="warn")


def _patched(before: Json, after: Json) -> Admit:
    operations = json_patch(before, after)
    return Admit(allowed=True, patch=msgspec.json.encode(operations)) if operations else ALLOWED
