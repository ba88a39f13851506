"""The status that a CloneSet shows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from kubeloop.objects.meta import LabelSelector
from kubesim.standins.cloneset_plan import CloneSet, Pod, Status, kept_old


def status_of(
    set_: CloneSet, pods: Sequence[Pod], revisions: tuple[str, str], collisions: int, now: datetime
) -> Status:
    """The status that these pods amount to; `revisions` are the current one and that of the template.

    The template's revision becomes the current one as soon as all pods are of it and none is missing, ready or not.
    """
    current, update = revisions
    active = [pod for pod in pods if pod.is_active]
    updated = [pod for pod in active if pod.revision == update]
    if len(updated) == len(active) == set_.spec.replicas:
        current = update

    def available(pods: Sequence[Pod]) -> int:
        moments = [pod.available_at(set_.spec.min_ready_seconds) for pod in pods]
        return sum(moment is not None and moment <= now for moment in moments)

    return Status(
        replicas=len(active),
        ready_replicas=sum(pod.ready_since is not None for pod in active),
        available_replicas=available(active),
        updated_replicas=len(updated),
        updated_ready_replicas=sum(pod.ready_since is not None for pod in updated),
        observed_generation=set_.metadata.generation,
        updated_available_replicas=available(updated),
        expected_updated_replicas=set_.spec.replicas - kept_old(set_.spec),
        update_revision=update,
        current_revision=current,
        collision_count=collisions,
        label_selector=_selector_text(set_.spec.selector),
    )


def _selector_text(selector: LabelSelector) -> str:
    """As a query carries it, for whoever scales by it."""
    terms = [(key, f"{key}={value}") for key, value in selector.match_labels.items()]
    for each in selector.match_expressions:
        values = ",".join(sorted(each.values))
        forms = {"In": f"{each.key} in ({values})", "NotIn": f"{each.key} notin ({values})", "Exists": each.key}
        terms.append((each.key, forms.get(each.operator, f"!{each.key}")))
    return ",".join(text for _, text in sorted(terms))
