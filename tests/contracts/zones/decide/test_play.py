"""Whole rollouts, played to their end on a toy cluster and watched by a Witness."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from fairlead.core.decision import Hold
from fairlead.core.reason import Reason
from tests.builders import a_zone
from tests.contracts.zones.decide.judging import completed, deleted
from tests.contracts.zones.decide.toy import Toy


def played(toy: Toy, most: int = 200) -> list[str]:
    """What is done until the group is complete, a string per decision that does something."""
    steps: list[str] = []
    for _ in range(most):
        decision = toy.decide()
        if decision.verdict == Hold(Reason.COMPLETE):
            return steps
        done = [f"record {zone}" for zone in completed(decision)] + deleted(decision)
        if done:
            steps.append(" ".join(done))
        toy.tidy()
    raise AssertionError(f"not complete after {most} rounds: {steps}")


def test_three_zones_of_three_pods_go_one_by_one_and_each_is_recorded_before_the_next() -> None:
    toy = Toy(a_zone("a"), a_zone("b"), a_zone("c"))

    steps = played(toy)

    assert steps == [
        "a-0", "a-1", "a-2",
        "record a b-0", "b-1", "b-2",
        "record b c-0", "c-1", "c-2",
        "record c",
    ]  # fmt: skip
    assert toy.witness.unfinished() == []


def test_a_budget_makes_waves() -> None:
    toy = Toy(a_zone("a", 5, max_unavailable="2"), a_zone("b", 5, max_unavailable="60%"))

    assert played(toy) == ["a-0 a-1", "a-2 a-3", "a-4", "record a b-0 b-1 b-2", "b-3 b-4", "record b"]


def test_a_rollback_in_the_middle_takes_back_what_was_rolled() -> None:
    toy = Toy(a_zone("a"), a_zone("b"))
    toy.decide()
    toy.tidy()
    toy.decide()
    toy.change_template("ingester-zone-a", "old")
    toy.change_template("ingester-zone-b", "old")
    toy.tidy()

    assert played(toy) == ["a-0"]
    assert toy.witness.unfinished() == []


def test_a_second_change_in_the_middle_is_rolled_as_well() -> None:
    toy = Toy(a_zone("a"), a_zone("b"))
    toy.decide()
    toy.tidy()
    for zone in list(toy.zones):
        toy.change_template(zone, "newest")
    toy.tidy()

    assert played(toy) == ["a-0", "a-1", "a-2", "record a b-0", "b-1", "b-2", "record b"]


ACTS = some.tuples(
    some.sampled_from(("decide", "decide", "remove", "create", "start", "crash", "report", "change")),
    some.sampled_from("abc"),
    some.integers(0, 2),
)


@given(
    budgets=some.tuples(*[some.sampled_from(("1", "2", "50%", "x"))] * 3),
    paused=some.sampled_from((None, None, "a", "b")),
    acts=some.lists(ACTS, min_size=20, max_size=80),
)
def test_no_invariant_breaks_whatever_happens_in_between_and_it_ends(
    budgets: tuple[str, str, str], paused: str | None, acts: list[tuple[str, str, int]]
) -> None:
    """The Witness raises when S1 to S7 or S15 breaks; statuses lag as long as the run likes."""
    toy = Toy(
        *(
            a_zone(letter, max_unavailable=budget, paused="true" if letter == paused else None)
            for letter, budget in zip("abc", budgets, strict=True)
        )
    )

    for act, letter, ordinal in acts:
        zone = f"ingester-zone-{letter}"
        match act:
            case "decide":
                toy.decide()
            case "change":
                toy.change_template(zone, ("old", "new", "newest")[ordinal])
            case "create" | "report":
                getattr(toy, act)(zone)
            case _:
                getattr(toy, act)(f"{zone}-{ordinal}")

    toy.tidy()
    if paused is None:
        played(toy)
        assert toy.witness.unfinished() == []
