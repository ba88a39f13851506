"""Single rounds of DisaggregatedSets (section 6.7): names, scalers, slices, Services, placement, status, refusals."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from msgspec.structs import replace

from fairlead.contracts.leaderworker.decide.disaggregated.children import child_body
from fairlead.contracts.leaderworker.decide.disaggregated.round import MOST_REFUSED, decide
from fairlead.contracts.leaderworker.disaggregated.kinds import (
    APP,
    EXTERNAL,
    NAME,
    REVISION,
    ROLE,
    ROLE_SCALERS,
    SLICE,
)
from fairlead.contracts.leaderworker.kinds import LEADER_WORKER_SETS
from fairlead.core.ask import Bad
from fairlead.core.decision import Decision, Hold
from fairlead.core.reason import Reason
from kubeloop.objects.core import SERVICES
from tests.contracts.leaderworker.decide.disaggregated.world import Tree, World, a_role

ROLES = (a_role("prefill", 2), a_role("decode", 1))


def at_rest(*roles: Tree, **spec: Any) -> World:
    world = World(*(roles or ROLES), **spec)
    world.settle()
    return world


def unsliced(world: World) -> str:
    """Has all children and Services as a release made them that knew no slices, under a hash of its own."""
    (old,) = world.revisions()
    for resource, suffix in ((LEADER_WORKER_SETS, ""), (SERVICES, "-prv")):
        objects = world.objects[resource]
        for role in ("prefill", "decode"):
            tree = objects.pop(f"ds-0-{old}-{role}{suffix}")
            name = f"ds-cafe0001-{role}{suffix}"
            tree["metadata"]["name"] = name
            _relabel(tree["metadata"]["labels"], role)
            if resource is LEADER_WORKER_SETS:
                labels = tree["spec"]["leaderWorkerTemplate"]["workerTemplate"]["metadata"]["labels"]
                _relabel(labels, role)
            objects[name] = tree
    return "cafe0001"


def _relabel(labels: dict[str, str], role: str) -> None:
    labels.pop(SLICE)
    labels[REVISION] = "cafe0001"
    if APP in labels:
        labels[APP] = f"ds-{role}"


def held(decision: Decision) -> tuple[Reason, list[str]]:
    assert isinstance(decision.verdict, Hold)
    return decision.verdict.reason, [text for _, text in decision.verdict.details]


def test_a_child_has_the_spec_of_its_role_and_labels_everywhere() -> None:
    role = a_role("prefill", 3, metadata={"labels": {"team": "y", APP: "mine"}, "annotations": {"note": "z"}})
    template = role["spec"]["leaderWorkerTemplate"]
    template["leaderTemplate"] = deepcopy(template["workerTemplate"])
    world = World(role, a_role("decode"))

    seen = world.seen().set
    body = child_body(seen, seen.spec.roles[0], 2, "abcd1234", 3)

    labels = {APP: "ds-2-prefill", NAME: "ds", ROLE: "prefill", SLICE: "2", REVISION: "abcd1234"}
    assert body["metadata"]["name"] == "ds-2-abcd1234-prefill"
    assert body["metadata"]["labels"] == {"team": "y", **labels}
    assert body["metadata"]["annotations"] == {"note": "z"}
    for name in ("leaderTemplate", "workerTemplate"):
        assert body["spec"]["leaderWorkerTemplate"][name]["metadata"]["labels"] == {"team": "x", **labels}
    assert body["spec"]["replicas"] == 3
    assert "labels" in seen.spec.roles[0].template["workerTemplate"]["metadata"]
    assert NAME not in seen.spec.roles[0].template["workerTemplate"]["metadata"]["labels"], "the role stays as it is"


@pytest.mark.parametrize("kind", ["ExclusiveSlice", "ExclusiveTopology"])
@pytest.mark.parametrize("index", [0, 1])
def test_placement_terms(kind: str, index: int) -> None:
    world = World(*ROLES, slices=2, placementPolicy={"type": kind, "topology": "rack"})
    seen = world.seen().set

    body = child_body(seen, seen.spec.roles[0], index, "abcd1234", 1)

    affinity = body["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["affinity"]
    (together,) = affinity["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    apart, *others = affinity["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    of_set = {"key": NAME, "operator": "In", "values": ["ds"]}
    exists = {"key": SLICE, "operator": "Exists"}
    assert together == {
        "labelSelector": {"matchExpressions": [of_set, {"key": SLICE, "operator": "In", "values": [str(index)]}]},
        "topologyKey": "rack",
    }
    not_this = {"key": SLICE, "operator": "NotIn", "values": [str(index)]}
    assert apart["labelSelector"]["matchExpressions"] == [of_set, *([exists] if index == 0 else []), not_this]
    assert [each["labelSelector"]["matchExpressions"] for each in others] == (
        [[{"key": NAME, "operator": "Exists"}, {"key": NAME, "operator": "NotIn", "values": ["ds"]}, exists]]
        if kind == "ExclusiveTopology"
        else []
    )


def test_a_change_of_placement_rolls_nothing() -> None:
    world = at_rest(placementPolicy={"type": "ExclusiveSlice", "topology": "rack"})
    before = world.replicas()

    world.edit(lambda spec: spec.update(placementPolicy={"type": "ExclusiveTopology", "topology": "row"}))
    world.settle()

    assert world.replicas() == before


def test_children_of_another_controller_are_taken_over_as_they_are() -> None:
    """Whatever their revision is called, and though no slice is in their names (scenario 32)."""
    world = at_rest()
    revision = unsliced(world)
    before, count = world.replicas(), world.writes

    world.settle()

    assert (world.replicas(), world.writes) == (before, count)
    world.give_image("b")
    world.settle()
    assert revision not in world.revisions()
    assert set(world.replicas()) == {
        f"ds-0-{each}-{role}" for each in world.revisions() for role in ("prefill", "decode")
    }


@pytest.mark.parametrize(
    "respell",
    [
        lambda template: template.update(restartPolicy="RecreateGroupOnPodRestart"),
        lambda template: template["workerTemplate"]["metadata"].update(creationTimestamp=None),
        lambda template: template["workerTemplate"]["spec"]["containers"][0].update(resources={}),
        lambda template: template["workerTemplate"]["metadata"]["labels"].update({APP: "of-the-user"}),
    ],
    ids=["default", "null", "empty", "label that is overwritten"],
)
def test_another_spelling_of_a_template_rolls_nothing(respell: Any) -> None:
    world = at_rest()
    before = world.replicas()

    world.edit(lambda spec: respell(spec["roles"][0]["spec"]["leaderWorkerTemplate"]))
    world.edit(lambda spec: spec["roles"].reverse())
    world.settle()

    assert world.replicas() == before


def test_unsliced_children_are_made_anew_when_there_are_slices() -> None:
    world = at_rest()
    unsliced(world)
    world.edit(lambda spec: spec.update(slices=2))

    world.round()

    assert world.children == {}
    assert world.services == set()
    world.settle()
    assert world.counts() == {"0/prefill": 2, "0/decode": 1, "1/prefill": 2, "1/decode": 1}
    assert all(each.startswith(("ds-0-", "ds-1-")) for each in (*world.children, *world.services))


def test_slices_that_are_too_many_go_with_their_services() -> None:
    world = at_rest(slices=3)
    assert len(world.children) == len(world.services) == 6

    world.edit(lambda spec: spec.update(slices=1))
    world.round()

    (revision,) = world.revisions()
    assert set(world.children) == {f"ds-0-{revision}-prefill", f"ds-0-{revision}-decode"}
    assert len(world.services) == 2
    assert f"Deleted LWS ds-2-{revision}-prefill for removed slice 2" in world.told


def test_a_name_that_is_taken_stops_its_slice_alone() -> None:
    world = at_rest(slices=2)
    (revision,) = world.revisions()
    del world.children[f"ds-0-{revision}-decode"]
    del world.children[f"ds-1-{revision}-decode"]
    taken = f"ds-0-{revision}-decode"
    foreign = world.add(LEADER_WORKER_SETS, taken, {"metadata": {"labels": {}}, "spec": {}}, owner="other")

    world.round()
    decision = world.round()

    assert f"ds-1-{revision}-decode" in world.children
    assert world.children[taken] is foreign
    reason, details = held(decision)
    assert reason is Reason.NAME_TAKEN
    assert details == [f"a LeaderWorkerSet {taken} exists that this DisaggregatedSet does not control"]
    assert decision.verdict.again is not None
    assert any(taken in text for text in world.told)


def test_a_refusal_stops_its_slice_alone_and_is_told() -> None:
    world = World(*ROLES, slices=2)
    revision = next(iter(world.decided()[0].verdict.writes)).name.split("-")[2]  # type: ignore[union-attr]
    world.refused = {f"ds-0-{revision}-prefill": "size is wrong"}

    world.round()
    decision = world.round()

    assert set(world.children) == {f"ds-1-{revision}-prefill", f"ds-1-{revision}-decode"}
    assert held(decision) == (Reason.OBJECT_REFUSED, ["size is wrong"])
    assert f"Failed to create ds-0-{revision}-prefill: size is wrong" in world.told
    assert [each["name"] for each in world.status["roleStatuses"]] == ["prefill", "decode"]


def test_of_many_slices_that_are_refused_only_a_few_are_tried() -> None:
    world = World(*ROLES, slices=100)
    revision = next(iter(world.decided()[0].verdict.writes)).name.split("-")[2]  # type: ignore[union-attr]
    world.refused = {f"ds-{index}-{revision}-prefill": "size is wrong" for index in range(100)}

    reason, details = held(world.round())

    assert (reason, len(details)) == (Reason.OBJECT_REFUSED, MOST_REFUSED)
    assert world.children == {}
    assert _condition(world) == "Progressing"
    world.refused = {}
    world.settle()
    assert len(world.children) == 200


def _condition(world: World) -> str:
    (holding,) = (each["type"] for each in world.status["conditions"] if each["status"] == "True")
    return str(holding)


def test_an_external_role_gets_a_scaler_with_what_there_is() -> None:
    world = at_rest(a_role("prefill", 4), a_role("decode", 2))

    world.edit(lambda spec: spec["roles"][0].update(scaling={"mode": EXTERNAL}))
    world.settle()

    scaler = world.objects[ROLE_SCALERS]["ds-prefill"]
    assert scaler["spec"] == {"replicas": 4}
    assert scaler["metadata"]["labels"] == {NAME: "ds", ROLE: "prefill"}
    assert world.counts() == {"0/prefill": 4, "0/decode": 2}
    status = scaler["status"]
    assert status["replicas"] == 4
    assert status["selector"] == (
        "disaggregatedset.x-k8s.io/name=ds,disaggregatedset.x-k8s.io/role=prefill,"
        "leaderworkerset.sigs.k8s.io/worker-index=0"
    )
    (condition,) = status["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == ("Ready", "True", "Bound")
    assert "Created scaler ds-prefill for role prefill" in world.told


def test_scalers_that_are_not_known_yet_are_waited_for_where_a_role_wants_one() -> None:
    static, external = World(*ROLES), World(a_role("prefill", scaling={"mode": EXTERNAL}), a_role("decode"))

    for world in (static, external):
        decision = decide(replace(world.seen(), knows_scalers=False), world.now)
        assert isinstance(decision, Decision)
        reason = decision.verdict.reason
        assert reason is (Reason.CACHE_BEHIND if world is external else Reason.SCALING)


def test_an_external_role_that_is_new_begins_with_one() -> None:
    world = at_rest(a_role("prefill", 3, scaling={"mode": EXTERNAL}), a_role("decode", 2))

    assert world.objects[ROLE_SCALERS]["ds-prefill"]["spec"] == {"replicas": 1}
    assert world.counts() == {"0/prefill": 1, "0/decode": 2}


def test_a_scaler_scales_its_role_and_goes_with_the_mode() -> None:
    world = at_rest(a_role("prefill", 3, scaling={"mode": EXTERNAL}), a_role("decode", 2))

    world.objects[ROLE_SCALERS]["ds-prefill"]["spec"]["replicas"] = 5
    world.settle()
    assert world.counts()["0/prefill"] == 5

    world.edit(lambda spec: spec["roles"][0].update(scaling={"mode": "Static"}))
    world.settle()
    assert world.objects[ROLE_SCALERS] == {}
    assert world.counts()["0/prefill"] == 3
    assert "Deleted scaler ds-prefill (role prefill is no longer External)" in world.told


@pytest.mark.parametrize("wanted", [0, 1, 6])
def test_an_autoscaler_takes_nothing_new_away_while_a_rollout_is_on_its_way(wanted: int) -> None:
    world = at_rest(a_role("prefill", 1, scaling={"mode": EXTERNAL}), a_role("decode", 2))
    scaler = world.objects[ROLE_SCALERS]["ds-prefill"]
    scaler["spec"]["replicas"] = 4
    world.settle()
    (old,) = world.revisions()
    world.give_image("b")
    for _ in range(6):
        world.round()
        world.become_ready()
    (new,) = world.revisions() - {old}
    grown = world.replicas()[f"ds-0-{new}-prefill"]
    assert grown > 1

    def check() -> None:
        there = world.replicas()
        if there.get(f"ds-0-{old}-prefill"):
            assert there[f"ds-0-{new}-prefill"] >= grown

    scaler["spec"]["replicas"] = wanted
    world.watch = check
    world.settle()

    assert world.counts() == {"0/prefill": wanted, "0/decode": 2}
    assert world.revisions() == {new}


def test_a_scaler_of_somebody_else_leaves_its_role_as_it_is() -> None:
    world = at_rest(a_role("prefill", 4), a_role("decode", 2))
    foreign = world.add(
        ROLE_SCALERS, "ds-prefill", {"metadata": {"labels": {}}, "spec": {"replicas": 9}}, owner="other"
    )

    world.edit(lambda spec: spec["roles"][0].update(scaling={"mode": EXTERNAL}))
    decision = world.round()

    assert world.counts() == {"0/prefill": 4, "0/decode": 2}
    assert world.objects[ROLE_SCALERS] == {"ds-prefill": foreign}
    assert "Scaler ds-prefill exists but is not controlled by this DisaggregatedSet; not adopting" in world.told
    assert held(decision)[0] is Reason.NAME_TAKEN


def test_services_come_when_every_role_has_something_ready() -> None:
    world = World(*ROLES)
    world.round()
    (revision,) = world.revisions()
    world.become_ready(f"ds-0-{revision}-prefill")
    world.round()
    assert world.services == set()

    world.become_ready()
    world.round()

    assert world.services == {f"ds-0-{revision}-prefill-prv", f"ds-0-{revision}-decode-prv"}
    service = world.objects[SERVICES][f"ds-0-{revision}-decode-prv"]
    selector = {NAME: "ds", ROLE: "decode", SLICE: "0", REVISION: revision}
    assert service["spec"] == {"clusterIP": "None", "selector": selector}
    assert service["metadata"]["labels"] == selector


def test_old_services_stay_while_their_revision_serves_in_every_role() -> None:
    world = at_rest()
    (old,) = world.revisions()
    world.give_image("b")
    seen: set[tuple[bool, bool]] = set()

    def watch() -> None:
        serves = all(
            world.children.get(f"ds-0-{old}-{role}", {}).get("status", {}).get("readyReplicas", 0)
            for role in ("prefill", "decode")
        )
        seen.add((serves, any(old in each for each in world.services)))

    world.watch = watch
    world.settle()

    assert (True, True) in seen
    assert (True, False) not in seen
    assert not any(old in each for each in world.services)


def test_a_service_under_the_name_is_left_alone_whoever_made_it() -> None:
    world = World(*ROLES)
    world.round()
    (revision,) = world.revisions()
    name = f"ds-0-{revision}-decode-prv"
    world.objects[SERVICES][name] = {"metadata": {"name": name}}
    world.unseen = {name}

    world.settle()

    assert world.objects[SERVICES][name] == {"metadata": {"name": name}}
    assert len(world.services) == 2


def test_a_service_of_which_nothing_is_known_is_not_made() -> None:
    world = World(*ROLES)
    world.unreadable = Bad("refused", "may not read services", 403)
    world.round()
    world.become_ready()

    reason, details = held(world.round())

    assert (reason, details) == (Reason.READ_FAILED, ["may not read services"] * 2)
    assert world.services == set()
    assert _condition(world) == "Available"


def test_services_of_others_with_our_label_are_left_alone() -> None:
    world = at_rest()
    world.add(SERVICES, "theirs", {"metadata": {"labels": {NAME: "ds", REVISION: "0"}}}, owner="other")

    world.give_image("b")
    world.settle()

    assert "theirs" in world.services


def test_conditions_turn_once_and_say_why() -> None:
    world = at_rest()
    began = {each["type"]: each["lastTransitionTime"] for each in world.status["conditions"]}
    assert world.status["observedGeneration"] == 1

    world.edit(lambda spec: None)
    world.round()
    assert {each["type"]: each["lastTransitionTime"] for each in world.status["conditions"]} == began
    assert world.status["observedGeneration"] == 2

    world.give_image("b")
    world.round()
    world.become_ready()
    world.round()
    turned = {each["type"]: each for each in world.status["conditions"]}
    assert turned["Available"]["status"] == "False"
    assert turned["Available"]["reason"] == turned["Progressing"]["reason"] == "RolloutInProgress"
    assert turned["Progressing"]["lastTransitionTime"] > began["Available"]
    assert not any("." in each["lastTransitionTime"] for each in turned.values()), "Go's types have no fractions"


def test_a_status_of_which_a_part_is_dropped_is_written_once() -> None:
    """The definition of an earlier release has no generation in it."""
    world = World(*ROLES)
    world.dropped = {"observedGeneration"}
    world.settle()
    before = world.writes

    world.round()
    assert world.writes == before

    world.edit(lambda spec: None)
    world.round()
    assert {each["observedGeneration"] for each in world.status["conditions"]} == {2}


def test_a_set_that_is_being_deleted_is_left_alone() -> None:
    world = at_rest()
    world.give_image("b")
    world.leaving = True

    decision = world.round()

    assert held(decision) == (Reason.SET_LEAVING, [])


def test_a_child_that_is_being_deleted_is_waited_for() -> None:
    world = at_rest()
    (revision,) = world.revisions()
    going = world.children[f"ds-0-{revision}-decode"]
    going["metadata"]["deletionTimestamp"] = "2026-03-01T13:00:00Z"

    assert held(world.round())[0] is Reason.OBJECTS_GOING

    del world.children[f"ds-0-{revision}-decode"]
    world.settle()
    assert world.counts() == {"0/prefill": 2, "0/decode": 1}


@pytest.mark.parametrize(("label", "value"), [(REVISION, "zzz"), (ROLE, ""), (SLICE, "x")])
def test_a_child_whose_label_somebody_edited_is_told_and_left_alone(label: str, value: str) -> None:
    """It has the name of the child that lacks, so that nothing can be made in its place."""
    world = at_rest()
    (revision,) = world.revisions()
    name = f"ds-0-{revision}-decode"
    labels = world.children[name]["metadata"]["labels"]
    before = labels[label]
    labels[label] = value

    reason, details = held(world.round())

    assert reason is Reason.LABEL_CHANGED
    assert details == [f"its label {label} is {value} and should be {before}: somebody has changed it"]
    labels[label] = before
    assert held(world.round())[0] is Reason.COMPLETE


def test_a_set_of_more_slices_than_can_be_looked_at_is_left_alone() -> None:
    world = World(*ROLES, slices=2**31 - 1)

    decision = world.round()

    assert decision.verdict.reason is Reason.SPEC_INVALID
    assert world.count == 0
