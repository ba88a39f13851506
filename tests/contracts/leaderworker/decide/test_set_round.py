"""Rounds of sets: what is written and told, in which order, and what holds them (section 3.2)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from msgspec import Raw
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.revisions import key_of
from fairlead.contracts.leaderworker.decide.seen import ReportedStatus, SetSeen
from fairlead.contracts.leaderworker.kinds import (
    GROUP_RECREATIONS,
    LARGEST_REPLICAS,
    MAX_GROUP_RESTARTS,
    NAME,
    PAUSED,
    REPLICAS,
    REVISION_HISTORY_LIMIT,
    REVISION_KEY,
    TEARDOWN,
    LeaderWorkerSet,
    RollingUpdate,
    RolloutStrategy,
    StatefulSet,
)
from fairlead.core.act import Apply, Delete, Does, Patch
from fairlead.core.ask import Bad, Good
from fairlead.core.decision import Move
from fairlead.core.reason import Reason
from kubeloop.objects.meta import OwnerReference
from tests.contracts.leaderworker.decide.rounds import NOW, Settled, a_set_seen, applied, going, set_settled
from tests.contracts.leaderworker.decide.some import UID, a_leader, a_revision, a_set, some_workers

RECORD, APPLY, SERVICE, STATUS = Does.RECORD_REVISION, Does.APPLY_LEADERS, Does.CREATE_SERVICE, Does.REPORT_STATUS
OTHERS = (OwnerReference("LeaderWorkerSet", "a", "another", controller=True),)


def numbers(settled: Settled) -> tuple[int, int]:
    """Partition and replicas that are applied."""
    spec = settled.body(APPLY)["spec"]
    return spec["updateStrategy"]["rollingUpdate"]["partition"], spec["replicas"]


def at_rest(**changes: Any) -> Settled:
    """What a second round makes of a set whose status is as the first reported it."""
    seen = a_set_seen(**changes)
    first = set_settled(seen)
    if STATUS not in first.does:
        return first
    status = msgspec.convert(first.body(STATUS)["status"], type(seen.set.status))
    return set_settled(replace(seen, set=replace(seen.set, status=status)))


def test_at_rest_nothing_is_written() -> None:
    """S9."""
    settled = at_rest()
    assert (settled.does, settled.told, settled.asked, settled.reason) == ([], [], (), Reason.COMPLETE)


def test_a_new_set_is_recorded_before_anything_carries_its_key() -> None:
    """Section 3.2 step 3; nothing is reported before the leaders are there."""
    settled = set_settled(a_set_seen(leaders=None, pods=(), workers=(), revisions=(), services=()))
    assert settled.does == [RECORD, APPLY, SERVICE]
    assert settled.reason is Reason.SCALING
    assert numbers(settled) == (0, 2)
    assert [each.name for each in settled.asked] == ["a", settled.body(RECORD)["metadata"]["name"], "a"]
    apply = settled.writes[1]
    assert isinstance(apply, Apply)
    assert (apply.manager, apply.force, apply.resource_version, apply.contested) == ("lws", True, "", True)
    key = settled.body(RECORD)["metadata"]["labels"][REVISION_KEY]
    assert settled.body(APPLY)["metadata"]["labels"][REVISION_KEY] == key
    assert [each.tell.text for each in settled.writes if each.tell is not None] == [
        f"Creating revision with key {key} for a newly created LeaderWorkerSet",
        "Created leader statefulset a",
    ]


def test_a_revision_gets_another_name_than_one_that_lost_the_label_of_the_set() -> None:
    """Section 3.12 point 8: it is in no cache, so that its name would be refused for ever."""
    key = key_of(a_revision(a_set()))
    live: dict[str, Any] = {f"controllerrevision_a_{key}_1": Good(b'{"metadata":{"name":"it","labels":{}}}')}
    settled = set_settled(a_set_seen(revisions=()), **live)
    assert settled.body(RECORD)["metadata"]["name"] == f"a-{key}-2"
    assert settled.body(RECORD)["revision"] == 2


@pytest.mark.parametrize(("limit", "does"), [("0", [Does.RENEW_REVISION, Does.FORGET_REVISION]), ("1", [])])
def test_the_current_revision_becomes_the_newest_before_a_newer_one_goes(limit: str, does: list[Does]) -> None:
    """S12: one that was refused and taken back has the highest number, which would be given again."""
    given = a_set(observed=2, annotations={REVISION_HISTORY_LIMIT: limit})
    current, refused = a_revision(given, 1), a_revision(a_set("nginx:2"), 2)
    settled = at_rest(given=given, revisions=(current, refused), revision=current)
    assert settled.does == does
    if does:
        assert settled.body(Does.RENEW_REVISION) == {"revision": 3}


def test_a_revision_that_carries_the_label_of_the_set_is_waited_for_under_its_name() -> None:
    """Section 5.4: it is on its way into the cache."""
    key = key_of(a_revision(a_set()))
    found = msgspec.json.encode({"metadata": {"name": "it", "labels": {NAME: "a"}}})
    live: dict[str, Any] = {f"controllerrevision_a_{key}_1": Good(found)}
    settled = set_settled(a_set_seen(revisions=()), **live)
    assert settled.body(RECORD)["metadata"]["name"] == f"a-{key}-1"


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


def test_a_change_is_recorded_and_selected_and_moves_no_group() -> None:
    """Row 2 of section 3.10."""
    old = a_revision(a_set("nginx:1"))
    given = a_set("nginx:2")
    settled = set_settled(a_set_seen(given, revision=old, leaders=applied(a_set("nginx:1"), old)))
    assert settled.does == [RECORD, APPLY, STATUS]
    assert settled.reason is Reason.ROLLING
    assert numbers(settled) == (2, 2)
    apply = settled.writes[1]
    assert isinstance(apply, Apply)
    assert (apply.resource_version, apply.tell) == ("5", None)
    status = settled.writes[2]
    assert isinstance(status, Patch)
    assert (status.resource_version, status.subresource) == ("1", "status")
    assert settled.body(STATUS)["status"]["observedGeneration"] == 2


def a_rollout(replicas: int = 2, partition: int = 2, **changes: Any) -> Settled:
    """Of two groups on the old key, with both revisions there."""
    annotations = changes.pop("annotations", {})
    old_set = a_set("nginx:1", annotations=annotations)
    given = a_set("nginx:2", annotations=annotations, **changes.pop("spec", {}))
    old, new = a_revision(old_set), a_revision(given, 2)
    leaders = applied(given, new, partition=partition, leaders=replicas)
    key = key_of(old)
    seen = {
        "pods": tuple(a_leader(index, key) for index in range(replicas)),
        "workers": tuple(some_workers(index, key) for index in range(replicas)),
        **changes,
    }
    return set_settled(a_set_seen(given, revisions=(old, new), leaders=leaders, **seen))


def test_a_rollout_lowers_the_partition_and_tells_which_groups() -> None:
    settled = a_rollout()
    assert settled.does == [APPLY, STATUS]
    assert numbers(settled) == (1, 2)
    note = settled.writes[0].tell
    assert note is not None
    assert (note.text, note.reason, note.action) == ("Updating replica 1", "GroupsUpdating", "Update")
    assert note.related is not None
    assert note.related.name == a_revision(a_set("nginx:2"), 2).metadata.name


def test_old_groups_that_are_not_ready_block_it_and_are_named() -> None:
    """Section 5.24."""
    old = key_of(a_revision(a_set("nginx:1")))
    pods = (a_leader(0, old, ready=False), a_leader(1, old), a_leader(2, old))
    workers = tuple(some_workers(index, old) for index in range(3))
    settled = a_rollout(3, 3, pods=pods, workers=workers, spec={"replicas": 3})
    assert settled.reason is Reason.OLD_GROUPS_NOT_READY
    assert settled.does == [STATUS]
    assert settled.told == [
        "The rollout waits for old groups that are not ready: 0; to update others would exceed the budget"
    ]


def test_a_pause_holds_it() -> None:
    settled = a_rollout(annotations={PAUSED: "true"})
    assert (settled.reason, settled.does) == (Reason.PAUSED, [STATUS])


def test_a_partition_holds_it() -> None:
    strategy = RolloutStrategy(rolling_update_configuration=RollingUpdate(partition=2))
    settled = a_rollout(2, 2, spec={"rollout_strategy": strategy})
    assert settled.reason is Reason.PARTITION_REACHED
    assert settled.body(STATUS)["status"]["conditions"][0]["type"] == "Available"
    assert Does.FORGET_REVISION not in settled.does


def test_a_group_below_the_partition_that_is_not_ready_is_waited_for() -> None:
    strategy = RolloutStrategy(rolling_update_configuration=RollingUpdate(partition=2))
    old = key_of(a_revision(a_set("nginx:1")))
    pods = (a_leader(0, old, ready=False), a_leader(1, old))
    settled = a_rollout(2, 2, pods=pods, spec={"rollout_strategy": strategy})
    assert settled.reason is Reason.GROUPS_NOT_READY


def test_surge_groups_that_go_are_told() -> None:
    strategy = RolloutStrategy(rolling_update_configuration=RollingUpdate(max_surge=1, max_unavailable=0))
    key = key_of(a_revision(a_set("nginx:2")))
    pods, workers = (tuple(make(index, key) for index in range(3)) for make in (a_leader, some_workers))
    settled = a_rollout(3, 0, pods=pods, workers=workers, spec={"rollout_strategy": strategy})
    assert numbers(settled) == (0, 2)
    assert settled.told == ["deleting surge replica a-2"]


def test_a_finished_update_reports_first_and_then_forgets() -> None:
    """Section 3.12 point 9."""
    key = key_of(a_revision(a_set("nginx:2")))
    pods, workers = (tuple(make(index, key) for index in range(2)) for make in (a_leader, some_workers))
    settled = a_rollout(2, 0, pods=pods, workers=workers)
    assert settled.does == [STATUS, Does.FORGET_REVISION]
    forgotten = settled.writes[-1]
    assert isinstance(forgotten, Delete)
    assert forgotten.ref.uid == a_revision(a_set("nginx:1")).metadata.uid
    assert settled.reason is Reason.COMPLETE


def test_a_history_that_is_asked_for_is_kept() -> None:
    """Section 6.4."""
    key = key_of(a_revision(a_set("nginx:2")))
    pods, workers = (tuple(make(index, key) for index in range(2)) for make in (a_leader, some_workers))
    settled = a_rollout(2, 0, pods=pods, workers=workers, annotations={REVISION_HISTORY_LIMIT: "1"})
    assert settled.does == [STATUS]


def test_a_group_whose_leader_is_going_keeps_no_revision_but_counts_as_away() -> None:
    key = key_of(a_revision(a_set("nginx:2")))
    pods = (a_leader(0, key), going(a_leader(1, key)))
    workers = tuple(some_workers(index, key) for index in range(2))
    settled = a_rollout(2, 1, pods=pods, workers=workers)
    assert APPLY not in settled.does


@pytest.mark.parametrize("exists", [False, True])
def test_leaders_that_are_refused_are_told_and_nothing_is_reported(exists: bool) -> None:
    """Section 5.13."""
    given = a_set("nginx:2")
    old = a_revision(a_set("nginx:1"))
    leaders = applied(a_set("nginx:1"), old) if exists else None
    revisions = (old, a_revision(given, 2))
    settled = set_settled(a_set_seen(given, leaders=leaders, revisions=revisions), refused=APPLY)
    assert (settled.reason, settled.writes) == (Reason.OBJECT_REFUSED, ())
    verb = "update" if exists else "create"
    assert settled.told == [f"Failed to {verb} leader statefulset a: no"]
    assert [each.reason for each in settled.decision.tell] == ["FailedUpdate" if exists else "FailedCreate"]


def test_a_service_that_is_refused_holds_no_rollout_up() -> None:
    """Section 3.2: the leaders come before it."""
    old = a_revision(a_set("nginx:1"))
    seen = a_set_seen(a_set("nginx:2"), revision=old, leaders=applied(a_set("nginx:1"), old), services=())
    settled = set_settled(seen, refused=SERVICE)
    assert settled.does == [RECORD, APPLY]
    assert settled.told == ["Failed to create headless service for error: no"]

    settled = set_settled(a_set_seen(services=()), refused=SERVICE)
    assert (settled.reason, settled.does) == (Reason.OBJECT_REFUSED, [])


def test_a_service_of_an_old_release_is_left_alone() -> None:
    """Section 3.8: it has no label, so the cache lacks it."""
    settled = set_settled(a_set_seen(services=()), service_a=Good(b"{}"))
    assert SERVICE not in settled.does
    assert [each.name for each in settled.asked] == ["a"]


def test_no_shared_service_is_asked_for_where_every_group_has_its_own() -> None:
    given = a_set(network_config={"subdomainPolicy": "UniquePerReplica"})
    settled = set_settled(a_set_seen(given, services=()))
    assert SERVICE not in settled.does
    assert settled.asked == ()


def test_a_set_that_was_scaled_is_scaled_and_its_number_recorded() -> None:
    given = a_set(replicas=3, observed=2)
    revision = a_revision(given)
    leaders = applied(a_set(), revision)
    settled = set_settled(a_set_seen(given, revision=revision, leaders=leaders))
    assert numbers(settled) == (0, 3)
    assert settled.body(APPLY)["metadata"]["annotations"][REPLICAS] == "3"
    assert settled.reason is Reason.SCALING


def test_a_set_without_groups_is_available() -> None:
    """Section 5.21."""
    settled = set_settled(a_set_seen(a_set(replicas=0), pods=(), workers=()))
    assert settled.body(STATUS)["status"]["conditions"][0]["type"] == "Available"
    assert settled.reason is Reason.COMPLETE


def test_groups_that_are_left_as_they_are_are_named() -> None:
    """Section 6.8."""
    given = a_set(annotations={MAX_GROUP_RESTARTS: "1"})
    revision = a_revision(given)
    leaders = applied(given, revision)
    entry = msgspec.json.encode({f"{key_of(revision)}/1": {"n": 1, "due": "leader-1"}}).decode()
    annotations = {**leaders.metadata.annotations, GROUP_RECREATIONS: entry}
    leaders = replace(leaders, metadata=replace(leaders.metadata, annotations=annotations))
    settled = set_settled(a_set_seen(given, leaders=leaders))
    failed = [each for each in settled.body(STATUS)["status"]["conditions"] if each["type"] == "Failed"]
    assert failed[0]["message"].endswith("groups 1")


def test_annotations_that_cannot_be_used_are_told_once_per_generation() -> None:
    """Section 6.8."""
    asked = {PAUSED: "yes", TEARDOWN: "Serial", MAX_GROUP_RESTARTS: "many", REVISION_HISTORY_LIMIT: "-1"}
    settled = set_settled(a_set_seen(a_set(annotations=asked)))
    found = [each for each in settled.decision.tell if each.reason == "InvalidAnnotation"]
    assert [each.text.split(" is ")[0] for each in found] == [
        PAUSED,
        TEARDOWN,
        MAX_GROUP_RESTARTS,
        REVISION_HISTORY_LIMIT,
    ]
    assert {(each.occurrence, each.warning) for each in found} == {("2", True)}
    assert set_settled(a_set_seen(a_set(annotations={PAUSED: "true"}))).told == []


def test_pods_of_others_and_pods_without_an_index_count_for_nothing() -> None:
    """Section 5.31 and section 5.32."""
    key = key_of(a_revision(a_set()))
    odd = (
        a_leader(2, key, owner="another"),
        a_leader(3, key, labels={"leaderworkerset.sigs.k8s.io/group-index": "x"}),
    )
    pods = (*(a_leader(index, key) for index in range(2)), *odd)
    settled = set_settled(a_set_seen(pods=pods))
    assert settled.body(STATUS)["status"]["readyReplicas"] == 2


@pytest.mark.parametrize("seconds", [0.4, 1.0, -5.0])
def test_a_status_that_only_counts_anew_waits_a_little(seconds: float) -> None:
    """Section 3.2 step 7; a clock that was set back postpones nothing."""
    seen = a_set_seen()
    told = set_settled(seen).body(STATUS)["status"]
    given = replace(seen.set, status=msgspec.convert(told, type(seen.set.status)))
    assert seen.leaders is not None
    leaders = replace(seen.leaders, status=replace(seen.leaders.status, replicas=3))
    seen = replace(seen, set=given, leaders=leaders, reported=ReportedStatus(NOW, b""))
    settled = set_settled(seen, NOW + timedelta(seconds=seconds))
    assert settled.does == ([] if seconds == 0.4 else [STATUS])
    assert settled.held.again == (NOW + timedelta(seconds=1) if seconds == 0.4 else None)


def test_what_turns_is_reported_at_once() -> None:
    """Section 3.2 step 7: a condition, or a generation that is observed."""
    seen = replace(a_set_seen(), reported=ReportedStatus(NOW, b""))
    assert set_settled(seen).does == [STATUS]


def test_a_move_says_for_whom_it_is() -> None:
    """Every write is bound to the set, so that nothing is decided about it before the caches show it."""
    old = a_revision(a_set("nginx:1"))
    settled = set_settled(a_set_seen(a_set("nginx:2"), revision=old, leaders=applied(a_set("nginx:1"), old)))
    assert isinstance(settled.decision.verdict, Move)
    assert {each.scope for each in settled.writes} == {UID}


@pytest.mark.parametrize(
    ("template", "is_told"),
    [
        ({}, False),
        ({"image": "other"}, True),
        ({"args": ["more"]}, True),
        ({"image": None}, True),
    ],
    ids=["as they are", "another image", "more", "less"],
)
def test_a_key_that_is_given_to_another_spec_is_warned_of(template: dict[str, Any], is_told: bool) -> None:
    """Section 5.8: the revision was lost, and the spec changed while nobody looked."""
    before = a_set()
    key = key_of(a_revision(before))
    leaders = with_owned_containers(applied(before, a_revision(before)))
    (container,) = before.spec.leader_worker_template["workerTemplate"]["spec"]["containers"]
    changed = {name: value for name, value in {**container, **template}.items() if value is not None}
    worker = {"workerTemplate": {"spec": {"containers": [changed]}}}
    given = replace(
        before, spec=replace(before.spec, leader_worker_template={**before.spec.leader_worker_template, **worker})
    )

    settled = set_settled(a_set_seen(given, leaders=leaders, revisions=()))

    assert settled.body(RECORD)["metadata"]["labels"][REVISION_KEY] == key
    told = [each.text for each in settled.decision.tell if each.reason == "RevisionAssumed"]
    assert [text.startswith(f"There was no ControllerRevision with key {key}: ") for text in told] == [True] * is_told


def with_owned_containers(leaders: StatefulSet) -> StatefulSet:
    """The manager owns every field of the one container."""
    (container,) = leaders.spec["template"]["spec"]["containers"]
    fields: dict[str, Any] = {f"f:{name}": {} for name in container}
    entry = {f'k:{{"name":"{container["name"]}"}}': {".": {}, **fields}}
    (managed,) = leaders.metadata.managed_fields
    owned = {**managed.fields_v1, "f:spec": {"f:template": {"f:spec": {"f:containers": entry}}}}
    fields_v1 = replace(managed, fields_v1=owned)
    return replace(leaders, metadata=replace(leaders.metadata, managed_fields=(fields_v1,)))


def test_a_service_that_cannot_be_read_is_not_taken_for_absent() -> None:
    """What comes before it is done."""
    refused = Bad("refused", "user may not get services", 403)
    told = set_settled(a_set_seen(services=()), service_a=refused)
    assert (told.reason, told.writes) == (Reason.READ_FAILED, ())
    assert told.held.details == (("service/a", "user may not get services"),)

    first = set_settled(a_set_seen(leaders=None, pods=(), workers=(), revisions=(), services=()), service_a=refused)
    assert first.does == [RECORD, APPLY]


def test_a_generation_that_the_server_drops_is_not_written_again() -> None:
    """S9, with a definition of a release before 0.9."""
    seen = a_set_seen()
    first = set_settled(seen)
    (write,) = first.writes
    assert isinstance(write, Patch)
    status = msgspec.convert(first.body(STATUS)["status"], type(seen.set.status))
    dropped = replace(seen, set=replace(seen.set, status=replace(status, observed_generation=0)))

    assert set_settled(dropped).does == [STATUS]
    assert set_settled(replace(dropped, reported=ReportedStatus(NOW, b"another"))).does == [STATUS]
    assert set_settled(replace(dropped, reported=ReportedStatus(NOW, write.body))).does == []


@pytest.mark.parametrize("replicas", [LARGEST_REPLICAS + 1, 2**31 - 1])
def test_a_set_of_more_groups_than_can_be_looked_at_is_left_alone(replicas: int) -> None:
    """What is decided takes memory by its groups, of which anybody may ask for two thousand million."""
    settled = set_settled(a_set_seen(a_set(replicas=replicas, observed=2)))

    assert settled.reason is Reason.SPEC_INVALID
    assert settled.held.details[0][1].endswith("sets of more than 1000000 groups are left alone")
    assert settled.writes == ()


def test_leaders_that_somebody_has_scaled_to_very_many_are_taken_back() -> None:
    seen = a_set_seen()
    assert seen.leaders is not None
    many = {"replicas": 2**31 - 1}
    recorded = {**seen.leaders.metadata.annotations, REPLICAS: str(2**31 - 1)}
    for noted in (seen.leaders.metadata.annotations, recorded):
        metadata = replace(seen.leaders.metadata, annotations=noted)
        leaders = replace(seen.leaders, metadata=metadata, spec={**seen.leaders.spec, **many})

        settled = set_settled(replace(seen, leaders=leaders))

        assert settled.body(APPLY)["spec"]["replicas"] <= LARGEST_REPLICAS
