"""How many pods each ReplicaSet of a Deployment shall have next."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from kubeloop.objects.meta import LabelSelector, LabelSelectorRequirement
from kubesim.controllers import deployment_plan as plan
from kubesim.controllers import deployment_status as says
from kubesim.controllers.deployment_plan import Condition, Deployment, RollingUpdate, Spec, Status, Strategy
from kubesim.controllers.replicas import ReplicaSet, SetMeta, SetSpec, SetStatus, Tree

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)


def a_template(image: str = "i:1", **labels: str) -> Tree:
    return {"metadata": {"labels": {"app": "web", **labels}}, "spec": {"containers": [{"name": "c", "image": image}]}}


def a_deployment(
    size: int = 10,
    *,
    surge: int | str = "25%",
    unavailable: int | str = "25%",
    recreate: bool = False,
    annotations: dict[str, str] | None = None,
    status: Status | None = None,
    name: str = "web",
) -> Deployment:
    strategy = Strategy("Recreate") if recreate else Strategy("RollingUpdate", RollingUpdate(surge, unavailable))
    return Deployment(
        SetMeta(name, "d", "1", "default", generation=1, annotations=annotations or {}),
        Spec(LabelSelector({"app": "web"}), a_template(), size, strategy),
        status or Status(),
    )


def a_set(
    name: str = "a",
    size: int = 0,
    *,
    available: int | None = None,
    image: str = "i:1",
    age: int = 0,
    annotations: dict[str, str] | None = None,
    count: int | None = None,
    observed: int = 1,
) -> ReplicaSet:
    """All its pods are there and available unless said otherwise; with a greater age it is older."""
    made = NOW - timedelta(minutes=age)
    count = size if count is None else count
    return ReplicaSet(
        SetMeta(name, name, "1", "default", generation=1, annotations=annotations or {}, creation_timestamp=made),
        SetSpec(LabelSelector({"app": "web"}), a_template(image, **{"pod-template-hash": name}), size),
        SetStatus(
            observed_generation=observed,
            replicas=count,
            available_replicas=size if available is None else available,
        ),
    )


def sizes(planned: list[plan.Resize]) -> dict[str, int]:
    return {resize.set.metadata.name: resize.size for resize in planned}


@pytest.mark.parametrize(
    ("size", "surge", "unavailable", "expected"),
    [
        (10, "25%", "25%", (3, 2)),
        (2, "25%", "25%", (1, 0)),
        (3, 2, 1, (2, 1)),
        (1, "0%", "1%", (0, 1)),
        (2, 0, 5, (0, 2)),
        (0, "25%", "25%", (0, 0)),
        (100, "1%", "29%", (1, 29)),
        (3, "100%", 0, (3, 0)),
    ],
)
def test_surge_rounds_up_and_unavailability_down(
    size: int, surge: int | str, unavailable: int | str, expected: tuple[int, int]
) -> None:
    assert plan.limits(a_deployment(size, surge=surge, unavailable=unavailable).spec) == expected


def test_the_new_set_is_the_oldest_with_the_template_whatever_its_hash() -> None:
    sets = [a_set("young", image="i:1"), a_set("old", image="i:1", age=5), a_set("other", image="i:2", age=9)]

    found = plan.new_set(a_deployment(), sets)

    assert found is not None
    assert found.metadata.name == "old"
    assert plan.new_set(a_deployment(), sets[2:]) is None


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [(10, 0, 3), (13, 0, 0), (8, 3, 5), (5, 8, 8), (0, 4, 10), (2, 9, 10)],
)
def test_the_new_set_grows_as_far_as_the_surge_allows(old: int, new: int, expected: int) -> None:
    sets = [a_set("old", old), a_set("new", new)]

    assert plan.grown(a_deployment(surge=3), sets, new) == expected


def test_a_recreated_deployment_has_all_its_pods_at_once() -> None:
    assert plan.grown(a_deployment(4, recreate=True), [a_set("old", 4)], 0) == 4


@pytest.mark.parametrize(
    ("old", "new", "available", "expected"),
    [(8, 5, 0, 0), (8, 5, 5, 5), (8, 5, 3, 3), (10, 0, 0, 2)],
)
def test_old_pods_go_as_far_as_enough_stay_available(old: int, new: int, available: int, expected: int) -> None:
    made = a_set("new", new, available=available)

    assert plan.removable(a_deployment(surge=3, unavailable=2), [a_set("old", old), made], made) == expected


def test_pods_that_are_not_available_go_first_those_of_the_oldest_set_before_others() -> None:
    sets = [a_set("young", 4, available=1), a_set("old", 3, available=2, age=5), a_set("well", 2, age=9)]

    assert sizes(plan.unhealthy(sets, 3)) == {"old": 2, "young": 2}


def test_no_more_available_pods_go_than_there_are_beyond_the_least() -> None:
    sets = [a_set("young", 4, age=1), a_set("old", 3, age=5)]
    new = a_set("new", 5, available=5)

    planned = plan.replaced(a_deployment(10, surge=2, unavailable=2), sets, new)

    assert sizes(planned) == {"old": 0, "young": 3}


@pytest.mark.parametrize(
    ("size", "old", "new", "expected"),
    [
        pytest.param(15, 8, 5, {"old": 11, "new": 7}, id="growth is shared"),
        pytest.param(5, 8, 5, {"old": 5, "new": 3}, id="so is loss"),
        pytest.param(0, 8, 5, {"old": 0, "new": 0}, id="nothing is left of nothing"),
        pytest.param(10, 8, 5, {"old": 8, "new": 5}, id="and nothing changes without a change"),
    ],
)
def test_a_new_size_is_shared_in_proportion(size: int, old: int, new: int, expected: dict[str, int]) -> None:
    told = {"deployment.kubernetes.io/max-replicas": "13"}
    sets = [a_set("old", old, annotations=told, age=1), a_set("new", new, annotations=told)]

    planned = plan.in_proportion(a_deployment(size, surge=3), sets)

    assert sizes(planned) == expected


def test_of_sets_of_one_size_the_newer_grows_and_the_older_shrinks() -> None:
    told = {"deployment.kubernetes.io/max-replicas": "4"}
    sets = [a_set("old", 2, annotations=told, age=1), a_set("new", 2, annotations=told)]

    more = plan.in_proportion(a_deployment(5, surge=0, unavailable=1), sets)
    fewer = plan.in_proportion(a_deployment(3, surge=0, unavailable=1), sets)

    assert sizes(more) == {"new": 3, "old": 2}
    assert sizes(fewer) == {"old": 1, "new": 2}


@pytest.mark.parametrize(
    ("new", "old", "expected"),
    [
        (a_set("new", 2), [a_set("old", 0)], "new"),
        (a_set("new", 0), [a_set("old", 2)], "old"),
        (a_set("new", 0), [a_set("old", 0)], "new"),
        (None, [a_set("old", 0, age=9), a_set("young", 0)], "young"),
        (a_set("new", 1), [a_set("old", 1)], None),
        (None, [], None),
    ],
)
def test_one_set_takes_a_new_size_alone_unless_several_have_pods(
    new: ReplicaSet | None, old: list[ReplicaSet], expected: str | None
) -> None:
    found = plan.active_or_latest(new, old)

    assert (found.metadata.name if found is not None else None) == expected


@pytest.mark.parametrize(
    ("set_", "expected"),
    [
        (None, False),
        (a_set(size=10, annotations={plan.DESIRED: "10"}), True),
        (a_set(size=10), False),
        (a_set(size=9, annotations={plan.DESIRED: "10"}), False),
        (a_set(size=10, available=9, annotations={plan.DESIRED: "10"}), False),
    ],
)
def test_a_set_is_saturated_when_it_has_all_and_they_are_available(set_: ReplicaSet | None, expected: bool) -> None:
    assert plan.is_saturated(a_deployment(), set_) is expected


def test_a_size_is_another_when_an_active_set_was_told_another() -> None:
    same, other = ({plan.DESIRED: text} for text in ("10", "9"))

    assert not plan.is_resized(a_deployment(), [a_set(size=1, annotations=same), a_set(size=0, annotations=other)])
    assert not plan.is_resized(a_deployment(), [a_set(size=1), a_set(size=1, annotations={plan.DESIRED: "many"})])
    assert plan.is_resized(a_deployment(), [a_set(size=1, annotations=other)])


def test_the_new_set_carries_the_annotations_of_its_deployment_and_the_next_number() -> None:
    own = dict.fromkeys(plan.OWN_ANNOTATIONS, "x")
    deployment = a_deployment(annotations={"team": "sea"} | own)

    fresh = plan.annotations_of(deployment, {}, 3)
    again = plan.annotations_of(deployment, {plan.REVISION: "1", plan.REVISION_HISTORY: "0"}, 4)
    ahead = plan.annotations_of(deployment, {plan.REVISION: "5"}, 4)

    assert fresh == {"team": "sea", plan.REVISION: "3"}
    assert again == {"team": "sea", plan.REVISION: "4", plan.REVISION_HISTORY: "0,1"}
    assert ahead == {"team": "sea", plan.REVISION: "5"}


def test_the_history_of_numbers_drops_the_oldest_when_it_becomes_too_long() -> None:
    known = {plan.REVISION: "1000", plan.REVISION_HISTORY: ",".join(map(str, range(500, 1000)))}

    history = plan.annotations_of(a_deployment(), known, 1001)[plan.REVISION_HISTORY]

    assert len(history) <= 2000
    assert history.endswith(",999,1000")
    assert not history.startswith("500,")


def test_old_sets_without_pods_go_beyond_the_limit_lowest_number_first() -> None:
    sets = [a_set(f"s{number}", annotations={plan.REVISION: str(number)}) for number in (3, 1, 2)]
    busy = a_set("busy", 1, annotations={plan.REVISION: "0"})
    unseen = a_set("unseen", annotations={plan.REVISION: "0"}, observed=0)

    chosen = plan.surplus_sets([*sets, busy, unseen], 2)

    assert [each.metadata.name for each in chosen] == ["s1"]
    assert plan.surplus_sets(sets, plan.NO_LIMIT) == []


def test_the_name_of_a_set_follows_from_the_template_and_fits() -> None:
    deployment = a_deployment(name="x" * 253)
    selector = LabelSelector({"app": "web"}, (LabelSelectorRequirement("tier", "Exists"),))
    spec = Spec(selector, a_template(), 3)

    name, tree = plan.new_set_tree(deployment, 0, 1, 2)
    collided, _ = plan.new_set_tree(deployment, 1, 1, 2)
    _, chosen = plan.new_set_tree(Deployment(deployment.metadata, spec), 0, 1, 2)

    assert len(name) <= 253
    assert name != collided
    assert name == plan.new_set_tree(deployment, 0, 9, 5)[0]
    assert isinstance(tree["spec"], dict)
    assert "minReadySeconds" not in tree["spec"]
    hashed = tree["spec"]["selector"]["matchLabels"]["pod-template-hash"]
    assert name.endswith(f"-{hashed}")
    assert tree["spec"]["template"]["metadata"]["labels"] == {"app": "web", "pod-template-hash": hashed}
    assert isinstance(chosen["spec"], dict)
    assert chosen["spec"]["selector"]["matchExpressions"] == [{"key": "tier", "operator": "Exists"}]


def test_a_rollout_that_does_not_move_is_looked_at_again_when_it_is_overdue() -> None:
    status = Status(conditions=(progressing(says.MOVING, ago=500),))

    assert says.next_look(with_a_deadline(a_deployment()), status, NOW) == 600 - 500 + 1


def test_nothing_becomes_overdue_after_a_rollout_however_long_ago_it_was() -> None:
    """Fewer pods are wanted, and those beyond are still there."""
    status = Status(
        observed_generation=1, replicas=2, updated_replicas=2, conditions=(progressing(says.COMPLETE, 5000),)
    )

    assert says.next_look(with_a_deadline(a_deployment(1)), status, NOW) is None


def with_a_deadline(deployment: Deployment) -> Deployment:
    return replace(deployment, spec=replace(deployment.spec, progress_deadline_seconds=600))


def progressing(reason: str, ago: int) -> Condition:
    moment = NOW - timedelta(seconds=ago)
    return Condition(says.PROGRESSING, "True", reason, "", moment, moment)
