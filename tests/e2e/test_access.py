"""Rights: the same user with the same roles gets the same answers, in the same words, from both clusters."""

from __future__ import annotations

import pytest

from kubeloop.objects.meta import Resource
from tests.e2e.clusters import Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.roles import (
    AUTHENTICATION,
    AUTHORIZATION,
    BINDINGS,
    GROUP,
    LOOK_EVERY,
    PLACE,
    ROLES,
    allow,
    asking,
    cannot,
    role_ref,
    subject,
)

pytestmark = pytest.mark.fidelity

CONFIG_MAPS = Resource("", "v1", "configmaps", "ConfigMap")

RULES: list[Tree] = [
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
    {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
    {"apiGroups": ["*"], "resources": ["*/scale"], "verbs": ["get"]},
    {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": ["mine"],
        "verbs": ["get", "list", "watch", "patch"],
    },
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["update"]},
    {"apiGroups": [""], "resources": ["secrets"], "verbs": ["*"]},
]
CLUSTER_RULES: list[Tree] = [
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]},
    {"nonResourceURLs": ["/logs/*"], "verbs": ["get"]},
]

LEASE = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "new"}}
POD = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}}
APPS = "/apis/apps/v1/namespaces/{ns}"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases"


def not_path(path: str, verb: str = "get") -> str:
    return f'forbidden: User "{{user}}" cannot {verb} path "{path}"'


