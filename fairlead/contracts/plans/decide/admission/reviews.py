"""The answers to reviews of RolloutTraits (section 2.14); they need nothing but the review.

Rules that are broken are 422 with all of them at once, what cannot be read is 400. An object that is being deleted and
an update that leaves the spec as it is always pass, or finalizers could never be removed.
"""

from __future__ import annotations

from datetime import datetime

import msgspec
from msgspec import Raw, Struct

from fairlead.contracts.plans.decide.admission import updates, validation
from fairlead.contracts.plans.decide.admission.defaulting import defaulted
from fairlead.contracts.plans.kinds import Json
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


def default_trait(seen: ReviewSnapshot, _now: datetime) -> Admit:
    """A-1, as a patch of what lacks."""
    pair = _objects(seen.review)
    if isinstance(pair, Admit):
        return pair
    new, old = pair
    if _passes(new, old):
        return ALLOWED
    operations = json_patch(new, defaulted(new))
    return Admit(allowed=True, patch=msgspec.json.encode(operations)) if operations else ALLOWED


def validate_trait(seen: ReviewSnapshot, _now: datetime) -> Admit:
    """A-2 and A-3; of an update A-5 to A-9 too."""
    pair = _objects(seen.review)
    if isinstance(pair, Admit):
        return pair
    new, old = pair
    if _passes(new, old):
        return ALLOWED
    wrong = [*validation.refusals(new, seen.review.namespace)]
    if old is not None:
        wrong += updates.refusals(new, old)
    if not wrong:
        return ALLOWED
    message = f'RolloutTrait.standard.oam.dev "{seen.review.name}" is invalid: {together(wrong)}'
    return Admit(allowed=False, word="invalid", code=422, reason="Invalid", message=message, level="warn")


def _passes(new: Json, old: Json | None) -> bool:
    metadata = new.get("metadata")
    if isinstance(metadata, dict) and metadata.get("deletionTimestamp"):
        return True
    return old is not None and new.get("spec") == old.get("spec")


def _objects(review: Review) -> tuple[Json, Json | None] | Admit:
    if review.operation not in (CREATE, UPDATE):
        return ALLOWED
    new = _object(review.object)
    old = _object(review.old_object) if review.operation == UPDATE else None
    if isinstance(new, Admit):
        return new
    return _unreadable("the review lacks the object that is replaced") if isinstance(old, Admit) else (new, old)


def _object(body: Raw) -> Json | Admit:
    try:
        found = msgspec.json.decode(body)
    except UNREADABLE as error:
        return _unreadable(f"the object cannot be read: {error or type(error).__name__}")
    return found if isinstance(found, dict) else _unreadable("the review lacks an object to look at")


def _unreadable(message: str) -> Admit:
    return Admit(allowed=False, word="unreadable", code=400, reason="BadRequest", message=message, level="warn")
