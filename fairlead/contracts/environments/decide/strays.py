"""Generations that belong to no rollout: neither the one that serves nor the one after it.

They are left where somebody wrote another number into the status for a while. They go as the serving generation goes
after a promotion: only when the one that serves was heard to lead in the same pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from fairlead.contracts.environments.decide.generation_origin import made_of
from fairlead.contracts.environments.decide.leader import IS_LEADER, Made, state_of, unheard
from fairlead.contracts.environments.decide.live import is_owned
from fairlead.contracts.environments.decide.moments import soon
from fairlead.contracts.environments.decide.objects.generation import generation_refs
from fairlead.contracts.environments.decide.objects.names import environmentd_name, number_in
from fairlead.contracts.environments.decide.standing import Standing
from fairlead.contracts.environments.decide.teardown import teardown
from fairlead.core.ask import Bad, Need
from fairlead.core.decision import Hold, Verdict
from fairlead.core.reason import Reason
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.meta import Ref


def remove_strays(stand: Standing, now: datetime) -> Verdict | Need | None:
    """The first of them goes, or waits for the active one to lead; None when there are none."""
    found = min(_strays(stand), default=None)
    if found is None or not stand.serves(stand.active):
        return None
    made = made_of(stand, stand.active, now)
    if not isinstance(made, Made):
        return made
    question = made.leader.status
    if todo := stand.seen.answers.lacking((question,)):
        return Need(todo)
    heard = stand.seen.answers[question]
    is_only_looked_at = isinstance(heard, Bad) and heard.kind == "not-sent"
    if state_of(heard) == IS_LEADER or is_only_looked_at:
        return teardown(stand, found, now)
    about = f"service/{environmentd_name(stand.environment.resource_id, stand.active)}"
    detail = f"{state_of(heard) or unheard(heard)}; generation {found}, which belongs to no rollout, stays until then"
    return Hold(Reason.NOT_YET_LEADER, soon(stand.uid, now), ((about, detail),))


def _strays(stand: Standing) -> Iterator[int]:
    """By the caches; what does not name the environment as its owner is somebody else's."""
    place, resource_id = stand.environment.namespace, stand.environment.resource_id
    sets = (((STATEFULSETS, each.metadata.name), each.metadata) for each in stand.seen.statefulsets)
    others = ((key, each.metadata) for key, each in stand.seen.children.items())
    for (resource, name), found in (*sets, *others):
        number = number_in(name)
        if number is None or number in (stand.active, stand.target) or not is_owned(found, stand.uid):
            continue
        if Ref(resource, place, name) in generation_refs(place, resource_id, number):
            yield number
