"""The DaemonSet controller's decisions: where pods shall be, which go, and how an update moves on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from kubeloop.objects.apps import REVISION_LABEL
from kubeloop.objects.core import PodStatus
from kubeloop.objects.meta import Condition, LabelSelector, Meta
from kubesim.controllers.daemonset_plan import DaemonSetView, Plan, duty, manage, roll, status_of
from kubesim.controllers.daemonset_pods import (
    DaemonSet,
    Pod,
    RollingUpdate,
    SetMeta,
    Spec,
    Strategy,
    new_pod,
    wishes_of,
)
from kubesim.controllers.pods import PodMeta
from kubesim.pods.scheduling import (
    Affinity,
    Node,
    NodeAffinity,
    NodeSelector,
    NodeSpec,
    Requirement,
    Taint,
    Term,
    Toleration,
    Wishes,
)

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
NEW, OLD = "new", "old"


def a_node(name: str, *taints: Taint, **labels: str) -> Node:
    return Node(Meta(name, f"{name}-uid", "1", labels=labels), NodeSpec(taints))


def a_set(surge: int | str = 0, unavailable: int | str = 1, *, on_delete: bool = False, patience: int = 0) -> DaemonSet:
    rolling = None if on_delete else RollingUpdate(surge, unavailable)
    strategy = Strategy("OnDelete" if on_delete else "RollingUpdate", rolling)
    template = {"metadata": {"labels": {"app": "da"}}, "spec": {"containers": [{"name": "c", "image": "i:1"}]}}
    return DaemonSet(
        SetMeta("da", "set-uid", "7", "default", generation=1),
        Spec(LabelSelector({"app": "da"}), template, strategy, patience),
    )


def a_pod(
    node: str,
    revision: str = OLD,
    *,
    name: str = "",
    ready: bool = True,
    phase: str = "Running",
    deleted: bool = False,
    age: int = 3600,
    bound: bool = True,
) -> Pod:
    since = NOW - timedelta(seconds=age)
    named = NodeSelector((Term(match_fields=(Requirement("metadata.name", "In", (node,)),)),))
    name = name or f"{node}-{revision}"
    return Pod(
        PodMeta(
            name,
            f"{name}-uid",
            "5",
            "default",
            {"app": "da", REVISION_LABEL: revision},
            NOW if deleted else None,
            creation_timestamp=since,
        ),
        PodStatus(phase, (Condition("Ready", "True" if ready else "False", since),)),
        Wishes(node_name=node if bound else "", affinity=Affinity(NodeAffinity(named))),
    )


def seen(set_: DaemonSet, pods: Sequence[Pod], nodes: Sequence[Node] | str = "xyz") -> DaemonSetView:
    """Nodes are given as they are, or by the letters of their names."""
    known = [a_node(each) for each in nodes] if isinstance(nodes, str) else nodes
    return DaemonSetView(set_, wishes_of(set_.spec.template), NEW, known, pods, NOW)


def told(plan: Plan) -> str:
    """The plan in short: +x makes a pod for x, -x deletes one, !x one that is over."""
    words = [f"+{node}" for node in plan.create] + [f"-{pod.metadata.name}" for pod in plan.delete]
    return " ".join(words + [f"!{pod.metadata.name}" for pod in plan.over])


@pytest.mark.parametrize(
    ("wishes", "node", "runs", "stays"),
    [
        (Wishes(), a_node("x"), True, True),
        (Wishes(node_selector={"a": "1"}), a_node("x", a="1"), True, True),
        (Wishes(node_selector={"a": "1"}), a_node("x", a="2"), False, False),
        (Wishes(node_name="y"), a_node("x"), False, False),
        (Wishes(), a_node("x", Taint("t", "NoSchedule")), False, True),
        (Wishes(), a_node("x", Taint("t", "NoExecute")), False, False),
        (Wishes(), a_node("x", Taint("t", "PreferNoSchedule")), True, True),
        (Wishes(tolerations=(Toleration("t", "Exists"),)), a_node("x", Taint("t", "NoExecute")), True, True),
        (Wishes(tolerations=(Toleration("t", "Equal", "1"),)), a_node("x", Taint("t", "NoExecute", "1")), True, True),
        (Wishes(tolerations=(Toleration("t", "", "1"),)), a_node("x", Taint("t", "NoExecute", "2")), False, False),
        (
            Wishes(tolerations=(Toleration("t", "Exists", effect="NoSchedule"),)),
            a_node("x", Taint("t", "NoExecute")),
            False,
            False,
        ),
        (Wishes(tolerations=(Toleration(operator="Exists"),)), a_node("x", Taint("t", "NoExecute")), True, True),
    ],
)
def test_a_node_has_a_pod_if_selector_and_taints_allow(wishes: Wishes, node: Node, runs: bool, stays: bool) -> None:
    found = duty(wishes, node)

    assert (found.runs, found.stays) == (runs, stays)


@pytest.mark.parametrize(
    ("operator", "values", "match"),
    [
        ("In", ("1", "5"), True),
        ("In", ("1",), False),
        ("NotIn", ("1",), True),
        ("Exists", (), True),
        ("DoesNotExist", (), False),
        ("Gt", ("4",), True),
        ("Gt", ("5",), False),
        ("Lt", ("6",), True),
        ("Lt", ("x",), False),
    ],
)
def test_affinity_is_a_choice_of_terms(operator: str, values: tuple[str, ...], match: bool) -> None:
    by_label = Term(match_expressions=(Requirement("size", operator, values),))
    nobody = Term(match_fields=(Requirement("metadata.name", "In", ("other",)),))
    wishes = Wishes(affinity=Affinity(NodeAffinity(NodeSelector((nobody, Term(), by_label)))))

    assert wishes.attracted_by(a_node("x", size="5")) is match


def test_daemons_bear_the_troubles_of_their_nodes() -> None:
    words = ("disk-pressure", "memory-pressure", "pid-pressure", "unschedulable")
    troubles = ["not-ready:NoExecute", "unreachable:NoExecute", *(f"{word}:NoSchedule" for word in words)]
    taints = [
        Taint(f"node.kubernetes.io/{key}", effect) for key, _, effect in (each.partition(":") for each in troubles)
    ]
    set_ = a_set()

    assert duty(wishes_of(set_.spec.template), a_node("x", *taints)).runs
    assert not duty(
        wishes_of(set_.spec.template), a_node("x", Taint("node.kubernetes.io/not-ready", "NoSchedule"))
    ).runs


def test_a_pod_is_made_for_its_node() -> None:
    """Recorded from kube-controller-manager 1.36.4."""
    template: dict[str, Any] = {
        "metadata": {"labels": {"app": "da"}},
        "spec": {
            "tolerations": [
                {
                    "key": "node.kubernetes.io/not-ready",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 5,
                }
            ],
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}},
        },
    }
    meta = SetMeta("da", "u", "7", annotations={"deprecated.daemonset.template.generation": "4"})
    pod = new_pod(DaemonSet(meta, Spec(LabelSelector({"app": "da"}), template)), "123", "x")

    assert pod["metadata"]["generateName"] == "da-"
    assert pod["metadata"]["labels"] == {"app": "da", "controller-revision-hash": "123", "pod-template-generation": "4"}
    required = pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required == {
        "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["x"]}]}]
    }
    first, *others = pod["spec"]["tolerations"]
    assert first == {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    assert [each["key"].removeprefix("node.kubernetes.io/") for each in others] == [
        "unreachable",
        "disk-pressure",
        "memory-pressure",
        "pid-pressure",
        "unschedulable",
    ]
    assert "tolerationSeconds" in template["spec"]["tolerations"][0], "the template is not touched"


@pytest.mark.parametrize(
    ("surge", "pods", "does"),
    [
        (0, [], "+x +y +z"),
        (0, [a_pod("x"), a_pod("y"), a_pod("z")], ""),
        (0, [a_pod("x", deleted=True), a_pod("y"), a_pod("z")], ""),
        (1, [a_pod("x", deleted=True), a_pod("y"), a_pod("z")], "+x"),
        (0, [a_pod("x"), a_pod("x", name="younger", age=5), a_pod("y"), a_pod("z")], "-younger"),
        (0, [a_pod("x", bound=False), a_pod("x", name="bound", age=5), a_pod("y"), a_pod("z")], "-x-old"),
        (0, [a_pod("x", phase="Failed"), a_pod("y", phase="Succeeded"), a_pod("z")], "!x-old !y-old"),
        (0, [a_pod("x"), a_pod("y"), a_pod("z"), a_pod("gone", bound=False)], "-gone-old"),
        (0, [a_pod("x"), a_pod("y"), a_pod("z"), a_pod("gone")], ""),
        (1, [a_pod("x"), a_pod("x", NEW, ready=False), a_pod("y"), a_pod("z")], ""),
        (1, [a_pod("x"), a_pod("x", NEW), a_pod("y"), a_pod("z")], "-x-old"),
        (1, [a_pod("x", ready=False), a_pod("x", NEW, ready=False), a_pod("y"), a_pod("z")], "-x-old"),
        (1, [a_pod("x", NEW), a_pod("x", NEW, name="second", age=5), a_pod("y"), a_pod("z")], "-second"),
    ],
)
def test_every_node_has_one_pod(surge: int, pods: list[Pod], does: str) -> None:
    assert told(manage(seen(a_set(surge, 1 - surge), pods))) == does


@pytest.mark.parametrize(
    ("effect", "does"), [("NoSchedule", ""), ("NoExecute", "-x-old")], ids=["stays though it would not come", "leaves"]
)
def test_a_taint_that_came_later(effect: str, does: str) -> None:
    nodes = [a_node("x", Taint("t", effect))]

    assert told(manage(seen(a_set(), [a_pod("x")], nodes))) == does


@pytest.mark.parametrize(
    ("unavailable", "pods", "does"),
    [
        (1, [a_pod("x"), a_pod("y"), a_pod("z")], "-x-old"),
        ("50%", [a_pod("x"), a_pod("y"), a_pod("z")], "-x-old -y-old"),
        (1, [a_pod("x", NEW), a_pod("y"), a_pod("z")], "-y-old"),
        (1, [a_pod("x", NEW, ready=False), a_pod("y"), a_pod("z")], ""),
        (1, [a_pod("x"), a_pod("y", ready=False), a_pod("z", ready=False)], "-y-old -z-old"),
        (1, [a_pod("x", NEW), a_pod("y", NEW), a_pod("z", NEW)], ""),
        (1, [a_pod("x"), a_pod("y")], ""),
        (0, [a_pod("x"), a_pod("y"), a_pod("z")], "-x-old"),
    ],
)
def test_an_update_deletes_as_many_as_may_be_missing(unavailable: int | str, pods: list[Pod], does: str) -> None:
    """Old pods that are not available go whatever the limit: losing those costs nothing."""
    assert told(roll(seen(a_set(0, unavailable), pods))) == does


@pytest.mark.parametrize(
    ("surge", "pods", "does"),
    [
        (1, [a_pod("x"), a_pod("y"), a_pod("z")], "+x"),
        ("50%", [a_pod("x"), a_pod("y"), a_pod("z")], "+x +y"),
        (1, [a_pod("x"), a_pod("x", NEW, ready=False), a_pod("y"), a_pod("z")], ""),
        (1, [a_pod("x"), a_pod("x", NEW), a_pod("y"), a_pod("z")], "+y -x-old"),
        (1, [a_pod("x", ready=False), a_pod("y", ready=False), a_pod("z")], "+x +y +z"),
    ],
)
def test_an_update_by_surge_makes_pods_beside_the_old_ones(surge: int | str, pods: list[Pod], does: str) -> None:
    assert told(roll(seen(a_set(surge, 0), pods))) == does


def test_a_misplaced_pod_stays_until_there_are_enough_elsewhere() -> None:
    nodes = [a_node("x", Taint("t", "NoSchedule")), a_node("y")]

    assert told(roll(seen(a_set(1, 0), [a_pod("x"), a_pod("y", NEW, ready=False)], nodes))) == ""
    assert told(roll(seen(a_set(1, 0), [a_pod("x"), a_pod("y", NEW)], nodes))) == "-x-old"


def test_the_status_counts_nodes() -> None:
    nodes = [a_node("x"), a_node("y"), a_node("z"), a_node("t", Taint("t", "NoSchedule"))]
    pods = [a_pod("x", NEW, age=5), a_pod("y", ready=False), a_pod("t")]

    status = status_of(seen(a_set(patience=10), pods, nodes))

    assert (status.desired_number_scheduled, status.current_number_scheduled, status.number_misscheduled) == (3, 2, 1)
    assert (status.number_ready, status.number_available, status.number_unavailable) == (1, 0, 3)
    assert status.updated_number_scheduled == 1
