"""Kinds of others come back as they were, without a rule and with ours (section 3.2)."""

from __future__ import annotations

from math import inf
from pathlib import Path
from random import Random
from typing import Any

import pytest
import yaml
from hypothesis import settings
from msgspec.structs import replace

from fairlead.contracts.apiversions import self_test
from fairlead.contracts.apiversions.decide.convert import KindConversion, convert
from fairlead.contracts.apiversions.decide.plain_rules import plain_rules
from fairlead.contracts.apiversions.decide.round_trip import failures
from fairlead.contracts.apiversions.decide.rule_sets import kind_of, read_rules, schemas_of
from fairlead.contracts.apiversions.decide.trees import copied
from kubeloop.schemas.structural import prune
from tests.contracts.apiversions.real_definitions import CLUSTER_API, ECK, KARPENTER, MODULES, Module, definitions_of

RULES = Path(__file__).parents[3] / "examples" / "rules"
SOAKS = settings().max_examples >= 1000
TRIES, SECONDS = (10_000, inf) if SOAKS else (3, self_test.MOST_SECONDS)


def ours(file: str, definitions: dict[str, Any]) -> list[KindConversion]:
    """The kinds of an example, with its rules."""
    sets = [read_rules(each) for each in yaml.safe_load_all((RULES / file).read_text())]
    return [kind_of(each, definitions[each.crd]) for each in sets]


@pytest.mark.machine
@pytest.mark.parametrize("module", MODULES, ids=str)
def test_every_kind_of_several_versions_comes_back_without_a_rule(module: Module) -> None:
    definitions = definitions_of(module)
    several = [each for each in definitions.values() if len(each["spec"]["versions"]) > 1]

    for each in several:
        found = [*self_test.problems(kind_of(plain_rules(each), each), TRIES, SECONDS)]
        assert found == [], each["metadata"]["name"]


@pytest.mark.machine
@pytest.mark.parametrize(
    ("file", "module", "kinds"),
    [
        ("machinehealthchecks.yaml", CLUSTER_API[-1], ["MachineHealthCheck"]),
        ("karpenter.yaml", KARPENTER[-1], ["NodePool", "NodeClaim"]),
    ],
    ids=["MachineHealthCheck", "NodePool and NodeClaim"],
)
def test_kinds_with_our_rules_come_back_however_often_they_are_tried(
    file: str, module: Module, kinds: list[str]
) -> None:
    found = ours(file, definitions_of(module))

    problems = {each.kind: [*self_test.problems(each, TRIES, SECONDS)] for each in found}

    assert problems == {kind: [] for kind in kinds}


HEALTH_CHECK = {
    "apiVersion": "cluster.x-k8s.io/v1beta1",
    "kind": "MachineHealthCheck",
    "metadata": {"name": "one", "namespace": "test"},
    "spec": {
        "clusterName": "c",
        "selector": {},
        "maxUnhealthy": "40%",
        "nodeStartupTimeout": "10m",
        "unhealthyConditions": [
            {"type": "Ready", "status": "False", "timeout": "600s"},
            {"type": "Ready", "status": "Unknown", "timeout": "1.5h"},
        ],
    },
}


def test_health_checks_of_machines_come_back_as_they_were_written() -> None:
    """A40: 500 objects of each version, and durations whatever way they are written."""
    (whole,) = ours("machinehealthchecks.yaml", definitions_of(CLUSTER_API[-1]))
    kind = replace(whole, spokes={"v1beta1": whole.spokes["v1beta1"]})
    for version in (kind.hub, kind.spokes["v1beta1"].version):
        chance = Random(version.name)
        for _ in range(500):
            assert [*failures(self_test.made_up(kind, version, chance), kind)] == []

    there = convert(copied(HEALTH_CHECK), "v1beta2", kind).tree["spec"]

    assert there["checks"]["nodeStartupTimeoutSeconds"] == 600
    assert [each["timeoutSeconds"] for each in there["checks"]["unhealthyNodeConditions"]] == [600, 5400]
    assert there["remediation"]["triggerIf"] == {"unhealthyLessThanOrEqualTo": "40%"}
    assert [*failures(HEALTH_CHECK, whole)] == []


NODE_POOL = {
    "apiVersion": "karpenter.sh/v1beta1",
    "kind": "NodePool",
    "metadata": {"name": "one"},
    "spec": {
        "disruption": {"consolidationPolicy": "WhenUnderutilized", "expireAfter": "720h"},
        "template": {
            "spec": {
                "kubelet": {"maxPods": 20},
                "nodeClassRef": {"apiVersion": "karpenter.k8s.aws/v1beta1", "kind": "EC2NodeClass", "name": "d"},
                "requirements": [],
            }
        },
    },
}


def test_node_pools_and_claims_come_back_and_are_of_the_new_shape() -> None:
    pools, claims = ours("karpenter.yaml", definitions_of(KARPENTER[-1]))
    assert [*self_test.problems(pools), *self_test.problems(claims)] == []

    spec = convert(copied(NODE_POOL), "v1", pools).tree["spec"]

    assert spec["disruption"] == {"consolidationPolicy": "WhenEmptyOrUnderutilized", "consolidateAfter": "0s"}
    assert spec["template"]["spec"]["expireAfter"] == "720h"
    assert spec["template"]["spec"]["nodeClassRef"]["group"] == "karpenter.k8s.aws"
    assert "kubelet" not in spec["template"]["spec"]
    assert [*failures(NODE_POOL, pools)] == []


ELASTICSEARCH = {
    "apiVersion": "elasticsearch.k8s.elastic.co/v1",
    "kind": "Elasticsearch",
    "metadata": {"name": "one", "namespace": "test"},
    "spec": {
        "version": "8.15.0",
        "auth": {"fileRealm": [{"secretName": "realm"}]},
        "nodeSets": [{"name": "default", "count": 3, "zoneAwareness": {"topologyKey": "zone"}}],
    },
}


@pytest.mark.parametrize("module", ECK, ids=str)
def test_what_an_old_version_prunes_is_lost_without_rules_and_kept_with_an_empty_set(module: Module) -> None:
    """A38, as far as it goes without a cluster."""
    definition = definitions_of(module)["elasticsearches.elasticsearch.k8s.elastic.co"]
    renamed = copied(ELASTICSEARCH)
    pruned = prune(renamed, schemas_of(definition)["v1beta1"])

    kind = kind_of(plain_rules(definition), definition)

    assert "spec.auth" in pruned
    assert "auth" not in renamed["spec"]
    assert kind.versions == ("v1", "v1beta1", "v1alpha1")
    assert [*failures(ELASTICSEARCH, kind)] == []
