"""What a person asks of a plan, decided from what is read, and what the operator then makes of it."""

from __future__ import annotations

import pytest

from fairlead.contracts.plans.decide.verbs.actions import abort, retry
from fairlead.contracts.plans.decide.verbs.gates import promote
from fairlead.contracts.plans.decide.verbs.history import history
from fairlead.contracts.plans.decide.verbs.pause import pause, resume
from fairlead.contracts.plans.decide.verbs.targets import find
from fairlead.contracts.plans.decide.verbs.undo import undo
from fairlead.contracts.plans.kinds import Json
from fairlead.contracts.plans.verbs import VERBS
from fairlead.core.ask import Answer, Answers, Bad, Need, Question
from fairlead.core.verb import (
    Absent,
    VerbDecide,
    VerbRequest,
)
from kubeloop.objects.meta import Ref
from tests.contracts.plans.decide.cluster import a_clone_set, a_pair
from tests.contracts.plans.decide.verbs.asked import Asked, gated, nothing, planned, refused, written

DEPLOYMENT: Json = {
    "metadata": {"name": "r", "namespace": "ns", "uid": "u", "resourceVersion": "7", "generation": 1},
    "spec": {"targetApplicationName": "new", "sourceApplicationName": "old", "rolloutPlan": {"batchPartition": 0}},
    "status": {"rollingState": "rollingInBatches", "effectiveBatches": [1, 1], "targetGeneration": "x"},
}


@pytest.mark.parametrize("decide", [pause, resume, promote, abort, undo, retry, history])
def test_what_is_not_there_is_absent(decide: VerbDecide) -> None:
    assert Asked(None)(decide) == Absent()
    assert Asked(None)(decide, name="") == Absent()


@pytest.mark.parametrize(("name", "is_there"), [("r", True), ("other", False), ("", False)])
def test_a_rollout_is_found_by_its_name(name: str, is_there: bool) -> None:
    ask, known = Asked(a_pair()), dict[Question, Answer]()
    while isinstance(found := find(VerbRequest("ns", name), Answers(dict(known)), a_pair().now), Need):
        known |= {each: ask.answer(each) for stage in found.stages for each in stage}

    assert found is is_there


def test_a_pause_holds_until_it_is_resumed() -> None:
    cluster = a_pair()
    cluster.play_to("batchInRolling", 1)
    ask = Asked(cluster)

    plan = planned(ask(pause))
    written(cluster, plan)
    cluster.play(most=10)

    assert plan.said == (
        "r is paused: it stays in batch 1, and pods that are on their way become ready;"
        " `fairlead resume r -n ns` lets it go on"
    )
    assert (cluster.state, cluster.rollout.batch_rolling_state) == ("rollingInBatches", "batchInRolling")
    assert nothing(ask(pause)).startswith("r is paused already")
    written(cluster, planned(ask(resume)))
    cluster.play()
    assert cluster.state == "rolloutSucceed"
    assert nothing(ask(resume)).startswith("r is not paused")
    assert refused(ask(pause)) == "r has ended (rolloutSucceed): there is nothing to pause"


@pytest.mark.parametrize(
    "names", [("lastBatchToRollout",), ("batchPartition",), ("lastBatchToRollout", "batchPartition")]
)
def test_promote_opens_the_next_gate_under_the_names_that_the_object_uses(names: tuple[str, ...]) -> None:
    cluster = a_pair(dict.fromkeys(names, 0))
    cluster.play(most=40)
    ask = Asked(cluster)

    plan = planned(ask(promote))
    written(cluster, plan)
    cluster.play(most=40)

    assert plan.writes[0].patch["spec"] == {"rolloutPlan": dict.fromkeys(names, 1)}
    assert plan.said.startswith("r goes on up to batch 1 of 0 to 2, the next gate is after batch 1; follow it with")
    assert (cluster.rollout.batch_rolling_state, cluster.rollout.current_batch) == ("batchReady", 1)
    last = planned(ask(promote))
    assert "no gate is left" in last.said
    written(cluster, last)
    cluster.play()
    assert cluster.state == "rolloutSucceed"
    assert refused(ask(promote)) == "r has ended (rolloutSucceed): no gate of it is closed"


def test_promote_opens_all_gates_where_that_is_asked_for() -> None:
    cluster = gated(paused=None)

    plan = planned(Asked(cluster)(promote, full="true"))

    assert plan.writes[0].patch["spec"] == {"rolloutPlan": {"lastBatchToRollout": 2}}
    assert plan.writes[0].shown == ("spec.rolloutPlan.lastBatchToRollout: 0 -> 2",)


