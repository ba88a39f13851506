"""The document of a set: lanes, cells, and what every group waits for."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from fairlead.cli.views.explanation import explanation
from fairlead.cli.views.render import plain
from fairlead.contracts.leaderworker.decide.revisions import key_of
from fairlead.contracts.leaderworker.explain import explain
from fairlead.contracts.leaderworker.group_waits import MOST_WORKERS
from fairlead.contracts.leaderworker.kinds import (
    DISRUPTION_BUDGET,
    GROUP_INDEX,
    GROUP_KEY,
    GROUP_RECREATIONS,
    NAME,
    PAUSED,
    REVISION_KEY,
    WORKER_INDEX,
    RollingUpdate,
    SetCondition,
)
from fairlead.contracts.leaderworker.settings import Settings
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.explain import Block, Explain, Lane
from fairlead.core.reason import Reason
from kubeloop.objects.core import ContainerState, ContainerStatus, ContainerTerminated, ContainerWaiting
from kubeloop.objects.meta import Condition
from tests.contracts.leaderworker.decide.some import a_budget, a_leader, a_revision, a_set, a_template, the_leaders
from tests.contracts.leaderworker.showing import BEFORE, NEW_KEY, NOW, OLD_KEY, a_group, a_look, a_status

MID_ROLLOUT = f"""\
a  (leaderworker in namespace default)  Rolling

What it waits for
  - a-2 is not ready: container worker is not ready
    for 1m
    ends when the pod becomes ready
  - a-2-1 is not ready: container worker is not ready
    for 1m
    ends when the pod becomes ready

What it does next
  - update a-0 and a-1, the highest first; at most 1 of 3 groups may be
    unavailable

Where it stands: 0 of 3 groups
  a-0  Pending   0/2  ●o ●o
    from {OLD_KEY} (nginx:1) to {NEW_KEY} (nginx:2)
    - waiting for a-2 to become ready
      ends when the group becomes ready
  a-1  Pending   0/2  ●o ●o
    from {OLD_KEY} (nginx:1) to {NEW_KEY} (nginx:2)
    - waiting for a-2 to become ready
      ends when the group becomes ready
  a-2  Settling  0/2  ◐n ◐n

