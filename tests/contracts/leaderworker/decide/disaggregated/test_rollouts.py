"""Rollouts of DisaggregatedSets in a world of their own (section 6.7): limits, deaths, turns and edits."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairlead.contracts.leaderworker.decide.disaggregated.seen import DisaggregatedSeen
from fairlead.contracts.leaderworker.deciders import DECIDERS
from fairlead.contracts.leaderworker.disaggregated.kinds import CONTROLLER, INITIAL_REPLICAS
from fairlead.core.decision import Hold
from fairlead.core.reason import Reason
from fairlead.core.replay import DecidedRound, record_of, replayed
from tests.contracts.leaderworker.decide.disaggregated.world import Tree, World, a_role


def limited(world: World, targets: dict[str, int], surge: int = 1, unavailable: int = 0) -> None:
    """From now on every write keeps the limits of these roles, counting what is ready."""

    def check() -> None:
        for place, there in world.counts().items():
            wanted = targets[place.partition("/")[2]]
            assert there <= wanted + surge, f"{place}: {there} of {wanted} in {world.replicas()}"
        for place, ready in world.counts("status").items():
            wanted = targets[place.partition("/")[2]]
            assert ready >= wanted - unavailable, f"{place}: {ready} of {wanted} ready in {world.replicas()}"

    world.watch = check


def at_rest(*roles: Tree, **spec: int) -> World:
    world = World(*roles, **spec)
    world.settle()
    return world


def finished(world: World, targets: dict[str, int], slices: int = 1) -> None:
    assert len(world.revisions()) == 1
    assert world.counts() == {f"{index}/{role}": wanted for index in range(slices) for role, wanted in targets.items()}
    assert len(world.services) == slices * len(targets)
    assert _condition(world) == "Available"
    before = world.count
    decision = world.round()
    assert isinstance(decision.verdict, Hold)
    assert (decision.verdict.reason, world.count) == (Reason.COMPLETE, before)


def _condition(world: World) -> str:
    (holding,) = (each["type"] for each in world.status["conditions"] if each["status"] == "True")
    return str(holding)


def test_a_rollout_ends_with_one_revision_and_its_services() -> None:
    world = at_rest()
    (old,) = world.revisions()
    targets = {"prefill": 4, "decode": 2}
    limited(world, targets)

    world.give_image("b")
    world.settle()

    finished(world, targets)
    assert old not in world.revisions()


def test_recorded_rounds_of_a_rollout_are_decided_alike() -> None:
    world = at_rest()
    world.give_image("b")
    for number in range(12):
        decision, known = world.decided()
        made = DecidedRound(CONTROLLER, "default/ds", str(number), world.now, world.seen(known), decision)

        again = replayed(record_of(made, DisaggregatedSeen, "0"), DECIDERS)

        assert not again.changes
        world.round()
        world.become_ready()


def test_the_numbers_are_noted_before_anything_is_made() -> None:
    world = at_rest()
    (old,) = world.revisions()
    world.give_image("b")

    world.round(most=2)

    assert len(world.children) == 2
    noted = {name: each["metadata"]["annotations"][INITIAL_REPLICAS] for name, each in world.children.items()}
    assert noted == {f"ds-0-{old}-prefill": "4", f"ds-0-{old}-decode": "2"}


def test_a_death_after_any_write_only_delays() -> None:
    """The next process sees what is there and goes on; the limits hold all the time."""
    for death in count(1):
        world = at_rest()
        limited(world, {"prefill": 4, "decode": 2})
        world.give_image("b")
        if not dies(world, death):
            assert death > 15, "it takes more writes"
            return
        world.settle()
        finished(world, {"prefill": 4, "decode": 2})


def dies(world: World, death: int) -> bool:
    """Whether there was a write of this number; it is the last."""
    for _ in range(50):
        before = world.writes
        world.round(most=death)
        death -= world.writes - before
        if death == 0:
            return True
        world.become_ready()
    return False


def interrupted(roles: tuple[Tree, ...], first: int, second: int) -> World:
    """A rollout to b that gives way to one to c after so many rounds, which gives way to d after so many."""
    world = at_rest(*roles)
    for image, rounds in (("b", first), ("c", second)):
        world.give_image(image)
        for _ in range(rounds):
            world.round()
            world.become_ready()
    world.give_image("d")
    return world


@pytest.mark.parametrize(
    ("sizes", "update", "missed"),
    [((3, 3), (2, 1), 0), ((2, 5), (2, 0), 0), ((4, 2), (1, 0), 1), ((1, 4), (1, 1), 1)],
    ids=str,
)
def test_two_revisions_behind_the_limits_hold(sizes: tuple[int, int], update: tuple[int, int], missed: int) -> None:
    """But for one that may be missed: where nothing else can go, a revision goes whole."""
    surge, unavailable = update
    limits = {"maxSurge": surge, "maxUnavailable": unavailable}
    roles = tuple(a_role(name, size, update=limits) for name, size in zip(("prefill", "decode"), sizes, strict=True))
    targets = dict(zip(("prefill", "decode"), sizes, strict=True))
    for first, second in product(range(8), range(8)):
        world = interrupted(roles, first, second)
        limited(world, targets, surge, unavailable + missed)

        world.settle()

        finished(world, targets)


def test_a_rollout_that_turns_back_moves_what_has_moved_alone() -> None:
    world = at_rest()
    kept = {name: each["metadata"]["uid"] for name, each in world.children.items()}
    limited(world, {"prefill": 4, "decode": 2})
    world.give_image("b")
    for _ in range(5):
        world.round()
        world.become_ready()
    assert len(world.revisions()) == 2

    world.give_image("a")
    world.settle()

    finished(world, {"prefill": 4, "decode": 2})
    assert {name: each["metadata"]["uid"] for name, each in world.children.items()} == kept


def test_turning_again_and_again_keeps_the_limits() -> None:
    """A note of an earlier turn must not take more away than the rollout may."""
    for rounds in product(range(1, 5), repeat=3):
        world = at_rest(a_role("prefill", 3), a_role("decode", 3))
        limited(world, {"prefill": 3, "decode": 3})
        for image, several in zip("bab", rounds, strict=True):
            world.give_image(image)
            for _ in range(several):
                world.round()
                world.become_ready()
        world.give_image("a")
        world.settle()
        finished(world, {"prefill": 3, "decode": 3})


def _add(spec: Tree) -> None:
    spec["roles"].append(a_role("router", 2))


def _remove(spec: Tree) -> None:
    del spec["roles"][-1]


@pytest.mark.parametrize("rounds", range(8))
@pytest.mark.parametrize(
    ("edit", "roles"),
    [(_add, {"prefill", "decode", "extra", "router"}), (_remove, {"prefill", "decode"})],
    ids=["added", "removed"],
)
def test_a_role_comes_or_goes_in_the_middle_of_a_rollout(
    edit: Callable[[Tree], None], roles: set[str], rounds: int
) -> None:
    world = at_rest(a_role("prefill", 2), a_role("decode", 2), a_role("extra", 2))
    world.give_image("b")
    for _ in range(rounds):
        world.round()
        world.become_ready()

    world.edit(edit)
    world.settle()

    finished(world, dict.fromkeys(roles, 2))


def test_all_roles_may_be_other_ones() -> None:
    world = at_rest(a_role("prefill", 2), a_role("decode", 2))

    world.edit(lambda spec: spec.update(roles=[a_role("one", 3), a_role("two", 1)]))
    world.settle()

    finished(world, {"one": 3, "two": 1})


EDITS = st.one_of(
    st.tuples(st.just("image"), st.sampled_from("abcd")),
    st.tuples(st.just("scale"), st.integers(1, 5), st.integers(1, 5)),
    st.tuples(st.just("slices"), st.integers(1, 3)),
    st.tuples(st.just("roles"), st.sampled_from(["prefill decode", "prefill decode router", "decode router"])),
    st.tuples(st.just("rounds"), st.integers(1, 6), st.integers(0, 4)),
)


@settings(deadline=None)
@given(st.lists(EDITS, max_size=10))
def test_whatever_is_asked_for_on_the_way_it_ends_as_the_spec_says(edits: list[tuple[object, ...]]) -> None:
    """Rounds that die after a few writes among them."""
    world = at_rest()
    for edit in edits:
        _made(world, edit)
    world.settle()
    targets = {each["name"]: each["spec"]["replicas"] for each in world.spec["roles"]}
    finished(world, targets, world.spec.get("slices", 1))


def _made(world: World, edit: tuple[object, ...]) -> None:
    def respecify(**changes: object) -> None:
        world.edit(lambda spec: spec.update(changes))

    match edit:
        case "image", str(image):
            world.give_image(image)
        case "scale", int(first), int(second):
            world.edit(lambda spec: _scale(spec, (first, second)))
        case "slices", int(slices):
            respecify(slices=slices)
        case "roles", str(names):
            respecify(roles=[a_role(each) for each in names.split()])
        case "rounds", int(rounds), int(most):
            for _ in range(rounds):
                world.round(most or None)
                world.become_ready()


def _scale(spec: Tree, sizes: tuple[int, int]) -> None:
    for role, size in zip(spec["roles"], sizes, strict=False):
        role["spec"]["replicas"] = size
