"""Rounds of groups: what a leader gets, and what it waits for (section 3.4)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest
from msgspec import Raw
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.revisions import key_of
from fairlead.contracts.leaderworker.kinds import (
    EXCLUSIVE_TOPOLOGY,
    GROUP_INDEX,
    LEADER_NAME,
    NAME,
    PARALLEL_TEARDOWN,
    REVISION_KEY,
    SIZE,
    TEARDOWN,
    LeaderWorkerSet,
    Pod,
    PodSpec,
    StatefulSet,
)
from fairlead.contracts.leaderworker.settings import Settings
from fairlead.core.act import Create, Delete, Does
from fairlead.core.ask import Answers, Bad, Good
from fairlead.core.reason import Reason
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.meta import OwnerReference
from tests.contracts.leaderworker.decide.group_pods import KEY, restarted
from tests.contracts.leaderworker.decide.rounds import NOW, a_group_seen, applied, going, group_settled
from tests.contracts.leaderworker.decide.some import UID, a_leader, a_revision, a_set, a_template, some_workers

Tree = dict[str, Any]

WORKERS, SERVICE, POD_GROUP = Does.CREATE_WORKERS, Does.CREATE_SERVICE, Does.CREATE_POD_GROUP
SOON = NOW + timedelta(seconds=1)


def live(found: StatefulSet) -> Good:
    return Good(msgspec.json.encode(found))


def test_a_whole_group_is_left_as_it_is() -> None:
    settled = group_settled(a_group_seen())
    assert (settled.writes, settled.told, settled.asked, settled.reason) == ((), [], (), Reason.COMPLETE)
    assert settled.held.again is None


@pytest.mark.parametrize("lacking", ["set", "leader", "set going"])
def test_without_a_set_or_a_leader_nothing_is_done(lacking: str) -> None:
    given = a_set()
    seen = a_group_seen(given, workers=None)
    leaving = replace(given, metadata=replace(given.metadata, deletion_timestamp=NOW))
    changes: Tree = {"set": {"set": None}, "leader": {"leader": None}, "set going": {"set": leaving}}
    settled = group_settled(replace(seen, **changes[lacking]))
    assert (settled.writes, settled.asked) == ((), ())


@pytest.mark.parametrize(
    "change",
    [
        {"leader": restarted(a_leader(0, KEY, owner="another"))},
        {"leaders": None},
        {"leaders": applied(a_set(), a_revision(a_set()), uid="another")},
        {
            "leaders": applied(
                a_set(),
                a_revision(a_set()),
                owner_references=(OwnerReference("LeaderWorkerSet", "a", "another", controller=True),),
            )
        },
    ],
    ids=["leader of another", "no leaders", "other leaders", "leaders of another set"],
)
def test_whoever_only_carries_the_labels_gets_nothing_and_is_not_deleted(change: Tree) -> None:
    """Section 5.32 and S10."""
    settled = group_settled(a_group_seen(workers=None, **{"leader": restarted(a_leader(0, KEY)), **change}))
    assert (settled.writes, settled.told, settled.asked) == ((), [], ())


def test_a_leader_without_workers_gets_them_from_its_own_revision() -> None:
    """Section 3.4 step 5: the live set says something else."""
    old, given = a_set(template=a_template("nginx:1", size=3)), a_set(template=a_template("nginx:2", size=5))
    revision = a_revision(old)
    settled = group_settled(a_group_seen(given, revision=revision, workers=None))
    (create,) = settled.writes
    assert isinstance(create, Create)
    assert (create.does, create.scope, create.contested, create.refusable) == (WORKERS, "leader-0", True, True)
    body = settled.body(WORKERS)
    assert body["spec"]["replicas"] == 2
    assert body["spec"]["template"]["spec"]["containers"][0]["image"] == "nginx:1"
    assert body["spec"]["template"]["metadata"]["annotations"][SIZE] == "3"
    assert create.tell is not None
    assert (create.tell.text, create.tell.action) == ("Created worker statefulset for leader pod a-0", "Create")
    assert create.tell.related is not None
    assert create.tell.related.uid == "leader-0"
    assert [each.resource for each in settled.asked] == [STATEFULSETS]


def test_a_group_of_one_has_no_workers() -> None:
    """Section 5.26: by its own revision."""
    one, two = a_set(template=a_template(size=1)), a_set(template=a_template(size=2))
    assert group_settled(a_group_seen(two, revision=a_revision(one), workers=None)).writes == ()
    assert group_settled(a_group_seen(one, revision=a_revision(two), workers=None)).does == [WORKERS]


def test_a_leader_that_is_a_worker_is_told_and_gets_nothing() -> None:
    """Section 5.9."""
    leader = a_leader(0, KEY, meta={"annotations": {LEADER_NAME: "a-0"}})
    settled = group_settled(a_group_seen(leader=leader, workers=None))
    assert (settled.reason, settled.writes) == (Reason.GROUP_NESTED, ())
    (note,) = settled.decision.tell
    assert note.text.startswith(f"leader pod default/a-0 contains mistake annotation '{LEADER_NAME}': ")
    assert (note.warning, note.reason, note.action) == (True, "FailedCreate", "Create")


@pytest.mark.parametrize("index", ["", "x", "1.5", "99999999999"])
def test_a_leader_without_a_usable_index_is_left_alone(index: str) -> None:
    """Section 5.31."""
    leader = restarted(a_leader(0, KEY, labels={GROUP_INDEX: index}))
    settled = group_settled(a_group_seen(leader=leader, workers=None))
    assert (settled.reason, settled.writes) == (Reason.SPEC_INVALID, ())


# Revisions.


def test_a_revision_that_is_missing_is_looked_for_and_told() -> None:
    """Section 5.6."""
    settled = group_settled(a_group_seen(revisions=(), workers=None))
    assert (settled.reason, settled.writes, settled.held.again) == (Reason.REVISION_MISSING, (), SOON)
    assert settled.told == [f"There is no ControllerRevision with key {KEY}: no workers are made for leader pod a-0"]


def test_workers_that_are_there_need_no_revision() -> None:
    """Section 5.6."""
    settled = group_settled(a_group_seen(revisions=()))
    assert (settled.reason, settled.told, settled.held.again) == (Reason.COMPLETE, [], None)


def test_a_revision_of_another_set_is_none() -> None:
    """Section 5.11."""
    settled = group_settled(a_group_seen(revisions=(a_revision(a_set(), owner="another"),), workers=None))
    assert settled.reason is Reason.REVISION_MISSING


@pytest.mark.parametrize("data", [b"null", b'"rubbish"', b"[]", b"{}"])
def test_a_revision_that_cannot_be_read_is_told(data: bytes) -> None:
    broken = replace(a_revision(a_set()), data=Raw(data))
    settled = group_settled(a_group_seen(revisions=(broken,), workers=None))
    assert (settled.reason, settled.writes, settled.held.again) == (Reason.REVISION_UNREADABLE, (), SOON)
    problem = f"ControllerRevision {broken.metadata.name} cannot be read"
    assert settled.told == [f"Failed to create worker statefulset for leader pod a-0: {problem}"]


# What stands in the way.


@pytest.mark.parametrize("state", ["going", "of the leader before"])
def test_workers_of_the_leader_before_are_waited_for(state: str) -> None:
    """Section 5.27."""
    workers = some_workers(0, KEY, owner="leader-before")
    if state == "going":
        workers = replace(workers, metadata=replace(workers.metadata, owner_references=(), deletion_timestamp=NOW))
    settled = group_settled(a_group_seen(workers=workers))
    assert (settled.reason, settled.writes, settled.told) == (Reason.WORKERS_LEAVING, (), [])


@pytest.mark.parametrize("where", ["in the cache", "live"])
def test_workers_of_nobody_or_of_another_are_never_adopted(where: str) -> None:
    """Section 5.10 and section 5.29."""
    workers = some_workers(0, KEY)
    workers = replace(workers, metadata=replace(workers.metadata, owner_references=()))
    if where == "live":
        settled = group_settled(a_group_seen(workers=None), statefulset_a_0=live(workers))
    else:
        settled = group_settled(a_group_seen(workers=workers))
    problem = "a StatefulSet a-0 exists that the leader pod does not control"
    assert (settled.reason, settled.writes) == (Reason.NAME_TAKEN, ())
    assert settled.told == [f"Failed to create worker statefulset for leader pod a-0: {problem}"]
    assert settled.held.again == (NOW + timedelta(seconds=5) if where == "live" else None)


@pytest.mark.parametrize("state", ["own", "going"])
def test_workers_that_the_cache_lacks_are_waited_for(state: str) -> None:
    """Section 5.5."""
    workers = some_workers(0, KEY)
    if state == "going":
        workers = replace(workers, metadata=replace(workers.metadata, owner_references=(), deletion_timestamp=NOW))
    settled = group_settled(a_group_seen(workers=None), statefulset_a_0=live(workers))
    assert (settled.reason, settled.writes, settled.held.again) == (Reason.CACHE_BEHIND, (), SOON)


@pytest.mark.parametrize("label", [NAME, REVISION_KEY])
@pytest.mark.parametrize("where", ["in the cache", "live"])
def test_workers_whose_label_somebody_edited_are_told_and_left_alone(where: str, label: str) -> None:
    """Section 3.4 step 11: without the name of the set no watch ever shows them."""
    workers = some_workers(0, KEY, template={"metadata": {"labels": {REVISION_KEY: KEY}}})
    labels = {**workers.metadata.labels, label: "other"}
    workers = replace(workers, metadata=replace(workers.metadata, labels=labels))
    found: Tree = {"statefulset_a_0": live(workers)} if where == "live" else {}
    settled = group_settled(a_group_seen(workers=None if found else workers), **found)
    assert (settled.reason, settled.writes, settled.held.again) == (Reason.LABEL_CHANGED, (), None)
    should = "a" if label == NAME else KEY
    said = f"the label {label} of StatefulSet a-0 is other and should be {should}: somebody has changed it"
    assert settled.held.details == (("statefulset/a-0", said),)


@pytest.mark.parametrize("ready", [False, True])
def test_with_leader_ready_workers_come_after_their_leader(ready: bool) -> None:
    """Scenario 14."""
    given = a_set(startup_policy="LeaderReady")
    settled = group_settled(a_group_seen(given, leader=a_leader(0, KEY, ready=ready), workers=None))
    assert settled.does == ([WORKERS] if ready else [])
    assert ready or settled.reason is Reason.LEADER_STARTING


def exclusive(node: str = "node", topology: str = "rack") -> tuple[LeaderWorkerSet, Pod]:
    return a_set(annotations={EXCLUSIVE_TOPOLOGY: topology}), a_leader(0, KEY, spec=PodSpec(node_name=node))


def test_with_exclusive_placement_workers_wait_for_the_leaders_node() -> None:
    """Scenario 20."""
    given, leader = exclusive("")
    settled = group_settled(a_group_seen(given, leader=leader, workers=None))
    assert (settled.reason, settled.writes) == (Reason.LEADER_UNBOUND, ())


@pytest.mark.parametrize("node", [Bad("absent", "not found", 404), Good(b'{"metadata":{}}')])
def test_a_node_without_the_label_is_told_and_tried_again(node: Good | Bad) -> None:
    """Section 5.17."""
    given, leader = exclusive()
    settled = group_settled(a_group_seen(given, leader=leader, workers=None), node_node=node)
    assert (settled.reason, settled.writes) == (Reason.NODE_UNLABELLED, ())
    assert settled.reason.fails
    ((_, text),) = settled.held.details
    assert text in ("node node has no label rack", "node node cannot be read: not found")


def test_workers_follow_the_label_of_the_leaders_node() -> None:
    given, leader = exclusive()
    node = Good(b'{"metadata":{"labels":{"rack":"r1"}}}')
    settled = group_settled(a_group_seen(given, leader=leader, workers=None), node_node=node)
    assert settled.body(WORKERS)["spec"]["template"]["spec"]["nodeSelector"] == {"rack": "r1"}


def test_an_empty_topology_is_none() -> None:
    """Section 5.16."""
    given, leader = exclusive("", topology="")
    assert group_settled(a_group_seen(given, leader=leader, workers=None)).does == [WORKERS]


OLD = a_leader(0, KEY, meta={"creation_timestamp": NOW - timedelta(minutes=1)})
AHEAD = a_leader(0, KEY, meta={"creation_timestamp": NOW + timedelta(hours=1)})
"""By an API server whose clock goes before ours, or before ours was set back."""


def a_live_leader(**metadata: str) -> Good:
    return Good(msgspec.json.encode({"metadata": {"name": "a-0", "resourceVersion": "1", **metadata}}))


@pytest.mark.parametrize(
    "live",
    [
        {},
        {"pod_a_0": a_live_leader(uid="another")},
        {"pod_a_0": a_live_leader(uid="leader-0", deletionTimestamp="2026-03-01T12:00:00Z")},
    ],
)
@pytest.mark.parametrize("leader", [OLD, AHEAD], ids=["for long", "of the time to come"])
def test_nothing_is_made_for_a_leader_that_only_the_cache_has(live: dict[str, Any], leader: Pod) -> None:
    """It would be collected at once, and made again at once, for as long as the cache stands still."""
    settled = group_settled(a_group_seen(leader=leader, workers=None), **live)
    assert (settled.reason, settled.writes, settled.held.again) == (Reason.CACHE_BEHIND, (), SOON)


def test_a_leader_that_is_there_for_long_still_gets_its_workers() -> None:
    there = a_live_leader(uid="leader-0")
    assert group_settled(a_group_seen(leader=OLD, workers=None), pod_a_0=there).does == [WORKERS]
    assert group_settled(a_group_seen(leader=OLD)).asked == ()


# Services and PodGroups.

UNIQUE: Tree = {"network_config": {"subdomainPolicy": "UniquePerReplica"}}


def test_a_group_with_a_subdomain_of_its_own_gets_its_service_first() -> None:
    settled = group_settled(a_group_seen(a_set(**UNIQUE), workers=None, leader=a_leader(0, _unique_key())))
    assert settled.does == [SERVICE, WORKERS]
    assert settled.body(SERVICE)["metadata"]["name"] == "a-0"


def _unique_key() -> str:
    return key_of(a_revision(a_set(**UNIQUE)))


def test_a_service_that_is_there_is_left_alone() -> None:
    settled = group_settled(a_group_seen(a_set(**UNIQUE), leader=a_leader(0, _unique_key())), service_a_0=Good(b"{}"))
    assert settled.writes == ()


def test_workers_that_wait_need_their_service_no_less() -> None:
    given = a_set(startup_policy="LeaderReady", **UNIQUE)
    leader = a_leader(0, _unique_key(), ready=False)
    assert group_settled(a_group_seen(given, leader=leader, workers=None)).does == [SERVICE]


def test_with_a_gang_scheduler_a_group_gets_its_pod_group() -> None:
    """Section 6.2."""
    seen = a_group_seen(settings=Settings(gang_scheduler="volcano"), workers=None)
    settled = group_settled(seen)
    assert settled.does == [POD_GROUP, WORKERS]
    name = f"a-0-{KEY}"
    assert settled.body(POD_GROUP)["metadata"]["name"] == name
    known: Tree = {f"podgroup_a_0_{KEY}": a_pod_group("leader-0")}
    assert group_settled(seen, **known).does == [WORKERS]


def a_pod_group(leader_uid: str, **metadata: Any) -> Good:
    owner = {"apiVersion": "v1", "kind": "Pod", "name": "a-0", "uid": leader_uid, "controller": True}
    made = {"name": f"a-0-{KEY}", "uid": "group", "resourceVersion": "1", "ownerReferences": [owner], **metadata}
    return Good(msgspec.json.encode({"metadata": made}))


@pytest.mark.parametrize(
    "former", [a_pod_group("leader-before"), a_pod_group("leader-0", deletionTimestamp="2026-01-02T11:00:00Z")]
)
def test_the_pod_group_of_an_earlier_leader_goes_with_it_and_is_made_anew(former: Good) -> None:
    """A leader that came back at once has the same key; nothing would tell that its PodGroup went after that."""
    seen = a_group_seen(settings=Settings(gang_scheduler="volcano"), workers=None)
    known: Tree = {f"podgroup_a_0_{KEY}": former}
    settled = group_settled(seen, **known)
    text = f"PodGroup a-0-{KEY} of the leader before it is still there"
    assert (settled.writes, settled.reason, settled.held.again) == ((), Reason.OBJECTS_GOING, SOON)
    assert settled.held.details == (("pod/a-0", text),)
    assert group_settled(seen).does == [POD_GROUP, WORKERS]


@pytest.mark.parametrize(
    ("does", "note"),
    [
        (WORKERS, "Failed to create worker statefulset for leader pod a-0: no"),
        (SERVICE, "Failed to create headless service for error: no"),
        (POD_GROUP, "Failed to create PodGroup for leader pod a-0: no"),
    ],
)
def test_what_is_refused_is_told(does: Does, note: str) -> None:
    seen = a_group_seen(
        a_set(**UNIQUE),
        leader=a_leader(0, _unique_key()),
        settings=Settings(gang_scheduler="volcano"),
        workers=None,
    )
    settled = group_settled(seen, refused=does)
    assert (settled.reason, settled.writes, settled.told) == (Reason.OBJECT_REFUSED, (), [note])
    assert [each.reason for each in settled.decision.tell] == ["FailedCreate"]


def test_a_kind_of_pod_groups_that_is_not_installed_is_told_as_that() -> None:
    """The server says `404 page not found`, which names no cause."""
    seen = a_group_seen(settings=Settings(gang_scheduler="volcano"), workers=None)
    (write, _) = group_settled(seen).writes
    refused = Answers({write: Bad("absent", "404 page not found", 404)})
    settled = group_settled(replace(seen, answers=refused))
    (_, text), (note,) = settled.held.details[0], settled.told
    assert settled.reason is Reason.OBJECT_REFUSED
    assert text.startswith("the cluster has no kind PodGroup of scheduling.volcano.sh/v1beta1: install ")
    assert text in note


REFUSED = Bad("refused", "user may not get it", 403)


@pytest.mark.parametrize("place", range(3), ids=["service", "pod group", "workers"])
def test_what_cannot_be_read_is_not_taken_for_absent(place: int) -> None:
    """A right that is missing, say: what may be there is not made again."""
    key = _unique_key()
    seen = a_group_seen(
        a_set(**UNIQUE), leader=a_leader(0, key), settings=Settings(gang_scheduler="volcano"), workers=None
    )
    objects = ("service_a_0", f"podgroup_a_0_{key}", "statefulset_a_0")

    known: Tree = {**dict.fromkeys(objects[:place], Good(b"{}")), objects[place]: REFUSED}
    settled = group_settled(seen, **known)

    assert settled.reason is Reason.READ_FAILED
    assert [text for _, text in settled.held.details] == ["user may not get it"]


# Leaders that go.


@pytest.mark.parametrize("asked", [False, True])
def test_nothing_is_made_for_a_leader_that_is_going(asked: bool) -> None:
    """Scenario 28."""
    given = a_set(annotations={TEARDOWN: PARALLEL_TEARDOWN} if asked else {})
    seen = a_group_seen(given, leader=going(a_leader(0, KEY)))
    settled = group_settled(seen)
    if asked:
        (removed,) = settled.writes
        assert isinstance(removed, Delete)
        assert (removed.does, removed.ref.uid, removed.propagation) == (Does.REMOVE_WORKERS, "workers-0", "Background")
    else:
        assert (settled.writes, settled.reason) == ((), Reason.GROUP_LEAVING)
    assert group_settled(replace(seen, workers=None)).writes == ()


@pytest.mark.parametrize("workers", [some_workers(0, KEY, owner="another"), None])
def test_parallel_teardown_touches_only_what_the_leader_owns(workers: StatefulSet | None) -> None:
    """S10."""
    given = a_set(annotations={TEARDOWN: PARALLEL_TEARDOWN})
    assert group_settled(a_group_seen(given, leader=going(a_leader(0, KEY)), workers=workers)).writes == ()


def test_all_that_is_made_belongs_to_the_leader() -> None:
    settled = group_settled(a_group_seen(a_set(**UNIQUE), workers=None, leader=a_leader(0, _unique_key())))
    for does in (SERVICE, WORKERS):
        (owner,) = settled.body(does)["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["uid"], owner["controller"]) == ("Pod", "leader-0", True)
    assert UID not in {each.scope for each in settled.writes}
