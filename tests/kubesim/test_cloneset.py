"""What a CloneSet does next, row by row."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from kubeloop.objects.core import Container, PodMeta
from kubeloop.objects.meta import Condition, LabelSelector, LabelSelectorRequirement
from kubesim.controllers.revisions import hash_of, patch_of
from kubesim.standins.cloneset_in_place import STATE, InPlaceChange, change_between, runs_change, state_of
from kubesim.standins.cloneset_plan import (
    DELETION_COST,
    IN_PLACE_READY,
    LIFECYCLE,
    NORMAL,
    PREPARING,
    REVISION,
    SPECIFIED_DELETE,
    UPDATING,
    CloneSet,
    ContainerStatus,
    Pod,
    PodSpec,
    PodStatus,
    ScaleStrategy,
    SetMeta,
    Share,
    Spec,
    Status,
    UpdateStrategy,
    kept_old,
    next_look,
    plan,
)
from kubesim.standins.cloneset_status import status_of

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def a_set(
    replicas: int = 3,
    *,
    doomed: tuple[str, ...] = (),
    at_once: Share | None = None,
    min_ready_seconds: int = 0,
    **strategy: Any,
) -> CloneSet:
    spec = Spec(
        LabelSelector({"app": "web"}),
        {},
        replicas,
        ScaleStrategy(doomed, at_once),
        UpdateStrategy(**strategy),
        min_ready_seconds=min_ready_seconds,
    )
    return CloneSet(SetMeta("web", "uid", "1", "ns", generation=2), spec)


def a_pod(
    name: str,
    revision: str = "new",
    *,
    ready: bool = True,
    node: str = "",
    lifecycle: str = NORMAL,
    conditions: tuple[Condition, ...] = (),
    is_marked: bool = False,
) -> Pod:
    since = Condition("Ready", "True" if ready else "False", NOW - timedelta(seconds=10))
    labels = {REVISION: revision, LIFECYCLE: lifecycle, **({SPECIFIED_DELETE: "true"} if is_marked else {})}
    meta = PodMeta(name, name, "1", "ns", labels=labels)
    return Pod(meta, PodStatus("Running", (since, *conditions)), PodSpec(node))


def pods(text: str) -> list[Pod]:
    """`o n N X`: an old pod, a new one, a new one that is ready and an old one that is ready and labelled for deletion.

    Names are a, b, c and so on.
    """
    made = []
    for letter, kind in zip("abcdefgh", text.split(), strict=False):
        revision = "new" if kind in "nN" else "old"
        made.append(a_pod(letter, revision, ready=kind.isupper(), is_marked=kind in "xX"))
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
        pytest.param({"at_once": 1}, "", "+n", id="only so many at once"),
        pytest.param({"at_once": 1}, "n", "", id="of which one is not ready yet"),
        pytest.param({}, "N N N", "", id="all is well"),
        pytest.param({}, "O O O", "~a", id="a fifth of three is one"),
        pytest.param({"maxUnavailable": 2}, "O O O", "~a ~b", id="two at once"),
        pytest.param({}, "X O O", "-a", id="who was to be updated goes"),
        pytest.param({}, "O O", "+n", id="and another comes"),
        pytest.param({}, "N o O", "~b", id="who serves nobody goes first and costs nothing"),
        pytest.param({}, "n o O", "", id="but not while as many new ones are missing as may be"),
        pytest.param({}, "n O O", "", id="while one is not ready, none goes"),
        pytest.param({"partition": 2}, "N O O", "", id="the partition is reached"),
        pytest.param({"partition": 3}, "N O O", "", id="what is updated stays so"),
        pytest.param({"paused": True}, "O O O", "", id="paused"),
        pytest.param({"paused": True}, "X O O", "-a", id="a paused set loses what is labelled"),
        pytest.param({"paused": True}, "O O", "+n", id="a paused set is scaled"),
        pytest.param({"maxSurge": 1, "maxUnavailable": 0}, "O O O", "+n", id="first one more"),
        pytest.param({"maxSurge": 1, "maxUnavailable": 0}, "O O O n", "", id="which must be ready"),
        pytest.param({"maxSurge": 1, "maxUnavailable": 0}, "O O O N", "~a", id="then one is to go"),
        pytest.param({"maxSurge": 1, "maxUnavailable": 0}, "X O O N", "-a", id="and goes"),
        pytest.param({"maxSurge": 1, "maxUnavailable": 0}, "O N N n", "", id="and the last must be ready too"),
        pytest.param({"maxSurge": 1, "maxUnavailable": 0}, "O N N N", "-a", id="in the end an old one"),
        pytest.param({"maxSurge": 1, "maxUnavailable": 0, "doomed": ("a",)}, "N N N", "+n", id="one for a named one"),
        pytest.param({}, "N N N N", "-a", id="one too many"),
        pytest.param({}, "N N n N", "-c", id="rather one that is not ready"),
        pytest.param({"partition": 2}, "O O N N", "-c", id="of which there are too many"),
        pytest.param({"doomed": ("b",)}, "N N N N", "-b", id="rather one that is named"),
        pytest.param({"doomed": ("b",)}, "N N N N N", "-b", id="and while one is, no other"),
        pytest.param({"doomed": ("b",)}, "N N N", "-b", id="a named one goes even when none is too many"),
        pytest.param({"doomed": ("b",)}, "n N N", "", id="when it can be spared"),
        pytest.param({"doomed": ("a",)}, "n N N", "-a", id="which one that is not ready always can"),
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
    going = Pod(PodMeta("a", "a", "1", "ns", deletion_timestamp=NOW))
    over = Pod(PodMeta("b", "b", "1", "ns"), PodStatus("Failed"))

    assert plan(a_set(1), [going, over], "new", NOW).create_new == 1


def test_a_status_counts_and_moves_on_when_all_pods_are_updated() -> None:
    set_ = a_set(3, partition=1, min_ready_seconds=5)

    on_the_way = status_of(set_, pods("O N n"), ("old", "new"), 0, NOW)
    one_missing = status_of(set_, pods("N n"), ("old", "new"), 0, NOW)
    there = status_of(set_, pods("N N n"), ("old", "new"), 1, NOW)

    assert on_the_way == Status(3, 2, 2, 2, 1, 2, 1, 2, "new", "old", 0, "app=web")
    assert one_missing.current_revision == "old"
    assert (there.current_revision, there.expected_updated_replicas, there.collision_count) == ("new", 2, 1)
    assert Status().shown() == {
        "replicas": 0,
        "readyReplicas": 0,
        "availableReplicas": 0,
        "updatedReplicas": 0,
        "updatedReadyReplicas": 0,
    }


def test_a_pod_is_available_when_it_is_ready_and_normal() -> None:
    preparing, changing = a_pod("a", lifecycle=PREPARING), a_pod("b", conditions=(Condition(IN_PLACE_READY, "False"),))

    found = status_of(a_set(3), [preparing, changing, a_pod("c")], ("new", "new"), 0, NOW)

    assert (found.replicas, found.ready_replicas, found.available_replicas) == (3, 2, 1)


def test_a_pod_with_a_node_becomes_normal_before_anything_is_updated() -> None:
    waiting, placed = a_pod("a", "old", lifecycle=PREPARING), a_pod("b", "old", lifecycle=PREPARING, node="n")
    changing = a_pod("c", lifecycle=UPDATING)

    todo = plan(a_set(3), [waiting, placed, changing], "new", NOW, lambda _pod: False)
    done = plan(a_set(3), [waiting, placed, changing], "new", NOW)

    assert ([pod.name for pod in todo.settle], todo.update) == (["b"], ())
    assert [pod.name for pod in done.settle] == ["b", "c"]


def test_of_too_many_those_go_that_share_a_node_or_cost_less() -> None:
    crowded = [a_pod("a", node="n1"), a_pod("b", node="n2"), a_pod("c", node="n2")]
    cheap = a_pod("d", node="n3")
    cheap = replace(cheap, metadata=replace(cheap.metadata, annotations={DELETION_COST: "-1"}))

    assert [pod.name for pod in plan(a_set(2), crowded, "new", NOW).delete] == ["b"]
    assert [pod.name for pod in plan(a_set(3), [*crowded, cheap], "new", NOW).delete] == ["d"]


def test_it_looks_again_when_a_pod_becomes_available() -> None:
    found = pods("N o")

    assert next_look(a_set(min_ready_seconds=15), found, NOW) == 5
    assert next_look(a_set(min_ready_seconds=5), found, NOW) is None
    assert plan(a_set(2, min_ready_seconds=15), pods("O O"), "new", NOW).update == tuple(pods("O O"))[:1]


def test_a_selector_is_told_as_text() -> None:
    expressions = (
        LabelSelectorRequirement("b", "In", ("y", "x")),
        LabelSelectorRequirement("c", "NotIn", ("z",)),
        LabelSelectorRequirement("d", "Exists"),
        LabelSelectorRequirement("e", "DoesNotExist"),
    )
    spec = Spec(LabelSelector({"a": "1"}, expressions), {})
    set_ = CloneSet(SetMeta("web", "uid", "1"), spec)

    assert status_of(set_, [], ("r", "r"), 0, NOW).label_selector == "a=1,b in (x,y),c notin (z),d,!e"


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ({"spec": {"containers": [{"name": "c", "image": "i:2"}]}}, InPlaceChange({"c": "i:2"}, {"a": None}, {})),
        (
            {"metadata": {"labels": {"a": "2", "b": "1"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}},
            InPlaceChange({}, {"a": "2", "b": "1"}, {}),
        ),
        ({"spec": {"containers": [{"name": "d", "image": "i:1"}]}}, None),
        ({"spec": {"containers": [{"name": "c", "image": "i:1"}], "hostname": "h"}}, None),
    ],
)
def test_images_and_metadata_are_changed_in_place(after: dict[str, object], expected: InPlaceChange | None) -> None:
    before: dict[str, object] = {
        "metadata": {"labels": {"a": "1"}},
        "spec": {"containers": [{"name": "c", "image": "i:1"}]},
    }

    assert change_between(before, after) == expected


@pytest.mark.parametrize(
    ("image", "image_id", "expected"),
    [("i:1", "1", False), ("i:1", "2", True), ("i:2", "1", True)],
    ids=["not yet", "another image by its ID", "the image that it should run"],
)
def test_a_change_in_place_is_done_when_containers_run_it(image: str, image_id: str, expected: bool) -> None:
    before = replace(a_pod("a"), status=PodStatus("Running", (), (ContainerStatus("c", "i:1", "1"),)))
    state = state_of(before, InPlaceChange({"c": "i:2"}, {}, {}), "web-2", "2030-01-01T00:00:00Z")

    after = Pod(
        replace(before.metadata, annotations={STATE: state}),
        PodStatus("Running", (), (ContainerStatus("c", image, image_id),)),
        PodSpec("n", (Container("c", "i:2"),)),
    )

    assert runs_change(after) is expected
    assert runs_change(before)


def test_a_revision_is_named_as_the_real_manager_names_it() -> None:
    """Of this template, which its webhook has completed, it made `cs-8768ddc5d`."""
    container = {
        "image": "i:1",
        "imagePullPolicy": "Always",
        "name": "c",
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    spec = {
        "containers": [container],
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 0,
    }
    metadata = {"creationTimestamp": None, "labels": {"app": "cs", "more": "x"}}

    assert hash_of(patch_of({"metadata": metadata, "spec": spec}), 0) == "8768ddc5d"
