"""ValidatingAdmissionPolicies judge alike on both clusters, to the word."""

from __future__ import annotations

import json

import pytest

from kubeloop.errors import ApiError
from kubeloop.objects.apps import STATEFULSETS
from kubeloop.objects.meta import Resource
from kubeloop.request import JSON, Request, path_of
from tests.e2e.clusters import Site, everywhere
from tests.e2e.definitions import MERGE, a_shop, a_widget, an_empty_shop
from tests.e2e.history import Tree
from tests.e2e.policies import BINDINGS, CASE, CONFIG_MAPS, POLICIES, a_binding, a_map, a_policy, a_rule, enforce, told
from tests.e2e.policy_cases import CASES
from tests.e2e.test_admission import a_statefulset
from tests.e2e.webhooks import VALIDATING, answering, install, rule, serve

pytestmark = pytest.mark.fidelity

ROLES, ROLE_BINDINGS = (
    Resource("rbac.authorization.k8s.io", "v1", kind.lower() + "s", kind) for kind in ("Role", "RoleBinding")
)


@everywhere(controllers=False)
async def test_policies_judge_and_deny_in_the_servers_words(site: Site) -> None:
    found: dict[str, list[tuple[int, str, str]]] = {}

    async with an_empty_shop(site) as shop:
        for name, most in (("limit", "1"), ("limit-2", "5")):
            metadata = {"name": name, "labels": {"limits": "yes"}}
            await site.create(CONFIG_MAPS, {"metadata": metadata, "data": {"most": most}})
        await enforce(site, shop, *(tree for case in CASES.values() for tree in (case.policy, *case.bindings)))
        for name, case in CASES.items():
            answers = [await shop.send("POST", shop.at(resource=CONFIG_MAPS), tree) for tree, _ in case.objects]
            found[name] = [told(answer) for answer in answers]

    wanted = {name: [answer for _, answer in case.objects] for name, case in CASES.items()}
    assert {name: each for name, each in found.items() if each != wanted[name]} == {}


@everywhere(controllers=False)
async def test_changes_and_deletions_are_judged_with_what_was_there_before(site: Site) -> None:
    frozen = {
        "expression": "request.operation == 'DELETE' || !has(oldObject.data) || object.data == oldObject.data",
        "message": "data is fixed",
    }
    kept = {
        "expression": "request.operation != 'DELETE' || (object == null && !has(oldObject.data.keep))",
        "reason": "Forbidden",
    }
    constraints = {"resourceRules": [a_rule("UPDATE DELETE")]}

    async with an_empty_shop(site) as shop:
        await enforce(site, shop, a_policy("changes", frozen, kept, constraints=constraints), a_binding("changes"))
        await shop.send("POST", shop.at(resource=CONFIG_MAPS), a_map("one", "changes", keep="yes"))
        path = shop.at("one", resource=CONFIG_MAPS)
        answers = [
            await shop.send("PATCH", path, {"metadata": {"annotations": {"a": "b"}}}, kind=MERGE),
            await shop.send("PATCH", path, {"data": {"keep": "no"}}, kind=MERGE),
            await shop.send("PATCH", path, {"data": {"keep": "no"}}, kind=MERGE, dryRun="All"),
            await shop.send("DELETE", path),
            await shop.send("DELETE", shop.at(resource=CONFIG_MAPS), labelSelector="case=changes"),
        ]

    policy = "ValidatingAdmissionPolicy 'changes' with binding 'changes-binding'"
    fixed = f'configmaps "one" is forbidden: {policy} denied request: '
    rule = f"{fixed}failed expression: {kept['expression']}"
    assert [told(answer) for answer in answers[:4]] == [
        (200, "", ""),
        (422, "Invalid", f"{fixed}data is fixed"),
        (422, "Invalid", f"{fixed}data is fixed"),
        (403, "Forbidden", rule),
    ]
    assert told(answers[4]) == (403, "Forbidden", rule.replace('"one"', '"Unknown"'))


@everywhere(controllers=False)
async def test_what_has_no_name_yet_is_told_by_its_beginning_or_its_name(site: Site) -> None:
    metadata = {"generateName": "made-", "labels": {CASE: "births"}}
    tree = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}

    async with an_empty_shop(site) as shop:
        test = {"expression": "request.name.startsWith('made-') && false", "message": "no"}
        await enforce(site, shop, a_policy("births", test), a_binding("births"))
        answer = await shop.send("POST", shop.at(resource=CONFIG_MAPS), tree)

    code, reason, text = told(answer)
    assert (code, reason) == (422, "Invalid")
    assert text.startswith('configmaps "made-')
    policy = "ValidatingAdmissionPolicy 'births' with binding 'births-binding'"
    assert text.endswith(f"is forbidden: {policy} denied request: no")


