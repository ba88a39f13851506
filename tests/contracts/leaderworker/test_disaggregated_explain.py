"""What people are shown of a DisaggregatedSet (section 6.7): roles as lanes, the next step, and what is waited for."""

from __future__ import annotations

from fairlead.contracts.leaderworker.disaggregated.explain import explain
from fairlead.contracts.leaderworker.disaggregated.kinds import ROLE
from fairlead.contracts.leaderworker.kinds import LEADER_WORKER_SETS
from fairlead.core.explain import Explain, Lane
from tests.contracts.leaderworker.decide.disaggregated.world import World, a_role


def shown(world: World) -> Explain:
    decision, known = world.decided()
    return explain(world.seen(known), decision)


def lanes(document: Explain) -> dict[str, Lane]:
    return {each.name: each for each in document.stands.lanes}


def test_a_set_at_rest_is_current() -> None:
    world = World()
    world.settle()

    document = shown(world)

    assert (document.part, document.rollout, document.outcome) == ("leaderworker", "ds", "done")
    assert (document.stands.phase, document.stands.done, document.stands.total) == ("Current", 6, 6)
    prefill = lanes(document)["prefill"]
    assert (prefill.phase, prefill.done, prefill.total) == ("Current", 4, 4)
    assert {each.state for each in prefill.cells} == {"ready"}
    assert (document.next, document.blocked_by) == ((), ())


def test_a_rollout_shows_old_and_new_and_the_next_step() -> None:
    world = World()
    world.settle()
    (old,) = world.revisions()
    world.give_image("b")
    world.round()
    world.become_ready()
    world.round()
    (new,) = world.revisions() - {old}

    waiting = shown(world)
    assert (waiting.outcome, waiting.stands.phase) == ("waiting", "Rolling")
    assert [each.text for each in waiting.blocked_by] == [
        f"0 of 1 groups of ds-0-{new}-prefill are ready",
        f"0 of 1 groups of ds-0-{new}-decode are ready",
    ]
    assert waiting.blocked_by[0].advice == (f"see what they wait for: fairlead explain ds-0-{new}-prefill -n default",)
    world.become_ready()
    document = shown(world)

    prefill = lanes(document)["prefill"]
    assert (prefill.phase, prefill.from_revision, prefill.to_revision) == ("Rolling", old, new)
    assert [each.revision for each in prefill.cells] == ["old"] * 4 + ["new"] + ["none"] * 3
    assert document.outcome == "moving"
    assert document.next == ("take 1 of 4 old groups of prefill away",)


def test_slices_and_roles_that_go_have_lanes_of_their_own() -> None:
    world = World(a_role("prefill"), a_role("decode"), a_role("router"), slices=2)
    world.settle()
    world.edit(lambda spec: spec["roles"].pop())
    world.round()

    document = shown(world)

    found = lanes(document)
    assert list(found) == [f"{index}/{role}" for index in (0, 1) for role in ("prefill", "decode", "router")]
    assert found["1/router"].phase == "Removing"
    assert document.stands.total == 8


def test_a_name_that_is_taken_blocks() -> None:
    world = World()
    world.settle()
    (revision,) = world.revisions()
    name = f"ds-0-{revision}-decode"
    del world.children[name]
    world.add(LEADER_WORKER_SETS, name, {"metadata": {"labels": {}}, "spec": {}}, owner="other")

    document = shown(world)

    assert (document.outcome, document.stands.phase) == ("blocked", "Blocked")
    (block,) = document.blocked_by
    assert block.object == f"leaderworkerset/{name}"
    assert "does not control" in block.text
    assert lanes(document)["decode"].phase == "Missing"


def test_a_child_whose_label_somebody_edited_blocks() -> None:
    world = World()
    world.settle()
    (revision,) = world.revisions()
    name = f"ds-0-{revision}-decode"
    del world.children[name]["metadata"]["labels"][ROLE]

    document = shown(world)

    assert (document.outcome, document.stands.phase) == ("blocked", "Blocked")
    (block,) = document.blocked_by
    assert block.text == f"{name}: its label {ROLE} is missing and should be decode: somebody has changed it"
