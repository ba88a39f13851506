"""Opening gates: the partition of a plan says up to which batch it is rolled, and only ever rises."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from fairlead.contracts.plans.decide.verbs.targets import GIVING_UP, PLAN, VerbTarget, target_named
from fairlead.contracts.plans.verb_options import FULL, TO_BATCH
from fairlead.core.ask import Answers, Need
from fairlead.core.verb import Nothing, Refused, VerbAnswer, VerbPlan, VerbRequest, follow

NAMES = ("lastBatchToRollout", "batchPartition")
"""Two names of one field."""


def promote(request: VerbRequest, answers: Answers, _: datetime) -> VerbAnswer | Need:
    target = target_named(request, answers)
    if not isinstance(target, VerbTarget):
        return target
    if target.has_ended:
        return Refused(f"{target.name} has ended ({target.state}): no gate of it is closed")
    if target.state in GIVING_UP:
        return Refused(f"{target.name} is being given up ({target.state}): no further batch follows")
    partition, last = target.plan.partition, target.last_batch
    if partition is None or partition >= last:
        return Nothing(
            f"{target.name} has no gate before its end: `fairlead explain {target.place}` says what it waits for"
        )
    opened = _opened(target, partition, request)
    if isinstance(opened, Refused):
        return opened
    if opened <= partition:
        return Nothing(f"the gates of {target.name} are open up to batch {partition} already")
    gate = "no gate is left" if opened >= last else f"the next gate is after batch {opened}"
    said = f"{target.name} goes on up to batch {opened} of 0 to {last}, {gate}"
    if target.plan.paused:
        said += f"; it is paused until `fairlead resume {target.place}`"
    return VerbPlan(
        rollout=target.name,
        writes=(target.patched({"rolloutPlan": partition_at(target, opened)}, tuple(shown(target, opened))),),
        said=f"{said}; {follow(target.namespace, target.name)}",
        did=f"let {target.name} go on up to batch {opened}",
        event="GateOpened",
        pinned={FULL.flag: ("",), TO_BATCH.flag: (str(opened),)},
        warnings=tuple(warning for name in used(target) for warning in target.put_back_by(*PLAN, name)),
    )


def _opened(target: VerbTarget, partition: int, request: VerbRequest) -> int | Refused:
    """The last batch that is rolled from now on."""
    last, wanted = target.last_batch, request.option(TO_BATCH.flag)
    if wanted and request.option(FULL.flag):
        return Refused(f"{FULL.flag} and {TO_BATCH.flag} exclude each other: choose one")
    if wanted:
        named = [batch for batch in range(last + 1) if str(batch) == wanted]
        return named[0] if named else Refused(f"{target.name} has no batch {wanted}: its batches are 0 to {last}")
    if request.option(FULL.flag):
        return last
    return min(last, max(partition + 1, target.status.current_batch))


def used(target: VerbTarget) -> tuple[str, ...]:
    """The names under which the object has the field, both where it has both."""
    given = (target.plan.last_batch_to_rollout, target.plan.batch_partition)
    return tuple(name for name, value in zip(NAMES, given, strict=True) if value is not None)


def partition_at(target: VerbTarget, batch: int) -> dict[str, int]:
    return dict.fromkeys(used(target), batch)


def shown(target: VerbTarget, batch: int) -> Iterator[str]:
    for name in used(target):
        yield f"{'.'.join(PLAN)}.{name}: {target.plan.partition} -> {batch}"
