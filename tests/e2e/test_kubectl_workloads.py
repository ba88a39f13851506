"""kubectl run, scale, rollout, expose, autoscale, wait, drain, taint and logs, with pods that come and go."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.e2e.clusters import Site, everywhere
from tests.e2e.kubectls import Kubectl, both_releases, workload
from tests.e2e.programs import LONG, line_with

pytestmark = pytest.mark.fidelity


@both_releases
@everywhere(on=("served", "real"))
async def test_a_rollout_is_followed_paused_and_undone(site: Site, release: str, tmp_path: Path) -> None:
    kubectl = Kubectl(site, release, tmp_path)
    site.start_kubelet(ready_after=0.0)
    await kubectl.all(
        ("create deployment web --image=app:1 --replicas=2", "created"),
        ("rollout status deployment/web --timeout=180s", "successfully rolled out"),
        ("get deployment web", r"web +2/2 +2 +2 "),
        ("set image deployment/web app=app:2", "image updated"),
        ("rollout status deployment/web --timeout=180s", "successfully rolled out"),
        ("rollout history deployment/web", "REVISION +CHANGE-CAUSE", "^1 +<none>", "^2 +<none>"),
        ("rollout history deployment/web --revision=1", "Image:\tapp:1"),
        ("rollout undo deployment/web", "deployment.apps/web rolled back"),
        ("rollout status deployment/web --timeout=180s", "successfully rolled out"),
        ("get deployment web -o jsonpath={.spec.template.spec.containers[0].image}", "^app:1$"),
        ("rollout pause deployment/web", "deployment.apps/web paused"),
        ("rollout resume deployment/web", "deployment.apps/web resumed"),
        ("rollout restart deployment/web", "deployment.apps/web restarted"),
        ("rollout status deployment/web --timeout=180s", "successfully rolled out"),
        ("scale deployment/web --replicas=3 --current-replicas=2", "deployment.apps/web scaled"),
        ("wait deployment/web --for=jsonpath={.status.readyReplicas}=3", "condition met"),
    )
    await kubectl("rollout undo deployment/web --to-revision=99", "unable to find specified revision 99", code=1)
    await kubectl("scale deployment/web --replicas=1 --current-replicas=7", "Expected replicas to be 7, was 3", code=1)


@both_releases
@everywhere(on=("served", "real"))
async def test_sets_are_restarted_and_undone(site: Site, release: str, tmp_path: Path) -> None:
    kubectl = Kubectl(site, release, tmp_path)
    site.start_kubelet(ready_after=0.0)
    kubectl.write(
        "sets.yaml", workload("StatefulSet", "data", replicas=2, serviceName="data"), workload("DaemonSet", "agent")
    )
    await kubectl.all(
        ("create -f @sets.yaml", "statefulset.apps/data created", "daemonset.apps/agent created"),
        ("rollout status statefulset/data --timeout=180s", "complete"),
        ("rollout status daemonset/agent --timeout=180s", "successfully rolled out"),
        ("set image statefulset/data daemonset/agent app=app:2", "data image updated", "agent image updated"),
        ("rollout status statefulset/data --timeout=180s", "complete"),
        ("rollout status daemonset/agent --timeout=180s", "successfully rolled out"),
        ("rollout history statefulset/data", "^1 ", "^2 "),
        ("rollout history daemonset/agent --revision=1", "app:1"),
        ("rollout undo statefulset/data --to-revision=1", "statefulset.apps/data rolled back"),
        ("rollout undo daemonset/agent", "daemonset.apps/agent rolled back"),
        ("rollout status statefulset/data --timeout=180s", "complete"),
        ("get pods -l app=data -o jsonpath={.items[*].spec.containers[0].image}", "^app:1 app:1$"),
        ("get sts,ds", r"data +2/2", r"agent +\d +\d +\d"),
        ("scale statefulset data --replicas=1", "statefulset.apps/data scaled"),
        ("wait pod data-1 --for=delete", "pod/data-1 condition met|^$"),
    )


@both_releases
@everywhere(on=("served", "real"))
async def test_a_pod_is_run_exposed_and_waited_for(site: Site, release: str, tmp_path: Path) -> None:
    kubectl = Kubectl(site, release, tmp_path)
    site.start_kubelet(ready_after=0.0)
    await kubectl.all(
        ("run one --image=app:1 --port=80 --labels=app=one --env=A=b", "pod/one created"),
        ("wait pod/one --for=condition=Ready --timeout=180s", "pod/one condition met"),
        ("wait pod/one --for=jsonpath={.status.phase}=Running", "condition met"),
        ("expose pod one --port=8080 --target-port=80 --name=front", "service/front exposed"),
        ("get service front -o jsonpath={.spec.ports[0].targetPort}{.spec.selector.app}", "^80one$"),
        ("run other --image=app:1 --dry-run=client -o yaml", "kind: Pod", "name: other"),
        ("create deployment web --image=app:1", "created"),
        ("autoscale deployment web --min=1 --max=4 --cpu-percent=80", "web autoscaled"),
        ("get hpa web", r"web +Deployment/web +.*80%.* +1 +4"),
        ("set selector service front app=other", "service/front selector updated"),
        ("delete pod one", 'pod "one" deleted'),
    )
    await kubectl("wait pod/one --for=condition=Ready --timeout=1s", r'pods "one" not found', code=1)
    await kubectl("wait deploy/web --for=condition=Never --timeout=1s", "timed out waiting for the condition", code=1)


@both_releases
@everywhere(on=("served", "real"))
async def test_a_node_is_cordoned_tainted_and_drained_within_a_budget(site: Site, release: str, tmp_path: Path) -> None:
    kubectl = Kubectl(site, release, tmp_path)
    site.start_kubelet(ready_after=0.2, nodes=2)
    await kubectl.all(
        ("create deployment web --image=app:1 --replicas=3", "created"),
        ("create pdb web --selector=app=web --min-available=2", "created"),
        ("rollout status deployment/web --timeout=180s", "successfully rolled out"),
        ("taint nodes sim-node-0 key=value:NoSchedule", "node/sim-node-0 tainted"),
        ("taint nodes sim-node-0 key-", "node/sim-node-0 untainted"),
        ("cordon sim-node-0", "node/sim-node-0 cordoned"),
        ("get node sim-node-0", r"sim-node-0 +Ready,SchedulingDisabled .* v1\.36\.4"),
    )
    await kubectl("drain sim-node-0 --ignore-daemonsets --timeout=90s", "evicting pod .*web-", "sim-node-0 drained")
    await kubectl.all(
        ("get pods --field-selector=spec.nodeName=sim-node-0", "No resources found"),
        ("uncordon sim-node-0", "node/sim-node-0 uncordoned"),
        ("rollout status deployment/web --timeout=180s", "successfully rolled out"),
    )
    await kubectl("run alone --image=app:1", "created")
    await kubectl("wait pod/alone --for=condition=Ready --timeout=180s", "condition met")
    node = (await kubectl.read("pod alone"))["spec"]["nodeName"]
    await kubectl(f"drain {node}", "cannot delete .*declare no controller", code=1)
    await kubectl(f"uncordon {node}", "uncordoned")


@both_releases
@everywhere(on=("served",))
async def test_logs_are_read_and_followed(site: Site, release: str, tmp_path: Path) -> None:
    kubectl = Kubectl(site, release, tmp_path)
    site.start_kubelet(ready_after=0.0)
    await kubectl.all(
        ("run one --image=app:1", "created"),
        ("wait pod/one --for=condition=Ready --timeout=180s", "met"),
        ("logs one", "^container one of image app:1 started$", "^ready$"),
        ("logs one --tail=1 -c one --timestamps", r"\A\d{4}-\d\d-\d\dT\S+Z ready\n\Z"),
    )
    await kubectl("logs nobody", r'pods "nobody" not found', code=1)
    await kubectl("logs one -c other", "container other is not valid for pod one", code=1)
    async with kubectl.running("logs one --follow") as following, asyncio.timeout(LONG):
        await line_with(following.stdout, "container one of image app:1 started")
        await kubectl("delete pod one", 'pod "one" deleted')
        assert await following.wait() == 0
