"""Kinds that nothing in the cluster acts on: what is filled in, counted, refused, on both clusters alike."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from kubeloop.objects.meta import Resource
from kubeloop.request import path_of
from tests.e2e.clusters import Site, everywhere
from tests.e2e.definitions import MERGE, Shop, Tree, an_empty_shop, refusal, tree_of

pytestmark = pytest.mark.fidelity

DEPLOYMENTS = Resource("apps", "v1", "deployments", "Deployment")
REPLICA_SETS = Resource("apps", "v1", "replicasets", "ReplicaSet")
SECRETS = Resource("", "v1", "secrets", "Secret")
CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")
LEASES = Resource("coordination.k8s.io", "v1", "leases", "Lease")
BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
WEBHOOKS = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)
STRATEGIC = "application/strategic-merge-patch+json"


def a_workload(name: str = "web", **spec: Any) -> Tree:
    template = {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "app:1"}]},
    }
    whole = {"selector": {"matchLabels": {"app": "web"}}, "template": template} | spec
    return {"metadata": {"name": name}, "spec": whole}


async def post(shop: Shop, resource: Resource, tree: Tree) -> Any:
    named = {"apiVersion": resource.api_version, "kind": resource.kind} | tree
    return await shop.send("POST", shop.at(resource=resource), named)


async def made(shop: Shop, resource: Resource, tree: Tree) -> Tree:
    answer = await post(shop, resource, tree)
    assert answer.status == 201, answer.body
    return tree_of(answer)


async def patched(shop: Shop, resource: Resource, name: str, change: Tree, part: str = "", kind: str = MERGE) -> Tree:
    answer = await shop.send("PATCH", shop.at(name, part, resource), change, kind=kind)
    assert answer.status == 200, answer.body
    return tree_of(answer)


@everywhere(controllers=False)
async def test_deployments_and_replica_sets_are_kept_with_defaults_status_and_scale(site: Site) -> None:
    async with an_empty_shop(site) as shop:
        deployment = await made(shop, DEPLOYMENTS, a_workload())
        replicas = await made(shop, REPLICA_SETS, a_workload(replicas=2))
        scaled = await patched(shop, DEPLOYMENTS, "web", {"spec": {"replicas": 4}}, "scale")
        status = {"status": {"replicas": 4, "observedGeneration": 2}, "spec": {"replicas": 9}}
        written = await patched(shop, DEPLOYMENTS, "web", status, "status")
        too_many = {"status": {"replicas": 1, "readyReplicas": 2}}
        refused = await shop.send("PATCH", shop.at("web", "status", REPLICA_SETS), too_many, kind=MERGE)

    spec = deployment["spec"]
    assert {key: spec[key] for key in spec if key not in ("template", "selector")} == {
        "replicas": 1,
        "revisionHistoryLimit": 10,
        "progressDeadlineSeconds": 600,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
    }
    assert (deployment["status"], replicas["status"]) == ({}, {"replicas": 0})
    assert spec["template"]["spec"]["restartPolicy"] == "Always"
    assert sorted(replicas["spec"]) == ["replicas", "selector", "template"]
    assert (scaled["spec"], scaled["status"]) == ({"replicas": 4}, {"replicas": 0, "selector": "app=web"})
    assert (written["metadata"]["generation"], written["spec"]["replicas"]) == (2, 4)
    assert written["status"] == {"replicas": 4, "observedGeneration": 2}
    assert [field for field, _, _ in refusal(refused)[2]] == ["status.readyReplicas"]


@everywhere(controllers=False)
async def test_workloads_that_cannot_work_are_refused(site: Site) -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 0, "maxSurge": "0%"}}
    cases: dict[str, tuple[Resource, Tree]] = {
        "a selector for others": (DEPLOYMENTS, {"selector": {"matchLabels": {"app": "db"}}}),
        "an empty selector": (REPLICA_SETS, {"selector": {}}),
        "no selector": (DEPLOYMENTS, {"selector": None}),
        "fewer than none": (DEPLOYMENTS, {"replicas": -1}),
        "a roll that cannot move": (DEPLOYMENTS, {"strategy": rolling}),
        "an odd strategy": (DEPLOYMENTS, {"strategy": {"type": "Odd"}}),
        "details of another strategy": (DEPLOYMENTS, {"strategy": {"type": "Recreate", "rollingUpdate": {}}}),
    }
    change = {"selector": {"matchLabels": {"app": "web", "tier": "x"}}}
    labelled = {"metadata": {"labels": {"app": "web", "tier": "x"}}}

    async with an_empty_shop(site) as shop:
        told = {
            case: [field for field, _, _ in refusal(await post(shop, resource, a_workload("bad", **spec)))[2]]
            for case, (resource, spec) in cases.items()
        }
        await made(shop, DEPLOYMENTS, a_workload())
        moved = {"spec": change | {"template": labelled}}
        immutable = await shop.send("PATCH", shop.at("web", "", DEPLOYMENTS), moved, kind=MERGE)

    assert told == {
        "a selector for others": ["spec.template.metadata.labels"],
        "an empty selector": ["spec.selector"],
        "no selector": ["spec.selector", "spec.template.metadata.labels"],
        "fewer than none": ["spec.replicas"],
        "a roll that cannot move": ["spec.strategy.rollingUpdate.maxUnavailable"],
        "an odd strategy": ["spec.strategy"],
        "details of another strategy": ["spec.strategy.rollingUpdate"],
    }
    assert [field for field, _, _ in refusal(immutable)[2]] == ["spec.selector"]


@everywhere(controllers=False)
async def test_secrets_fold_plain_text_into_their_data(site: Site) -> None:
    coded = base64.b64encode(b"there").decode()

    async with an_empty_shop(site) as shop:
        tree = {"metadata": {"name": "s"}, "data": {"a": coded, "b": coded}, "stringData": {"b": "new"}}
        secret = await made(shop, SECRETS, tree)
        garbled = await post(shop, SECRETS, {"metadata": {"name": "x"}, "data": {"a": "***"}})
        named = await post(shop, SECRETS, {"metadata": {"name": "x"}, "data": {"a/b": coded}})
        keys = await post(shop, SECRETS, {"metadata": {"name": "x"}, "type": "kubernetes.io/tls"})
        retyped = await shop.send("PATCH", shop.at("s", "", SECRETS), {"type": "other"}, kind=MERGE)

    assert (secret["type"], secret["data"]) == ("Opaque", {"a": coded, "b": base64.b64encode(b"new").decode()})
    assert "stringData" not in secret
    assert (garbled.status, tree_of(garbled)["reason"]) == (400, "BadRequest")
    assert [field for field, _, _ in refusal(named)[2]] == ["data[a/b]"]
    assert [field for field, _, _ in refusal(keys)[2]] == ["data[tls.crt]", "data[tls.key]"]
    assert [field for field, _, _ in refusal(retyped)[2]] == ["type"]


@everywhere(controllers=False)
async def test_what_says_it_is_immutable_stays(site: Site) -> None:
    async with an_empty_shop(site) as shop:
        for resource in (SECRETS, CONFIG_MAPS):
            await made(shop, resource, {"metadata": {"name": "fixed"}, "immutable": True})
        changed = {"data": {"k": "dg=="}, "immutable": False}
        refused = [
            refusal(await shop.send("PATCH", shop.at("fixed", "", resource), changed, kind=MERGE))
            for resource in (SECRETS, CONFIG_MAPS)
        ]
        label = {"metadata": {"labels": {"a": "b"}}}
        labelled = await patched(shop, CONFIG_MAPS, "fixed", label)

    assert [[field for field, _, _ in causes] for _, _, causes in refused] == [["data", "immutable"]] * 2
    assert labelled["metadata"]["labels"] == {"a": "b"}


@everywhere(controllers=False)
async def test_budgets_count_their_spec_and_check_it(site: Site) -> None:
    selector = {"matchLabels": {"app": "web"}}

    async with an_empty_shop(site) as shop:
        spec = {"selector": selector, "minAvailable": 1}
        budget = await made(shop, BUDGETS, {"metadata": {"name": "b"}, "spec": spec})
        status = {"status": {"disruptionsAllowed": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2}}
        written = await patched(shop, BUDGETS, "b", status, "status")
        changed = await patched(shop, BUDGETS, "b", {"spec": {"minAvailable": "50%"}})
        both = {"spec": {"maxUnavailable": 1}}
        refused = await shop.send("PATCH", shop.at("b", "", BUDGETS), both, kind=MERGE)
        percent = await shop.send("PATCH", shop.at("b", "", BUDGETS), {"spec": {"minAvailable": "150%"}}, kind=MERGE)

    assert budget["status"] == {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}
    assert [each["metadata"]["generation"] for each in (budget, written, changed)] == [1, 1, 2]
    assert written["status"] == status["status"]
    assert [field for field, _, _ in refusal(refused)[2]] == ["spec"]
    assert [field for field, _, _ in refusal(percent)[2]] == ["spec.minAvailable"]


@everywhere(controllers=False)
async def test_webhooks_of_a_configuration_are_merged_by_name_and_counted(site: Site) -> None:
    rule = {"operations": ["CREATE"], "apiGroups": ["none.example.com"], "apiVersions": ["v1"], "resources": ["things"]}

    def a_hook(name: str) -> Tree:
        return {
            "name": f"{name}.example.com",
            "clientConfig": {"url": "https://127.0.0.1:9/"},
            "rules": [rule],
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }

    async with an_empty_shop(site) as shop:
        tree = {"metadata": {"name": f"hooks-{site.namespace}"}, "webhooks": [a_hook("one"), a_hook("two")]}
        before = await made(shop, WEBHOOKS, tree)
        name = before["metadata"]["name"]
        labelled = await patched(shop, WEBHOOKS, name, {"metadata": {"labels": {"a": "b"}}})
        change = {"webhooks": [{"name": "two.example.com", "timeoutSeconds": 5}]}
        after = await patched(shop, WEBHOOKS, name, change, kind=STRATEGIC)
        await shop.send("DELETE", path_of(WEBHOOKS, name=name))

    assert [each["metadata"]["generation"] for each in (before, labelled, after)] == [1, 1, 2]
    assert {each["name"]: each["timeoutSeconds"] for each in after["webhooks"]} == {
        "one.example.com": 10,
        "two.example.com": 5,
    }


@everywhere(controllers=False)
async def test_leases_last_some_time(site: Site) -> None:
    async with an_empty_shop(site) as shop:
        spec = {"leaseDurationSeconds": 0, "leaseTransitions": -1}
        refused = await post(shop, LEASES, {"metadata": {"name": "l"}, "spec": spec})

    assert [field for field, _, _ in refusal(refused)[2]] == ["spec.leaseDurationSeconds", "spec.leaseTransitions"]
