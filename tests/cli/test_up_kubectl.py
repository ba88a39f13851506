"""`fairlead up` under the hands of kubectl: the parts' kinds and webhooks are in force."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.cli.ups import Kubectl, upped

ZONE = "topology.kubernetes.io/zone"
GROUP = "ingester"
DEFINITIONS = (
    "materializes.materialize.cloud",
    "rollouthealthchecks.rollout-operator.grafana.com",
    "zoneawarepoddisruptionbudgets.rollout-operator.grafana.com",
)


def a_zone(letter: str) -> dict[str, object]:
    """Two pods on the two nodes of a zone."""
    labels = {"rollout-group": GROUP, "name": f"{GROUP}-zone-{letter}"}
    spec = {"nodeSelector": {ZONE: f"zone-{letter}"}, "containers": [{"name": "main", "image": "app:1"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": labels["name"], "labels": labels},
        "spec": {
            "replicas": 2,
            "serviceName": GROUP,
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "OnDelete"},
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
        },
    }


def a_budget(most: int) -> dict[str, object]:
    return {
        "apiVersion": "rollout-operator.grafana.com/v1",
        "kind": "ZoneAwarePodDisruptionBudget",
        "metadata": {"name": GROUP},
        "spec": {"maxUnavailable": most, "selector": {"matchLabels": {"rollout-group": GROUP}}},
    }


def test_draining_respects_a_budget_that_knows_zones(tmp_path: Path) -> None:
    """While a pod of zone a has no node, no pod of zone b may be evicted; a second pod of zone a may not either."""
    kubectl = Kubectl(tmp_path)
    file = tmp_path / "zones.yaml"
    file.write_text(yaml.safe_dump_all([*map(a_zone, "abc"), a_budget(1)]))

    with upped(tmp_path, "-f", str(file)):
        kubectl(f"wait pods -l rollout-group={GROUP} --for=condition=Ready --timeout=60s", "zone-c-1 condition met")
        kubectl(f"get nodes -L {ZONE}", "sim-node-0 .* zone-a$", "sim-node-1 .* zone-b$", "sim-node-5 .* zone-c$")
        kubectl("cordon sim-node-3", "cordoned")
        kubectl("drain sim-node-0 --timeout=60s", "evicting pod default/ingester-zone-a-", "sim-node-0 drained")
        in_b = kubectl("drain sim-node-1 --timeout=3s", "pod-eviction-.*: 1 pod not ready in ingester-zone-a", code=1)
        kubectl("drain sim-node-3 --timeout=3s", "pod-eviction-.*: 1 pod not ready in ingester-zone-a", code=1)
        kubectl("uncordon sim-node-0", "uncordoned")
        kubectl("drain sim-node-1 --timeout=60s", "sim-node-1 drained")

    assert "evicted" not in in_b


def test_the_kinds_of_the_parts_are_there_and_their_rules_hold(tmp_path: Path) -> None:
    kubectl = Kubectl(tmp_path)
    file, changed = tmp_path / "budget.yaml", tmp_path / "changed.yaml"
    file.write_text(yaml.safe_dump_all([a_budget(1), a_zone("a")]))
    changed.write_text(yaml.safe_dump(a_budget(1) | {"spec": {"maxUnavailable": 1, "podNamePartitionRegex": "("}}))
    guarded = "label statefulset ingester-zone-a grafana.com/no-downscale=true"

    with upped(tmp_path, "-f", str(file)):
        kubectl("get crds -o name", *DEFINITIONS)
        kubectl(f"apply -f {changed}", 'admission webhook "zpdb-validation-.* denied the request', code=1)
        kubectl(guarded, "labeled")
        kubectl("scale statefulset ingester-zone-a --replicas=1", 'admission webhook "no-downscale-.* denied', code=1)
        kubectl("scale statefulset ingester-zone-a --replicas=3", "scaled")


def test_a_service_finds_its_pods(tmp_path: Path) -> None:
    kubectl = Kubectl(tmp_path)
    file = tmp_path / "zone.yaml"
    file.write_text(yaml.safe_dump(a_zone("a")))

    with upped(tmp_path, "-f", str(file)):
        kubectl("create service clusterip ingester --tcp=80:8080", "created")
        kubectl("set selector service ingester name=ingester-zone-a", "selector updated")
        kubectl("wait pod ingester-zone-a-0 ingester-zone-a-1 --for=condition=Ready --timeout=60s", "met")
        both = r"jsonpath={.subsets[0].addresses[1].targetRef.name}"
        kubectl(f"wait endpoints ingester --for={both}=ingester-zone-a-1 --timeout=60s", "condition met")
        kubectl("describe service ingester", r"Endpoints: +10\.\S+:8080,10\.\S+:8080")


def test_a_saved_cluster_has_its_webhooks_again(tmp_path: Path) -> None:
    """Those that were saved lead to an operator that is no more."""
    kubectl, kept = Kubectl(tmp_path), str(tmp_path / "kept")
    file = tmp_path / "zone.yaml"
    file.write_text(yaml.safe_dump(a_zone("a")))

    with upped(tmp_path, "-f", str(file), "--save", kept):
        kubectl("label statefulset ingester-zone-a grafana.com/no-downscale=true", "labeled")
    with upped(tmp_path, "--load", kept, "--save", kept):
        kubectl("scale statefulset ingester-zone-a --replicas=1", 'admission webhook "no-downscale-.* denied', code=1)
