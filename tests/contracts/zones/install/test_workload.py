"""The operator's pods."""

from __future__ import annotations

from typing import Any

import pytest

from fairlead.contracts.zones.install.objects import objects
from fairlead.contracts.zones.install.values import Values


def made(**switches: Any) -> dict[str, Any]:
    """The objects that there is one of, by kind."""
    return {one["kind"]: one for one in objects(Values(namespace="mimir", **switches))}


def test_alone_it_is_the_contracts_process_and_never_runs_twice() -> None:
    spec = made()["Deployment"]["spec"]

    assert spec["replicas"] == 1
    assert spec["strategy"] == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}
    assert spec["template"]["spec"]["containers"][0]["command"] == ["rollout-operator"]


def test_two_replicas_hold_a_lease_and_one_of_them_always_answers() -> None:
    found = made(high_availability=True, webhooks=True)

    spec = found["Deployment"]["spec"]
    assert spec["replicas"] == 2
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    assert spec["template"]["spec"]["containers"][0]["command"] == ["fairlead", "operator"]
    assert found["PodDisruptionBudget"]["spec"]["maxUnavailable"] == 1
    assert found["PodDisruptionBudget"]["spec"]["selector"] == spec["selector"]
    assert found["Service"]["spec"]["publishNotReadyAddresses"] is False


def test_phased_deployments_need_the_other_program_which_alone_holds_no_lease() -> None:
    spec = made(webhooks=True, phased_deployments=True)["Deployment"]["spec"]

    (container,) = spec["template"]["spec"]["containers"]
    assert spec["replicas"] == 1
    assert container["command"] == ["fairlead", "operator"]
    assert {"--no-lease", "--phased-deployments"} <= set(container["args"])
    both = made(webhooks=True, phased_deployments=True, high_availability=True)["Deployment"]["spec"]
    assert "--no-lease" not in both["template"]["spec"]["containers"][0]["args"]


def test_alone_webhooks_are_reached_before_the_operator_is_ready() -> None:
    assert made(webhooks=True)["Service"]["spec"]["publishNotReadyAddresses"] is True


@pytest.mark.parametrize("several", [False, True])
def test_pods_have_no_rights_on_their_node(several: bool) -> None:
    pod = made(high_availability=several)["Deployment"]["spec"]["template"]["spec"]

    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["volumes"][0]["emptyDir"]["medium"] == "Memory"
    assert container["volumeMounts"][0]["mountPath"] == "/tmp"


@pytest.mark.parametrize(("timeout", "grace"), [(10, 30), (30, 50)])
def test_a_pod_has_the_time_to_end_that_its_webhooks_may_need(timeout: int, grace: int) -> None:
    pod = made(webhooks=True, timeout_seconds=timeout)["Deployment"]["spec"]["template"]["spec"]

    assert pod["terminationGracePeriodSeconds"] == grace


def test_ports_are_the_same_from_the_probe_to_the_network_policy() -> None:
    found = made(webhooks=True, network_policy=True, monitoring=True)

    (container,) = found["Deployment"]["spec"]["template"]["spec"]["containers"]
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"http-metrics": 8001, "https": 8443}
    assert container["readinessProbe"]["httpGet"] == {"path": "/ready", "port": "http-metrics"}
    served = {port["targetPort"]: port["port"] for port in found["Service"]["spec"]["ports"]}
    assert served == {"http-metrics": 8001, "https": 443}
    (inwards,) = found["NetworkPolicy"]["spec"]["ingress"]
    assert {port["port"] for port in inwards["ports"]} == set(ports)
    assert found["ServiceMonitor"]["spec"]["endpoints"][0]["port"] == "http-metrics"


def test_everything_selects_the_pods_and_nothing_else() -> None:
    found = made(webhooks=True, high_availability=True, network_policy=True, monitoring=True)

    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert labels == {"app.kubernetes.io/name": "rollout-operator", "app.kubernetes.io/instance": "rollout-operator"}
    assert found["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert found["Service"]["spec"]["selector"] == labels
    assert found["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels
    assert labels.items() <= found["Service"]["metadata"]["labels"].items(), "the monitor finds the service"
    assert found["ServiceMonitor"]["spec"]["selector"]["matchLabels"] == labels