@everywhere(controllers=False)
async def test_a_scale_is_judged_as_a_scale(site: Site) -> None:
    few = {"expression": "object.kind == 'Scale' && object.spec.replicas < 3", "message": "too many"}
    rules = {"resourceRules": [a_rule("UPDATE", "statefulsets/scale")], "objectSelector": {}}

    async with an_empty_shop(site) as shop:
        await enforce(site, shop, a_policy("scales", few, constraints=rules), a_binding("scales"))
        await site.create(STATEFULSETS, a_statefulset("cart"))
        path = shop.at("cart", "scale", resource=STATEFULSETS)
        answers = [await shop.send("PATCH", path, {"spec": {"replicas": each}}, kind=MERGE) for each in (2, 3)]
        whole = await shop.send("PATCH", path.removesuffix("/scale"), {"spec": {"replicas": 5}}, kind=MERGE)

    denied = "ValidatingAdmissionPolicy 'scales' with binding 'scales-binding' denied request: too many"
    assert [told(answer) for answer in answers] == [
        (200, "", ""),
        (422, "Invalid", f'statefulsets.apps "cart" is forbidden: {denied}'),
    ]
    assert whole.status == 200


@everywhere(controllers=False)
async def test_a_policy_about_one_version_sees_objects_of_another_as_that_one(site: Site) -> None:
    seen = {
        "expression": "object.apiVersion == 'shop.example.com/v1beta1' && object.spec.size < 5",
        "message": "v1beta1",
    }
    beta = a_rule("CREATE", "widgets") | {"apiGroups": ["shop.example.com"], "apiVersions": ["v1beta1"]}

    async with a_shop(site) as shop:
        equivalent = a_policy("equivalent", seen, constraints={"resourceRules": [beta], "objectSelector": {}})
        exact = {"resourceRules": [beta], "objectSelector": {}, "matchPolicy": "Exact"}
        await enforce(
            site,
            shop,
            equivalent,
            a_binding("equivalent"),
            a_policy("exact", {"expression": "false", "message": "never"}, constraints=exact),
            a_binding("exact"),
        )
        answers = [await shop.send("POST", shop.at(), a_widget(f"w{size}", size=size)) for size in (1, 6)]

    denied = "ValidatingAdmissionPolicy 'equivalent' with binding 'equivalent-binding' denied request: v1beta1"
    assert [told(answer) for answer in answers] == [
        (201, "", ""),
        (422, "Invalid", f'widgets.shop.example.com "w6" is forbidden: {denied}'),
    ]


@everywhere(controllers=False)
async def test_policies_come_before_validating_webhooks_and_never_judge_policies(site: Site) -> None:
    asked: list[str] = []

    def hook(request: Tree) -> Tree:
        asked.append(request["name"])
        return {}

    kinds = "validatingadmissionpolicies validatingadmissionpolicybindings"
    own = {"resourceRules": [a_rule("*", kinds)], "objectSelector": {}}

    async with an_empty_shop(site) as shop:
        config = await serve(site, answering(hook))
        await install(site, VALIDATING, "order", {"clientConfig": config, "rules": [rule("CREATE", "configmaps")]})
        await enforce(
            site,
            shop,
            a_policy("first", {"expression": "object.metadata.name != 'no'", "message": "no"}),
            a_binding("first"),
            a_policy("itself", "false", constraints=own),
            a_binding("itself"),
        )
        asked.clear()
        path = shop.at(resource=CONFIG_MAPS)
        answers = [await shop.send("POST", path, a_map(name, "first")) for name in ("no", "yes")]
        removed = await shop.send("DELETE", path_of(BINDINGS, name="itself-binding"))

    assert ([answer.status for answer in answers], asked, removed.status) == ([422, 201], ["yes"], 200)


@everywhere(controllers=False)
async def test_an_authorizer_asks_about_whoever_makes_the_request(site: Site) -> None:
    rights = "authorizer.group('').resource('secrets').namespace(object.metadata.namespace).check('get').allowed()"
    policy = a_policy("rights", {"expression": rights, "message": "no secrets"})
    role = {"metadata": {"name": "maps"}, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]}
    binding = {
        "metadata": {"name": "maps"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "maps"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "someone"}],
    }

    async with an_empty_shop(site) as shop:
        await enforce(site, shop, policy, a_binding("rights"))
        await site.create(ROLES, role)
        await site.create(ROLE_BINDINGS, binding)
        body = json.dumps(a_map("one", "rights")).encode()
        request = Request("POST", shop.at(resource=CONFIG_MAPS), body=body, content_type=JSON)
        someone = site.client_as("someone")

        async def denied() -> str:
            try:
                await someone.call(request)
            except ApiError as error:
                return str(error) if "no secrets" in str(error) else ""
            return ""

        await site.until(denied, every=0.1, within=15)
        admin = await shop.send("POST", shop.at(resource=CONFIG_MAPS), a_map("one", "rights"))

    assert admin.status == 201


@everywhere()
async def test_the_status_of_a_policy_follows_its_generation(site: Site) -> None:
    path = path_of(POLICIES, name="followed")
    async with an_empty_shop(site) as shop:
        await shop.send("POST", path_of(POLICIES), a_policy("followed", "object.metadata.name != ''"))

        async def seen(generation: int) -> Tree:
            status: Tree = json.loads((await shop.send("GET", path)).body).get("status") or {}
            return status if status.get("observedGeneration") == generation else {}

        first = await site.until(lambda: seen(1), every=0.05, within=30)
        patch = {"spec": {"validations": [{"expression": "object.metadata.name != 'a'"}]}}
        await shop.send("PATCH", path, patch, kind=MERGE)
        second = await site.until(lambda: seen(2), every=0.05, within=30)

    assert first == {"observedGeneration": 1, "typeChecking": {}}
    assert second == {"observedGeneration": 2, "typeChecking": {}}
