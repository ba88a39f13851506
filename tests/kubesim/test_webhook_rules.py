"""Webhook configurations that the embedded cluster refuses, and what it fills in."""

from __future__ import annotations

import pytest

from kubesim.cluster import Cluster
from kubesim.store.versions import Tree
from tests.kubesim.hooks import a_hook, a_rule, configure, decoded, message, on_a_cluster


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            {"matchConditions": [{"name": "a", "expression": "request.odd == 1"}]},
            "compilation failed: ERROR: <input>:1:8: undefined field 'odd'\n | request.odd == 1\n | .......^",
        ),
        (
            {"matchConditions": [{"name": "a", "expression": "true"}, {"name": "a", "expression": "object.x"}]},
            'must evaluate to bool but got dyn, webhooks[0].matchConditions[1].name: Duplicate value: "a"',
        ),
        ({"sideEffects": "Some"}, 'webhooks[0].sideEffects: Unsupported value: "Some"'),
        ({"timeoutSeconds": 31}, "the timeout value must be between 1 and 30 seconds"),
        ({"name": "short"}, "should be a domain with at least three segments separated by dots"),
        ({"clientConfig": {}}, "exactly one of url or service is required"),
        ({"clientConfig": {"url": "http://hook/"}}, "'https' is the only allowed URL scheme"),
        ({"admissionReviewVersions": ["v2"]}, "must include at least one of v1, v1beta1"),
        ({"failurePolicy": "Perhaps"}, 'Unsupported value: "Perhaps": supported values: "Fail", "Ignore"'),
        ({"rules": [a_rule("SELECT")]}, "webhooks[0].rules[0].operations[0]: Unsupported value"),
        ({"rules": [a_rule("*", "*/* pods")]}, "if '*/*' is present, must not specify other resources"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused(change: Tree, says: str) -> None:
    async def script(cluster: Cluster) -> tuple[int, str]:
        answer = await configure(cluster, "mutating", "m", a_hook() | change)
        return answer.status, message(answer)

    status, text = on_a_cluster(script)

    assert status == 422
    assert says in text


def test_what_a_configuration_leaves_out_is_filled_in() -> None:
    async def script(cluster: Cluster) -> Tree:
        service = {"name": "hook", "namespace": "prod"}
        return decoded(await configure(cluster, "mutating", "m", a_hook(clientConfig={"service": service})))

    hook = on_a_cluster(script)["webhooks"][0]

    assert (hook["failurePolicy"], hook["matchPolicy"], hook["reinvocationPolicy"]) == ("Fail", "Equivalent", "Never")
    assert (hook["timeoutSeconds"], hook["namespaceSelector"], hook["objectSelector"]) == (10, {}, {})
    assert (hook["rules"][0]["scope"], hook["clientConfig"]["service"]["port"]) == ("*", 443)
