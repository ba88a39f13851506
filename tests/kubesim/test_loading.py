"""What a loader takes, what it refuses, and what it says: a sentence each."""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from kubeloop.client import Client
from kubeloop.errors import Forbidden, KubeError
from kubesim.copies import Copy, Unusable
from kubesim.kinds.registry import CONFIG_MAPS, CORE_EVENTS, DEPLOYMENTS, NAMESPACES, PODS, SECRETS, SERVICES
from kubesim.loading import read, state_in
from kubesim.store.versions import Tree
from kubesim.virtual import VirtualCluster

TIME = "2026-06-01T12:00:00Z"


def an_object(kind: str = "ConfigMap", name: str = "a", *, api: str = "v1", number: int = 1, **rest: Any) -> Tree:
    metadata = {
        "name": name,
        "namespace": "shop",
        "uid": f"uid-{number}",
        "resourceVersion": str(number),
        "creationTimestamp": TIME,
    }
    return {"kind": kind, "apiVersion": api, "metadata": metadata | rest.pop("metadata", {}), **rest}


def a_list(*items: Tree, kind: str = "List", api: str = "v1", **metadata: Any) -> Tree:
    return {"kind": kind, "apiVersion": api, "metadata": {"resourceVersion": "99", **metadata}, "items": list(items)}


def loaded(folder: Path, *documents: Tree, **settings: Any) -> Copy:
    path = folder / "lists.json"
    path.write_text("\n".join(json.dumps(each) for each in documents))
    return read([path], **settings)


def names(copy: Copy) -> list[str]:
    return [f"{resource.plural} {key[1]}" for resource, table in copy.tables.items() for key in table]


# Forms


def test_lists_of_kubectl_and_of_the_api_are_taken(tmp_path: Path) -> None:
    bare = an_object("Secret", "of the API", number=2)
    del bare["kind"], bare["apiVersion"]
    mixed = a_list(an_object("Pod", "mixed"), a_list(an_object("Pod", "inner", number=4), kind="PodList"))

    copy = loaded(tmp_path, mixed, a_list(bare, kind="SecretList"), an_object("Service", "alone", number=3, spec={}))

    assert names(copy)[:4] == ["pods mixed", "pods inner", "secrets of the API", "services alone"]
    assert copy.tables[SECRETS]["shop", "of the API"].tree()["kind"] == "Secret"
    assert copy.revision >= 4


def test_files_of_a_folder_are_taken_in_json_and_yaml(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "one.json").write_text(json.dumps(a_list(an_object())))
    second = yaml.safe_dump(a_list(an_object("Secret", "b", number=2, data={"yes": "eQ=="})))
    (tmp_path / "in" / "two.yaml").write_text(f"---\n{second}---\n{yaml.safe_dump(an_object(name='c', number=3))}")
    (tmp_path / "notes.txt").write_text("not a list")

    assert sorted(names(read([tmp_path]))) == ["configmaps a", "configmaps c", "namespaces shop", "secrets b"]


