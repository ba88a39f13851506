"""The PodDisruptionBudget of a set: when it is made, changed and removed, and what it never touches (section 6.8)."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from fairlead.contracts.leaderworker.kinds import (
    DISRUPTION_BUDGET,
    DISRUPTION_BUDGETS,
    NAME,
    PodBudget,
)
from fairlead.contracts.leaderworker.settings import Settings
from fairlead.core.act import Delete, Does, Patch
from fairlead.core.ask import Bad, Good
from kubeloop.objects.meta import LabelSelector
from tests.contracts.leaderworker.decide.rounds import NOW, a_set_seen, set_settled
from tests.contracts.leaderworker.decide.some import UID, a_budget, a_set, a_template

KEEPING = Settings(keeps_budgets=True)
ONE = {DISRUPTION_BUDGET: "1"}
BOTH = frozenset({Does.KEEP_DISRUPTION_BUDGET, Does.REMOVE_DISRUPTION_BUDGET})


def settled(annotations: dict[str, str], *budgets: PodBudget, settings: Settings = KEEPING, **more: Any) -> Any:
    given = a_set(observed=2, annotations=annotations, **more.pop("set", {}))
    return set_settled(a_set_seen(given, budgets=budgets, settings=settings), **more)


def kept(found: Any) -> list[Any]:
    return [each for each in found.writes if each.does in BOTH]


def told(found: Any) -> list[str]:
    return [each.text for each in found.decision.tell if each.reason.startswith("DisruptionBudget")]


def test_a_set_that_asks_for_it_gets_one_of_its_name() -> None:
    found = settled(ONE)

    assert found.body(Does.KEEP_DISRUPTION_BUDGET) == {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {
            "name": "a",
            "namespace": "default",
            "labels": {NAME: "a"},
            "ownerReferences": [
                {
                    "apiVersion": "leaderworkerset.x-k8s.io/v1",
                    "kind": "LeaderWorkerSet",
                    "name": "a",
                    "uid": UID,
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ],
        },
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {NAME: "a"}}},
    }
    assert told(found) == []


def test_one_that_says_what_it_should_is_left_alone() -> None:
    found = settled(ONE, a_budget())

    assert kept(found) == []
    assert [each for each in found.asked if each.resource == DISRUPTION_BUDGETS] == []


@pytest.mark.parametrize(
    "budget",
    [
        a_budget(1),
        a_budget("50%"),
        a_budget(2, max_unavailable=1),
        a_budget(2, selector=LabelSelector({NAME: "a", "app": "x"})),
        a_budget(2, selector=None),
    ],
)
def test_one_that_says_something_else_is_changed_back(budget: PodBudget) -> None:
    found = settled(ONE, budget)

    (write,) = kept(found)
    assert isinstance(write, Patch)
    assert (write.ref.uid, write.resource_version) == ("budget-uid", "7")
    spec = msgspec.json.decode(write.body)["spec"]
    assert (spec["minAvailable"], spec["maxUnavailable"]) == (2, None)
    others = {} if budget.spec.selector is None else budget.spec.selector.match_labels
    assert spec["selector"] == {
        "matchLabels": {**dict.fromkeys(others), NAME: "a"},
        "matchExpressions": None,
    }


def test_groups_that_are_not_there_yet_count_with_the_size_of_the_selected_revision() -> None:
    found = settled(ONE, a_budget(2), set={"replicas": 4, "template": a_template(size=2)})

    (write,) = kept(found)
    assert msgspec.json.decode(write.body)["spec"]["minAvailable"] == 6


@pytest.mark.parametrize(
    ("annotations", "settings"),
    [
        ({}, KEEPING),
        ({DISRUPTION_BUDGET: "none"}, KEEPING),
        ({DISRUPTION_BUDGET: "2"}, KEEPING),
        (ONE, Settings(keeps_budgets=True, reviews_evictions=True)),
    ],
    ids=["taken back", "unusable", "all groups", "webhook"],
)
def test_ours_goes_when_it_is_not_needed_any_more(annotations: dict[str, str], settings: Settings) -> None:
    found = settled(annotations, a_budget(), settings=settings)

    (write,) = kept(found)
    assert isinstance(write, Delete)
    assert write.ref.uid == "budget-uid"


@pytest.mark.parametrize("owner", ["", "another-uid"])
@pytest.mark.parametrize("annotations", [{}, ONE])
def test_one_of_somebody_else_is_never_touched(annotations: dict[str, str], owner: str) -> None:
    foreign = a_budget(owner=owner)

    found = settled(annotations, foreign, poddisruptionbudget_a=Good(msgspec.json.encode(foreign)))

    assert kept(found) == []
    problem = "a PodDisruptionBudget a exists that this LeaderWorkerSet does not control"
    assert told(found) == ([f"Evictions are not bounded as {DISRUPTION_BUDGET} asks: {problem}"] if annotations else [])
    assert found.decision.verdict.again == (NOW + timedelta(minutes=1) if annotations else None)


def test_ours_that_the_cache_does_not_show_yet_is_waited_for() -> None:
    found = settled(ONE, poddisruptionbudget_a=Good(msgspec.json.encode(a_budget())))

    assert (kept(found), told(found)) == ([], [])


def test_without_the_right_it_is_a_warning_and_nothing_else() -> None:
    given = a_set(observed=1, annotations=ONE)
    seen = a_set_seen(given, settings=KEEPING)

    found = set_settled(seen, poddisruptionbudget_a=Bad("refused", "not permitted", 403))

    assert kept(found) == []
    assert told(found) == [f"Evictions are not bounded as {DISRUPTION_BUDGET} asks: not permitted"]
    assert Does.REPORT_STATUS in found.does


@pytest.mark.parametrize(
    ("annotations", "budgets", "does"),
    [(ONE, (), Does.KEEP_DISRUPTION_BUDGET), ({}, (a_budget(),), Does.REMOVE_DISRUPTION_BUDGET)],
)
def test_a_write_that_is_refused_is_told_and_the_round_goes_on(
    annotations: dict[str, str], budgets: tuple[PodBudget, ...], does: Does
) -> None:
    found = settled(annotations, *budgets, refused=does)

    assert kept(found) == []
    assert told(found) == [f"Evictions are not bounded as {DISRUPTION_BUDGET} asks: no"]
    assert found.decision.verdict.again == NOW + timedelta(minutes=1)


def test_a_budget_that_all_groups_fit_into_is_told_once_per_generation() -> None:
    found = settled({DISRUPTION_BUDGET: "2"})

    (note,) = [each for each in found.decision.tell if each.reason == "DisruptionBudgetTooLarge"]
    assert note.warning
    assert note.occurrence == "2"
    assert kept(found) == []


def test_an_operator_that_does_neither_asks_for_nothing_and_says_so() -> None:
    found = settled(ONE, settings=Settings())

    assert kept(found) == []
    assert [each for each in found.asked if each.resource == DISRUPTION_BUDGETS] == []
    (text,) = told(found)
    assert "-lws-disruption-budgets" in text
    assert "-lws-eviction-webhook" in text


def test_with_the_webhook_nothing_is_kept_and_nothing_told() -> None:
    found = settled(ONE, settings=Settings(reviews_evictions=True))

    assert (kept(found), told(found)) == ([], [])