def test_promote_opens_gates_up_to_a_batch() -> None:
    ask = Asked(gated())

    assert planned(ask(promote, to_batch="2")).writes[0].shown == ("spec.rolloutPlan.lastBatchToRollout: 0 -> 2",)
    assert nothing(ask(promote, to_batch="0")) == "the gates of r are open up to batch 0 already"
    assert refused(ask(promote, to_batch="3")) == "r has no batch 3: its batches are 0 to 2"
    assert refused(ask(promote, to_batch="one")) == "r has no batch one: its batches are 0 to 2"
    assert refused(ask(promote, to_batch="1", full="true")).startswith("--full and --to-batch exclude each other")


def test_promote_before_its_batch_is_done_opens_the_gate_ahead() -> None:
    cluster = a_pair({"lastBatchToRollout": 0})
    cluster.play_to("batchInRolling", 0)

    assert planned(Asked(cluster)(promote)).writes[0].patch["spec"] == {"rolloutPlan": {"lastBatchToRollout": 1}}


def test_promote_says_that_a_pause_still_holds() -> None:
    cluster = gated()
    cluster.edit(paused=True)

    assert "it is paused until `fairlead resume r -n ns`" in planned(Asked(cluster)(promote)).said


@pytest.mark.parametrize("plan", [{}, {"lastBatchToRollout": 2}, {"batchPartition": 9}])
def test_without_a_gate_nothing_is_promoted(plan: Json) -> None:
    assert nothing(Asked(a_pair(plan))(promote)).startswith("r has no gate before its end")


def test_abort_stops_it_as_it_stands() -> None:
    cluster = a_pair()
    cluster.play_to("batchInRolling", 1)
    ask = Asked(cluster)

    plan = planned(ask(abort))
    written(cluster, plan)

    assert plan.writes[0].patch["metadata"]["annotations"] == {
        "fairlead.dev/rollout-action": f"abort@{cluster.now:%Y-%m-%dT%H:%M:%SZ}"
    }
    assert nothing(ask(abort)).startswith("r was asked to abort already")
    cluster.play()
    assert (cluster.state, cluster.size("d1"), cluster.size("d2")) == ("rolloutFailed", 4, 1)
    assert refused(ask(abort)) == "r has ended (rolloutFailed) and cannot be aborted"


def test_abort_takes_it_back_where_that_is_asked_for() -> None:
    cluster = a_pair()
    cluster.play_to("batchVerifying", 1)
    ask = Asked(cluster)

    plan = planned(ask(abort, revert="true"))
    written(cluster, plan)
    cluster.play()

    assert (cluster.state, cluster.size("d1"), cluster.size("d2")) == ("rolloutFailed", 5, 0)
    assert plan.warnings == ()
    assert nothing(ask(undo)).startswith("r is reverted already")


def test_what_stays_new_after_a_revert_in_place_is_told() -> None:
    cluster = a_clone_set()
    cluster.play_to("batchVerifying", 1)

    plan = planned(Asked(cluster)(abort, revert="true"))

    assert plan.warnings == ("new pods of the CloneSet go back only where its controller takes a raised partition so",)
    assert plan.said.startswith("r is given up; ")


def test_nothing_stays_new_where_a_component_revision_tells_the_template_of_before() -> None:
    cluster = a_clone_set()
    cluster.change(sourceRef=[cluster.reference("c-v1", "ControllerRevision")])
    cluster.outside = lambda _question: Bad("absent", code=404)
    cluster.play_to("batchVerifying", 1)

    plan = planned(Asked(cluster)(abort, revert="true"))

    assert plan.warnings == ()
    assert plan.said.startswith("r is given up and goes back: ")


def test_what_nobody_began_cannot_be_aborted() -> None:
    assert refused(Asked(a_pair())(abort)).startswith("the operator has not begun with r")


def test_retry_tries_again_what_failed() -> None:
    cluster = a_pair()
    cluster.play_to("batchInRolling", 1)
    ask = Asked(cluster)
    assert refused(ask(retry)).startswith("r has not failed (rollingInBatches)")
    written(cluster, planned(ask(abort)))
    cluster.play()

    plan = planned(ask(retry))
    cluster.now = cluster.now.replace(minute=cluster.now.minute + 1)
    written(cluster, planned(ask(retry)))

    assert "it had failed: aborted" in plan.said
    assert nothing(ask(retry)).startswith("r was asked to try again already")
    cluster.play("rolloutSucceed")
    assert (cluster.size("d1"), cluster.size("d2")) == (0, 5)


def test_retry_of_a_paused_plan_says_what_lets_it_go_on() -> None:
    cluster = a_pair({"paused": True})
    ask = Asked(cluster)
    cluster.play(most=20)
    written(cluster, planned(ask(abort)))
    cluster.play()

    assert "it is paused until `fairlead resume r -n ns`" in planned(ask(retry)).said


@pytest.mark.parametrize("decide", [pause, resume, promote, abort, undo, retry])
def test_what_is_being_deleted_is_not_changed(decide: VerbDecide) -> None:
    cluster = gated()
    cluster.delete()

    assert refused(Asked(cluster)(decide)) == "r is being deleted"