def test_times_in_yaml_stay_texts(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(
        f"kind: ConfigMap\napiVersion: v1\nmetadata: {{name: a, uid: u, resourceVersion: '1', x: {TIME}}}\n"
    )

    assert read([path]).tables[CONFIG_MAPS]["", "a"].tree()["metadata"]["x"] == TIME


def test_events_of_either_group_are_the_same(tmp_path: Path) -> None:
    core = an_object("Event", "e", involvedObject={"kind": "Pod", "name": "p"}, message="hello")
    other = an_object("Event", "e", api="events.k8s.io/v1", regarding={"kind": "Pod", "name": "p"}, note="hello")

    copy = loaded(tmp_path, a_list(core, other))

    assert list(copy.tables[CORE_EVENTS]) == [("shop", "e")]


def test_the_moment_is_that_of_the_last_write_or_the_one_that_is_given(tmp_path: Path) -> None:
    conditions = {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-06-01T12:30:00Z"}]}
    pod = an_object("Pod", status=conditions, spec={})

    assert loaded(tmp_path, pod).now == datetime(2026, 6, 1, 12, 30, 1, tzinfo=UTC)
    assert loaded(tmp_path, pod, now=datetime(2027, 1, 1, tzinfo=UTC)).now == datetime(2027, 1, 1, tzinfo=UTC)


# What is refused


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (json.dumps(a_list(an_object(), **{"continue": "abc"})), "the list of objects was cut short, and says where"),
        (json.dumps(a_list(kind="PodList", remainingItemCount=7)), "the list of Pod was cut short"),
        (json.dumps(a_list(an_object()))[:-30], "is no JSON, or ends in the middle of it"),
        (json.dumps(a_list(an_object())) + json.dumps(an_object())[:-9], "is no JSON, or ends in the middle of it"),
        ("kind: List\nitems:\n- {name: [", "is neither JSON nor YAML, or ends in the middle of it"),
        (json.dumps(an_object(metadata={"uid": ""})), "ConfigMap shop/a has no UID: give what a cluster lists"),
        (json.dumps(an_object(metadata={"resourceVersion": None})), "ConfigMap shop/a has no resource version"),
        (json.dumps(an_object(metadata={"name": ""})), "a ConfigMap has no name"),
        (json.dumps(a_list(an_object(), an_object(number=2))), "ConfigMap shop/a is there twice, with two UIDs"),
        (
            json.dumps(a_list(an_object(), an_object(name="b"))),
            "ConfigMap shop/a and ConfigMap shop/b have one UID, uid-1: give the lists of one cluster",
        ),
        (
            json.dumps(an_object(metadata={"resourceVersion": "x"})),
            "ConfigMap shop/a is written as no server writes it",
        ),
        (json.dumps(an_object(metadata={"labels": 3})), "ConfigMap shop/a is written as no server writes it"),
        (json.dumps(an_object("CustomResourceDefinition", api="apiextensions.k8s.io/v1")), "as no server writes it"),
        (
            json.dumps(an_object("EndpointSlice", api="discovery.k8s.io/v1", addressType="IPv4", endpoints=[{}])),
            "EndpointSlice shop/a is written as no server writes it",
        ),
        (
            json.dumps(an_object("Pod", spec={"containers": 3})),
            "Pod shop/a is written as no server writes it",
        ),
        (
            json.dumps(an_object(metadata={"ownerReferences": [{"uid": "u"}]})),
            "ConfigMap shop/a is written as no server",
        ),
        (json.dumps(a_list({"kind": 3})), "holds something that is no object"),
        (json.dumps({"kind": "Table", "rows": []}), "holds a table: list it with kubectl get -o json"),
        (json.dumps({"kind": "Status", "reason": "Forbidden"}), "holds an answer of the server that names no kind"),
        (json.dumps({"hello": 1}), "holds something without kind or apiVersion"),
        ("[3]", "holds something that is no list of objects"),
        (json.dumps(a_list()), "holds no objects: list some"),
    ],
)
def test_what_is_no_whole_list_is_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "list.json"
    path.write_text(text)

    with pytest.raises(Unusable) as refused:
        read([path])

    assert why in str(refused.value)
    assert "\n" not in str(refused.value)


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match=r"there is no .*none: name a file or a folder of lists, or leave out --load"):
        read([tmp_path / "none"])
    with pytest.raises(Unusable, match="keeps no cluster: name a folder that --save has written to"):
        read([tmp_path])


def test_a_saved_cluster_is_loaded_alone(tmp_path: Path) -> None:
    (tmp_path / "cluster.jsonl").touch()

    with pytest.raises(Unusable, match="keeps a whole cluster: load it alone"):
        state_in([tmp_path, tmp_path])


RULED: Tree = {"type": "object", "x-kubernetes-validations": [{"rule": "self.of_the_future()"}]}


