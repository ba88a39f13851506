"""Admission policies in the embedded cluster: what they judge, what they cost when there are none, what they keep."""

from __future__ import annotations

from typing import Any

import pytest

from kubesim.cluster import Cluster
from kubesim.store.versions import Tree
from tests.kubesim.hooks import MAPS, a_map, decoded, message, on_a_cluster, send

ADMISSION = "/apis/admissionregistration.k8s.io/v1"
POLICIES, BINDINGS = f"{ADMISSION}/validatingadmissionpolicies", f"{ADMISSION}/validatingadmissionpolicybindings"


def a_policy(*validations: Tree, resources: str = "configmaps", **spec: Any) -> Tree:
    rule = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": resources.split()}
    return {
        "metadata": {"name": "p"},
        "spec": {"matchConstraints": {"resourceRules": [rule]}, "validations": list(validations)} | spec,
    }


def a_binding(*actions: str) -> Tree:
    return {"metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": list(actions or ("Deny",))}}


async def enforced(cluster: Cluster, policy: Tree, binding: Tree | None = None) -> None:
    for path, tree in ((POLICIES, policy), (BINDINGS, binding or a_binding())):
        answer = await send(cluster, "POST", path, tree)
        assert answer.status == 201, answer.body


def test_a_policy_takes_effect_with_its_binding_and_ends_with_it() -> None:
    async def script(cluster: Cluster) -> list[int]:
        await send(cluster, "POST", POLICIES, a_policy({"expression": "false"}))
        alone = await send(cluster, "POST", MAPS, a_map("a"))
        await send(cluster, "POST", BINDINGS, a_binding())
        bound = await send(cluster, "POST", MAPS, a_map("b"))
        await send(cluster, "DELETE", f"{BINDINGS}/b")
        free = await send(cluster, "POST", MAPS, a_map("c"))
        return [alone.status, bound.status, free.status]

    assert on_a_cluster(script) == [201, 422, 201]


def test_a_changed_policy_is_read_again() -> None:
    async def script(cluster: Cluster) -> list[str]:
        await enforced(cluster, a_policy({"expression": "false", "message": "one"}))
        first = await send(cluster, "POST", MAPS, a_map("a"))
        change = {"spec": {"validations": [{"expression": "false", "message": "two"}]}}
        await send(cluster, "PATCH", f"{POLICIES}/p", change)
        second = await send(cluster, "POST", MAPS, a_map("a"))
        return [message(first), message(second)]

    assert [text.rpartition(": ")[2] for text in on_a_cluster(script)] == ["one", "two"]


def test_webhook_configurations_are_judged_and_policies_are_not() -> None:
    async def script(cluster: Cluster) -> list[int]:
        await enforced(cluster, a_policy({"expression": "false"}, resources="*"))
        hooks = await send(cluster, "POST", f"{ADMISSION}/validatingwebhookconfigurations", {"metadata": {"name": "h"}})
        gone = await send(cluster, "DELETE", f"{BINDINGS}/b")
        return [hooks.status, gone.status]

    assert on_a_cluster(script) == [422, 200]


def test_variables_are_evaluated_once_and_only_when_asked_for() -> None:
    named = [{"name": "broken", "expression": "object.nope"}, {"name": "size", "expression": "size(object.data)"}]
    test = {"expression": "variables.size == 1 || variables.broken == 1"}

    async def script(cluster: Cluster) -> int:
        await enforced(cluster, a_policy(test, variables=named))
        return (await send(cluster, "POST", MAPS, a_map("a"))).status

    assert on_a_cluster(script) == 201


@pytest.mark.parametrize(
    ("actions", "status", "warned"),
    [(("Deny",), 422, False), (("Warn",), 201, True), (("Audit",), 201, False), (("Deny", "Audit"), 422, False)],
)
def test_a_binding_says_what_becomes_of_a_broken_rule(actions: tuple[str, ...], status: int, warned: bool) -> None:
    async def script(cluster: Cluster) -> tuple[int, bool]:
        await enforced(cluster, a_policy({"expression": "false", "message": "no"}), a_binding(*actions))
        answer = await send(cluster, "POST", MAPS, a_map("a"))
        return answer.status, "warning" in answer.headers

    assert on_a_cluster(script) == (status, warned)


def test_a_parameter_is_seen_as_it_is_at_the_time() -> None:
    policy = a_policy(
        {"expression": "params.data.key == 'yes' || object.metadata.name == 'param'", "message": "not now"},
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
    )
    binding = a_binding()
    binding["spec"]["paramRef"] = {"name": "param", "parameterNotFoundAction": "Deny"}

    async def script(cluster: Cluster) -> list[int]:
        await send(cluster, "POST", MAPS, a_map("param"))
        await enforced(cluster, policy, binding)
        before = await send(cluster, "POST", MAPS, a_map("a"))
        await send(cluster, "PATCH", f"{MAPS}/param", {"data": {"key": "yes"}})
        after = await send(cluster, "POST", MAPS, a_map("a"))
        return [before.status, after.status]

    assert on_a_cluster(script) == [422, 201]


def test_what_a_policy_leaves_out_is_filled_in() -> None:
    async def script(cluster: Cluster) -> Tree:
        return decoded(await send(cluster, "POST", POLICIES, a_policy({"expression": "true"})))

    spec = on_a_cluster(script)["spec"]

    assert spec["failurePolicy"] == "Fail"
    assert spec["matchConstraints"]["matchPolicy"] == "Equivalent"
    assert spec["matchConstraints"]["namespaceSelector"] == spec["matchConstraints"]["objectSelector"] == {}
    assert spec["matchConstraints"]["resourceRules"][0]["scope"] == "*"
