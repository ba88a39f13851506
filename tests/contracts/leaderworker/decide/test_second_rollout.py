"""A rollout that begins in another: what the StatefulSet controller was told before may still be carried out (S1)."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.groups import is_observed
from fairlead.contracts.leaderworker.decide.revisions import key_of
from fairlead.contracts.leaderworker.kinds import Pod, StatefulSet
from fairlead.core.act import Does
from fairlead.core.ask import Bad, Good, Listing
from fairlead.core.reason import Reason
from kubeloop.objects.apps import StatefulSetStatus
from tests.contracts.leaderworker.decide.rounds import Settled, a_set_seen, applied, going, set_settled
from tests.contracts.leaderworker.decide.some import a_leader, a_revision, a_set, some_workers

A, B, C = (a_revision(a_set(f"nginx:{image}", replicas=4), image) for image in (1, 2, 3))
APPLY = Does.APPLY_LEADERS


def listed(*pods: Pod) -> Good:
    return Good(msgspec.json.encode({"metadata": {}, "items": pods}))


def leaders_of(*keys: str) -> tuple[Pod, ...]:
    return tuple(a_leader(index, key) for index, key in enumerate(keys))


def observed(leaders: StatefulSet, generation: int | None) -> StatefulSet:
    status = StatefulSetStatus(replicas=4, observed_generation=generation)
    return replace(leaders, status=status, metadata=replace(leaders.metadata, generation=7))


def second_rollout(keys: tuple[str, ...], partition: int = 4, generation: int | None = 7, **live: Any) -> Settled:
    """Of four groups with these keys, to the third revision."""
    given = a_set("nginx:3", replicas=4, observed=2)
    leaders = observed(applied(given, C, partition=partition, leaders=4), generation)
    return set_settled(
        a_set_seen(
            given,
            revisions=(A, B, C),
            leaders=leaders,
            pods=leaders_of(*keys),
            workers=tuple(some_workers(index, key) for index, key in enumerate(keys)),
        ),
        **live,
    )


def partition_of(settled: Settled) -> int:
    found: int = settled.body(APPLY)["spec"]["updateStrategy"]["rollingUpdate"]["partition"]
    return found


MIXED = (key_of(A), key_of(A), key_of(B), key_of(B))


def test_its_first_step_waits_until_the_controller_knows_of_it() -> None:
    """The partition before it had given group 1 free, and the controller may take it at any moment."""
    settled = second_rollout(MIXED, generation=6)

    assert APPLY not in settled.does
    assert settled.asked == ()


def test_its_first_step_looks_at_leaders_as_they_are() -> None:
    pods = leaders_of(*MIXED)

    whole = second_rollout(MIXED, pods=listed(*pods))
    away = second_rollout(MIXED, pods=listed(pods[0], going(pods[1]), *pods[2:]))

    assert partition_of(whole) == 3
    assert APPLY not in away.does
    (question,) = away.asked
    assert isinstance(question, Listing)
    assert question.labels == "leaderworkerset.sigs.k8s.io/name=a,leaderworkerset.sigs.k8s.io/worker-index=0"


def test_leaders_that_cannot_be_listed_hold_it() -> None:
    settled = second_rollout(MIXED, pods=Bad("failed", "no answer"))

    assert (settled.reason, settled.writes) == (Reason.READ_FAILED, ())


@pytest.mark.parametrize(("keys", "partition"), [((key_of(A),) * 4, 4), ((*(key_of(A),) * 3, key_of(C)), 3)])
def test_other_steps_list_nothing(keys: tuple[str, ...], partition: int) -> None:
    """All groups are of one revision, or the rollout is under way: then whoever moved was seen to."""
    settled = second_rollout(keys, partition)

    assert settled.asked == ()
    assert partition_of(settled) == partition - 1


@pytest.mark.parametrize(("generation", "expected"), [(7, True), (8, True), (6, False), (None, True), (0, True)])
def test_leaders_are_observed_by_their_generation(generation: int | None, expected: bool) -> None:
    """Where nobody tells what he has observed, as in tests of an API server alone, nobody is waited for."""
    given = a_set("nginx:3")

    assert is_observed(observed(applied(given, a_revision(given)), generation)) is expected


@pytest.mark.parametrize(
    ("generation", "updated", "ready", "expected"),
    [(7, 4, 4, True), (7, 3, 4, False), (7, 4, 3, False), (6, 4, 4, False), (None, 0, 0, True)],
)
def test_revisions_are_kept_until_the_controller_counts_all_leaders(
    generation: int | None, updated: int, ready: int, expected: bool
) -> None:
    """S5: the cache may show groups as they were before a revision that came and went; one may still carry it."""
    given = a_set("nginx:3", replicas=4, observed=2)
    leaders = observed(applied(given, C), generation)
    status = replace(leaders.status, updated_replicas=updated, ready_replicas=ready)
    settled = set_settled(
        a_set_seen(
            given,
            revisions=(B, C),
            leaders=replace(leaders, status=status),
            pods=leaders_of(*(key_of(C),) * 4),
            workers=tuple(some_workers(index, key_of(C)) for index in range(4)),
        )
    )

    assert (Does.FORGET_REVISION in settled.does) is expected
