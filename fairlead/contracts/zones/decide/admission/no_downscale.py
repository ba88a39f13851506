"""The webhook no-downscale (section 3.10): objects with the label are never made smaller, dry runs included."""

from __future__ import annotations

from datetime import datetime

from fairlead.contracts.zones.decide.admission.review_reading import (
    SCALE,
    WORKLOADS,
    Downscale,
    ReviewedWorkload,
    ReviewSnapshot,
    decoded,
    denied,
    downscale_of,
    ignored,
    name_of,
    parent_question,
    sentence,
    unjudged,
    unread_parent,
)
from fairlead.contracts.zones.kinds import NO_DOWNSCALE
from fairlead.core.ask import Bad, Need
from fairlead.core.decision import Admit


def no_downscale(seen: ReviewSnapshot, now: datetime) -> Admit | Need:
    """Denied when it is a downscale of a labelled object; whatever cannot be judged is allowed with a warning."""
    change = downscale_of(seen.review)
    if isinstance(change, Admit):
        return change
    labels = _parent_labels(seen) if change.kind == SCALE else change.labels
    if isinstance(labels, Admit | Need):
        return labels
    return _judged(seen, change, labels)


def _parent_labels(seen: ReviewSnapshot) -> dict[str, str] | Admit | Need:
    """Section 3.10 step 5: a Scale has no labels of its parent, so the parent is read."""
    resource = WORKLOADS.get(seen.review.resource.resource)
    if resource is None:
        known = ", ".join(WORKLOADS)
        return unjudged("resource-unknown", f"{name_of(seen.review)} was not checked for a downscale: only {known} are")
    question = parent_question(seen.review, resource)
    if todo := seen.answers.lacking((question,)):
        return Need(todo)
    answer = seen.answers[question]
    if isinstance(answer, Bad):
        return unread_parent(seen.review, answer)
    parent = decoded(answer.value, ReviewedWorkload)
    return unread_parent(seen.review, None) if parent is None else parent.labels


def _judged(seen: ReviewSnapshot, change: Downscale, labels: dict[str, str]) -> Admit:
    """Section 3.10 steps 6 and 7."""
    if labels.get(NO_DOWNSCALE) != "true":
        return ignored("not-labelled")
    label = f"{NO_DOWNSCALE}=true"
    return denied(
        "denied",
        f"{sentence(seen.review, change)} is not allowed because of its label {label}; remove the label first",
    )