@pytest.mark.parametrize("decide", [pause, promote, abort])
def test_what_is_being_given_up_is_not_changed(decide: VerbDecide) -> None:
    cluster = gated()
    cluster.ask("abort@2026-03-01T12:00:00Z")
    cluster.run()

    assert refused(Asked(cluster)(decide)).startswith("r is being given up")


def test_an_abort_changes_whether_a_failure_goes_back() -> None:
    cluster = gated()
    cluster.ask("abort@2026-03-01T12:00:00Z")
    cluster.run()

    back = planned(Asked(cluster)(abort, revert="true"))
    written(cluster, back)
    cluster.run()
    stays = planned(Asked(cluster)(abort))

    assert back.said.startswith("r is given up and goes back")
    assert stays.said.startswith("r is given up: its workloads stay as they are")
    assert refused(Asked(cluster)(abort, revert="true")) == "r is being given up already (rolloutFailing)"


def test_an_abort_stops_what_follows_an_abandoned_attempt() -> None:
    cluster = gated()
    cluster.change(targetRef=cluster.reference("d3"))
    cluster.run()

    plan = planned(Asked(cluster)(abort))

    assert plan.said.startswith("r is released for another target, and is given up before anything of that is rolled")


def test_a_manifest_that_has_the_field_is_told() -> None:
    cluster = gated()
    ask = Asked(cluster)
    fields: Json = {"f:spec": {"f:rolloutPlan": {"f:lastBatchToRollout": {}}}}
    managed = [{"manager": "argocd-controller", "operation": "Apply", "fieldsV1": fields}]
    read = ask._read

    def with_managers(ref: Ref) -> Json | None:
        found = read(ref)
        if found is not None:
            found["metadata"]["managedFields"] = managed
        return found

    ask._read = with_managers  # type: ignore[method-assign]

    assert planned(ask(promote)).warnings == (
        "spec.rolloutPlan.lastBatchToRollout is in the manifest of argocd-controller: change it there as well",
    )


def test_application_deployments_have_the_same_verbs() -> None:
    ask = Asked(None, application=DEPLOYMENT)

    assert planned(ask(promote)).writes[0].patch["spec"] == {"rolloutPlan": {"batchPartition": 1}}
    assert planned(ask(undo)).writes[0].patch["spec"] == {
        "targetApplicationName": "old",
        "sourceApplicationName": "new",
    }


def test_app_rollouts_have_the_same_verbs() -> None:
    names = {"targetAppRevisionName": "shop-v2", "sourceAppRevisionName": "shop-v1"}
    spec = {"rolloutPlan": DEPLOYMENT["spec"]["rolloutPlan"], **names}
    ask = Asked(None, application={**DEPLOYMENT, "spec": spec}, kind="AppRollout")

    assert planned(ask(promote)).writes[0].patch["spec"] == {"rolloutPlan": {"batchPartition": 1}}
    back = planned(ask(undo))
    assert back.writes[0].ref.resource.kind == "AppRollout"
    assert back.writes[0].patch["spec"] == {"targetAppRevisionName": "shop-v1", "sourceAppRevisionName": "shop-v2"}
    assert "goes back to the ApplicationRevision shop-v1 in its batches" in back.said

    first = Asked(None, application={**DEPLOYMENT, "spec": {**spec, "sourceAppRevisionName": ""}}, kind="AppRollout")
    said = refused(first(undo))
    assert said == (
        "r brought the first ApplicationRevision and has no source to go back to: `fairlead abort r -n ns --revert` "
        "goes back to 0 pods"
    )

    last = {**DEPLOYMENT["status"], "lastTargetAppRevision": "shop-v2", "LastSourceAppRevision": "shop-v1"}
    unnamed = {**DEPLOYMENT, "spec": {**spec, "sourceAppRevisionName": ""}, "status": last}
    back = planned(Asked(None, application=unnamed, kind="AppRollout")(undo))
    assert back.writes[0].patch["spec"] == {"targetAppRevisionName": "shop-v1", "sourceAppRevisionName": "shop-v2"}


def test_one_of_two_of_the_same_name_is_chosen_by_its_noun() -> None:
    ask = Asked(gated(), application=DEPLOYMENT)

    assert planned(ask(promote)).writes[0].ref.resource.kind == "RolloutTrait"
    chosen = planned(ask(promote, noun="applicationdeployment"))
    assert chosen.writes[0].ref.resource.kind == "ApplicationDeployment"
    assert ask(promote, noun="other") == Absent()


def test_what_a_plan_does_not_have_says_what_to_do_instead() -> None:
    assert "kubectl rollout restart" in VERBS.rows["restart"].sentence  # type: ignore[union-attr]
