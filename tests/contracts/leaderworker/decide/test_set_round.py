"""Rounds of sets: what is written and told, in which order, and what holds them (section 3.2)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.revisions import key_of
from fairlead.contracts.leaderworker.decide.seen import ReportedStatus
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
    StatefulSet,
)
from fairlead.core.act import Apply, Does, Patch
from fairlead.core.ask import Bad, Good
from fairlead.core.decision import Move
from fairlead.core.reason import Reason
from tests.contracts.leaderworker.decide.rounds import (
    APPLY,
    NOW,
    RECORD,
    SERVICE,
    STATUS,
    a_set_seen,
    applied,
    at_rest,
    numbers,
    set_settled,
)
from tests.contracts.leaderworker.decide.some import UID, a_leader, a_revision, a_set


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