● ready  ◐ not ready  ◌ terminating  ○ missing  ✕ stuck  n new, o old revision"""


def lane(shown: Explain, index: int) -> Lane:
    return next(each for each in shown.stands.lanes if each.name == f"a-{index}")


def wait(shown: Explain, index: int, reason: Reason) -> Block:
    return next(each for each in lane(shown, index).waits if each.reason == reason.word)


OLD = [a_group(0, OLD_KEY), a_group(1, OLD_KEY)]


def test_a_rollout_half_way_is_told_group_by_group() -> None:
    shown = explain(a_look([*OLD, a_group(2, NEW_KEY, ready=False)], partition=2))

    assert plain(explanation(shown, NOW)) == MID_ROLLOUT
    assert (shown.outcome, shown.stands.unit) == ("waiting", "groups")


def test_a_group_whose_turn_has_come_waits_for_its_statefulset_and_not_for_itself() -> None:
    """It is ready, at the earlier revision; leaders go from above, not more at once than the StatefulSet may take."""
    shown = explain(a_look([*OLD, a_group(2, NEW_KEY, ready=False)], partition=0, update=RollingUpdate(3)))

    assert [lane(shown, index).phase for index in (0, 1)] == ["Updating", "Updating"]
    told = [wait(shown, index, Reason.GROUPS_NOT_READY).text for index in (1, 0)]
    turn = "StatefulSet a replaces its leader, and"
    assert told == [f"{turn} a-2 before it", f"{turn} a-1 and a-2 before it"]


def test_a_set_at_rest_is_done() -> None:
    shown = explain(a_look([a_group(index, NEW_KEY) for index in range(3)], Hold(Reason.COMPLETE)))

    assert (shown.outcome, shown.stands.phase, shown.stands.done) == ("done", "Current", 3)
    assert {each.phase for each in shown.stands.lanes} == {"Current"}
    assert (shown.blocked_by, shown.next) == ((), ())


def test_a_leader_without_a_node_is_waited_for_since_it_was_made() -> None:
    leader, _, _ = a_group(2, NEW_KEY, ready=False)
    held = Decision("await_node", Hold(Reason.LEADER_UNBOUND, details=(("pod/a-2", "its workers are made then"),)))
    found = wait(
        explain(a_look([*OLD, (leader, None, None)], partition=2, rounds={"a-2": held})), 2, Reason.LEADER_UNBOUND
    )

    assert (found.since, found.since_exact, found.object) == (BEFORE, True, "pod/a-2")
    assert found.advice == ("kubectl -n default describe pod a-2",)


def test_workers_of_the_leader_before_are_waited_for_since_they_were_deleted() -> None:
    leader, workers, _ = a_group(2, NEW_KEY)
    going = replace(workers, metadata=replace(workers.metadata, deletion_timestamp=BEFORE, owner_references=()))
    held = Decision("await_workers", Hold(Reason.WORKERS_LEAVING, details=(("pod/a-2", "StatefulSet a-2 is there"),)))
    shown = explain(a_look([*OLD, (leader, going, None)], partition=2, rounds={"a-2": held}))

    assert wait(shown, 2, Reason.WORKERS_LEAVING).since == BEFORE
    assert lane(shown, 2).phase == "Settling"


def test_a_pod_that_does_not_go_from_a_lost_node_is_named_with_its_node() -> None:
    leader, workers, worker = a_group(2, OLD_KEY)
    long_ago = NOW - timedelta(hours=1)
    gone = replace(leader, metadata=replace(leader.metadata, deletion_timestamp=long_ago))
    stays = replace(worker, metadata=replace(worker.metadata, deletion_timestamp=long_ago))
    shown = explain(a_look([*OLD, (gone, workers, stays)], partition=2))

    found = next(each for each in lane(shown, 2).waits if each.object == "pod/a-2-1")
    assert (found.reason, found.since, found.since_exact) == (Reason.POD_STUCK.word, long_ago, True)
    assert found.text == "a-2-1 is stuck: it does not finish shutting down on node node-1"
    assert any("--force" in each for each in found.advice)
    assert (lane(shown, 2).phase, shown.outcome) == ("Updating", "blocked")


@pytest.mark.parametrize("is_leaving", [True, False])
def test_workers_that_are_gone_are_not_waited_for_where_their_group_goes(is_leaving: bool) -> None:
    """Nothing makes them again before the group is gone."""
    leader, workers, _ = a_group(2, NEW_KEY, ready=False)
    if is_leaving:
        leader = replace(leader, metadata=replace(leader.metadata, deletion_timestamp=NOW))
    shown = explain(a_look([*OLD, (leader, workers, None)], partition=2))

    missing = [each.object for each in lane(shown, 2).waits if each.reason == Reason.POD_MISSING.word]
    assert missing == ([] if is_leaving else ["pod/a-2-1"])


def test_a_leader_that_does_not_go_from_a_lost_node_is_stuck_though_its_workers_stay() -> None:
    leader, workers, worker = a_group(2, OLD_KEY)
    long_ago = NOW - timedelta(hours=1)
    gone = replace(leader, metadata=replace(leader.metadata, deletion_timestamp=long_ago))
    shown = explain(a_look([*OLD, (gone, workers, worker)], partition=2))

    (found,) = (each for each in lane(shown, 2).waits if each.object == "pod/a-2")
    assert (found.reason, found.since, found.kind) == (Reason.POD_STUCK.word, long_ago, "blocked")
    assert shown.outcome == "blocked"


def test_an_old_group_that_is_not_ready_blocks_and_is_named() -> None:
    shown = explain(
        a_look(
            [a_group(0, OLD_KEY, ready=False), a_group(1, OLD_KEY), a_group(2, NEW_KEY)],
            Hold(Reason.OLD_GROUPS_NOT_READY),
            partition=2,
        )
    )

    assert (shown.outcome, shown.stands.phase, shown.next) == ("blocked", "Blocked", ())
    assert shown.blocked_by[0].text == (
        "a-0 is not ready at the earlier revision, and to update a ready group would leave fewer than 2 ready"
    )
    assert "set maxUnavailable to 2" in shown.blocked_by[0].advice[0]
    assert (lane(shown, 0).phase, lane(shown, 1).phase) == ("NotReady", "Pending")
    assert wait(shown, 1, Reason.OLD_GROUPS_NOT_READY).kind == "blocked"


def test_the_pod_that_keeps_an_old_group_is_told_first() -> None:
    leader, workers, worker = a_group(0, OLD_KEY)
    broken = ContainerState(waiting=ContainerWaiting("CrashLoopBackOff"))
    worker = replace(worker, status=a_status(False, broken, restarts=4))
    workers = replace(workers, status=replace(workers.status, available_replicas=0))
    groups = [(leader, workers, worker), a_group(1, OLD_KEY), a_group(2, NEW_KEY)]
    shown = explain(a_look(groups, Hold(Reason.OLD_GROUPS_NOT_READY), partition=2))

    first, second = shown.blocked_by[:2]
    assert first.text == "a-0-1 is stuck: container worker is in CrashLoopBackOff (4 restarts)"
    assert second.reason == Reason.OLD_GROUPS_NOT_READY.word


@pytest.mark.parametrize(
    ("observed", "available", "outcome"),
    [(2, "True", "done"), (0, "True", "done"), (2, "False", "waiting"), (1, "True", "waiting")],
)
def test_a_partition_holds_the_groups_below_it(observed: int, available: str, outcome: str) -> None:
    """Nothing is left to do once the set says that it is available (leaderworker 6.4)."""
    given = a_set("nginx:2", replicas=3, observed=observed)
    conditions = (SetCondition("Available", available),)
    given = replace(given, status=replace(given.status, conditions=conditions))
    groups, update = [*OLD, a_group(2, NEW_KEY)], RollingUpdate(partition=2)
    shown = explain(a_look(groups, Hold(Reason.PARTITION_REACHED), partition=2, update=update, given=given))

    assert (shown.outcome, shown.stands.phase, shown.next) == (outcome, "Held", ())
    assert [each.phase for each in shown.stands.lanes] == ["Held", "Held", "Current"]
    assert (lane(shown, 0).from_revision, lane(shown, 0).to_revision) == (OLD_KEY, NEW_KEY)
    assert '"partition":0' in shown.blocked_by[0].advice[0]


def test_a_partition_that_keeps_no_group_back_holds_nothing() -> None:
    groups = [a_group(index, NEW_KEY) for index in range(3)]
    shown = explain(a_look(groups, Hold(Reason.PARTITION_REACHED), partition=2, update=RollingUpdate(partition=2)))

    assert (shown.outcome, shown.stands.phase, shown.blocked_by) == ("done", "Current", ())


def test_a_pause_names_the_groups_that_stay_and_how_it_ends() -> None:
    shown = explain(a_look([*OLD, a_group(2, NEW_KEY)], Hold(Reason.PAUSED), partition=2, annotations={PAUSED: "true"}))

    assert (shown.outcome, shown.stands.phase) == ("held", "Paused")
    assert shown.blocked_by[0].text == "a is paused: a-0 and a-1 stay at the earlier revision"
    assert shown.blocked_by[0].advice == ("let it go on: fairlead resume a -n default",)
    assert lane(shown, 1).phase == "Paused"


@pytest.mark.parametrize(("reason", "partition"), [(Reason.COMPLETE, 0), (Reason.PAUSED, 2)])
def test_a_pause_is_said_where_nothing_waits_for_it(reason: Reason, partition: int) -> None:
    groups, update = [a_group(index, NEW_KEY) for index in range(3)], RollingUpdate(partition=partition)
    shown = explain(a_look(groups, Hold(reason), partition=partition, update=update, annotations={PAUSED: "true"}))

    assert (shown.outcome, shown.stands.phase, shown.next) == ("done", "Paused", ())
    (block,) = shown.blocked_by
    assert (block.kind, block.object) == ("held", "leaderworkerset/a")
    assert block.text == "a is paused: nothing waits for that now, and the next change will"
    assert block.advice == ("let it go on: fairlead resume a -n default",)


def test_a_pause_is_said_beside_what_is_waited_for() -> None:
    groups = [*(a_group(index, NEW_KEY) for index in range(2)), a_group(2, NEW_KEY, ready=False)]
    shown = explain(a_look(groups, Hold(Reason.GROUPS_NOT_READY), annotations={PAUSED: "true"}))

    assert (shown.outcome, shown.stands.phase) == ("waiting", "Settling")
    assert shown.notes == ("it is paused: a change of the template waits until `fairlead resume a -n default`",)


def test_a_pause_names_groups_that_are_not_removed() -> None:
    groups = [a_group(index, NEW_KEY) for index in range(4)]
    look = a_look(groups, Hold(Reason.PAUSED), annotations={PAUSED: "true"})
    leaders = look.seen.leaders
    assert leaders is not None
    more = replace(leaders, spec={**leaders.spec, "replicas": 4})
    shown = explain(replace(look, seen=replace(look.seen, leaders=more)))

    assert (shown.outcome, shown.stands.phase) == ("held", "Paused")
    assert shown.blocked_by[0].text == "a is paused: a-3 stays although fewer groups are wanted"


@pytest.mark.parametrize(
    ("reason", "phase", "outcome"),
    [(Reason.RESTARTS_EXCEEDED, "Held", "held"), (Reason.RECREATION_SPACING, "BackingOff", "waiting")],
)
def test_bounded_recreations_are_told_since_the_last_one(reason: Reason, phase: str, outcome: str) -> None:
    held = Decision("recreate", Hold(reason, details=(("pod/a-2", "pod a-2-1 failed"),)))
    look = a_look([*OLD, a_group(2, NEW_KEY, ready=False)], partition=2, rounds={"a-2": held})
    counted = {GROUP_RECREATIONS: f'{{"{NEW_KEY}/2":{{"n":3,"at":"2026-05-01T11:50:00Z"}}}}'}
    leaders = look.seen.leaders
    assert leaders is not None
    leaders = replace(leaders, metadata=replace(leaders.metadata, annotations=counted))
    shown = explain(replace(look, seen=replace(look.seen, leaders=leaders)))

    found = wait(shown, 2, reason)
    assert (found.since, found.since_exact) == (NOW - timedelta(minutes=10), True)
    assert (lane(shown, 2).phase, shown.outcome) == (phase, outcome)


def test_a_set_that_waits_for_stuck_pods_alone_is_blocked_and_undo_is_offered() -> None:
    leader, workers, worker = a_group(2, NEW_KEY, ready=False)
    waiting = ContainerState(waiting=ContainerWaiting("ImagePullBackOff"))
    stuck = [replace(each, status=a_status(False, waiting, 0)) for each in (leader, worker)]
    shown = explain(a_look([*OLD, (stuck[0], workers, stuck[1])], partition=2))

    assert (shown.outcome, shown.stands.phase) == ("blocked", "Blocked")
    assert [each.state for each in lane(shown, 2).cells] == ["stuck", "stuck"]
    assert wait(shown, 2, Reason.POD_STUCK).kind == "blocked"
    back = f"fairlead undo a -n default --to-revision {OLD_KEY}"
    assert wait(shown, 2, Reason.POD_STUCK).advice[-1] == f"go back to the earlier template: {back}"


def test_a_group_that_is_recreated_says_which_pod_failed_and_how() -> None:
    """Its pods come back at once and fail again, so this is the moment at which they tell."""
    leader, workers, worker = a_group(2, NEW_KEY, ready=False)
    ended = ContainerState(terminated=ContainerTerminated(BEFORE, BEFORE, 1, "Error"))
    failed = ContainerStatus("worker", False, ContainerState(), ended, 1)
    worker = replace(worker, status=replace(worker.status, container_statuses=(failed,)))
    leader, worker = (
        replace(each, metadata=replace(each.metadata, deletion_timestamp=NOW)) for each in (leader, worker)
    )

    shown = explain(a_look([*OLD, (leader, workers, worker)], partition=2))
    outdated = explain(a_look([*OLD, (leader, workers, worker)], partition=2, key="another"))

    first, second = lane(shown, 2).waits[:2]
    why = "as its group is recreated: a-2-1 failed (container worker was restarted, last ended with exit code 1)"
    assert (lane(shown, 2).phase, first.object) == ("Recreating", "pod/a-2")
    assert (first.text.endswith(why), second.text.endswith(why)) == (True, True)
    kept = "kubectl -n default annotate leaderworkersets a fairlead.dev/max-group-restarts=3"
    assert first.advice == (
        "how often that happened: kubectl -n default get events --field-selector reason=RecreateGroup",
        f"leave the group for a look after three times: {kept}",
        f"go back to the earlier template: fairlead undo a -n default --to-revision {OLD_KEY}",
    )
    assert second.advice == ()
    assert lane(outdated, 2).phase == "Updating", "this one goes because of the rollout"
    assert not any("recreated" in each.text for each in lane(outdated, 2).waits)


def test_the_way_back_passes_an_attempt_that_failed_before() -> None:
    """Group 1 never became ready at a revision that was given up, and group 0 did not move."""
    leader, workers, worker = a_group(2, NEW_KEY, ready=False)
    waiting = ContainerState(waiting=ContainerWaiting("ImagePullBackOff"))
    leader = replace(leader, status=a_status(False, waiting, 0))
    given_up = a_group(1, "broken", ready=False)

    shown = explain(a_look([a_group(0, OLD_KEY), given_up, (leader, workers, worker)], partition=2))

    assert wait(shown, 2, Reason.POD_STUCK).advice[-1].endswith(f"fairlead undo a -n default --to-revision {OLD_KEY}")


def test_groups_that_are_not_there_yet_are_missing() -> None:
    shown = explain(a_look([a_group(0, NEW_KEY)]))

    assert [each.phase for each in shown.stands.lanes] == ["Current", "Missing", "Missing"]
    assert [each.state for each in lane(shown, 1).cells] == ["missing", "missing"]
    missing = wait(shown, 1, Reason.POD_MISSING)
    assert missing.text == "a-1 does not exist yet: StatefulSet a makes it"
    assert missing.advice == ("see what keeps it from being made: kubectl -n default describe statefulset a",)


def test_a_leader_set_of_somebody_else_is_told_and_shows_no_groups() -> None:
    problem = "a StatefulSet a exists that this LeaderWorkerSet does not control"
    look = a_look(OLD, Hold(Reason.NAME_TAKEN, details=(("leaderworkerset/a", problem),)))
    foreign = the_leaders()
    foreign = replace(foreign, metadata=replace(foreign.metadata, owner_references=()))
    shown = explain(replace(look, seen=replace(look.seen, leaders=foreign)))

    assert (shown.outcome, shown.stands.phase, shown.stands.lanes) == ("blocked", "Blocked", ())
    assert [each.text for each in shown.blocked_by] == [problem]


def test_a_revision_that_cannot_be_read_leaves_the_groups_in_sight() -> None:
    held = Hold(Reason.REVISION_UNREADABLE, details=(("leaderworkerset/a", "delete it"),))
    look = a_look([a_group(0, NEW_KEY)], held, given=a_set("nginx:3", replicas=1))
    broken = tuple(replace(each, data=type(each.data)(b"[]")) for each in look.seen.revisions)
    shown = explain(replace(look, seen=replace(look.seen, revisions=broken)))

    assert (shown.stands.phase, shown.outcome) == ("Blocked", "blocked")
    assert lane(shown, 0).phase == "Current"


def test_a_pod_that_only_its_condition_calls_unready_is_waited_for() -> None:
    leader, workers, worker = a_group(2, NEW_KEY)
    gated = replace(leader, status=replace(leader.status, conditions=(Condition("Ready", "False"),)))
    shown = explain(a_look([*OLD, (gated, workers, worker)], partition=2))

    assert wait(shown, 2, Reason.PODS_NOT_READY).text == "a-2 is not ready: its condition Ready is not True"


def test_pods_of_others_with_the_labels_are_no_groups() -> None:
    foreign = a_leader(1, NEW_KEY, owner="somebody")
    shown = explain(a_look([a_group(0, NEW_KEY), (foreign, None, None)]))

    assert lane(shown, 1).phase == "Missing"


def test_it_is_said_why_there_is_no_surge() -> None:
    update = RollingUpdate(max_unavailable=3, max_surge=3)
    groups = [*OLD, a_group(2, OLD_KEY)]
    because = "at most 3 of 3 groups may be unavailable, so that no group of the surge is needed"

    selected = explain(a_look(groups, Move(Reason.ROLLING, ()), key=OLD_KEY, update=update))
    assert selected.next == (f"record revision {NEW_KEY}", f"then update a-0 to a-2, the highest first; {because}")
    moving = explain(a_look(groups, Move(Reason.ROLLING, ()), partition=3, update=update))
    assert moving.next == (f"update a-0 to a-2; {because}",)


@pytest.mark.parametrize(
    ("asked", "settings", "least", "note"),
    [
        ("1", Settings(), None, "no PodDisruptionBudget of the set is there, and no webhook is known here that"),
        ("1", Settings(keeps_budgets=True), 4, "PodDisruptionBudget a keeps 4 pods, which bounds pods and not groups"),
        ("1", Settings(reviews_evictions=True), None, "at most 1 of 3 groups at once: a webhook reviews them"),
        ("3", Settings(keeps_budgets=True), None, "evictions are not bounded: all 3 groups may be disturbed at once"),
    ],
)
def test_it_is_said_what_bounds_evictions(asked: str, settings: Settings, least: int | None, note: str) -> None:
    """leaderworker 6.8."""
    look = a_look([*OLD, a_group(2, OLD_KEY)], annotations={DISRUPTION_BUDGET: asked})
    budgets = () if least is None else (a_budget(least),)
    shown = explain(replace(look, seen=replace(look.seen, settings=settings, budgets=budgets)))

    (told,) = shown.notes
    assert note in told
    assert f"  - {told[:40]}" in plain(explanation(shown, NOW, 200))


def test_nothing_is_said_of_evictions_where_nobody_asks() -> None:
    shown = explain(a_look([*OLD, a_group(2, OLD_KEY)]))

    assert shown.notes == ()
    assert "What holds besides" not in plain(explanation(shown, NOW, 200))


@pytest.mark.parametrize(
    ("label", "value", "said", "back"),
    [
        (GROUP_INDEX, "7", "is 7 and should be 1", "1"),
        (GROUP_INDEX, None, "is missing and should be 1", "1"),
        (REVISION_KEY, "nonsense", f"is nonsense and should be {NEW_KEY}", NEW_KEY),
        (WORKER_INDEX, "3", "is 3 and should be 0", "0"),
    ],
)
def test_a_leader_whose_label_somebody_changed_is_told_with_what_puts_it_right(
    label: str, value: str | None, said: str, back: str
) -> None:
    groups = [a_group(index, NEW_KEY) for index in range(3)]
    leader, workers, worker = groups[1]
    labels = {key: text for key, text in {**leader.metadata.labels, label: value}.items() if text is not None}
    groups[1] = replace(leader, metadata=replace(leader.metadata, labels=labels)), workers, worker
    shown = explain(a_look(groups, Hold(Reason.GROUPS_NOT_READY)))

    assert shown.outcome == "blocked"
    block = shown.blocked_by[0]
    assert (block.reason, block.object, block.kind) == ("LabelChanged", "pod/a-1", "blocked")
    assert block.text == f"a-1: its label {label} {said}: somebody has changed it"
    assert block.advice == (f"put it back: kubectl -n default label --overwrite pod a-1 {label}={back}",)
    assert Reason.POD_MISSING.word not in {each.reason for each in shown.blocked_by}, "it is there"


def test_a_leader_that_no_webhook_has_admitted_is_told_as_that() -> None:
    """Nobody has changed its labels: while no webhook is registered, nobody gives it any."""
    groups = [a_group(index, NEW_KEY) for index in range(3)]
    leader, workers, worker = groups[1]
    labels = {key: text for key, text in leader.metadata.labels.items() if key not in (GROUP_INDEX, GROUP_KEY)}
    groups[1] = replace(leader, metadata=replace(leader.metadata, labels=labels)), workers, worker
    shown = explain(a_look(groups, Hold(Reason.GROUPS_NOT_READY)))

    assert shown.outcome == "blocked"
    block = shown.blocked_by[0]
    assert (block.object, block.kind) == ("pod/a-1", "blocked")
    assert block.text.startswith("a-1: it was made without the webhook of pods")
    assert [each.rpartition(": ")[2] for each in block.advice] == [
        "kubectl get mutatingwebhookconfigurations",
        "kubectl -n default delete pod a-1",
    ]
    assert not any("somebody has changed it" in each.text for each in shown.blocked_by)


def test_workers_whose_template_somebody_changed_are_told_with_what_puts_them_right() -> None:
    """All pods are ready: with `OnDelete`, nothing that the StatefulSet controller reports will change that."""
    groups = [a_group(index, NEW_KEY) for index in range(3)]
    leader, workers, worker = groups[1]
    status = replace(workers.status, current_revision="a-1-old", update_revision="a-1-new")
    groups[1] = leader, replace(workers, status=status), worker
    shown = explain(a_look(groups, Hold(Reason.GROUPS_NOT_READY)))

    (block,) = shown.blocked_by
    assert block.object == "statefulset/a-1"
    assert block.text == "StatefulSet a-1 has another template than its pods: somebody has changed it"
    assert block.advice == ("have it made again: kubectl -n default delete statefulset a-1",)


@pytest.mark.parametrize("is_seen", [True, False])
def test_workers_whose_label_somebody_changed_are_told_with_what_puts_it_back(is_seen: bool) -> None:
    """One without the name of the set is in no cache; nothing else is waited for, not even the group itself."""
    before, (leader, workers, worker), after = (a_group(index, NEW_KEY) for index in range(3))
    edited = replace(workers.metadata, labels={**workers.metadata.labels, REVISION_KEY: "other"})
    template = {"template": {"metadata": {"labels": {REVISION_KEY: NEW_KEY}}}}
    changed = replace(workers, metadata=edited, spec={**workers.spec, **template})
    groups = [before, (leader, changed if is_seen else None, worker), after]
    told = Decision("await_workers", Hold(Reason.LABEL_CHANGED, details=(("statefulset/a-1", "it was changed"),)))
    shown = explain(a_look(groups, Hold(Reason.GROUPS_NOT_READY), rounds={"a-1": told}))

    (block,) = shown.blocked_by
    assert (shown.outcome, lane(shown, 1).phase) == ("blocked", "Blocked")
    labels = f"{NAME}=a {REVISION_KEY}={NEW_KEY}" if is_seen else f"{NAME}=a"
    assert block.advice == (f"put it back: kubectl -n default label --overwrite statefulset a-1 {labels}",)
    assert [each.reason for each in lane(shown, 1).waits] == [Reason.LABEL_CHANGED.word]


def test_a_group_that_is_left_as_it_is_is_offered_no_way_back_where_there_is_none() -> None:
    held = Decision("recreate", Hold(Reason.RESTARTS_EXCEEDED, details=(("pod/a-2", "pod a-2-1 failed"),)))
    look = a_look([a_group(index, NEW_KEY) for index in range(3)], rounds={"a-2": held})
    assert len(wait(explain(look), 2, Reason.RESTARTS_EXCEEDED).advice) == 2

    alone = replace(look, seen=replace(look.seen, revisions=look.seen.revisions[1:]))
    advice = wait(explain(alone), 2, Reason.RESTARTS_EXCEEDED).advice
    assert advice == ("start it anew: kubectl -n default delete pod a-2",)


def test_a_set_that_asks_for_very_many_groups_is_explained_by_those_that_there_are() -> None:
    wanted = a_set("nginx:2", replicas=2**31 - 1)
    held = Hold(Reason.SPEC_INVALID, details=(("leaderworkerset/a", "too many"),))

    shown = explain(a_look([a_group(index, NEW_KEY) for index in range(3)], held, given=wanted))

    assert [each.name for each in shown.stands.lanes] == ["a-0", "a-1", "a-2"]
    assert "too many" in shown.blocked_by[0].text


def test_groups_of_very_many_workers_are_explained_by_the_first_of_them() -> None:
    wanted = a_set("nginx:2", replicas=3, template=a_template("nginx:2", size=2**31 - 1))
    key = key_of(a_revision(wanted))
    look = a_look([a_group(index, key) for index in range(3)], Hold(Reason.GROUPS_NOT_READY), given=wanted)
    look = replace(look, seen=replace(look.seen, revisions=(a_revision(wanted),)))

    shown = explain(look)

    assert max(len(each.cells) for each in shown.stands.lanes) <= MOST_WORKERS
