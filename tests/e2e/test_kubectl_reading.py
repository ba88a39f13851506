"""kubectl get, describe, explain, auth, and what it tells of the server."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from tests.e2e.clusters import Site, everywhere
from tests.e2e.kubectls import Kubectl, both_releases, config_map, pod, workload
from tests.e2e.programs import line_with

pytestmark = pytest.mark.fidelity

EVERY_FORM = (
    ("get pods", r"NAME +READY +STATUS +RESTARTS +AGE", r"^a +1/1 +Running +0 +\d+s"),
    ("get pods -o wide", "IP +NODE +NOMINATED NODE +READINESS GATES", r"a +1/1 +Running .* sim-node-\d"),
    ("get pod a -o yaml", "^kind: Pod", "  name: a$", "phase: Running"),
    ("get pods -o name", r"\Apod/a\npod/b\n\Z"),
    ("get pods -o jsonpath={.items[*].metadata.name}", "^a b$"),
    ("get pods -o jsonpath={range.items[*]}{.metadata.name}={.status.phase};{end}", "^a=Running;b=Running;$"),
    ("get pods -o go-template={{range.items}}{{.metadata.name}}{{end}}", "^ab$"),
    ("get pods -o custom-columns=POD:.metadata.name,IMAGE:.spec.containers[0].image", "POD +IMAGE", "a +app:1"),
    ("get pods --no-headers -l app=a", r"\Aa +1/1"),
    ("get pods -l app!=a,app -o name", r"\Apod/b\n\Z"),
    ("get pods -l 'app in (a,c)' -o name", r"\Apod/a\n\Z"),
    ("get pods --field-selector=metadata.name=b -o name", r"\Apod/b\n\Z"),
    ("get pods --field-selector=status.phase!=Running", "No resources found in .* namespace."),
    ("get pods --sort-by={.metadata.labels.rank} -o name", r"\Apod/b\npod/a\n\Z"),
    ("get pods --show-labels -L rank", "RANK +LABELS|LABELS", "app=a,rank=2"),
    ("get pods --show-kind", "^pod/a "),
    ("get pods,configmaps -o name", "pod/a", "configmap/one", "configmap/kube-root-ca.crt"),
    ("get pod/a configmap/one", "pod/a", "configmap/one +1 "),
    ("get all", "^pod/a "),
    ("get pods -A --field-selector=metadata.name=a", r"NAMESPACE +NAME", r"\S+ +a "),
    ("get pods --chunk-size=1 -o name", r"\Apod/a\npod/b\n\Z"),
    ("get pod nobody --ignore-not-found", r"\A\Z"),
    ("get po,cm,deploy,sts,ds,rs,svc,ep,sa,pvc,pdb,hpa,ing,netpol,quota,limits,cj,jobs,leases -o name", "pod/a"),
)
SERVER = (
    ("api-versions", "^apps/v1$", "^v1$", r"^coordination.k8s.io/v1$"),
    ("api-resources", r"NAME +SHORTNAMES +APIVERSION +NAMESPACED +KIND", r"pods +po +v1 +true +Pod"),
    ("api-resources --namespaced=false -o name", "^nodes$", "^namespaces$"),
    ("api-resources --verbs=list,watch --api-group=apps -o wide", "deployments +deploy +apps/v1 +true", "patch"),
    ("cluster-info", "Kubernetes control plane.* is running at .*https://127.0.0.1:"),
    ("version", r"Server Version: .*v1\.36\.4"),
    ("get --raw /healthz", r"\Aok\Z"),
    ("get --raw /version", '"major": ?"1"'),
    ("get --raw /api/v1/namespaces/default", '"kind": ?"Namespace"'),
    ("auth can-i create pods", "^yes$"),
    ("auth can-i --list", r"Resources +Non-Resource URLs", r"\*\.\* +\[\] +\[\] +\[\*\]"),
    ("auth whoami", r"ATTRIBUTE +VALUE", r"Username +admin", "system:masters"),
    ("config current-context", "."),
    ("explain pods", "KIND: +Pod", "spec\t<PodSpec>"),
    ("explain deployment.spec.strategy --recursive", "GROUP: +apps", "maxSurge\t<IntOrString>", "rollingUpdate"),
    ("explain --api-version=autoscaling/v2 hpa.spec", "VERSION: +v2", "minReplicas\t<integer>"),
)


@both_releases
@everywhere(on=("served", "real"))
async def test_pods_are_shown_in_every_form(site: Site, release: str, tmp_path: Path) -> None:
    kubectl = Kubectl(site, release, tmp_path)
    site.start_kubelet(ready_after=0.0)
    a, b = pod("a"), pod("b")
    a["metadata"]["labels"]["rank"], b["metadata"]["labels"]["rank"] = "2", "1"
    kubectl.write("pods.yaml", a, b, config_map("one", a="1"))
    await kubectl("apply -f @pods.yaml", "pod/a created")
    await kubectl("wait pod a b --for=condition=Ready", "pod/a condition met", "pod/b condition met")

    await kubectl.all(*EVERY_FORM)

    await kubectl("get pods --field-selector=spec.colour=red", "field label not supported", code=1)
    await kubectl("get pod nobody", r'Error from server \(NotFound\): pods "nobody" not found', code=1)
    await kubectl("get nonsense", 'error: the server doesn\'t have a resource type "nonsense"', code=1)
    listed = msgspec.json.decode(await kubectl("get pods -o json"))
    assert [listed["kind"], *(each["metadata"]["name"] for each in listed["items"])] == ["List", "a", "b"]


@both_releases
@everywhere(on=("served", "real"))
async def test_the_server_is_described(site: Site, release: str, tmp_path: Path) -> None:
    kubectl = Kubectl(site, release, tmp_path)

    await kubectl.all(*SERVER)

    await kubectl("auth can-i create pods --as=nobody", "^no", code=1)
    await kubectl("get pods --as=nobody", r'pods is forbidden: User "nobody" cannot list resource "pods"', code=1)


@both_releases
@everywhere(on=("served", "real"))
async def test_a_watch_shows_each_change_as_a_line(site: Site, release: str, tmp_path: Path) -> None:
    kubectl = Kubectl(site, release, tmp_path)
    async with kubectl.running("get configmaps --watch --field-selector=metadata.name=one") as watching:
        await kubectl("create configmap one --from-literal=a=1", "created")
        assert re.match(r"one +1 +\d+s", await line_with(watching.stdout, "one"))
        await kubectl('patch configmap one --type=merge -p \'{"data":{"b":"2"}}\'', "patched")
        assert re.match(r"one +2 +\d+s", await line_with(watching.stdout, "one"))


@both_releases
@everywhere(on=("served", "real"))
async def test_every_kind_is_described(site: Site, release: str, tmp_path: Path) -> None:
    kubectl = Kubectl(site, release, tmp_path)
    site.start_kubelet(ready_after=0.0)
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    kubectl.write(
        "all.yaml",
        workload("Deployment", "web", replicas=1),
        workload("StatefulSet", "data", replicas=1, serviceName="data"),
        workload("DaemonSet", "agent"),
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "disk"}, "spec": claim},
    )
    await kubectl.all(
        ("apply -f @all.yaml", "deployment.apps/web created"),
        ("expose deployment web --port=80", "service/web exposed"),
        ("create pdb web --selector=app=web --min-available=1", "created"),
        ("create job once --image=app:1 -- true", "job.batch/once created"),
        ("rollout status deployment/web --timeout=180s", 'deployment "web" successfully rolled out'),
        ("rollout status statefulset/data --timeout=180s", "complete"),
        ("wait pod data-0 --for=condition=Ready", "met"),
    )

    await kubectl.all(
        (
            "describe pod data-0",
            "Name: +data-0",
            "Controlled By: +StatefulSet/data",
            "Image: +app:1",
            "QoS Class: +BestEf",
        ),
        (
            "describe deployment web",
            "1 desired | 1 updated | 1 total",
            "StrategyType: +RollingUpdate",
            "ScalingReplicaSet",
        ),
        ("describe rs -l app=web", "Controlled By: +Deployment/web", "1 current / 1 desired", "SuccessfulCreate"),
        ("describe sts data", "Pod Management Policy|Update Strategy", "SuccessfulCreate.*Create Pod data-0"),
        ("describe ds agent", "Desired Number of Nodes Scheduled: +\\d", "Pod Template:"),
        ("describe svc web", "Type: +ClusterIP", "Selector: +app=web", "Port: +<unset> +80/TCP", r"Endpoints: +\d+\."),
        ("describe pdb web", "Min available: +1", "Selector: +app=web"),
        ("describe pvc disk", "Name: +disk", "Access Modes:", "Used By: +<none>"),
        ("describe job once", "Parallelism: +1", "Pods Statuses:"),
        ("describe node sim-node-0", "Name: +sim-node-0", "Non-terminated Pods:", "Allocated resources:"),
        (f"describe ns {site.namespace}", "Status: +Active", "No resource quota"),
        ("describe sa default", "Name: +default"),
        ("describe cm kube-root-ca.crt", "ca.crt:", "BEGIN CERTIFICATE"),
        ("events --for deployment/web", "ScalingReplicaSet", "Deployment/web"),
        ("get events --field-selector=involvedObject.kind=StatefulSet", "SuccessfulCreate", "statefulset/data"),
        ("get endpointslices -l kubernetes.io/service-name=web", r"web-\w+ +IPv4 +80 +\d+\."),
        ("get endpoints web", r"web +\d+\.\d+\.\d+\.\d+:80"),
    )
