"""The webhook no-downscale (3.10): objects with the label are never made smaller, dry runs included."""

from __future__ import annotations

from datetime import datetime

from fairlead.api.zones import NO_DOWNSCALE
from fairlead.decide.ask import Bad, Need
from fairlead.decide.decision import Admit
from fairlead.decide.zones.reviewing import (
    SCALE,
    WORKLOADS,
    Downscale,
    Seen,
    Workload,
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


def no_downscale(seen: Seen, now: datetime) -> Admit | Need:
    """Denied when it is a downscale of a labelled object; whatever cannot be judged is allowed with a warning."""
    change = downscale_of(seen.review)
    if isinstance(change, Admit):
        return change
    labels = _parent_labels(seen) if change.kind == SCALE else change.labels
    if isinstance(labels, Admit | Need):
        return labels
    return _judged(seen, change, labels)


def _parent_labels(seen: Seen) -> dict[str, str] | Admit | Need:
    """Step 5: a Scale has no labels of its parent, so the parent is read."""
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
    parent = decoded(answer.value, Workload)
    return unread_parent(seen.review, None) if parent is None else parent.labels


def _judged(seen: Seen, change: Downscale, labels: dict[str, str]) -> Admit:
    """Steps 6 and 7."""
    if labels.get(NO_DOWNSCALE) != "true":
        return ignored("not-labelled")
    label = f"{NO_DOWNSCALE}=true"
    return denied(
        "denied",
        f"{sentence(seen.review, change)} is not allowed because of its label {label}; remove the label first",
    )
