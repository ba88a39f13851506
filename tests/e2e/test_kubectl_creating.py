"""kubectl create, apply, replace, edit, patch, label, diff and delete."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.clusters import Site, everywhere
from tests.e2e.kubectls import Kubectl, both_releases, config_map, definition, gadget, pod, workload

pytestmark = pytest.mark.fidelity

GENERATORS = (
    ("create deployment web --image=app:1 --replicas=2 --port=80", "deployment.apps/web created"),
    ("create configmap settings --from-literal=a=1", "configmap/settings created"),
    ("create secret generic hidden --from-literal=password=x", "secret/hidden created"),
    ("create secret docker-registry puller --docker-username=u --docker-password=p", "secret/puller created"),
    ("create serviceaccount robot", "serviceaccount/robot created"),
    ("create job once --image=app:1 -- true", "job.batch/once created"),
    ("create cronjob nightly --image=app:1 --schedule='0 3 * * *' -- true", "cronjob.batch/nightly created"),
    ("create job now --from=cronjob/nightly", "job.batch/now created"),
    ("create poddisruptionbudget some --selector=app=web --min-available=1", "poddisruptionbudget.policy/some created"),
    ("create role reader --verb=get,list --resource=pods", "role.rbac.authorization.k8s.io/reader created"),
    ("create rolebinding reads --role=reader --user=jane", "rolebinding.rbac.authorization.k8s.io/reads created"),
    ("create quota few --hard=pods=100", "resourcequota/few created"),
    ("create ingress front --rule=example.com/=web:80", "ingress.networking.k8s.io/front created"),
    ("create service clusterip web --tcp=80:8080", "service/web created"),
    ("create service externalname other --external-name=example.com", "service/other created"),
    ("create token robot", r"^[\w-]+\.[\w-]+\.[\w-]+$"),
    ("create clusterrole kubectl-reader --verb=get --resource=nodes", "clusterrole.*/kubectl-reader created"),
    ("create clusterrolebinding kubectl-reads --clusterrole=kubectl-reader --user=jane", "kubectl-reads created"),
    ("create priorityclass kubectl-high --value=1000", "priorityclass.scheduling.k8s.io/kubectl-high created"),
    ("create namespace kubectl-made", "namespace/kubectl-made created"),
)
GENERATED = (
    ("get configmap settings -o jsonpath={.data.a}", "^1$"),
    ("get secret hidden -o go-template={{.data.password}}", "^eA==$"),
    ("get cronjob nightly", r"NAME +SCHEDULE +TIMEZONE +SUSPEND", r"nightly +0 3 \* \* \* +<none> +False"),
    ("get pdb some", r"some +1 +N/A +\d"),
    ("get ingress front", r"front +<none> +example.com +80"),
    ("get service web other", r"web +ClusterIP +10\.\S+ +<none> +80/TCP", r"other +ExternalName"),
    ("get role,rolebinding", "role.*/reader", r"rolebinding.*/reads +Role/reader"),
    ("get priorityclass kubectl-high", r"kubectl-high +1000 +false"),
    ("get quota few -o jsonpath={.spec.hard.pods}", "^100$"),
)
AT_CLUSTER_SCOPE = (
    "clusterrole/kubectl-reader clusterrolebinding/kubectl-reads priorityclass/kubectl-high ns/kubectl-made"
)


@both_releases
@everywhere(on=("served", "real"))
async def test_every_generator_makes_its_object(site: Site, release: str, tmp_path: Path) -> None:
    kubectl = Kubectl(site, release, tmp_path)
    try:
        await kubectl.all(*GENERATORS)
        await kubectl("create configmap settings --from-literal=a=1", "already exists", code=1)
        await kubectl.all(*GENERATED)
    finally:
        await kubectl(f"delete {AT_CLUSTER_SCOPE} --ignore-not-found", "kubectl-made")


@both_releases
@everywhere(on=("served", "real"))
async def test_client_side_apply_creates_changes_compares_and_prunes(site: Site, release: str, tmp_path: Path) -> None:
    kubectl = Kubectl(site, release, tmp_path)
    one, two = config_map("one", a="1"), config_map("two", b="2")
    for each in (one, two):
        each["metadata"]["labels"] = {"set": "mine"}
    kubectl.write("both.yaml", one, two)
    kubectl.write("changed.yaml", one | {"data": {"a": "changed"}})
    kubectl.write("bad.yaml", one | {"date": {}})

    await kubectl.all(
        ("apply -f @both.yaml --dry-run=client", r"one created \(dry run\)"),
        ("apply -f @both.yaml --dry-run=server", r"one created \(server dry run\)"),
        ("get cm one two --ignore-not-found", r"\A\Z"),
        ("apply -f @both.yaml", "configmap/one created", "configmap/two created"),
        ("apply -f @both.yaml", "configmap/one unchanged", "configmap/two unchanged"),
        ("apply view-last-applied configmap/one", "a: "),
        ("apply -f @changed.yaml --dry-run=server", r"one configured \(server dry run\)"),
        ("get cm one -o jsonpath={.data.a}", "^1$"),
    )
    await kubectl("diff -f @both.yaml", r"\A\Z")
    await kubectl("diff -f @changed.yaml", '^-  a: "1"', "^[+]  a: changed", code=1)
    await kubectl("apply -f @bad.yaml", 'unknown field "date"', code=1)
    await kubectl("apply -f @bad.yaml --validate=warn", 'Warning: unknown field "date"', "one unchanged|one configured")
    await kubectl("apply -f @bad.yaml --validate=ignore", "one unchanged|one configured", absent="Warning: unknown")
    await kubectl.all(
        ("apply -f @changed.yaml --prune -l set=mine --prune-allowlist=core/v1/ConfigMap", "one conf", "two pruned"),
        ("get cm -l set=mine -o name", r"\Aconfigmap/one\n\Z"),
    )


@both_releases
@everywhere(on=("served", "real"))
async def test_unknown_kinds_and_mistakes_in_lists_are_told_as_such(site: Site, release: str, tmp_path: Path) -> None:
    """OpenAPI v3 knows neither, so kubectl looks into v2 before it goes on."""
    kubectl = Kubectl(site, release, tmp_path)
    one = config_map("one", a="1")
    kubectl.write("unknown.yaml", one | {"apiVersion": "example.com/v1", "kind": "Nonsense"})
    kubectl.write("list.yaml", {"apiVersion": "v1", "kind": "List", "items": [one]})
    kubectl.write("bad.yaml", {"apiVersion": "v1", "kind": "List", "items": [one | {"date": {}}]})

    for verb in ("create", "apply"):
        told = 'no matches for kind "Nonsense" in version "example.com/v1"'
        await kubectl(f"{verb} -f @unknown.yaml", told, code=1)
    await kubectl("apply -f @bad.yaml", 'unknown field "date"', code=1)
    await kubectl.all(
        ("apply -f @list.yaml", "configmap/one created"),
        ("apply -f @list.yaml", "configmap/one unchanged"),
    )


@both_releases
@everywhere(on=("served", "real"))
async def test_server_side_apply_tells_conflicts_and_takes_over(site: Site, release: str, tmp_path: Path) -> None:
    kubectl = Kubectl(site, release, tmp_path)
    kubectl.write("mine.yaml", config_map("one", a="1"))
    kubectl.write("yours.yaml", config_map("one", a="2", b="3"))
    kubectl.write("old.yaml", config_map("old", a="1"))

    await kubectl("apply --server-side -f @mine.yaml", "configmap/one serverside-applied")
    await kubectl(
        "apply --server-side --field-manager=you -f @yours.yaml",
        'Apply failed with 1 conflict: conflict with "kubectl": .data.a',
        code=1,
    )
    await kubectl.all(
        ("apply --server-side --field-manager=you -f @yours.yaml --force-conflicts", "one serverside-applied"),
        ("get cm one -o jsonpath={.data}", '{"a":"2","b":"3"}'),
        ("get cm one --show-managed-fields -o jsonpath={.metadata.managedFields[*].manager}", "you"),
    )
    await kubectl("apply --server-side -f @mine.yaml", 'conflict with "you": .data.a', code=1)
    await kubectl.all(
        ("apply -f @old.yaml", "configmap/old created"),
        ("apply --server-side -f @old.yaml", "configmap/old serverside-applied"),
    )
    managers = (await kubectl.read("cm old --show-managed-fields"))["metadata"]["managedFields"]
    assert [(each["manager"], each["operation"]) for each in managers] == [
        ("kubectl", "Apply"),
        ("kubectl-last-applied", "Apply"),
    ]


@both_releases
@everywhere(on=("served", "real"))
async def test_objects_are_changed_by_every_verb(site: Site, release: str, tmp_path: Path) -> None:
    kubectl = Kubectl(site, release, tmp_path)
    kubectl.write("web.yaml", workload("Deployment", "web", replicas=1))
    kubectl.write("more.yaml", workload("Deployment", "web", replicas=3))

    await kubectl.all(
        ("create -f @web.yaml", "deployment.apps/web created"),
        ("replace -f @more.yaml", "deployment.apps/web replaced"),
        ("get deploy web -o jsonpath={.spec.replicas}", "^3$"),
        ("replace --force -f @web.yaml", 'deployment.apps "web" (force )?deleted', "deployment.apps/web replaced"),
        ('patch deploy web -p \'{"spec":{"paused":true}}\'', "web patched"),
        ('patch deploy web -p \'{"spec":{"paused":true}}\'', r"web patched \(no change\)"),
        ('patch deploy web --type=merge -p \'{"spec":{"paused":null}}\'', "web patched"),
        (
            'patch deploy web --type=json -p \'[{"op":"replace","path":"/spec/replicas","value":2}]\'',
            "web patched",
        ),
        ('patch deploy web --subresource=scale --type=merge -p \'{"spec":{"replicas":0}}\'', "web patched"),
        ("get deploy web -o jsonpath={.spec.replicas}{.spec.paused}", "^0$"),
        ("get deploy web --subresource=scale", "web +0"),
        ("label deploy web tier=front", "deployment.apps/web labeled"),
        ("get deploy --show-labels", "app=web,tier=front"),
        ("label deploy web tier-", "deployment.apps/web unlabeled"),
        ("annotate deploy web note=hello", "deployment.apps/web annotated"),
        ("annotate --list deploy web", "note=hello"),
        ("set image deploy/web app=app:2", "deployment.apps/web image updated"),
        ("set env deploy/web COLOUR=blue", "deployment.apps/web env updated"),
        ("set env deploy/web --list", "COLOUR=blue"),
        ("set resources deploy/web --limits=cpu=200m,memory=64Mi", "resource requirements updated"),
        ("set serviceaccount deploy/web robot", "serviceaccount updated"),
        ("get deploy web -o wide", r"NAME +READY +UP-TO-DATE +AVAILABLE +AGE +CONTAINERS", r"web +0/0 .* app +app:2"),
    )
    await kubectl("label deploy web app=other", "'app' already has a value", code=1)
    await kubectl("edit deploy web", "deployment.apps/web edited", environment={"KUBE_EDITOR": "sed -i s/app:2/app:3/"})
    await kubectl("edit deploy web", "Edit cancelled, no changes made", environment={"KUBE_EDITOR": "true"})
    found = await kubectl.read("deploy web")
    (container,) = found["spec"]["template"]["spec"]["containers"]
    assert (container["image"], container["env"]) == ("app:3", [{"name": "COLOUR", "value": "blue"}])
    assert container["resources"] == {"limits": {"cpu": "200m", "memory": "64Mi"}}


@both_releases
@everywhere(on=("served", "real"))
async def test_deletions_wait_cascade_or_leave_orphans(site: Site, release: str, tmp_path: Path) -> None:
    kubectl = Kubectl(site, release, tmp_path)
    kubectl.write("web.yaml", workload("Deployment", "web", replicas=1), pod("a"), pod("b"))

    await kubectl("create -f @web.yaml", "created")
    await kubectl("wait rs -l app=web --for=create --timeout=180s", "replicaset.apps/web-.*condition met")
    await kubectl.all(
        ("delete deploy web --cascade=orphan", r'deployment.apps "web" deleted'),
        ("get rs -l app=web", r"web-\w+ +1"),
        ("delete rs -l app=web --cascade=foreground", r'replicaset.apps "web-\w+" deleted'),
        ("get pods -l app=web", "No resources found"),
        ("delete pod a --now", 'pod "a" deleted'),
        ("delete pod b --force", "Immediate deletion does not wait", 'pod "b" force deleted'),
        ("delete pod b --ignore-not-found", r"\A\Z"),
        ("create configmap one", "created"),
        ("create configmap two", "created"),
        ("delete configmap one --dry-run=server", r"deleted \(server dry run\)|deleted.*\(server dry run\)"),
        ("delete configmap one two --wait=false", '"one" deleted', '"two" deleted'),
        ("delete configmap --all", 'configmap "kube-root-ca.crt" deleted'),
    )
    await kubectl("delete pod b", r'Error from server \(NotFound\): pods "b" not found', code=1)


@both_releases
@everywhere(on=("served", "real"))
async def test_a_custom_resource_is_used_like_any_other(site: Site, release: str, tmp_path: Path) -> None:
    kubectl = Kubectl(site, release, tmp_path)
    kubectl.write("crd.yaml", definition())
    kubectl.write("gadget.yaml", gadget("one", size=3, replicas=1))
    kubectl.write("bad.yaml", gadget("two", size=0))
    kubectl.write("unknown.yaml", gadget("two", size=1, colour="red"))

    await kubectl("apply -f @crd.yaml", "customresourcedefinition.apiextensions.k8s.io/gadgets.example.com created")
    await kubectl("wait crd/gadgets.example.com --for=condition=established", "condition met")
    await kubectl("apply -f @gadget.yaml", "gadget.example.com/one created")
    await kubectl("apply -f @bad.yaml", "spec.size: Invalid value: 0: spec.size in body should be greater", code=1)
    await kubectl("apply -f @unknown.yaml", 'unknown field "spec.colour"', code=1)
    await kubectl.all(
        ("get gd", r"NAME +SIZE\s", r"one +3\s"),
        ("get gadget.v1.example.com one -o yaml", "size: 3"),
        ("scale gadget one --replicas=4", "gadget.example.com/one scaled"),
        ("get gadget one -o jsonpath={.spec.replicas}", "^4$"),
        ('patch gd one --type=merge --subresource=status -p \'{"status":{"phase":"Ready"}}\'', "patched"),
        ("wait gd/one --for=jsonpath={.status.phase}=Ready", "condition met"),
        ("explain gadget.spec", "GROUP: +example.com", "size\t<integer>", "How large the gadget is."),
        ("describe gadget one", "Kind: +Gadget", "Size: +3", "Events: +<none>"),
        ("describe crd gadgets.example.com", "Accepted Names:", "Gadget"),
        ("api-resources --api-group=example.com", r"gadgets +gd +example.com/v1 +true +Gadget"),
        ("delete gadget --all", 'gadget.example.com "one" deleted'),
        ("delete -f @crd.yaml", '"gadgets.example.com" deleted'),
    )
    await kubectl("get gadgets", "could not find the requested resource|have a resource type", code=1)