Row = tuple[str, str, object, int, str]
TABLE: dict[str, Row] = {
    "list in the namespace": ("GET", f"{PLACE}/pods", None, 200, ""),
    "list in another namespace": (
        "GET",
        "/api/v1/namespaces/default/pods",
        None,
        403,
        cannot("list", "pods", at="default"),
    ),
    "list everywhere": ("GET", "/api/v1/pods", None, 403, cannot("list", "pods", at="")),
    "watch, which is not list": ("GET", f"{PLACE}/pods?watch=true", None, 403, cannot("watch", "pods")),
    "get what is not there": ("GET", f"{PLACE}/pods/web", None, 404, 'pods "web" not found'),
    "create": ("POST", f"{PLACE}/pods", POD, 403, cannot("create", "pods")),
    "delete": ("DELETE", f"{PLACE}/pods/web", None, 403, cannot("delete", "pods", name="web")),
    "delete all": ("DELETE", f"{PLACE}/pods", None, 403, cannot("deletecollection", "pods")),
    "patch of a subresource": (
        "PATCH",
        f"{PLACE}/pods/web/status",
        {},
        403,
        cannot("patch", "pods/status", of="pods", name="web"),
    ),
    "subresource by its name": (
        "POST",
        f"{PLACE}/pods/web/eviction",
        {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web"}},
        404,
        'pods "web" not found',
    ),
    "subresource of anything": ("GET", f"{APPS}/statefulsets/a/scale", None, 404, 'statefulsets.apps "a" not found'),
    "another verb of it": (
        "PATCH",
        f"{APPS}/statefulsets/a/scale",
        {},
        403,
        cannot("patch", "statefulsets/scale", of="statefulsets", group="apps", name="a"),
    ),
    "object itself, with a right to its subresource": (
        "GET",
        f"{APPS}/statefulsets/a",
        None,
        403,
        cannot("get", "statefulsets", group="apps", name="a"),
    ),
    "named object": ("GET", f"{PLACE}/configmaps/mine", None, 200, ""),
    "object of another name": (
        "GET",
        f"{PLACE}/configmaps/other",
        None,
        403,
        cannot("get", "configmaps", name="other"),
    ),
    "list of the named object": ("GET", f"{PLACE}/configmaps?fieldSelector=metadata.name=mine", None, 200, ""),
    "watch of the named object": (
        "GET",
        f"{PLACE}/configmaps?watch=true&timeoutSeconds=1&fieldSelector=metadata.name==mine",
        None,
        200,
        "",
    ),
    "list of another name": (
        "GET",
        f"{PLACE}/configmaps?fieldSelector=metadata.name=other",
        None,
        403,
        cannot("list", "configmaps", name="other"),
    ),
    "list of all names but one": (
        "GET",
        f"{PLACE}/configmaps?fieldSelector=metadata.name!=mine",
        None,
        403,
        cannot("list", "configmaps"),
    ),
    "all names, with a right to one": ("GET", f"{PLACE}/configmaps", None, 403, cannot("list", "configmaps")),
    "patch of the named object": ("PATCH", f"{PLACE}/configmaps/mine", {"data": {"a": "b"}}, 200, ""),
    "every verb": ("DELETE", f"{PLACE}/secrets", None, 200, ""),
    "update that would create": (
        "PUT",
        f"{LEASES}/new",
        LEASE,
        403,
        cannot("create", "leases", group="coordination.k8s.io", name="new"),
    ),
    "namespace itself": ("GET", PLACE, None, 403, cannot("get", "namespaces", name="{ns}")),
    "status of the namespace": (
        "GET",
        f"{PLACE}/status",
        None,
        403,
        cannot("get", "namespaces/status", of="namespaces", name="{ns}"),
    ),
    "all namespaces": ("GET", "/api/v1/namespaces", None, 403, cannot("list", "namespaces", at="")),
    "right from a cluster role": ("GET", "/api/v1/nodes/absent", None, 404, 'nodes "absent" not found'),
    "no more than it says": ("GET", "/api/v1/nodes", None, 403, cannot("list", "nodes", at="")),
    "resource that does not exist": ("GET", f"{PLACE}/unicorns", None, 403, cannot("list", "unicorns")),
    "group that does not exist": (
        "GET",
        "/apis/none.example.com/v1/unicorns/a",
        None,
        403,
        cannot("get", "unicorns", group="none.example.com", name="a", at=""),
    ),
    "discovery": ("GET", "/apis/apps/v1", None, 200, ""),
    "version": ("GET", "/version", None, 200, ""),
    "health": ("GET", "/healthz", None, 200, ""),
    "path that is granted": ("GET", "/logs/none", None, 404, ""),
    "path that is not": ("GET", "/metrics", None, 403, not_path("/metrics")),
    "path with signs of markup": ("GET", "/a<b", None, 403, not_path("/a&lt;b")),
    "another verb of a path": ("POST", "/version", {}, 403, not_path("/version", "post")),
    "rights of others": (
        "POST",
        f"{AUTHORIZATION}/subjectaccessreviews",
        {},
        403,
        cannot("create", "subjectaccessreviews", group="authorization.k8s.io", at=""),
    ),
    "tokens of others": (
        "POST",
        f"{AUTHENTICATION}/tokenreviews",
        {},
        403,
        cannot("create", "tokenreviews", group="authentication.k8s.io", at=""),
    ),
    "reading a review": (
        "GET",
        f"{AUTHORIZATION}/selfsubjectaccessreviews",
        None,
        403,
        cannot("list", "selfsubjectaccessreviews", group="authorization.k8s.io", at=""),
    ),
}


@everywhere(controllers=False)
async def test_users_get_what_roles_grant_and_refusals_say_what_is_missing(site: Site) -> None:
    user = await somebody(site)
    await site.create(CONFIG_MAPS, {"metadata": {"name": "mine"}})

    async with asking(site, user) as ask:
        answers = {what: await ask(*row[:3]) for what, row in TABLE.items()}

    wanted = {what: (row[3], row[4].format(user=user, ns=site.namespace)) for what, row in TABLE.items()}
    assert {what: (code, message if wanted[what][1] else "") for what, (code, message, _) in answers.items()} == wanted


@everywhere(controllers=False)
async def test_refusals_name_what_was_asked_for(site: Site) -> None:
    user = await somebody(site)

    async with asking(site, user) as ask:
        _, _, named = await ask("GET", f"{APPS}/statefulsets/a")
        _, _, listed = await ask("GET", "/api/v1/nodes")
        _, _, path = await ask("GET", "/metrics")

    assert named["details"] == {"name": "a", "group": "apps", "kind": "statefulsets"}
    assert listed["details"] == {"kind": "nodes"}
    assert (path["details"], path["reason"]) == ({}, "Forbidden")


@everywhere(controllers=False)
async def test_binding_to_a_role_that_does_not_exist_is_part_of_the_refusal(site: Site) -> None:
    user = await somebody(site)
    role = role_ref("Role", "absent")
    binding = {"metadata": {"name": "dangling"}, "roleRef": role, "subjects": [subject("User", user)]}
    await site.create(BINDINGS, binding)
    reason = f'RBAC: role.{GROUP} "absent" not found'

    async with asking(site, user) as ask:

        async def told() -> bool:
            return (await ask("GET", f"{PLACE}/services"))[1].endswith(reason)

        await site.until(told, every=LOOK_EVERY)
        code, message, _ = await ask("GET", f"{PLACE}/services")

    refusal = cannot("list", "services").format(user=user, ns=site.namespace)
    assert (code, message) == (403, f"{refusal}: {reason}")


@everywhere(controllers=False)
async def test_users_can_ask_what_they_may_do(site: Site) -> None:
    user = await somebody(site)
    asked = {"namespace": site.namespace, "verb": "list", "resource": "pods"}
    questions = [
        {"resourceAttributes": asked},
        {"resourceAttributes": asked | {"verb": "watch"}},
        {"resourceAttributes": asked | {"namespace": ""}},
        {"nonResourceAttributes": {"verb": "get", "path": "/logs/a"}},
        {},
        {"resourceAttributes": asked, "nonResourceAttributes": {"verb": "get", "path": "/"}},
    ]

    async with asking(site, user) as ask:
        answers = [
            await ask("POST", f"{AUTHORIZATION}/selfsubjectaccessreviews", {"spec": question}) for question in questions
        ]

    by = f'of Role "{user}" to User "{user}"'
    by_cluster = f'RBAC: allowed by ClusterRoleBinding "{user}" of ClusterRole "{user}" to User "{user}"'
    assert [answer.get("status") for _, _, answer in answers[:4]] == [
        {"allowed": True, "reason": f'RBAC: allowed by RoleBinding "{user}/{site.namespace}" {by}'},
        {"allowed": False},
        {"allowed": False},
        {"allowed": True, "reason": by_cluster},
    ]
    invalid = '.authorization.k8s.io "" is invalid:'
    neither = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
    both = "cannot be specified in combination with resourceAttributes"
    assert [(code, message) for code, message, _ in answers[4:]] == [
        (422, f"{invalid} spec.resourceAttributes: Invalid value: null: {neither}"),
        (422, f'{invalid} spec.nonResourceAttributes: Invalid value: {{"Path":"/","Verb":"get"}}: {both}'),
    ]


@everywhere(controllers=False)
async def test_rules_that_hold_in_a_namespace_are_listed(site: Site) -> None:
    user = await somebody(site)

    async with asking(site, user) as ask:
        question = {"spec": {"namespace": site.namespace}}
        code, _, answer = await ask("POST", f"{AUTHORIZATION}/selfsubjectrulesreviews", question)
        without, message, _ = await ask("POST", f"{AUTHORIZATION}/selfsubjectrulesreviews", {"spec": {}})

    status = answer["status"]
    assert code == 201
    assert status["incomplete"] is False
    assert [rule for rule in RULES if rule not in status["resourceRules"]] == []
    assert {"nonResourceURLs": ["/logs/*"], "verbs": ["get"]} in status["nonResourceRules"]
    assert (without, message) == (400, "no namespace on request")


@everywhere(controllers=False)
async def test_users_can_ask_who_they_are(site: Site) -> None:
    user = await somebody(site)

    async with asking(site, user) as ask:
        code, _, answer = await ask("POST", f"{AUTHENTICATION}/selfsubjectreviews", {})

    told = answer["status"]["userInfo"]
    assert code == 201
    assert (told["username"], told["groups"]) == (user, ["system:authenticated"])


@everywhere(controllers=False)
async def test_administrators_can_ask_about_others(site: Site) -> None:
    user = await somebody(site)
    asked = {"namespace": site.namespace, "verb": "list", "resource": "pods"}
    place = f"{AUTHORIZATION}/namespaces/{site.namespace}/localsubjectaccessreviews"
    local = {"metadata": {"namespace": site.namespace}}

    async with asking(site, "admin") as ask:
        reviews = f"{AUTHORIZATION}/subjectaccessreviews"
        _, _, one = await ask("POST", reviews, {"spec": {"user": user, "resourceAttributes": asked}})
        _, _, other = await ask("POST", reviews, {"spec": {"user": "other", "resourceAttributes": asked}})
        _, _, master = await ask("POST", reviews, {"spec": {"groups": ["system:masters"], "resourceAttributes": asked}})
        nobody, refusal, _ = await ask("POST", reviews, {"spec": {"resourceAttributes": asked}})
        _, _, within = await ask("POST", place, local | {"spec": {"user": user, "resourceAttributes": asked}})
        elsewhere = local | {"spec": {"user": user, "resourceAttributes": asked | {"namespace": "default"}}}
        misplaced, misplacement, _ = await ask("POST", place, elsewhere)

    reviewed = [review["status"]["allowed"] for review in (one, other, master, within)]
    assert reviewed == [True, False, True, True]
    assert master["status"] == {"allowed": True}
    assert (nobody, refusal.partition("invalid: ")[2]) == (
        422,
        'spec.user: Invalid value: "": at least one of user or group must be specified',
    )
    assert (misplaced, misplacement.partition("invalid: ")[2]) == (
        422,
        'spec.resourceAttributes.namespace: Invalid value: "default": must match metadata.namespace',
    )


@pytest.mark.parametrize(
    ("resource", "tree", "says"),
    [
        pytest.param(
            ROLES,
            {"rules": [{"apiGroups": [""], "resources": ["pods"]}]},
            "rules[0].verbs: Required value: verbs must contain at least one value",
            id="rule without verbs",
        ),
        pytest.param(
            ROLES,
            {"rules": [{"verbs": ["get"]}]},
            "[rules[0].apiGroups: Required value: resource rules must supply at least one api group, "
            "rules[0].resources: Required value: resource rules must supply at least one resource]",
            id="rule about nothing",
        ),
        pytest.param(
            ROLES,
            {"rules": [{"verbs": ["get"], "nonResourceURLs": ["/a"]}]},
            'rules[0].nonResourceURLs: Invalid value: ["/a"]: namespaced rules cannot apply to non-resource URLs',
            id="path within a namespace",
        ),
        pytest.param(
            BINDINGS,
            {"roleRef": {"kind": "Person", "name": "a"}},
            'roleRef.kind: Unsupported value: "Person": supported values: "Role", "ClusterRole"',
            id="binding to no role",
        ),
        pytest.param(
            BINDINGS,
            {"roleRef": {"kind": "Role", "name": "a"}, "subjects": [{"kind": "Robot", "name": "a"}]},
            'subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
            id="binding of nobody",
        ),
    ],
)
@everywhere(controllers=False)
async def test_mistakes_in_roles_are_refused(site: Site, resource: Resource, tree: Tree, says: str) -> None:
    async with asking(site, "admin") as ask:
        path = f"/apis/{GROUP}/v1/namespaces/{{ns}}/{resource.plural}"
        code, message, _ = await ask("POST", path, {"metadata": {"name": "a"}, **tree})

    assert (code, message) == (422, f'{resource.kind}.{GROUP} "a" is invalid: {says}')


@everywhere(controllers=False)
async def test_binding_stays_with_its_role(site: Site) -> None:
    role = {"kind": "Role", "name": "one"}
    made = await site.create(
        BINDINGS, {"metadata": {"name": "a"}, "roleRef": role, "subjects": [{"kind": "User", "name": "x"}]}
    )

    async with asking(site, "admin") as ask:
        path = f"/apis/{GROUP}/v1/namespaces/{{ns}}/rolebindings/a"
        code, message, _ = await ask("PATCH", path, {"roleRef": {"name": "two"}})

    assert made["roleRef"]["apiGroup"] == made["subjects"][0]["apiGroup"] == GROUP
    shown = f'{{"APIGroup":"{GROUP}","Kind":"Role","Name":"two"}}'
    assert (code, message) == (
        422,
        f'RoleBinding.{GROUP} "a" is invalid: roleRef: Invalid value: {shown}: cannot change roleRef',
    )


async def somebody(site: Site) -> str:
    """A user with RULES in the namespace of the site and CLUSTER_RULES everywhere."""
    name = f"somebody-{site.namespace}"
    await allow(site, name, RULES)
    await allow(site, name, CLUSTER_RULES, everywhere=True)
    return name
