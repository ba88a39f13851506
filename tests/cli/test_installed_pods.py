"""What is installed runs under the Pod Security Standard `restricted`, and survives the loss of a node."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from fairlead.cli.main import main
from fairlead.contracts import chart_of, contracts
from tests.contracts.zones.install import helm
from tests.pod_security import pods_in, violations

JOBS = {
    "environments": {"hooks": {"removal": True}},
    "apiversions": {"hooks": {"preflight": True, "removal": True}},
}
"""Values that have charts run programs besides the operator."""
POD: dict[str, Any] = {
    "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
    "containers": [
        {
            "name": "main",
            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
            "ports": [{"containerPort": 80}],
        }
    ],
    "volumes": [{"name": "memory", "emptyDir": {}}],
}


def names() -> list[str]:
    return [each.name for each in contracts() if each.install is not None]


@pytest.mark.parametrize("part", names())
def test_manifests_meet_the_restricted_standard(part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifests", "--part", part, *(["--ha", "--webhooks"] if part == "zones" else [])]) == 0

    pods = list(pods_in([each for each in yaml.safe_load_all(capsys.readouterr().out) if each]))

    assert pods
    assert [violations(each) for each in pods] == [[]] * len(pods)


@pytest.mark.parametrize("part", names())
def test_charts_meet_the_restricted_standard(part: str) -> None:
    pods = list(pods_in(list(helm.render(JOBS.get(part), chart=chart_of(part)).values())))

    assert pods
    assert [violations(each) for each in pods] == [[]] * len(pods)


SEVERAL = {"leaderworker": {"replicaCount": 2}, "plans": {"replicaCount": 2}, "apiversions": {}, "environments": {}}
"""Values with several replicas, whose webhooks let nothing through while none of them answers."""


@pytest.mark.parametrize("part", sorted(SEVERAL))
def test_replicas_that_answer_webhooks_prefer_nodes_of_their_own(part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manifests", "--part", part]) == 0
    printed = [each for each in yaml.safe_load_all(capsys.readouterr().out) if each]

    for objects in (printed, list(helm.render(SEVERAL[part], chart=chart_of(part)).values())):
        (deployment,) = (each for each in objects if each["kind"] == "Deployment")
        spread = deployment["spec"]["template"]["spec"]["affinity"]["podAntiAffinity"]
        (term,) = (each["podAffinityTerm"] for each in spread["preferredDuringSchedulingIgnoredDuringExecution"])

        assert deployment["spec"]["replicas"] == 2
        assert term["topologyKey"] == "kubernetes.io/hostname"
        assert term["labelSelector"] == deployment["spec"]["selector"]


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        (("hostNetwork",), True, "hostNetwork"),
        (("volumes", 0), {"name": "node", "hostPath": {"path": "/"}}, "volume hostPath"),
        (("securityContext", "runAsUser"), 0, "runAsUser of the pod is 0"),
        (("securityContext", "runAsNonRoot"), False, "main may run as root"),
        (("securityContext", "seccompProfile"), {"type": "Unconfined"}, "main has no seccompProfile"),
        (("containers", 0, "securityContext", "privileged"), True, "main is privileged"),
        (("containers", 0, "securityContext", "allowPrivilegeEscalation"), True, "main may escalate privileges"),
        (("containers", 0, "securityContext", "capabilities"), {}, "main has capabilities"),
        (("containers", 0, "ports", 0, "hostPort"), 80, "main has a hostPort"),
    ],
)
def test_what_the_standard_forbids_is_found(place: tuple[str | int, ...], value: object, said: str) -> None:
    pod: Any = copy.deepcopy(POD)
    *inside, last = place
    found = pod
    for step in inside:
        found = found[step]

    found[last] = value

    assert violations(POD) == []
    assert said in violations(pod)
