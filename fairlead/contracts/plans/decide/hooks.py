"""Hooks (section 3.9): called in their order, at least once, and nothing after one that refuses.

Each call is about one attempt, batch and phase, so that equal bodies of two batches are two calls. An answer serves for
five seconds, so that whatever wakes a rollout calls nobody again sooner.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import msgspec
from msgspec import Struct

from fairlead.contracts.plans.decide import conditions
from fairlead.contracts.plans.decide.seen import RolloutObject
from fairlead.contracts.plans.kinds import RolloutPlan, RolloutStatus, RolloutWebhook
from fairlead.core.ask import Answers, Ask, Bad, Http, Need, Retry
from kubeloop.durations import parse_go
from kubeloop.urls import shown_url

AGAIN = 5.0
"""Seconds between two passes over hooks that refuse."""
MOST_FAILURES = 3
"""Failed passes after which hooks no longer hold up a deletion or another target (R-27)."""
DEFAULT_TIMEOUT = 10.0
ACCEPTED = (200, 201, 202)
"""Without a list of its own a hook is accepted with a status of at most 202."""
TRIES = Retry(tries=4, spacing_seconds=0.01, growth=5.0, codes=tuple(range(500, 600)))
"""R-26: again after 10, 50 and 250 ms, and only where nobody answered or the other side failed."""


class HookRefused(Struct, frozen=True):
    text: str


def hooks_of(plan: RolloutPlan, batch: int | None, kind: str) -> tuple[RolloutWebhook, ...]:
    """Those of the plan first, then those of the batch."""
    own = () if batch is None else plan.batch(batch).batch_rollout_webhooks
    return tuple(each for each in (*plan.rollout_webhooks, *own) if each.type == kind)


def called(
    hooks: Sequence[RolloutWebhook], rollout: RolloutObject, status: RolloutStatus, phase: str, answers: Answers
) -> Need | HookRefused | None:
    """None once all of them have accepted."""
    questions = [*_questions(hooks, rollout, status, phase)]
    stages = answers.lacking(*((each,) for each in questions))
    if stages:
        return Need(stages, stop_at_failure=True)
    for hook, question in zip(hooks, questions, strict=True):
        answer = answers[question]
        if isinstance(answer, Bad):
            said = f"status {answer.code}" if answer.code else answer.text or answer.kind
            return HookRefused(f"failed to invoke a webhook: {hook.name} at {shown_url(hook.url)}: {said}")
    return None


def _questions(
    hooks: Sequence[RolloutWebhook], rollout: RolloutObject, status: RolloutStatus, phase: str
) -> Iterator[Ask]:
    metadata = rollout.metadata
    begun = "" if status.batch_start_time is None else status.batch_start_time.isoformat()
    for place, hook in enumerate(hooks):
        body = {"name": metadata.name, "namespace": metadata.namespace, "phase": phase}
        call = Http(
            hook.method or "POST",
            hook.url,
            subject=f"{metadata.uid} {status.target_generation} {begun} {status.current_batch} {phase} {place}",
            body=msgspec.json.encode({**body, **({"metadata": hook.metadata} if hook.metadata else {})}),
            headers=(("Content-Type", "application/json"),),
            accepts=hook.expected_status or ACCEPTED,
            retry=TRIES,
            heeds_body=False,
        )
        yield Ask(call, effect=True, timeout=_timeout(hook), max_age=AGAIN, is_expected_to_fail=True)


def _timeout(hook: RolloutWebhook) -> float:
    try:
        seconds = parse_go(hook.timeout or "")
    except ValueError:
        return DEFAULT_TIMEOUT
    return seconds if seconds > 0 else DEFAULT_TIMEOUT


def longest(plan: RolloutPlan, batch: int) -> float:
    """Seconds that the hooks of one pass may take with all their tries."""
    pauses = sum(TRIES.spacing_seconds * TRIES.growth**each for each in range(TRIES.tries - 1))
    every = (*plan.rollout_webhooks, *plan.batch(batch).batch_rollout_webhooks)
    phases = {each.type for each in every}
    return max(
        (sum(TRIES.tries * _timeout(each) + pauses for each in every if each.type == kind) for kind in phases),
        default=0.0,
    )


def failures(status: RolloutStatus, text: str, now: datetime) -> int:
    """Failed passes with this one; those that the same answer serves count as one.

    The condition says since when hooks refuse in the same words: the n-th failure counts 5 s times n later.
    """
    kind = conditions.condition_type(status)
    since = conditions.said_since(status, kind)
    if status.hook_failures and since is not None and conditions.message_of(status, kind) == text:
        due = since + timedelta(seconds=AGAIN * status.hook_failures)
        if now < due:
            return status.hook_failures
    return status.hook_failures + 1