@pytest.mark.parametrize(
    "version", [{}, {"storage": True}, {"storage": True, "schema": {"openAPIV3Schema": RULED}}], ids=str
)
def test_a_definition_that_no_server_stores_is_told(tmp_path: Path, version: Tree) -> None:
    names_ = {"plural": "widgets", "kind": "Widget"}
    spec = {
        "group": "example.com",
        "names": names_,
        "scope": "Namespaced",
        "versions": [{"name": "v1", "served": True} | version],
        "conversion": {"strategy": "None"},
    }
    status = {"conditions": [{"type": "Established", "status": "True"}]}
    definition = an_object("CustomResourceDefinition", api="apiextensions.k8s.io/v1", spec=spec, status=status)
    copy = loaded(tmp_path, definition)

    with pytest.raises(Unusable, match="definition a is written as no server writes it"):
        VirtualCluster(copy=copy)


# What is said


def test_owners_that_are_not_there_are_told_and_what_names_them_is_kept(tmp_path: Path) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "gone", "uid": "gone", "controller": True}
    copy = loaded(tmp_path, an_object(metadata={"ownerReferences": [owner]}))

    async def scenario(world: VirtualCluster) -> Tree | None:
        await asyncio.sleep(5400)
        return await world.get(CONFIG_MAPS, "shop", "a")

    assert VirtualCluster(copy=copy).play(scenario) is not None
    told = "objects whose owners are not here are kept, and not collected (1: ConfigMap shop/a of ReplicaSet gone)"
    assert told in copy.remarks


def test_a_kind_without_its_definition_is_kept_and_served(tmp_path: Path) -> None:
    gateways = [an_object("Gateway", str(each), api="example.com/v2", number=each, spec={"x": each}) for each in (1, 2)]
    copy = loaded(tmp_path, *gateways)

    async def scenario(world: VirtualCluster) -> list[Tree]:
        [resource] = copy.marks.undefined
        assert resource.plural == "gateways"
        return await world.list(resource, "shop")

    assert VirtualCluster(copy=copy).play(scenario) == gateways
    assert "Gateway of example.com/v2 is kept as it is, without rules: its definition is not here (2)" in copy.remarks


def test_fields_of_another_release_are_told_once_and_kept(tmp_path: Path) -> None:
    pods = [an_object("Pod", f"p{each}", number=each, status={"mood": "good"}, spec={}) for each in range(1, 6)]
    copy = loaded(tmp_path, *pods)

    assert copy.tables[PODS]["shop", "p1"].tree() == pods[0]
    told = 'Pod has what 1.36 does not know, and is kept as it is: unknown field "status.mood"'
    assert f"{told} (5: Pod shop/p1, Pod shop/p2, Pod shop/p3 and 2 more)" in copy.remarks


def test_what_is_worked_out_when_it_is_asked_for_is_left_out(tmp_path: Path) -> None:
    metrics = an_object("PodMetrics", api="metrics.k8s.io/v1beta1", metadata={"uid": ""})

    copy = loaded(tmp_path, an_object(), metrics)

    assert names(copy) == ["configmaps a", "namespaces shop"]
    assert "PodMetrics of metrics.k8s.io/v1beta1 is left out: what has no UID is not stored (1)" in copy.remarks


def test_of_two_versions_the_newer_is_taken(tmp_path: Path) -> None:
    newer = an_object(metadata={"uid": "uid-1"}, number=7, data={"k": "new"})

    copy = loaded(tmp_path, newer, an_object())

    assert copy.tables[CONFIG_MAPS]["shop", "a"].revision == 7
    assert "of objects that are there in two versions the newer is taken (1: ConfigMap shop/a)" in copy.remarks


@pytest.mark.parametrize("order", [1, -1])
def test_a_pod_that_is_there_in_two_versions_rests_as_it_is_in_the_newer(tmp_path: Path, order: int) -> None:
    spec = {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]}
    node = an_object("Node", "n", number=9, metadata={"namespace": ""}, spec={}, status={})
    pods = [an_object("Pod", "p", number=each, metadata={"uid": "u"}, spec=spec, status={}) for each in (1, 2)]

    copy = loaded(tmp_path, node, *pods[::order])

    assert copy.marks.pods.resting == {"u": "2"}
    assert VirtualCluster(copy=copy).play(wait) == set()


