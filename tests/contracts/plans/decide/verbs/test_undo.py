"""Going back: which exchange of target and source undoes a rollout, and what else helps where none does."""

from __future__ import annotations

import pytest

from fairlead.contracts.plans.decide.verbs.undo import undo
from tests.contracts.plans.decide.cluster import Cluster, a_clone_set, a_pair
from tests.contracts.plans.decide.verbs.asked import Asked, gated, planned, refused, written


@pytest.mark.parametrize("place", [("batchInRolling", 0), ("batchVerifying", 1), None])
def test_undo_turns_round_in_flight_and_afterwards(place: tuple[str, int] | None) -> None:
    cluster = a_pair()
    cluster.play("rolloutSucceed") if place is None else cluster.play_to(*place)
    ask = Asked(cluster)

    plan = planned(ask(undo))
    written(cluster, plan)
    cluster.run()
    cluster.play("rolloutSucceed")

    assert plan.before == (
        "r goes back to Deployment d1 in its batches:\n"
        "  spec.targetRef: Deployment d2 -> Deployment d1\n"
        "  spec.sourceRef: Deployment d1 -> Deployment d2"
    )
    assert ("the attempt in flight is abandoned" in plan.said.lower()) == (place is not None)
    assert (cluster.size("d1"), cluster.size("d2")) == (5, 0)
    assert planned(ask(undo)).writes[0].shown[0] == "spec.targetRef: Deployment d1 -> Deployment d2"


def test_undo_leaves_gates_closed_unless_they_are_to_be_opened() -> None:
    ask = Asked(gated())

    assert "its gate after batch 0 stays" in planned(ask(undo)).said
    opened = planned(ask(undo, full="true")).writes[0]
    assert opened.patch["spec"]["rolloutPlan"] == {"lastBatchToRollout": 2}
    assert opened.shown[-1] == "spec.rolloutPlan.lastBatchToRollout: 0 -> 2"


def test_undo_with_several_sources_asks_for_one() -> None:
    cluster = a_pair(sources=("d1", "d0"))
    cluster.add_deployment("d0", 2)
    cluster.play_to("batchVerifying", 0)
    ask = Asked(cluster)

    assert refused(ask(undo)) == "r has several sources (d1, d0): choose one with --to-source NAME"
    assert refused(ask(undo, to_source="d7")) == "r has no source d7; there are d1, d0"
    spec = planned(ask(undo, to_source="d0")).writes[0].patch["spec"]
    assert (spec["targetRef"]["name"], [each["name"] for each in spec["sourceRef"]]) == ("d0", ["d2", "d1"])


def test_undo_needs_a_source_that_is_still_there() -> None:
    cluster = a_pair()
    cluster.play("rolloutSucceed")
    del cluster.objects["d1"]

    assert refused(Asked(cluster)(undo)).startswith("the Deployment d1 is not there any more")


def test_undo_of_what_is_updated_in_place_says_what_helps() -> None:
    cluster = a_clone_set()
    cluster.play_to("batchVerifying", 1)

    said = refused(Asked(cluster)(undo))

    assert said.startswith("the CloneSet c is updated in place, so r has no source to go back to: stop it with")
    assert "`fairlead abort r -n ns`" in said


def test_undo_of_a_scale_says_what_helps() -> None:
    cluster = Cluster({"targetSize": 9, "rolloutBatches": [{"replicas": 1}, {}]}, sources=())
    cluster.add_deployment("d2", 5)
    cluster.play_to("batchVerifying", 0)
    ask = Asked(cluster)

    assert "`fairlead abort r -n ns --revert` goes back to 5 pods" in refused(ask(undo))
    cluster.play()
    assert refused(ask(undo)).endswith("set spec.rolloutPlan.targetSize to 5")


def test_undo_of_what_is_not_rolled_is_refused() -> None:
    cluster = a_pair({"rolloutBatches": [{"replicas": 9}, {}]})
    cluster.play("rolloutFailed")

    assert refused(Asked(cluster)(undo)) == "nothing of r is rolled yet: change its spec instead"
