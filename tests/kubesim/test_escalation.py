"""Nobody gives rights that they do not have: which rights cover which, and who is not asked."""

from __future__ import annotations

import asyncio
import json

import pytest

from kubeloop.request import JSON, MERGE_PATCH, Request
from kubesim.cluster import Cluster
from kubesim.kinds.registry import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES
from kubesim.rules.roles import RBAC
from kubesim.time import run
from tests.kubesim.trees import Tree, a_rule, a_user

ROLES = f"/apis/{RBAC}/v1/clusterroles"
HELD = "is attempting to grant RBAC permissions not currently held:\n"


def wanted(*held: Tree, role: Tree, change: Tree | None = None) -> tuple[int, str]:
    """What alice is told who has these rights besides that to write roles, and makes one or changes it."""
    own = [a_rule("create", "clusterroles", group=RBAC), a_rule("patch", "clusterroles", group=RBAC), *held]
    tree = {"metadata": {"name": "new"}} | role

    async def main() -> tuple[int, str]:
        cluster = Cluster()
        cluster.verbs.create(CLUSTER_ROLES, "", {"metadata": {"name": "own"}, "rules": own}, user="admin")
        binding = {"roleRef": {"kind": "ClusterRole", "name": "own"}, "subjects": [a_user("alice")]}
        cluster.verbs.create(CLUSTER_ROLE_BINDINGS, "", {"metadata": {"name": "own"}} | binding, user="admin")
        request = Request("POST", ROLES, body=json.dumps(tree).encode(), content_type=JSON)
        if change is not None:
            cluster.verbs.create(CLUSTER_ROLES, "", tree, user="admin")
            request = Request("PATCH", f"{ROLES}/new", body=json.dumps(change).encode(), content_type=MERGE_PATCH)
        await asyncio.sleep(0)
        answer = await cluster.transport("alice").send(request)
        return answer.status, json.loads(answer.body).get("message", "")

    return run(main())


def urls(*paths: str) -> Tree:
    return {"verbs": ["get"], "nonResourceURLs": list(paths)}


@pytest.mark.parametrize(
    ("held", "given"),
    [
        (a_rule("get", "*"), a_rule("get", "pods")),
        (a_rule("*", "pods"), a_rule("delete", "pods")),
        (a_rule("get", "*/scale", group="apps"), a_rule("get", "deployments/scale", group="apps")),
        (a_rule("get", "pods"), a_rule("get", "pods", names=("one",))),
        (urls("/a*"), urls("/a/b")),
    ],
)
def test_rights_that_cover_others_may_be_given(held: Tree, given: Tree) -> None:
    assert wanted(held, role={"rules": [given]})[0] == 201


@pytest.mark.parametrize(
    ("held", "given", "missing"),
    [
        (a_rule("get", "pods"), a_rule("get", "*"), '{APIGroups:[""], Resources:["*"], Verbs:["get"]}'),
        (
            a_rule("get", "pods", group="apps"),
            a_rule("get", "pods"),
            '{APIGroups:[""], Resources:["pods"], Verbs:["get"]}',
        ),
        (
            a_rule("get", "pods", names=("one",)),
            a_rule("get", "pods"),
            '{APIGroups:[""], Resources:["pods"], Verbs:["get"]}',
        ),
        (
            a_rule("get", "pods", names=("one",)),
            a_rule("get", "pods", names=("one", "two")),
            '{APIGroups:[""], Resources:["pods"], ResourceNames:["two"], Verbs:["get"]}',
        ),
        (urls("/a"), urls("/a/b"), '{NonResourceURLs:["/a/b"], Verbs:["get"]}'),
    ],
)
def test_rights_that_are_not_covered_are_told(held: Tree, given: Tree, missing: str) -> None:
    status, message = wanted(held, role={"rules": [given]})

    assert status == 403
    assert message.partition(HELD)[2] == missing


def test_who_may_not_do_everything_may_not_have_roles_collect_rules() -> None:
    collecting: Tree = {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}, "rules": []}
    everything = [a_rule("*", "*", group="*"), {"verbs": ["*"], "nonResourceURLs": ["*"]}]

    assert wanted(role=collecting) == (
        403,
        f'clusterroles.{RBAC} "new" is forbidden: must have cluster-admin privileges to use the aggregationRule',
    )
    assert wanted(*everything, role=collecting)[0] == 201


def test_what_a_collector_of_garbage_writes_gives_nobody_anything() -> None:
    role = {"rules": [a_rule("get", "secrets")]}

    assert wanted(role=role, change={"metadata": {"finalizers": ["example.com/kept"]}})[0] == 200
    assert wanted(role=role, change={"metadata": {"labels": {"a": "b"}}})[0] == 403


def test_who_may_escalate_is_not_asked() -> None:
    assert wanted(a_rule("escalate", "clusterroles", group=RBAC), role={"rules": [a_rule("*", "*")]})[0] == 201
