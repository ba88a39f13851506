"""The answers to reviews (section 2.14).

Rules that are broken are 422 with all of them at once, what cannot be read is 400. An object that is being deleted and
an update that leaves the spec as it is always pass, or finalizers could never be removed; only A-4 is about metadata.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec
from msgspec import Raw, Struct

from fairlead.contracts.plans.decide.admission import applications, deployments, rollouts, updates, validation
from fairlead.contracts.plans.decide.admission.defaulting import defaulted
from fairlead.contracts.plans.decide.applications.asking import Unanswered, settled
from fairlead.contracts.plans.kinds import (
    APP_ROLLOUTS,
    APPLICATION_DEPLOYMENTS,
    APPLICATIONS,
    CONFIGURATIONS,
    ROLLOUT_TRAITS,
    ROLLOUTS,
    Json,
)
from fairlead.contracts.plans.settings import PlanSettings
from fairlead.core.ask import Answers, Need
from fairlead.core.decision import Admit
from fairlead.core.field_errors import together
from fairlead.core.json_patch import json_patch
from kubeloop.objects.meta import Resource
from kubeloop.objects.review import Review
from kubeloop.unreadable import UNREADABLE

CREATE, UPDATE = "CREATE", "UPDATE"
SYSTEM_NAMESPACE = PlanSettings().system_namespace
ALLOWED = Admit(allowed=True)


class ReviewSnapshot(Struct, frozen=True):
    """All that the answer to a review is made of."""

    review: Review
    answers: Answers = Answers()
    system_namespace: str = SYSTEM_NAMESPACE
    """Where definitions are that a namespace lacks."""


class _Objects(Struct, frozen=True):
    """What a review is about: the object as it is to be, and as it is where there is one."""

    new: Json
    old: Json | None

    @property
    def is_deleted(self) -> bool:
        metadata = self.new.get("metadata")
        return isinstance(metadata, dict) and bool(metadata.get("deletionTimestamp"))

    @property
    def passes(self) -> bool:
        return self.is_deleted or (self.old is not None and self.new.get("spec") == self.old.get("spec"))


def default_rollout(seen: ReviewSnapshot, _now: datetime) -> Admit:
    """A-1, as a patch of what lacks."""
    given = _objects(seen.review)
    if isinstance(given, Admit) or given.passes:
        return given if isinstance(given, Admit) else ALLOWED
    operations = json_patch(given.new, defaulted(given.new, given.old))
    return Admit(allowed=True, patch=msgspec.json.encode(operations)) if operations else ALLOWED


def validate_trait(seen: ReviewSnapshot, _now: datetime) -> Admit:
    """A-2 and A-3; of an update A-5 to A-9 too."""
    given = _objects(seen.review)
    if isinstance(given, Admit) or given.passes:
        return given if isinstance(given, Admit) else ALLOWED
    wrong = [*validation.refusals(given.new, seen.review.namespace)]
    if given.old is not None:
        wrong += updates.trait_refusals(given.new, given.old)
    return _judged(ROLLOUT_TRAITS, seen.review, wrong)


def validate_rollout(seen: ReviewSnapshot, _now: datetime) -> Admit:
    """The same of a Rollout, which names revisions."""
    given = _objects(seen.review)
    if isinstance(given, Admit) or given.passes:
        return given if isinstance(given, Admit) else ALLOWED
    return _judged(ROLLOUTS, seen.review, rollouts.refusals(given.new, given.old))


def validate_deployment(seen: ReviewSnapshot, _now: datetime) -> Admit | Need:
    """The same of an ApplicationDeployment, whose Applications are read."""
    return _named(seen, APPLICATION_DEPLOYMENTS, deployments.BY_APPLICATIONS)


def validate_app_rollout(seen: ReviewSnapshot, _now: datetime) -> Admit | Need:
    """The same of an AppRollout, whose ApplicationRevisions are read."""
    return _named(seen, APP_ROLLOUTS, deployments.BY_SNAPSHOTS)


def _named(seen: ReviewSnapshot, resource: Resource, named: deployments.ReferenceFields) -> Admit | Need:
    given = _objects(seen.review)
    if isinstance(given, Admit) or given.passes:
        return given if isinstance(given, Admit) else ALLOWED
    reviewed = deployments.Reviewed(given.new, given.old, seen.review.namespace, seen.answers)
    asked = deployments.questions(named, given.new, given.old, reviewed.namespace)
    if lacking := seen.answers.lacking(asked):
        return Need(lacking)
    if problem := deployments.unread(asked, seen.answers):
        return _unread(problem)
    return _judged(resource, seen.review, deployments.refusals(named, reviewed))


def validate_application(seen: ReviewSnapshot, _now: datetime) -> Admit:
    given = _objects(seen.review)
    if isinstance(given, Admit):
        return given
    if given.is_deleted:
        return ALLOWED
    wrong = [*applications.marked_anew(given.new, given.old)]
    if not given.passes:
        wrong += applications.application_refusals(given.new)
    return _judged(APPLICATIONS, seen.review, wrong)


def validate_configuration(seen: ReviewSnapshot, _now: datetime) -> Admit | Need:
    given = _objects(seen.review)
    if isinstance(given, Admit) or given.passes:
        return given if isinstance(given, Admit) else ALLOWED
    flow = applications.configuration_refusals(given.new, seen.review.namespace, seen.system_namespace)
    try:
        wrong = settled(flow, seen.answers)
    except Unanswered as problem:
        return _unread(f"{problem}: try again")
    return wrong if isinstance(wrong, Need) else _judged(CONFIGURATIONS, seen.review, wrong)


def leave(_seen: ReviewSnapshot, _now: datetime) -> Admit:
    """What registrations of other releases ask about, and this part has nothing to say to."""
    return ALLOWED


def log_keys(seen: ReviewSnapshot) -> dict[str, str]:
    return {
        "object.name": seen.review.name,
        "object.namespace": seen.review.namespace,
        "object.resource": seen.review.resource.resource,
    }


def _judged(resource: Resource, review: Review, wrong: Iterable[str]) -> Admit:
    refused = together(wrong)
    if not refused:
        return ALLOWED
    message = f'{resource.kind}.{resource.group} "{review.name}" is invalid: {refused}'
    return Admit(allowed=False, word="invalid", code=422, reason="Invalid", message=message, level="warn")


def _objects(review: Review) -> _Objects | Admit:
    if review.operation not in (CREATE, UPDATE):
        return ALLOWED
    new = _object(review.object)
    old = _object(review.old_object) if review.operation == UPDATE else None
    if isinstance(new, Admit):
        return new
    if isinstance(old, Admit):
        return _unreadable("the review lacks the object that is replaced")
    return _Objects(new, old)


def _object(body: Raw) -> Json | Admit:
    try:
        found = msgspec.json.decode(body)
    except UNREADABLE as error:
        return _unreadable(f"the object cannot be read: {error or type(error).__name__}")
    return found if isinstance(found, dict) else _unreadable("the review lacks an object to look at")


def _unread(message: str) -> Admit:
    """Another try may end otherwise."""
    return Admit(allowed=False, word="unread", code=503, reason="ServiceUnavailable", message=message, level="warn")


def _unreadable(message: str) -> Admit:
    return Admit(allowed=False, word="unreadable", code=400, reason="BadRequest", message=message, level="warn")
