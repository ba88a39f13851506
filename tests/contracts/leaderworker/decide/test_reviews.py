"""Reviews of sets and pods: patches of what changes only, all refusals at once, an answer to whatever is sent."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import Raw, structs

from fairlead.contracts.leaderworker.decide.reviews import (
    ReviewSnapshot,
    default_pod,
    default_set,
    validate_pod,
    validate_set,
)
from fairlead.contracts.leaderworker.kinds import EXCLUSIVE_TOPOLOGY, GROUP_INDEX, GROUP_KEY, NAME
from fairlead.core.decision import Admit
from kubeloop.objects.review import Review
from tests.builders import NOW
from tests.contracts.leaderworker.decide.sets import Tree, a_pod, a_review, a_set

ALLOWED = Admit(allowed=True)
JUDGES = (default_set, validate_set, default_pod, validate_pod)


def seen(review: Review, gang_scheduler: str = "") -> ReviewSnapshot:
    return ReviewSnapshot(review, gang_scheduler)


def patch_of(verdict: Admit) -> list[Tree]:
    assert verdict.allowed
    found: list[Tree] = msgspec.json.decode(verdict.patch or b"[]")
    return found


def test_defaults_are_a_patch_of_what_lacks_them() -> None:
    tree = a_set(template={"restartPolicy": "Default"})
    del tree["spec"]["networkConfig"]

    assert patch_of(default_set(seen(a_review(tree)), NOW)) == [
        {"op": "replace", "path": "/spec/leaderWorkerTemplate/restartPolicy", "value": "None"},
        {"op": "add", "path": "/spec/networkConfig", "value": {"subdomainPolicy": "Shared"}},
    ]


def test_a_set_that_lacks_nothing_is_not_patched() -> None:
    assert default_set(seen(a_review(a_set())), NOW) == ALLOWED
    assert default_set(seen(a_review(a_set(), a_set(), "UPDATE")), NOW) == ALLOWED


def test_a_pod_gets_a_patch_of_its_labels_and_variables() -> None:
    pod = a_pod("a-1", containers=[{"name": "main", "env": [{"name": "X"}]}, {"name": "other"}])

    operations = patch_of(default_pod(seen(a_review(pod)), NOW))

    assert [(each["op"], each["path"]) for each in operations] == [
        ("add", f"/metadata/labels/{GROUP_INDEX.replace('/', '~1')}"),
        ("add", f"/metadata/labels/{GROUP_KEY.replace('/', '~1')}"),
        ("replace", "/spec/containers/0/env"),
        ("add", "/spec/containers/1/env"),
    ]


def test_the_namespace_of_the_request_counts_where_the_pod_has_none() -> None:
    pod = a_pod("a-1")
    del pod["metadata"]["namespace"]

    operations = patch_of(default_pod(seen(a_review(pod)), NOW))

    assert operations[-1]["value"][0]["value"] == "a-1.a.test"


def test_pods_are_marked_for_the_gang_scheduler() -> None:
    operations = patch_of(default_pod(seen(a_review(a_pod("a-1")), "volcano"), NOW))

    assert {
        "op": "add",
        "path": "/metadata/annotations/scheduling.k8s.io~1group-name",
        "value": "a-1-key",
    } in operations


def test_all_that_is_wrong_with_a_set_is_told_as_upstream_tells_it() -> None:
    verdict = validate_set(seen(a_review(a_set(replicas=-1, template={"size": 0}))), NOW)

    assert (verdict.allowed, verdict.code, verdict.reason) == (False, 403, "Forbidden")
    assert verdict.message == (
        "[spec.replicas: Invalid value: -1: replicas must be equal or greater than 0, "
        "spec.leaderWorkerTemplate.size: Invalid value: 0: size must be equal or greater than 1]"
    )


def test_warnings_come_with_the_answer() -> None:
    old, new = a_set(), a_set()
    new["metadata"]["annotations"] = {EXCLUSIVE_TOPOLOGY: "rack"}

    verdict = validate_set(seen(a_review(new, old, "UPDATE")), NOW)

    assert verdict.allowed
    assert [EXCLUSIVE_TOPOLOGY in each for each in verdict.warnings] == [True]


def test_a_set_that_is_being_deleted_can_lose_its_finalizers() -> None:
    """Scaling passes no webhook, so a set can be one that would be refused: it must not stay for ever."""
    old = a_set(update={"maxUnavailable": "25%"})
    old["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["foregroundDeletion"]}
    new = msgspec.json.decode(msgspec.json.encode(old))
    new["metadata"]["finalizers"] = []

    assert validate_set(seen(a_review(new, old, "UPDATE")), NOW) == ALLOWED

    new["spec"]["replicas"] = 3
    assert not validate_set(seen(a_review(new, old, "UPDATE")), NOW).allowed


@pytest.mark.parametrize("operation", ["DELETE", "CONNECT", ""])
@pytest.mark.parametrize("judge", JUDGES)
def test_nothing_else_is_judged(judge: Any, operation: str) -> None:
    assert judge(seen(a_review(None, a_set("2cube"), operation)), NOW) == ALLOWED


def test_pods_that_exist_are_left_alone() -> None:
    pod = a_pod("a-1")

    assert default_pod(seen(a_review(pod, pod, "UPDATE")), NOW) == ALLOWED
    assert validate_pod(seen(a_review({"metadata": []})), NOW) == ALLOWED


def test_a_pod_without_a_place_is_refused() -> None:
    pod = a_pod("odd", labels={NAME: "a"})

    verdict = default_pod(seen(a_review(pod)), NOW)

    assert (verdict.allowed, verdict.code, verdict.message) == (False, 403, "parsing pod ordinal for pod odd")


@pytest.mark.parametrize("operation", ["CREATE", "UPDATE"])
@pytest.mark.parametrize("content", [b"null", b"[]", b'"text"', b"7", b"not JSON", b"[" * 100_000, b'"\xff"'])
@pytest.mark.parametrize("judge", [default_set, validate_set])
def test_what_is_no_object_is_refused_in_one_sentence(judge: Any, content: bytes, operation: str) -> None:
    review = structs.replace(a_review(a_set(), a_set(), operation), object=Raw(content))

    verdict = judge(seen(review), NOW)

    assert (verdict.allowed, verdict.code) == (False, 400)
    assert 0 < len(verdict.message) < 200


def test_an_update_without_the_former_object_is_refused() -> None:
    verdict = validate_set(seen(a_review(a_set(), None, "UPDATE")), NOW)

    assert (verdict.code, verdict.message) == (400, "the review lacks the object that is replaced")


def test_a_template_of_a_megabyte_and_a_half_is_answered() -> None:
    env = [{"name": f"VARIABLE_{number}", "value": "x" * 40} for number in range(20_000)]
    containers = [{"name": "main", "env": env}]
    tree = a_set(template={"workerTemplate": {"spec": {"containers": containers}}})
    assert len(msgspec.json.encode(tree)) > 1_400_000

    assert validate_set(seen(a_review(tree, tree, "UPDATE")), NOW) == ALLOWED
    assert default_set(seen(a_review(tree)), NOW) == ALLOWED
    operations = patch_of(default_pod(seen(a_review(a_pod("a-1", containers=containers))), NOW))
    assert len(operations[-1]["value"]) == 20_003
