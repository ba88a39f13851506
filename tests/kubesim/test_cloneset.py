"""What a CloneSet does next, row by row."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kubeloop.objects.meta import LabelSelector, LabelSelectorRequirement, Meta
from kubesim.standins.cloneset_plan import (
    REVISION,
    CloneSet,
    Condition,
    Pod,
    PodStatus,
    ScaleStrategy,
    SetMeta,
    Share,
    Spec,
    Status,
    UpdateStrategy,
    images_that_differ,
    kept_old,
    next_look,
    plan,
    status_of,
)

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def a_set(replicas: int = 3, *, doomed: tuple[str, ...] = (), min_ready_seconds: int = 0, **strategy: Any) -> CloneSet:
    spec = Spec(
        LabelSelector({"app": "web"}),
        {},
        replicas,
        ScaleStrategy(doomed),
        UpdateStrategy(**strategy),
        min_ready_seconds=min_ready_seconds,
    )
    return CloneSet(SetMeta("web", "uid", "1", "ns", generation=2), spec)


def pods(text: str) -> list[Pod]:
    """`o n N`: an old pod, a new one and a new one that is ready; names are a, b, c and so on."""
    made = []
    for letter, kind in zip("abcdefgh", text.split(), strict=False):
        ready = Condition("Ready", "True" if kind.isupper() else "False", NOW - timedelta(seconds=10))
        meta = Meta(letter, letter, "1", "ns", labels={REVISION: "new" if kind in "nN" else "old"})
        made.append(Pod(meta, PodStatus("Running", (ready,))))
    return made


def next_step(set_: CloneSet, text: str) -> str:
    """`+o` and `+n` for pods that are made, `-a` for one that goes, `~a` for one that is updated."""
    todo = plan(set_, pods(text), "new", NOW)
    parts = ["+o"] * todo.create_old + ["+n"] * todo.create_new
    return " ".join([*parts, *(f"-{pod.name}" for pod in todo.delete), *(f"~{pod.name}" for pod in todo.update)])


@pytest.mark.parametrize(
    ("strategy", "there", "expected"),
    [
        pytest.param({}, "", "+n +n +n", id="a new set"),
        pytest.param({"partition": 2}, "O O", "+n", id="a lack is made up for with the newest"),
        pytest.param({"partition": 2}, "O N", "+o", id="unless the partition wants older ones"),
        pytest.param({}, "N N N", "", id="all is well"),
        pytest.param({}, "O O O", "-a", id="a fifth of three is one"),
        pytest.param({"maxUnavailable": 2}, "O O O", "-a -b", id="two at once"),
        pytest.param({}, "N o O", "-b", id="who serves nobody goes first and costs nothing"),
        pytest.param({}, "n O O", "", id="while one is not ready, none goes"),
        pytest.param({"partition": 2}, "N O O", "", id="the partition is reached"),
        pytest.param({"partition": 3}, "N O O", "", id="what is updated stays so"),
        pytest.param({"paused": True}, "O O O", "", id="paused"),
        pytest.param({"paused": True}, "O O", "+n", id="a paused set is scaled"),
        pytest.param({"maxSurge": 1, "maxUnavailable": 0}, "O O O", "+n", id="first one more"),
        pytest.param({"maxSurge": 1, "maxUnavailable": 0}, "O O O n", "", id="which must be ready"),
        pytest.param({"maxSurge": 1, "maxUnavailable": 0}, "O O O N", "-a", id="then one goes"),
        pytest.param({"maxSurge": 1, "maxUnavailable": 0}, "O N N n", "", id="and the last must be ready too"),
        pytest.param({"maxSurge": 1, "maxUnavailable": 0}, "O N N N", "-a", id="in the end an old one"),
        pytest.param({}, "N N N N", "-a", id="one too many"),
        pytest.param({}, "N N n N", "-c", id="rather one that is not ready"),
        pytest.param({"partition": 2}, "O O N N", "-c", id="of which there are too many"),
        pytest.param({"doomed": ("b",)}, "N N N N", "-b", id="rather one that is named"),
        pytest.param({"doomed": ("b",)}, "N N N", "-b", id="a named one goes even when none is too many"),
        pytest.param({"doomed": ("b",)}, "n N N", "", id="when it can be spared"),
        pytest.param({"type": "InPlaceIfPossible"}, "O O O", "~a", id="in place"),
    ],
)
def test_the_next_step(strategy: dict[str, Any], there: str, expected: str) -> None:
    names = {"maxUnavailable": "max_unavailable", "maxSurge": "max_surge"}
    set_ = a_set(**{names.get(key, key): value for key, value in strategy.items()})

    assert next_step(set_, there) == expected


@pytest.mark.parametrize(
    ("partition", "replicas", "kept"),
    [(0, 5, 0), (2, 5, 2), (9, 5, 5), ("100%", 5, 5), ("99%", 5, 4), ("1%", 5, 1), ("50%", 5, 3), ("99%", 1, 1)],
)
def test_a_partition_keeps_so_many(partition: Share, replicas: int, kept: int) -> None:
    assert kept_old(a_set(replicas, partition=partition).spec) == kept


def test_pods_that_are_going_or_have_ended_are_not_counted() -> None:
    going = Pod(Meta("a", "a", "1", "ns", deletion_timestamp=NOW))
    over = Pod(Meta("b", "b", "1", "ns"), PodStatus("Failed"))

    assert plan(a_set(1), [going, over], "new", NOW).create_new == 1


def test_a_status_counts_and_moves_on_when_all_pods_are_updated() -> None:
    set_ = a_set(3, partition=1, min_ready_seconds=5)

    on_the_way = status_of(set_, pods("O N n"), ("old", "new"), None, NOW)
    there = status_of(set_, pods("N n"), ("old", "new"), 1, NOW)

    assert on_the_way == Status(3, 2, 2, 2, 1, 2, 1, 2, "new", "old", None, "app=web")
    assert (there.current_revision, there.expected_updated_replicas, there.collision_count) == ("new", 3, 1)
    assert Status().shown() == {
        "replicas": 0,
        "readyReplicas": 0,
        "availableReplicas": 0,
        "updatedReplicas": 0,
        "updatedReadyReplicas": 0,
    }


def test_it_looks_again_when_a_pod_becomes_available() -> None:
    found = pods("N o")

    assert next_look(a_set(min_ready_seconds=15), found, NOW) == 5
    assert next_look(a_set(min_ready_seconds=5), found, NOW) is None
    assert plan(a_set(2, min_ready_seconds=15), pods("O O"), "new", NOW).delete == tuple(pods("O O"))


def test_a_selector_is_told_as_text() -> None:
    expressions = (
        LabelSelectorRequirement("b", "In", ("y", "x")),
        LabelSelectorRequirement("c", "NotIn", ("z",)),
        LabelSelectorRequirement("d", "Exists"),
        LabelSelectorRequirement("e", "DoesNotExist"),
    )
    spec = Spec(LabelSelector({"a": "1"}, expressions), {})
    set_ = CloneSet(SetMeta("web", "uid", "1"), spec)

    assert status_of(set_, [], ("r", "r"), None, NOW).label_selector == "a=1,b in (x,y),c notin (z),d,!e"


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ({"spec": {"containers": [{"name": "c", "image": "i:2"}]}}, {"c": "i:2"}),
        ({"spec": {"containers": [{"name": "d", "image": "i:1"}]}}, None),
        ({"spec": {"containers": [{"name": "c", "image": "i:1"}], "hostname": "h"}}, None),
    ],
)
def test_only_images_are_changed_in_place(after: dict[str, object], expected: dict[str, str] | None) -> None:
    before: dict[str, object] = {"spec": {"containers": [{"name": "c", "image": "i:1"}]}}

    assert images_that_differ(before, after) == expected
