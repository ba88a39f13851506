"""What a look cannot ask itself, told from what the operator has recorded: condition, times of writes, pods.

Only the operator speaks to environmentd. That it has not moved on is in the condition, and since when is in the time of
its last write to the status, because it writes nothing while nothing changes.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct, structs

from fairlead.contracts.environments.decide.hash import rollout_hash
from fairlead.contracts.environments.decide.standing import FAILED_DEPLOY, condition_of, is_promoting
from fairlead.contracts.environments.explain import RETIRING
from fairlead.contracts.environments.kinds import EnvironmentMeta, Materialize
from fairlead.contracts.environments.words import text_of
from fairlead.core.explain import Block, Explain, Lane
from fairlead.core.reason import Reason
from kubeloop.objects.core import Pod


class ManagedFields(Struct, frozen=True):
    """Who wrote when; what was written is left out."""

    subresource: str = ""
    time: datetime | None = None


class DatedMeta(EnvironmentMeta, frozen=True, rename="camel"):
    managed_fields: tuple[ManagedFields, ...] = ()


class Dated(Materialize, frozen=True):
    """An environment together with the times of writes."""

    metadata: DatedMeta

    @property
    def status_written(self) -> datetime | None:
        times = (each.time for each in self.metadata.managed_fields if each.subresource == "status")
        return max((time for time in times if time is not None), default=None)


Pods = Callable[[str, str], Pod | None]
"""A pod by namespace and name."""

RECORDED = (Reason.AWAITING_PROMOTION.word, Reason.NOT_YET_LEADER.word)
"""Waits that began when the operator last wrote the status."""
CATCHING_UP = "its pod is ready, and the operator waits for it to catch up"
TAKING_OVER = "the operator has told it to take over"
BEING_REMOVED = "the next generation leads"


def retold(shown: Explain, environment: Dated, pods: Pods) -> Explain:
    """The document with what the operator waits for, and since when."""
    told = [_dated(_asked(block, shown, environment), environment, pods) for block in shown.blocked_by]
    failure = _failure(shown, environment)
    if failure is not None:
        # What it was refused is why its objects are not there.
        told = [failure, *(block for block in told if block.reason != Reason.CACHE_BEHIND.word)]
    lanes = tuple(_lane(lane, environment, pods) for lane in shown.stands.lanes)
    stands = structs.replace(shown.stands, lanes=lanes)
    return structs.replace(shown, blocked_by=tuple(told), stands=stands)


def _lane(lane: Lane, environment: Dated, pods: Pods) -> Lane:
    return structs.replace(lane, waits=tuple(_dated(block, environment, pods) for block in lane.waits))


def _asked(block: Block, shown: Explain, environment: Dated) -> Block:
    """A wait for an answer that only the operator gets."""
    if block.reason != Reason.NEEDS_ANSWER.word or environment.status is None:
        return block
    retiring = [lane.cells[0].name for lane in shown.stands.lanes if lane.phase == RETIRING and lane.cells]
    if retiring:
        name = retiring[0].rpartition("-")[0]
        return _as(block, Reason.OBJECTS_GOING, f"statefulset/{name}", BEING_REMOVED)
    if is_promoting(environment.status):
        return _as(block, Reason.NOT_YET_LEADER, block.object, TAKING_OVER)
    return _as(block, Reason.LEADER_INITIALIZING, block.object, CATCHING_UP)


def _as(block: Block, reason: Reason, about: str, detail: str) -> Block:
    text = text_of(reason, about.partition("/")[2], detail)
    return structs.replace(block, reason=reason.word, object=about, text=text, clears=reason.clears)


def _failure(shown: Explain, environment: Dated) -> Block | None:
    """What the condition says that went wrong with the generation that is still wanted."""
    status = environment.status
    condition = None if status is None else condition_of(status)
    if status is None or condition is None or condition.reason != FAILED_DEPLOY:
        return None
    wanted = rollout_hash(environment.spec, environment.metadata.annotations)
    said = [block.reason for block in shown.blocked_by]
    settled = wanted == status.last_completed_rollout_hash
    if status.requested_rollout_hash != wanted or settled or Reason.UPGRADE_REFUSED.word in said:
        return None
    reason, about = Reason.GENERATION_REFUSED, f"materialize/{environment.metadata.name}"
    since = condition.last_transition_time
    return Block("applied", reason.word, about, condition.message, reason.clears, since, since_exact=True)


def _dated(block: Block, environment: Dated, pods: Pods) -> Block:
    since = None if block.since_exact else _since(block, environment, pods)
    return block if since is None else structs.replace(block, since=since, since_exact=True)


def _since(block: Block, environment: Dated, pods: Pods) -> datetime | None:
    if block.reason in RECORDED:
        return environment.status_written
    kind, _, name = block.object.partition("/")
    if kind == "pod":
        return _turned(pods(environment.metadata.namespace, name), ready=False)
    if block.reason == Reason.LEADER_INITIALIZING.word:
        return _turned(pods(environment.metadata.namespace, f"{name}-0"), ready=True)
    return None


def _turned(pod: Pod | None, *, ready: bool) -> datetime | None:
    """Since when it is ready, or is not."""
    for condition in pod.status.conditions if pod is not None else ():
        if condition.type == "Ready" and (condition.status == "True") is ready:
            return condition.last_transition_time
    return None
