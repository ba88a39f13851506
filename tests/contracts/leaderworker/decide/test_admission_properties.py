"""Properties of admission: done twice it is done once, and no JSON whatever makes it fail."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as some

from fairlead.contracts.leaderworker.decide.defaulting import defaulted
from fairlead.contracts.leaderworker.decide.pod_admission import admitted
from fairlead.contracts.leaderworker.decide.pod_view import PodRefusal
from fairlead.contracts.leaderworker.decide.reviews import (
    ReviewSnapshot,
    default_pod,
    default_set,
    validate_pod,
    validate_set,
)
from fairlead.contracts.leaderworker.decide.validation import refusals
from fairlead.contracts.leaderworker.kinds import (
    EXCLUSIVE_SCOPE,
    EXCLUSIVE_TOPOLOGY,
    GROUP_INDEX,
    GROUP_KEY,
    LEADER_NAME,
    LEADER_REQUESTS_TPUS,
    NAME,
    OLD_SUBGROUP_SIZE,
    REVISION_KEY,
    SIZE,
    SUBDOMAIN_POLICY,
    SUBGROUP_EXCLUSIVE_TOPOLOGY,
    SUBGROUP_INDEX,
    SUBGROUP_KEY,
    SUBGROUP_POLICY_TYPE,
    SUBGROUP_SIZE,
    WORKER_INDEX,
)
from kubesim.patches.patch import JSON_PATCH, reader
from tests.builders import NOW
from tests.contracts.leaderworker.decide.sets import Tree, a_review, a_set

numbers = some.sampled_from(("0", "1", "2", "3", "5", "8", "", "-1", "x", "007", "9" * 20))
leaves = some.none() | some.booleans() | some.integers(-3, 9) | some.floats(allow_nan=False, allow_infinity=False)
words = some.sampled_from(
    ("", "a", "RollingUpdate", "Default", "Shared", "LeaderExcluded", "25%", "101%", "0%", "2cube")
)
fields = some.sampled_from(
    (
        "metadata",
        "name",
        "annotations",
        "labels",
        "spec",
        "replicas",
        "leaderWorkerTemplate",
        "size",
        "restartPolicy",
        "subGroupPolicy",
        "subGroupSize",
        "subGroupPolicyType",
        "workerTemplate",
        "rolloutStrategy",
        "type",
        "rollingUpdateConfiguration",
        "maxUnavailable",
        "maxSurge",
        "partition",
        "networkConfig",
        "subdomainPolicy",
        "containers",
        "env",
        "affinity",
        NAME,
        SIZE,
        SUBGROUP_EXCLUSIVE_TOPOLOGY,
    )
)
anything = some.recursive(
    leaves | words,
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(fields, inner, max_size=5),
    max_leaves=25,
)


@some.composite
def sets(draw: some.DrawFn) -> Tree:
    """A LeaderWorkerSet of which some places are something else."""
    tree = a_set()
    for _ in range(draw(some.integers(0, 4))):
        place: Any = tree
        for _ in range(draw(some.integers(0, 4))):
            inner = [each for each in sorted(place) if isinstance(place[each], dict)]
            if not inner:
                break
            place = place[draw(some.sampled_from(inner))]
        place[draw(fields)] = draw(anything)
    return tree


def chosen(keys: dict[str, some.SearchStrategy[str]]) -> some.SearchStrategy[Tree]:
    return some.fixed_dictionaries({}, optional=keys)


labels = chosen(
    {
        REVISION_KEY: some.just("key"),
        WORKER_INDEX: some.sampled_from(("0", "0", "1", "x")),
        GROUP_INDEX: numbers,
        GROUP_KEY: some.just("mine"),
        SUBGROUP_INDEX: numbers,
        SUBGROUP_KEY: some.just("mine"),
    }
)
topologies = some.sampled_from(("", "rack", "zone"))
notes = chosen(
    {
        SUBGROUP_SIZE: numbers,
        OLD_SUBGROUP_SIZE: numbers,
        SUBGROUP_POLICY_TYPE: some.sampled_from(("LeaderWorker", "LeaderExcluded")),
        SUBDOMAIN_POLICY: some.sampled_from(("Shared", "UniquePerReplica")),
        EXCLUSIVE_TOPOLOGY: topologies,
        SUBGROUP_EXCLUSIVE_TOPOLOGY: topologies,
        EXCLUSIVE_SCOPE: some.sampled_from(("LeaderWorkerSet", "x")),
        LEADER_NAME: some.just("a-0"),
        LEADER_REQUESTS_TPUS: some.sampled_from(("true", "false")),
    }
)
variables = some.builds(
    lambda name, value: {"name": name, "value": value},
    some.sampled_from(("A", "B", "LWS_GROUP_SIZE", "TPU_WORKER_ID", "TPU_NAME", "TPU_PROCESS_PORT")),
    some.sampled_from(("", "1", "8500")),
)
containers = some.lists(
    some.fixed_dictionaries(
        {"name": some.just("c")},
        optional={
            "env": some.none() | some.lists(variables, max_size=4),
            "resources": some.sampled_from((None, {"limits": {"google.com/tpu": "4"}})),
        },
    ),
    max_size=3,
)
term_lists = some.none() | some.lists(some.builds(lambda each: {"topologyKey": each}, topologies), max_size=2)
affinities = some.none() | some.fixed_dictionaries(
    {},
    optional={
        kind: some.none()
        | some.builds(lambda each: {"requiredDuringSchedulingIgnoredDuringExecution": each}, term_lists)
        for kind in ("podAffinity", "podAntiAffinity")
    },
)


@some.composite
def pods(draw: some.DrawFn) -> Tree:
    """Pods as StatefulSets make them, and such as nobody would."""
    return {
        "metadata": {
            "name": draw(some.sampled_from(("a-0", "a-1", "a-0-0", "a-0-1", "a-0-4", "a", "", "a-00"))),
            "namespace": "test",
            "labels": {NAME: "a", **draw(labels)},
            "annotations": {SIZE: draw(numbers), **draw(notes)},
        },
        "spec": {
            "containers": draw(containers),
            "initContainers": draw(some.none() | containers),
            "subdomain": "a",
            "affinity": draw(affinities),
        },
    }


@given(pods(), some.sampled_from(("", "volcano")))
def test_a_pod_that_was_admitted_is_admitted_unchanged(pod: Tree, gang: str) -> None:
    try:
        once = admitted(pod, gang_scheduler=gang)
    except PodRefusal:
        return

    assert admitted(once, gang_scheduler=gang) == once


@given(pods())
def test_the_patch_of_a_pod_makes_the_pod_that_was_meant(pod: Tree) -> None:
    verdict = default_pod(ReviewSnapshot(a_review(pod)), NOW)

    if verdict.allowed:
        assert reader(JSON_PATCH, verdict.patch or b"[]")(deepcopy(pod)) == admitted(pod)
    else:
        with pytest.raises(PodRefusal):
            admitted(pod)


@given(sets())
def test_a_set_with_its_defaults_lacks_none(tree: Tree) -> None:
    before = deepcopy(tree)

    once = defaulted(tree)

    assert tree == before
    assert defaulted(once) is once or defaulted(once) == once


@given(sets() | anything, sets() | anything | some.none(), some.sampled_from(("CREATE", "UPDATE", "DELETE")))
def test_every_review_is_answered(new: object, old: object, operation: str) -> None:
    review = ReviewSnapshot(a_review(new, old, operation))

    for judge in (default_set, validate_set, default_pod, validate_pod):
        verdict = judge(review, NOW)

        assert verdict.allowed or verdict.message
        assert not verdict.patch or msgspec.json.decode(verdict.patch)


@given(sets())
def test_what_is_wrong_with_a_set_does_not_depend_on_its_defaults_being_written(tree: Tree) -> None:
    if isinstance(tree["spec"], dict | None):
        told = list(refusals(tree))

        assert list(refusals(defaulted(tree))) == told
