"""What a round does about a definition, decided without a cluster: when it is written, when it waits, what it lacks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from msgspec import structs

from fairlead.core.act import Apply, Does
from fairlead.core.ask import Answer, Answers, Ask, Bad, Discover, Good, Need, Question
from fairlead.core.decision import Decision, Hold, Move
from fairlead.core.reason import Reason
from fairlead.engine.decide.definition_rounds import (
    MOST_CONFLICTS,
    DefinitionSnapshot,
    Repairs,
    problem_of,
    register,
    repair,
)
from fairlead.engine.decide.registration import ConversionWebhook, Tree
from kubeloop.objects.meta import Resource, ServedVersion
from tests.engine.definition_server import NAME, YES, a_definition

NOW = datetime(2030, 1, 1, tzinfo=UTC)
HOOK = ConversionWebhook(name="hook", namespace="operator")
BUNDLE = b"authority"


def live(
    version: str = "7", *, conversion: Tree | None = None, conditions: tuple[Tree, ...] = YES, **meta: Any
) -> Tree:
    """Ours, as the API server has it."""
    tree = a_definition("v1", "v2")
    tree["metadata"] |= {"uid": "u", "resourceVersion": version, "generation": 3, **meta}
    tree["spec"]["conversion"] = HOOK.conversion(BUNDLE) if conversion is None else conversion
    tree["status"] = {"conditions": list(conditions), "storedVersions": ["v2"]}
    return tree


def seen_with(tree: Tree | None, cached: Tree | None = None, **fields: Any) -> DefinitionSnapshot:
    """The definition was read in this round."""
    seen = DefinitionSnapshot(
        name=NAME,
        definition=a_definition("v1", "v2"),
        webhook=HOOK,
        manager="operator",
        bundle=BUNDLE,
        enough=frozenset({BUNDLE}),
        live=tree,
        cached=cached,
        **{"bundle_changes": None, **fields},
    )
    answer = Bad("absent", "not found", 404) if tree is None else Good(msgspec.json.encode(tree))
    return structs.replace(seen, answers=Answers({seen.read: answer}))


def answered(seen: DefinitionSnapshot, more: dict[Question, Answer]) -> DefinitionSnapshot:
    return structs.replace(seen, answers=Answers({**seen.answers.known, **more}))


def write_of(outcome: Decision | Need) -> Apply:
    assert isinstance(outcome, Decision)
    assert isinstance(outcome.verdict, Move)
    (write,) = outcome.verdict.writes
    assert isinstance(write, Apply)
    return write


def hold_of(outcome: Decision | Need) -> Hold:
    assert isinstance(outcome, Decision)
    assert isinstance(outcome.verdict, Hold)
    return outcome.verdict


OVERWRITTEN = live(conversion={"strategy": "None"})
CALM = Repairs(authority=BUNDLE)


def test_a_definition_that_does_not_exist_is_written() -> None:
    write = write_of(register(seen_with(None), NOW))

    assert (write.does, write.force, write.manager) == (Does.APPLY_DEFINITION, True, "operator")


def test_what_differs_is_written_bound_to_the_version_that_was_read() -> None:
    write = write_of(register(seen_with(OVERWRITTEN), NOW))

    assert msgspec.json.decode(write.body)["metadata"]["resourceVersion"] == "7"


def test_one_in_order_is_in_force_when_discovery_shows_all_its_versions() -> None:
    ask = Ask(Discover("shop.example.com", "Widget"))
    seen = seen_with(live())

    assert register(seen, NOW) == Need(((ask,),))
    for versions, problem in (
        ((), "discovery does not show its version v1 yet"),
        (("v1",), "discovery does not show its version v2 yet"),
        (("v1", "v2"), ""),
    ):
        served = [ServedVersion(Resource("shop.example.com", each, "widgets", "Widget")) for each in versions]
        outcome = register(answered(seen, {ask: Good(msgspec.json.encode(served))}), NOW)
        assert isinstance(outcome, Decision)
        assert problem_of(outcome) == problem


@pytest.mark.parametrize(
    ("tree", "problem"),
    [
        (live(conditions=()), "it is not NamesAccepted"),
        (live(deletionTimestamp="2030-01-01T00:00:00Z"), "it is being deleted"),
    ],
)
def test_one_that_is_not_established_is_waited_for(tree: Tree, problem: str) -> None:
    outcome = register(seen_with(tree), NOW)

    assert isinstance(outcome, Decision)
    assert problem in problem_of(outcome)


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (Bad("unreachable", "nobody there"), "nobody there"),
        (
            Bad("refused", "no", 403),
            "no; grant the operator's account what its role lists for customresourcedefinitions",
        ),
    ],
)
def test_a_read_that_fails_fails_the_round_and_says_what_to_do(bad: Bad, problem: str) -> None:
    seen = seen_with(None)
    outcome = register(answered(seen, {seen.read: bad}), NOW)

    assert isinstance(outcome, Decision)
    assert (hold_of(outcome).reason, problem_of(outcome)) == (Reason.READ_FAILED, problem)


def test_an_answer_that_is_no_definition_is_never_written_over() -> None:
    seen = seen_with(None)
    outcome = register(answered(seen, {seen.read: Good(b"<html>")}), NOW)

    assert hold_of(outcome).reason is Reason.READ_FAILED


def test_after_so_many_conflicts_it_is_left_to_the_next_round() -> None:
    seen = seen_with(OVERWRITTEN)
    write = write_of(register(seen, NOW))
    refused: dict[Question, Answer] = {
        structs.replace(write, body=b"%d" % number): Bad("conflict", "", 409) for number in range(MOST_CONFLICTS)
    }

    assert write_of(register(answered(seen, dict(list(refused.items())[1:])), NOW))
    assert hold_of(register(answered(seen, refused), NOW)).reason is Reason.DEFINITION_PENDING


def test_what_somebody_changed_is_repaired_and_told_about() -> None:
    write = write_of(repair(seen_with(OVERWRITTEN, OVERWRITTEN, repairs=CALM), NOW))

    assert write.does is Does.REPAIR_DEFINITION
    assert write.tell is not None
    assert write.tell.reason == "DefinitionRepaired"


def test_what_a_fresh_read_finds_in_order_is_not_written() -> None:
    assert hold_of(repair(seen_with(live("8"), OVERWRITTEN, repairs=CALM), NOW)).reason is Reason.COMPLETE


@pytest.mark.parametrize("cached", [None, live(deletionTimestamp="2030-01-01T00:00:00Z")])
def test_a_deletion_was_meant(cached: Tree | None) -> None:
    assert hold_of(repair(seen_with(None, cached, repairs=CALM), NOW)).reason is Reason.COMPLETE


def test_one_in_order_is_looked_at_again_when_time_alone_changes_its_bundle() -> None:
    at = NOW + timedelta(hours=1)

    assert hold_of(repair(seen_with(live(), live(), repairs=CALM, bundle_changes=at), NOW)).again == at


@pytest.mark.parametrize(("count", "seconds"), [(1, 2), (2, 4), (5, 32), (9, 300), (5000, 300)])
def test_repairs_come_more_and_more_slowly(count: int, seconds: int) -> None:
    fought = Repairs(count, NOW, BUNDLE)
    seen = seen_with(OVERWRITTEN, OVERWRITTEN, repairs=fought)
    due = NOW + timedelta(seconds=seconds)

    waiting = hold_of(repair(seen, due - timedelta(seconds=1)))

    assert (waiting.reason, waiting.again) == (Reason.REPAIR_SPACING, due)
    assert write_of(repair(seen, due)).does is Does.REPAIR_DEFINITION


def test_a_clock_that_was_set_back_does_not_delay_a_repair() -> None:
    seen = seen_with(OVERWRITTEN, OVERWRITTEN, repairs=Repairs(9, NOW, BUNDLE))

    assert write_of(repair(seen, NOW - timedelta(days=1))).does is Does.REPAIR_DEFINITION


def test_another_bundle_is_our_own_wish_and_waits_for_nothing() -> None:
    fought = Repairs(9, NOW, b"the one before")
    seen = structs.replace(seen_with(live(), live(), repairs=fought), enough=frozenset())

    write = write_of(repair(seen, NOW))

    assert (write.does, write.tell) == (Does.APPLY_DEFINITION, None)


def test_after_a_calm_time_the_next_repair_is_the_first() -> None:
    fought = Repairs(9, NOW, BUNDLE)

    assert fought.after(NOW + timedelta(minutes=9)).count == 10
    assert fought.after(NOW + timedelta(minutes=10)).count == 1