def test_namespaces_that_were_not_listed_are_added(tmp_path: Path) -> None:
    copy = loaded(tmp_path, an_object())

    async def scenario(world: VirtualCluster) -> list[str]:
        await world.create(CONFIG_MAPS, "shop", {"metadata": {"name": "b"}})
        await asyncio.sleep(5400)
        return [f"{each.verb} {each.resource.plural} {each.name}" for each in world.cluster.history]

    assert VirtualCluster(copy=copy).play(scenario) == ["create configmaps b"]
    assert NAMESPACES in copy.marks.unread
    assert "there is no list of namespaces, which every cluster has some of" in copy.remarks
    assert "namespaces that were not listed are added, because objects are in them (1: shop)" in copy.remarks


def test_defaults_that_a_server_did_not_know_are_filled_in(tmp_path: Path) -> None:
    copy = loaded(tmp_path, a_deployment())

    filled = copy.tables[DEPLOYMENTS]["shop", "web"].tree()
    assert filled["spec"]["template"]["spec"]["restartPolicy"] == "Always"
    assert filled["spec"]["replicas"] == 3
    assert "Deployment gets defaults that it was listed without (1: Deployment shop/web)" in copy.remarks


def test_policies_and_roles_of_the_copy_are_in_force(tmp_path: Path) -> None:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["secrets"]}
    judged = {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "false", "message": "no!"}]}
    bound = {"policyName": "none", "validationActions": ["Deny"]}
    admission, rbac, anywhere = "admissionregistration.k8s.io/v1", "rbac.authorization.k8s.io/v1", {"namespace": ""}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"}
    subject = {"kind": "User", "name": "alice", "apiGroup": "rbac.authorization.k8s.io"}
    copy = loaded(
        tmp_path,
        an_object("ValidatingAdmissionPolicy", "none", api=admission, number=2, metadata=anywhere, spec=judged),
        an_object("ValidatingAdmissionPolicyBinding", "none", api=admission, number=3, metadata=anywhere, spec=bound),
        an_object(
            "Role", "reader", api=rbac, number=4, rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
        ),
        an_object("RoleBinding", "reader", api=rbac, number=5, roleRef=role, subjects=[subject]),
    )

    async def scenario(world: VirtualCluster) -> str:
        client = Client(world.cluster.transport("alice"))
        assert (await client.list(PODS, dict, namespace="shop")).items == []
        with pytest.raises(Forbidden):
            await client.list(SECRETS, dict, namespace="shop")
        with pytest.raises(KubeError) as refused:
            await world.create(SECRETS, "shop", {"metadata": {"name": "s"}})
        return str(refused.value)

    assert "no!" in VirtualCluster(copy=copy).play(scenario)


