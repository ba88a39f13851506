"""Users and their rights: what a request asks for, what rules allow, and how soon a change of roles holds."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest

from kubeloop.request import JSON, Request
from kubesim.auth.rbac import Access, Attributes, User, allows, attributes_of, master, user_of
from kubesim.cluster import Cluster
from kubesim.kinds.registry import (
    CLUSTER_ROLE_BINDINGS,
    CLUSTER_ROLES,
    CONFIG_MAPS,
    ROLE_BINDINGS,
    ROLES,
    SERVICE_ACCOUNTS,
)
from kubesim.rules.roles import PolicyRule
from kubesim.time import run
from tests.kubesim.trees import Tree, a_binding, a_map, a_role, a_rule, a_user, may_all

MAPS = "/api/v1/namespaces/default/configmaps"
LIST = Request("GET", MAPS)


def on_a_cluster(script: Callable[[Cluster], Coroutine[Any, Any, Any]]) -> Any:
    async def main() -> Any:
        return await script(Cluster())

    return run(main())


async def code(cluster: Cluster, user: str | User, request: Request) -> int:
    return (await cluster.transport(user).send(request)).status


async def asked(cluster: Cluster, user: str | User, path: str, tree: Tree, **headers: str) -> tuple[int, Tree]:
    """Code and answer of something that is created."""
    sent = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    request = Request("POST", path, body=json.dumps(tree).encode(), content_type=JSON, headers=sent)
    answer = await cluster.transport(user).send(request)
    return answer.status, json.loads(answer.body)


def grant(cluster: Cluster, *rules: Tree, to: Tree, name: str = "role") -> None:
    """Rights in the namespace `default`."""
    cluster.verbs.create(ROLES, "default", a_role(*rules, name=name), user="admin")
    cluster.verbs.create(ROLE_BINDINGS, "default", a_binding(to, role=name, name=name), user="admin")


@pytest.mark.parametrize(
    ("name", "groups"),
    [
        ("admin", ("system:masters", "system:authenticated")),
        ("alice", ("system:authenticated",)),
        ("system:anonymous", ("system:unauthenticated",)),
        (
            "system:serviceaccount:prod:robot",
            ("system:serviceaccounts", "system:serviceaccounts:prod", "system:authenticated"),
        ),
        ("system:serviceaccount:prod", ("system:authenticated",)),
        ("system:serviceaccount:Prod:robot", ("system:authenticated",)),
    ],
)
def test_a_name_brings_its_groups(name: str, groups: tuple[str, ...]) -> None:
    assert user_of(name) == User(name, groups)


@pytest.mark.parametrize(
    ("method", "target", "wanted"),
    [
        ("GET", "/healthz", Attributes("get", path="/healthz")),
        ("POST", "/apis/apps/v1", Attributes("post", path="/apis/apps/v1")),
        ("GET", "/api/v1", Attributes("get", path="/api/v1")),
        ("GET", "/api/v1/pods", Attributes("list", resource="pods")),
        ("HEAD", "/api/v1/pods", Attributes("list", resource="pods")),
        ("GET", "/api/v1/pods?watch=1", Attributes("watch", resource="pods")),
        ("GET", "/api/v1/pods?watch=false", Attributes("list", resource="pods")),
        ("GET", "/api/v1/nodes/a", Attributes("get", resource="nodes", name="a")),
        ("GET", "/api/v1/namespaces", Attributes("list", resource="namespaces")),
        ("GET", "/api/v1/namespaces/a", Attributes("get", resource="namespaces", namespace="a", name="a")),
        (
            "PUT",
            "/api/v1/namespaces/a/finalize",
            Attributes("update", resource="namespaces", subresource="finalize", namespace="a", name="a"),
        ),
        (
            "PATCH",
            "/apis/apps/v1/namespaces/a/statefulsets/b/scale",
            Attributes("patch", "apps", "statefulsets", "scale", "a", "b"),
        ),
        (
            "DELETE",
            "/apis/apps/v1/namespaces/a/statefulsets",
            Attributes("deletecollection", "apps", "statefulsets", "", "a"),
        ),
        ("GET", "/api/v1/watch/pods", Attributes("watch", resource="pods")),
        ("GET", "/api/v1/pods?fieldSelector=metadata.name=a", Attributes("list", resource="pods", name="a")),
        (
            "GET",
            "/api/v1/pods?fieldSelector=spec.nodeName=n,metadata.name==a",
            Attributes("list", resource="pods", name="a"),
        ),
        ("GET", "/api/v1/pods?fieldSelector=metadata.name!=a", Attributes("list", resource="pods")),
        ("GET", "/api/v1/pods?fieldSelector=metadata.name=a,broken", Attributes("list", resource="pods")),
        ("GET", "/api/v1/pods?fieldSelector=metadata.name=a%2Fb", Attributes("list", resource="pods")),
        ("DELETE", "/api/v1/pods?fieldSelector=metadata.name=a", Attributes("deletecollection", resource="pods")),
        ("GET", "/api/v1/nodes/a%20b", Attributes("get", resource="nodes", name="a b")),
    ],
)
def test_what_a_request_asks_for(method: str, target: str, wanted: Attributes) -> None:
    path, _, query = target.partition("?")
    pairs = [part.split("=", 1) for part in query.split("&")] if query else []

    asked = attributes_of(Request(method, path, query=tuple((key, value) for key, value in pairs)))

    assert asked == wanted


@pytest.mark.parametrize(
    ("rule", "asked", "allowed"),
    [
        (PolicyRule(("get",), ("",), ("pods",)), Attributes("get", "", "pods"), True),
        (PolicyRule(("*",), ("*",), ("*",)), Attributes("patch", "apps", "statefulsets", "scale"), True),
        (PolicyRule(("get",), ("",), ("pods",)), Attributes("list", "", "pods"), False),
        (PolicyRule(("get",), ("apps",), ("pods",)), Attributes("get", "", "pods"), False),
        (PolicyRule(("get",), ("",), ("pods",)), Attributes("get", "", "pods", "status"), False),
        (PolicyRule(("get",), ("",), ("pods/status",)), Attributes("get", "", "pods", "status"), True),
        (PolicyRule(("get",), ("",), ("pods/status",)), Attributes("get", "", "pods"), False),
        (PolicyRule(("get",), ("",), ("*/status",)), Attributes("get", "", "pods", "status"), True),
        (PolicyRule(("get",), ("",), ("*/status",)), Attributes("get", "", "pods", "log"), False),
        (PolicyRule(("get",), ("",), ("pods/*",)), Attributes("get", "", "pods", "status"), False),
        (PolicyRule(("get",), urls=("/healthz",)), Attributes("get", path="/healthz"), True),
        (PolicyRule(("get",), urls=("/healthz",)), Attributes("get", path="/healthz/etcd"), False),
        (PolicyRule(("get",), urls=("/healthz/*",)), Attributes("get", path="/healthz/etcd"), True),
        (PolicyRule(("get",), urls=("*",)), Attributes("get", path="/anything"), True),
        (PolicyRule(("*",), ("*",), ("*",)), Attributes("get", path="/anything"), False),
    ],
)
def test_what_a_rule_allows(rule: PolicyRule, asked: Attributes, allowed: bool) -> None:
    assert allows(rule, asked) is allowed


def test_roles_that_come_change_and_go_hold_at_once() -> None:
    async def script(cluster: Cluster) -> list[int]:
        alice = cluster.transport("alice")
        codes = [(await alice.send(LIST)).status]
        grant(cluster, a_rule("get", "configmaps"), to=a_user("alice"))
        codes.append((await alice.send(LIST)).status)
        changed = a_role(a_rule("list", "configmaps"))
        cluster.verbs.update(ROLES, "default", "role", changed, user="admin")
        codes.append((await alice.send(LIST)).status)
        cluster.verbs.delete(ROLE_BINDINGS, "default", "role", user="admin")
        return [*codes, (await alice.send(LIST)).status]

    assert on_a_cluster(script) == [403, 403, 200, 403]


def test_rights_are_resolved_once_until_a_role_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    resolved: list[str] = []
    resolve = Access._cluster_wide

    def noted(self: Access, user: User, errors: list[str]) -> Iterator[Any]:
        resolved.append(user.name)
        return resolve(self, user, errors)

    monkeypatch.setattr(Access, "_cluster_wide", noted)

    async def script(cluster: Cluster) -> list[int]:
        grant(cluster, a_rule("list get create", "configmaps"), to=a_user("alice"))
        counts = []
        for number in range(3):
            assert (await asked(cluster, "alice", MAPS, a_map(f"map-{number}")))[0] == 201
            assert await code(cluster, "alice", Request("GET", f"{MAPS}/map-{number}")) == 200
            counts.append(len(resolved))
        grant(cluster, a_rule("list", "pods"), to=a_user("bob"), name="other")
        assert await code(cluster, "alice", LIST) == 200
        return [*counts, len(resolved)]

    assert on_a_cluster(script) == [1, 1, 1, 2]


def test_nothing_is_looked_up_for_administrators(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Access, "_resolved", None)

    async def script(cluster: Cluster) -> list[int]:
        return [await code(cluster, user, LIST) for user in ("admin", master("kubelet"))]

    assert on_a_cluster(script) == [200, 200]


def test_a_watch_needs_its_own_right() -> None:
    watch = Request("GET", MAPS, query=(("watch", "true"), ("timeoutSeconds", "1")))

    async def opened(cluster: Cluster) -> int:
        async with cluster.transport("alice").stream(watch) as stream:
            return stream.status

    async def script(cluster: Cluster) -> tuple[int, int]:
        grant(cluster, a_rule("list", "configmaps"), to=a_user("alice"))
        before = await opened(cluster)
        grant(cluster, a_rule("watch", "configmaps"), to=a_user("alice"), name="watching")
        return before, await opened(cluster)

    assert on_a_cluster(script) == (403, 200)


def test_a_role_binding_to_a_cluster_role_is_good_in_its_namespace_only() -> None:
    async def script(cluster: Cluster) -> list[int]:
        role = a_role(a_rule("list", "configmaps"), name="listing")
        cluster.verbs.create(CLUSTER_ROLES, "", role, user="admin")
        binding = a_binding(a_user("alice"), role="listing", kind="ClusterRole")
        cluster.verbs.create(ROLE_BINDINGS, "default", binding, user="admin")
        paths = (MAPS, "/api/v1/namespaces/kube-system/configmaps", "/api/v1/configmaps")
        return [await code(cluster, "alice", Request("GET", path)) for path in paths]

    assert on_a_cluster(script) == [200, 403, 403]


def test_members_of_groups_and_administrators_by_binding_may() -> None:
    async def script(cluster: Cluster) -> list[int]:
        grant(cluster, a_rule("list", "configmaps"), to={"kind": "Group", "name": "readers"})
        may_all(cluster, "carol")
        users = (user_of("alice", "readers"), "alice", "carol")
        return [await code(cluster, user, LIST) for user in users]

    assert on_a_cluster(script) == [200, 403, 200]


def test_a_cluster_starts_with_the_roles_that_let_people_look_around() -> None:
    async def script(cluster: Cluster) -> tuple[list[str], list[int], list[int]]:
        bootstrap = "kubernetes.io/bootstrapping=rbac-defaults"
        names = [tree["metadata"]["name"] for tree in cluster.verbs.list(CLUSTER_ROLES, labels=bootstrap)]
        paths = ("/version", "/healthz", "/apis", "/metrics")
        codes = [
            [await code(cluster, user, Request("GET", path)) for path in paths]
            for user in ("alice", "system:anonymous")
        ]
        return names, codes[0], codes[1]

    names, known, unknown = on_a_cluster(script)

    assert {"cluster-admin", "system:basic-user", "system:discovery", "system:public-info-viewer"} <= set(names)
    assert known == [200, 200, 200, 403]
    assert unknown == [200, 200, 403, 403]


def test_whoever_may_not_discover_is_told_before_the_path_is_looked_at() -> None:
    async def script(cluster: Cluster) -> list[int]:
        cluster.verbs.delete(CLUSTER_ROLE_BINDINGS, "", "system:discovery", user="admin")
        return [await code(cluster, "alice", Request("GET", path)) for path in ("/apis", "/nowhere", "/version")]

    assert on_a_cluster(script) == [403, 403, 200]


def test_writes_are_recorded_under_whom_they_were_made_as() -> None:
    async def script(cluster: Cluster) -> list[str]:
        grant(cluster, a_rule("create", "configmaps"), to=a_user("bob"))
        headers = {"Impersonate_User": "bob"}
        status, _ = await asked(cluster, "admin", MAPS, a_map("a"), **headers)
        refused, _ = await asked(cluster, "admin", "/api/v1/namespaces/default/secrets", a_map("a"), **headers)
        assert (status, refused) == (201, 403)
        return [entry.user for entry in cluster.history.of(CONFIG_MAPS)]

    assert on_a_cluster(script) == ["bob"]


def test_extra_fields_of_users_come_with_them() -> None:
    async def script(cluster: Cluster) -> Tree:
        headers = {"Impersonate_User": "bob", "Impersonate_Extra_Scopes": "view"}
        path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
        return (await asked(cluster, "admin", path, {"kind": "SelfSubjectReview"}, **headers))[1]

    assert on_a_cluster(script)["status"]["userInfo"]["extra"] == {"scopes": ["view"]}


def test_a_token_is_good_for_its_time_and_while_its_account_exists() -> None:
    async def script(cluster: Cluster) -> list[str | None]:
        tokens = cluster.handler.tokens
        account = {"metadata": {"name": "robot"}}
        cluster.verbs.create(SERVICE_ACCOUNTS, "default", account, user="admin")
        place = "/api/v1/namespaces/default/serviceaccounts/robot/token"

        async def token(seconds: int) -> str:
            _, made = await asked(cluster, "admin", place, {"spec": {"expirationSeconds": seconds}})
            text: str = made["status"]["token"]
            return text

        def owner(text: str) -> str | None:
            user = tokens.user(text)
            return None if user is None else user.name

        short, long = await token(600), await token(7200)
        found = [owner(short)]
        await asyncio.sleep(600)
        found += [owner(short), owner(long)]
        cluster.verbs.delete(SERVICE_ACCOUNTS, "default", "robot", user="admin")
        cluster.verbs.create(SERVICE_ACCOUNTS, "default", account, user="admin")
        return [*found, owner(long)]

    robot = "system:serviceaccount:default:robot"
    assert on_a_cluster(script) == [robot, None, robot, None]


def test_a_token_for_others_does_not_open_this_server() -> None:
    async def script(cluster: Cluster) -> User | None:
        cluster.verbs.create(SERVICE_ACCOUNTS, "default", {"metadata": {"name": "robot"}}, user="admin")
        token, _ = cluster.handler.tokens.issue(("default", "robot"), ("vault",), 600)
        return cluster.handler.tokens.user(token)

    assert on_a_cluster(script) is None


def test_tokens_are_not_bound_to_objects() -> None:
    async def script(cluster: Cluster) -> tuple[int, Tree]:
        cluster.verbs.create(SERVICE_ACCOUNTS, "default", {"metadata": {"name": "robot"}}, user="admin")
        place = "/api/v1/namespaces/default/serviceaccounts/robot/token"
        return await asked(cluster, "admin", place, {"spec": {"boundObjectRef": {"kind": "Pod", "name": "a"}}})

    status, answer = on_a_cluster(script)

    assert status == 400
    assert "leave out spec.boundObjectRef" in answer["message"]


def test_reviews_can_only_be_created_and_are_not_kept() -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

    async def script(cluster: Cluster) -> tuple[list[int], Tree, int]:
        before = cluster.store.revision
        await asked(cluster, "alice", path, {"spec": {"nonResourceAttributes": {"verb": "get", "path": "/"}}})
        codes = [await code(cluster, "admin", Request(method, path)) for method in ("GET", "PUT", "DELETE")]
        listed = await cluster.transport().send(Request("GET", "/apis/authorization.k8s.io/v1"))
        return codes, json.loads(listed.body), cluster.store.revision - before

    codes, discovered, written = on_a_cluster(script)

    assert codes == [405, 405, 405]
    assert {"selfsubjectaccessreviews": ["create"]}.items() <= {
        entry["name"]: entry["verbs"] for entry in discovered["resources"]
    }.items()
    assert written == 0


@pytest.mark.parametrize(
    "tree", [a_role({"verbs": "get"}), {"metadata": {"name": "a"}, "rules": "all"}], ids=["verbs", "rules"]
)
def test_a_role_of_another_shape_is_refused(tree: Tree) -> None:
    async def script(cluster: Cluster) -> tuple[int, Tree]:
        return await asked(cluster, "admin", "/apis/rbac.authorization.k8s.io/v1/clusterroles", tree)

    status, answer = on_a_cluster(script)

    assert status == 400
    assert "cannot be handled as a ClusterRole" in answer["message"]
