"""What the cluster of `fairlead up` cannot do it says on the spot, to kubectl."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.cli.ups import Kubectl, upped

Tree = dict[str, Any]


def a_pod(name: str, *, container: Tree | None = None, **spec: object) -> Tree:
    containers = [{"name": "main", "image": "app:1", **(container or {})}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {"containers": containers, **spec}}


def a_claim(name: str, storage_class: str) -> Tree:
    spec: Tree = {"storageClassName": storage_class, "accessModes": ["ReadWriteOnce"]}
    spec |= {"resources": {"requests": {"storage": "1Gi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def a_class(name: str, provisioner: str, mode: str = "WaitForFirstConsumer") -> Tree:
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
    return {**kind, "provisioner": provisioner, "volumeBindingMode": mode}


def using(claim: str) -> list[Tree]:
    return [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]


JOB: Tree = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "app:1"}]}}}
ENV = [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "late", "key": "password"}}}]
OPTIONAL: Tree = {"envFrom": [{"configMapRef": {"name": "missing", "optional": True}}]}
OBJECTS: list[Tree] = [
    a_class("elsewhere", "example.test/nobody"),
    a_class("here", "fairlead.dev/sim"),
    a_claim("unbound", "elsewhere"),
    a_claim("bound", "here"),
    a_pod("stored-nowhere", volumes=using("unbound")),
    a_pod("stored-here", volumes=using("bound"), container=OPTIONAL),
    a_pod("claimless", volumes=using("none")),
    a_pod("keyless", volumes=[{"name": "keys", "secret": {"secretName": "keys"}}]),
    a_pod("unset", container={"envFrom": [{"configMapRef": {"name": "settings"}}]}),
    a_pod("waiting", container={"env": ENV}),
    a_pod("large", container={"resources": {"requests": {"cpu": "65", "memory": "1Gi"}}}),
    a_pod("elsewhere", nodeSelector={"topology.kubernetes.io/zone": "zone-x"}),
    {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}, "spec": JOB},
    {
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "often"},
        "spec": {"schedule": "* * * * *", "jobTemplate": {"spec": JOB}},
    },
]
EVENTS = {
    "pod/stored-nowhere": "FailedScheduling .*0/6 nodes are available: pod has unbound immediate PersistentVolumeCl",
    "persistentvolumeclaim/unbound": "NoProvisioner .*give it a StorageClass whose provisioner is fairlead.dev/sim",
    "pod/claimless": 'FailedScheduling .*0/6 nodes are available: persistentvolumeclaim "none" not found',
    "pod/keyless": 'FailedMount .*MountVolume.SetUp failed for volume "keys" : secret "keys" not found',
    "pod/unset": 'Failed .*Error: configmap "settings" not found',
    "pod/waiting": 'Failed .*Error: secret "late" not found',
    "pod/large": "FailedScheduling .*0/6 nodes are available: 6 Insufficient cpu.",
    "pod/elsewhere": "FailedScheduling .*6 node.s. didn't match Pod's node affinity/selector",
    "job/once": "NoController .*nobody runs a Job in this cluster: create a Pod or a Deployment instead",
    "cronjob/often": "NoController .*nobody runs a CronJob in this cluster",
}


@pytest.fixture(scope="module")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubectl]:
    """At a cluster with objects that lack something."""
    home = tmp_path_factory.mktemp("home")
    kubectl, file = Kubectl(home), home / "objects.yaml"
    file.write_text(yaml.safe_dump_all(OBJECTS))
    with upped(home, "-f", str(file)):
        yield kubectl


@pytest.mark.parametrize("about", EVENTS)
def test_an_event_says_what_is_missing(kubectl: Kubectl, about: str) -> None:
    kind, _, name = about.partition("/")
    reason, _, _ = EVENTS[about].partition(" ")
    kinds = {"pod": "Pod", "persistentvolumeclaim": "PersistentVolumeClaim", "job": "Job", "cronjob": "CronJob"}
    fields = f"involvedObject.name={name},involvedObject.kind={kinds[kind]},reason={reason}"

    kubectl(f"wait events --for=create --field-selector={fields} --timeout=30s")
    kubectl(f"events --for={about}", EVENTS[about])


def test_what_lacks_something_waits_and_the_rest_runs(kubectl: Kubectl) -> None:
    kubectl("wait pod/stored-here --for=condition=Ready --timeout=30s", "met")

    kubectl("get pods", *(rf"^{name} .* Pending" for name in ("stored-nowhere", "keyless", "unset", "large")))


def test_a_pod_goes_on_when_what_it_lacked_is_there(kubectl: Kubectl) -> None:
    kubectl("create secret generic late --from-literal=user=me", "created")
    kubectl("events --for=pod/waiting --watch=false", "secret .late. not found")
    kubectl("delete secret late", "deleted")
    kubectl("create secret generic late --from-literal=password=x", "created")

    kubectl("wait pod/waiting --for=condition=Ready --timeout=30s", "met")


def test_debugging_is_refused_with_a_sentence(kubectl: Kubectl) -> None:
    kubectl("wait pod/stored-here --for=condition=Ready --timeout=30s", "met")

    kubectl("debug -it stored-here --image=busybox", "no program runs in the pods of this cluster", code=1)
