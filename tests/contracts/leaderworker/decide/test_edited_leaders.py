"""Leaders that somebody has edited, taken or made beside a set: what is mended, rolled and left alone."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from msgspec import Raw
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.revisions import key_of
from fairlead.contracts.leaderworker.decide.seen import SetSeen
from fairlead.contracts.leaderworker.kinds import (
    NAME,
    REVISION_KEY,
    LeaderWorkerSet,
    RollingUpdate,
    RolloutStrategy,
)
from fairlead.core.ask import Bad, Good
from fairlead.core.reason import Reason
from kubeloop.objects.meta import OwnerReference
from tests.contracts.leaderworker.decide.rounds import APPLY, NOW, RECORD, a_set_seen, applied, numbers, set_settled
from tests.contracts.leaderworker.decide.some import a_leader, a_revision, a_set, some_workers

OTHERS = (OwnerReference("LeaderWorkerSet", "a", "another", controller=True),)


@pytest.mark.parametrize(("owner", "key", "partition"), [("gone", "old", 2), ("", "old", 2), ("", "", 0)])
def test_leaders_that_are_made_for_groups_of_another_key_move_none_of_them(
    owner: str, key: str, partition: int
) -> None:
    """Section 3.14 point 4: somebody deleted their StatefulSet without them, and the one that is made adopts them."""
    given = a_set(observed=2)
    pods = tuple(a_leader(index, key or key_of(a_revision(given)), owner=owner) for index in range(2))
    settled = set_settled(a_set_seen(given, leaders=None, pods=pods))
    assert numbers(settled) == (partition, 2)


@pytest.mark.parametrize(("owner", "surge", "expected"), [("", 2, (4, 4)), ("", 1, (3, 3)), ("gone", 2, (2, 2))])
def test_leaders_that_are_made_keep_groups_of_a_surge_that_nobody_controls(
    owner: str, surge: int, expected: tuple[int, int]
) -> None:
    """Section 3.14 point 4: they may be the only ready ones; no more than a surge may have, and none that goes."""
    strategy = RolloutStrategy(rolling_update_configuration=RollingUpdate(max_surge=surge))
    given = a_set("nginx:2", observed=2, rollout_strategy=strategy)
    old, new = a_revision(a_set("nginx:1")), a_revision(given, 2)
    pods = tuple(a_leader(index, key_of(new if index > 1 else old), owner=owner) for index in range(4))
    settled = set_settled(a_set_seen(given, leaders=None, pods=pods, revisions=(old, new)))
    assert numbers(settled) == expected


def test_leaders_that_nobody_controls_count_before_they_are_adopted() -> None:
    """Section 3.11 point 1: else their groups would seem to be away, with nothing to lose."""
    given, old = a_set("nginx:2", observed=2), a_revision(a_set("nginx:1"))
    new = a_revision(given, 2)
    pods = tuple(a_leader(index, key_of(old), owner="", ready=index > 0) for index in range(2))
    workers = tuple(some_workers(index, key_of(old)) for index in range(2))
    leaders = applied(given, new, partition=2)
    settled = set_settled(a_set_seen(given, revisions=(old, new), leaders=leaders, pods=pods, workers=workers))
    assert settled.reason is Reason.OLD_GROUPS_NOT_READY
    assert APPLY not in settled.does


def test_the_first_step_looks_for_leaders_that_the_cache_shows_with_their_statefulset_of_before() -> None:
    given, old = a_set("nginx:2", observed=2), a_revision(a_set("nginx:1"))
    new = a_revision(given, 2)
    cached = tuple(a_leader(index, key_of(old), owner="gone", ready=index > 0) for index in range(2))
    live = tuple(a_leader(index, key_of(old), ready=index > 0) for index in range(2))
    workers = tuple(some_workers(index, key_of(old)) for index in range(2))
    leaders = applied(given, new, partition=2)
    seen = a_set_seen(given, revisions=(old, new), leaders=leaders, pods=cached, workers=workers)
    settled = set_settled(seen, pods=Good(msgspec.json.encode({"items": live})))
    assert settled.reason is Reason.OLD_GROUPS_NOT_READY


def test_a_set_that_is_going_is_left() -> None:
    given = a_set()
    leaving = replace(given, metadata=replace(given.metadata, deletion_timestamp=NOW))
    assert set_settled(a_set_seen(leaving)).reason is Reason.SET_LEAVING


def test_leaders_that_are_going_are_waited_for() -> None:
    """Section 3.2 step 2."""
    given = a_set()
    leaders = applied(given, a_revision(given), deletion_timestamp=NOW)
    settled = set_settled(a_set_seen(given, leaders=leaders))
    assert (settled.reason, settled.held.again, settled.writes) == (
        Reason.LEADERS_LEAVING,
        NOW + timedelta(seconds=5),
        (),
    )


@pytest.mark.parametrize("where", ["in the cache", "live"])
def test_leaders_of_somebody_else_are_left_alone(where: str) -> None:
    """Section 5.10 and section 5.11."""
    given = a_set()
    foreign = applied(given, a_revision(given), owner_references=OTHERS)
    if where == "live":
        live = Good(msgspec.json.encode(foreign))
        settled = set_settled(a_set_seen(given, leaders=None), statefulset_a=live)
    else:
        settled = set_settled(a_set_seen(given, leaders=foreign))
    problem = "a StatefulSet a exists that this LeaderWorkerSet does not control"
    assert (settled.reason, settled.writes) == (Reason.NAME_TAKEN, ())
    assert settled.told == [f"Failed to create leader statefulset a: {problem}"]
    assert settled.held.again == NOW + timedelta(seconds=5)


def test_leaders_that_lost_their_label_are_mended_without_a_roll() -> None:
    """Section 5.34: the cache shows only what carries the label."""
    given = a_set(observed=2)
    leaders = applied(given, a_revision(given), labels={REVISION_KEY: key_of(a_revision(given))})
    settled = set_settled(a_set_seen(given, leaders=None), statefulset_a=Good(msgspec.json.encode(leaders)))
    assert settled.does[0] is APPLY
    assert RECORD not in settled.does
    assert settled.body(APPLY)["metadata"]["labels"][NAME] == "a"
    assert numbers(settled) == (0, 2)


def test_leaders_that_lost_their_key_keep_that_of_their_template() -> None:
    """Section 5.34: another key would roll all groups."""
    given = a_set(observed=2)
    leaders = applied(given, a_revision(given), labels={NAME: "a"})
    settled = set_settled(a_set_seen(given, leaders=leaders))
    assert RECORD not in settled.does
    assert settled.body(APPLY)["metadata"]["labels"][REVISION_KEY] == key_of(a_revision(given))
    assert numbers(settled) == (0, 2)


def test_leaders_that_somebody_gave_another_key_roll_to_it_from_the_top() -> None:
    """Section 3.12 point 6 and section 5.34: at partition 0 the new template would replace all leaders at once."""
    given = a_set(observed=2)
    leaders = applied(given, a_revision(given), labels={NAME: "a", REVISION_KEY: "edited"})
    settled = set_settled(a_set_seen(given, leaders=leaders))
    assert settled.does[0] is RECORD
    assert settled.body(RECORD)["metadata"]["labels"][REVISION_KEY] == "edited"
    body = settled.body(APPLY)
    assert body["metadata"]["labels"][REVISION_KEY] == "edited"
    assert body["spec"]["template"]["metadata"]["labels"][REVISION_KEY] == "edited"
    assert numbers(settled) == (2, 2)


def test_leaders_that_somebody_gave_an_earlier_key_stay_at_what_the_spec_says() -> None:
    """Section 5.34: nobody changed the spec since the last round, and yet the earlier revision is not kept."""
    old, given = a_revision(a_set("nginx:1")), a_set("nginx:2", observed=2)
    new = a_revision(given, 2)
    leaders = applied(given, new, labels={NAME: "a", REVISION_KEY: key_of(old)})
    settled = set_settled(a_set_seen(given, revision=new, revisions=(old, new), leaders=leaders))
    assert settled.does[0] is APPLY
    assert settled.body(APPLY)["metadata"]["labels"][REVISION_KEY] == key_of(new)
    assert settled.body(APPLY)["spec"]["template"]["metadata"]["labels"][REVISION_KEY] == key_of(new)
    assert numbers(settled) == (0, 2)


def test_leaders_that_somebody_puts_back_are_rolled_to_what_the_spec_says() -> None:
    """Section 5.34: a backup of them has the earlier template, too, and nobody changed the spec since."""
    old, given = a_revision(a_set("nginx:1")), a_set("nginx:2", observed=2)
    new = a_revision(given, 2)
    leaders = applied(a_set("nginx:1"), old, managed_fields=())
    settled = set_settled(a_set_seen(given, revision=new, revisions=(old, new), leaders=leaders))
    assert settled.body(APPLY)["spec"]["template"]["metadata"]["labels"][REVISION_KEY] == key_of(new)
    assert numbers(settled) == (2, 2)


def relabelled(given: LeaderWorkerSet, **changes: Any) -> SetSeen:
    """Leaders that somebody gave another key, by a process that ended before it applied them."""
    revision = a_revision(given, 1)
    recorded = a_revision(given, 2, key="edited")
    leaders = applied(given, revision, labels={NAME: "a", REVISION_KEY: "edited"})
    return a_set_seen(given, leaders=leaders, revisions=(revision, recorded), **changes)


@pytest.mark.parametrize("unseen", [{}, {"pods": (), "workers": ()}], ids=["groups", "none seen"])
def test_leaders_of_another_key_roll_from_the_top_after_a_restart(unseen: dict[str, Any]) -> None:
    """Section 5.34: the revision is there already, and groups that a cache does not show may be."""
    settled = set_settled(relabelled(a_set(observed=2), **unseen))
    assert RECORD not in settled.does
    assert settled.body(APPLY)["spec"]["template"]["metadata"]["labels"][REVISION_KEY] == "edited"
    assert numbers(settled) == (2, 2)


def test_a_template_of_which_somebody_edits_the_key_is_put_back_without_a_rollout() -> None:
    """Section 5.34: groups carry the key of the leaders already."""
    given = a_set(observed=2)
    leaders = applied(given, a_revision(given))
    leaders.spec["template"]["metadata"]["labels"][REVISION_KEY] = "edited"
    settled = set_settled(a_set_seen(given, leaders=leaders))
    assert settled.body(APPLY)["spec"]["template"]["metadata"]["labels"][REVISION_KEY] == key_of(a_revision(given))
    assert numbers(settled) == (0, 2)


def test_leaders_that_cannot_be_read_are_told() -> None:
    settled = set_settled(a_set_seen(leaders=None), statefulset_a=Bad("failed", "no answer"))
    assert (settled.reason, settled.writes) == (Reason.READ_FAILED, ())
    assert settled.held.details == (("statefulset/a", "no answer"),)


def test_a_revision_that_cannot_be_read_holds_the_set() -> None:
    """Nothing rolls, and the sentence says what to do."""
    given = a_set()
    key = key_of(a_revision(given))
    broken = replace(a_revision(given, key=key), data=Raw(b'"rubbish"'))
    settled = set_settled(a_set_seen(given, revisions=(broken,)))
    assert (settled.reason, settled.writes) == (Reason.REVISION_UNREADABLE, ())
    ((_, text),) = settled.held.details
    assert text.endswith("delete it, and what the spec says is recorded again under its key")
