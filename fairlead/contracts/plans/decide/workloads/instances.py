"""Instances that go one at a time (R-22).

Between two of them at least the interval passes, and the one before must be ready. That the next one may go is stored,
with how many went before it, and seen before it goes: a process that dies in between lets nobody go early.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from fairlead.contracts.plans.decide.why import Why
from fairlead.contracts.plans.decide.workloads.answers import Retry, Stamp
from fairlead.contracts.plans.decide.workloads.attempt import Attempt


def may_go(attempt: Attempt, went: int, now: datetime, *, is_ready: bool) -> Stamp | Retry | None:
    """None when the next instance may go now; `went` is how many pods there are before it, and `is_ready` says of them.

    With an interval of 10 s the third waits until 10 s after the second went, and until two are ready.
    """
    since = attempt.status.last_instance_time
    if since is not None and attempt.status.upgraded_replicas == went:
        return None
    if not is_ready:
        return Retry(Why.PODS_NOT_READY, f"the next pod waits until the {went} before it are ready")
    if since is not None:
        until = since + timedelta(seconds=attempt.interval)
        if now < until:
            return Retry(Why.INSTANCE_SPACING, f"{attempt.interval} s pass between two pods", until)
    return Stamp(went)