def test_addresses_of_services_are_taken(tmp_path: Path) -> None:
    ports = [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    spec = {"type": "ClusterIP", "clusterIP": "10.96.0.50", "clusterIPs": ["10.96.0.50"], "ports": ports}
    copy = loaded(tmp_path, an_object("Service", "s", spec=spec, status={"loadBalancer": {}}))

    async def scenario(world: VirtualCluster) -> str:
        with pytest.raises(KubeError) as refused:
            await world.create(SERVICES, "shop", {"metadata": {"name": "t"}, "spec": spec})
        return str(refused.value)

    assert "provided IP is already allocated" in VirtualCluster(copy=copy).play(scenario)


def test_pods_on_nodes_that_are_not_here_are_told(tmp_path: Path) -> None:
    node = an_object("Node", "here", number=2, metadata={"namespace": ""}, spec={}, status={})
    pods = [
        an_object("Pod", each, number=index, spec={"nodeName": each}) for index, each in enumerate(("here", "away"), 3)
    ]

    copy = loaded(tmp_path, node, *pods)

    assert copy.marks.nodes == ("here",)
    assert "pods on nodes that are not here stay as they are (1: Pod shop/away on away)" in copy.remarks


# What could not be read

WEB: Tree = {
    "replicas": 3,
    "selector": {"matchLabels": {"app": "web"}},
    "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
}
FORBIDDEN: Tree = {
    "kind": "Status",
    "apiVersion": "v1",
    "status": "Failure",
    "reason": "Forbidden",
    "details": {"group": "apps", "kind": "replicasets"},
    "code": 403,
}


def a_deployment() -> Tree:
    return an_object("Deployment", "web", api="apps/v1", spec=WEB, metadata={"generation": 1})


async def wait(world: VirtualCluster) -> set[str]:
    await asyncio.sleep(600)
    return {each.user.rpartition(":")[2] for each in world.cluster.history}


def test_controllers_stand_still_that_need_what_could_not_be_read(tmp_path: Path) -> None:
    """A Deployment whose ReplicaSets nobody sees is not rolled out anew."""
    refused = loaded(tmp_path, a_deployment(), FORBIDDEN)
    told = loaded(tmp_path, a_deployment(), unread=["replicasets"])
    seen = loaded(tmp_path, a_deployment())

    assert VirtualCluster(copy=refused).play(wait) == VirtualCluster(copy=told).play(wait) == set()
    assert "deployment-controller" in VirtualCluster(copy=seen).play(wait)
    assert "replicasets.apps could not be read (forbidden)" in refused.remarks
    assert "the deployment-controller stands still, because it needs replicasets" in refused.remarks
    assert DEPLOYMENTS not in refused.marks.unread


def test_what_a_new_cluster_has_of_kinds_that_were_not_listed_is_older_than_what_comes(tmp_path: Path) -> None:
    """Whoever watches takes a lower version for an old one."""
    cluster = VirtualCluster(copy=loaded(tmp_path, an_object())).cluster

    versions = [version.revision for _, version in cluster.store.everything()]

    assert len(versions) > 100, "roles of a new cluster"
    assert cluster.store.revision >= max(versions)


def test_a_kind_that_nobody_knows_must_be_named_in_full(tmp_path: Path) -> None:
    with pytest.raises(Unusable, match='no kind is named "gadgets": write its plural and group'):
        loaded(tmp_path, an_object(), unread=["gadgets"])
    assert (
        "gadgets.example.com could not be read (not listed)"
        in loaded(tmp_path, an_object(), unread=["gadgets.example.com"]).remarks
    )


def test_without_nodes_new_pods_stay_pending_and_deleted_ones_go(tmp_path: Path) -> None:
    bound = an_object(
        "Pod", "p", spec={"nodeName": "somewhere", "containers": [{"name": "c", "image": "i"}]}, status={}
    )
    copy = loaded(tmp_path, bound, unread=["nodes"])

    async def scenario(world: VirtualCluster) -> list[Tree]:
        await world.create(
            PODS, "shop", {"metadata": {"name": "q"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        )
        await asyncio.sleep(60)
        return await world.list(PODS, "shop")

    assert copy.marks.nodes == ("somewhere",)
    assert "nodes could not be read: new pods stay pending" in copy.remarks
    assert [each["spec"].get("nodeName") for each in VirtualCluster(copy=copy).play(scenario)] == ["somewhere", None]


def test_a_conversion_webhook_that_nobody_answers_for_is_told(tmp_path: Path) -> None:
    spec = {
        "group": "example.com",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "scope": "Namespaced",
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
        "conversion": {
            "strategy": "Webhook",
            "webhook": {
                "clientConfig": {"url": "https://User@Converter.test:99/c"},
                "conversionReviewVersions": ["v1"],
            },
        },
    }
    definition = an_object(
        "CustomResourceDefinition", "widgets.example.com", api="apiextensions.k8s.io/v1", spec=spec, status={}
    )

    copy = loaded(tmp_path, definition)

    assert copy.marks.unanswered == ("converter.test",)
    served = "objects of widgets.example.com are served in the version that they were listed in, and no other"
    assert f"{served}: nobody answers at Converter.test, unless an address is given for it" in copy.remarks
