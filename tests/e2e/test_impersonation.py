"""Acting as others, and service accounts: the same rights, names and refusals on both clusters."""

from __future__ import annotations

import pytest

from tests.e2e.clusters import SERVICE_ACCOUNTS, Site, everywhere
from tests.e2e.history import Tree
from tests.e2e.roles import (
    AUTHENTICATION,
    BINDINGS,
    LOOK_EVERY,
    PLACE,
    ROLES,
    allow,
    asking,
    cannot,
    grant,
    role_ref,
    subject,
)

pytestmark = pytest.mark.fidelity


async def a_lister(site: Site) -> str:
    """A user who may list and get pods in the namespace of the site."""
    return (await grant(site, {("", "pods"): ("get", "list")}, "lister")).name


@everywhere(controllers=False)
async def test_acting_as_somebody_else_needs_the_right_to_it(site: Site) -> None:
    user, actor = await a_lister(site), f"actor-{site.namespace}"
    robot = ("User", "system:serviceaccount:default:robot")
    async with asking(site, actor) as ask:
        unwanted = [(await ask("GET", f"{PLACE}/pods", impersonating=(wish,)))[:2] for wish in (("User", user), robot)]
    rules: list[Tree] = [
        {"apiGroups": [""], "resources": ["users"], "resourceNames": [user], "verbs": ["impersonate"]},
        {"apiGroups": [""], "resources": ["groups"], "resourceNames": ["known"], "verbs": ["impersonate"]},
    ]
    await allow(site, actor, rules, everywhere=True)
    wishes = (
        (("User", "other"),),
        (("User", user), ("Group", "unknown")),
        (("User", user), ("Uid", "7")),
        (robot,),
        (("Group", "known"),),
    )

    async with asking(site, actor) as ask:
        listed, _, _ = await ask("GET", f"{PLACE}/pods", impersonating=(("User", user),))
        watched = await ask("GET", f"{PLACE}/pods?watch=true", impersonating=(("User", user),))
        itself, _, _ = await ask("GET", f"{PLACE}/pods")
        both = (("User", user), ("Group", "known"))
        _, _, grouped = await ask("POST", f"{AUTHENTICATION}/selfsubjectreviews", {}, impersonating=both)
        refusals = [(await ask("GET", f"{PLACE}/pods", impersonating=wish))[:2] for wish in wishes]

    # Before any mode of impersonation has worked for a user, the first one is told, afterwards the one that did.
    assert unwanted == [
        (403, cannot(f"impersonate-on:{mode}:list", "pods").format(user=actor, ns=site.namespace))
        for mode in ("user-info", "serviceaccount")
    ]
    assert (listed, itself) == (200, 403)
    assert watched[:2] == (403, cannot("watch", "pods").format(user=user, ns=site.namespace))
    assert grouped["status"]["userInfo"]["groups"] == ["known", "system:authenticated"]
    nameless = 'Name:"", UID:"", Groups:[]string{"known"}, Extra:map[string][]string(nil)'
    assert refusals == [
        (403, cannot("impersonate", "users", name="other", at="").format(user=actor)),
        (403, cannot("impersonate", "groups", name="unknown", at="").format(user=actor)),
        (403, cannot("impersonate", "uids", group="authentication.k8s.io", name="7", at="").format(user=actor)),
        (403, cannot("impersonate", "serviceaccounts", name="robot", at="default").format(user=actor)),
        (400, f"requested &user.DefaultInfo{{{nameless}}} without impersonating a user name"),
    ]


@everywhere(controllers=False)
async def test_impersonation_can_be_held_to_a_single_verb(site: Site) -> None:
    actor = f"actor-{site.namespace}"
    await allow(
        site,
        actor,
        [
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["impersonate-on:user-info:list"]},
            {"apiGroups": ["authentication.k8s.io"], "resources": ["users"], "verbs": ["impersonate:user-info"]},
        ],
        everywhere=True,
    )
    user = await a_lister(site)

    async with asking(site, actor) as ask:
        listed, _, _ = await ask("GET", f"{PLACE}/pods", impersonating=(("User", user),))
        got = await ask("GET", f"{PLACE}/pods/web", impersonating=(("User", user),))
        masters = await ask("GET", f"{PLACE}/pods", impersonating=(("User", user), ("Group", "system:masters")))

    assert listed == 200
    refusal = cannot("impersonate-on:user-info:get", "pods", name="web")
    assert got[:2] == (403, refusal.format(user=actor, ns=site.namespace))
    group = cannot("impersonate:user-info", "groups", group="authentication.k8s.io", name="system:masters", at="")
    why = "impersonating the system:masters group is not allowed"
    assert masters[:2] == (403, f"{group.format(user=actor)}: {why}")


@everywhere(controllers=False)
async def test_service_accounts_have_tokens_names_and_groups(site: Site) -> None:
    await site.create(SERVICE_ACCOUNTS, {"metadata": {"name": "robot"}})
    place = f"{PLACE}/serviceaccounts/robot/token"
    reviews = f"{AUTHENTICATION}/tokenreviews"

    async with asking(site, "admin") as ask:
        code, _, request = await ask("POST", place, {"spec": {"expirationSeconds": 700}})
        _, _, review = await ask("POST", reviews, {"spec": {"token": request["status"]["token"]}})
        _, _, unknown = await ask("POST", reviews, {"spec": {"token": "nonsense"}})
        short = await ask("POST", place, {"spec": {"expirationSeconds": 1}})
        absent = await ask("POST", f"{PLACE}/serviceaccounts/absent/token", {})
        _, _, other = await ask("POST", place, {"spec": {"audiences": ["vault"]}})
        _, _, meant = await ask(
            "POST", reviews, {"spec": {"token": other["status"]["token"], "audiences": ["vault", "x"]}}
        )
        _, _, strange = await ask("POST", reviews, {"spec": {"token": other["status"]["token"]}})
        await ask("DELETE", f"{PLACE}/serviceaccounts/robot")
        reading = await ask("GET", place)

    name = f"system:serviceaccount:{site.namespace}:robot"
    groups = ["system:serviceaccounts", f"system:serviceaccounts:{site.namespace}", "system:authenticated"]
    assert (code, request["spec"]["expirationSeconds"]) == (201, 700)
    status = review["status"]
    assert (status["authenticated"], status["user"]["username"], status["user"]["groups"]) == (True, name, groups)
    assert status["audiences"] == request["spec"]["audiences"] == ["https://kubernetes.default.svc"]
    assert "authenticated" not in unknown["status"]
    seconds = "spec.expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes"
    assert short[:2] == (422, f'TokenRequest.authentication.k8s.io "" is invalid: {seconds}')
    assert absent[:2] == (404, 'serviceaccounts "absent" not found')
    assert meant["status"]["audiences"] == ["vault"]
    assert "authenticated" not in strange["status"]
    assert reading[0] == 405


@everywhere(controllers=False)
async def test_service_accounts_are_bound_by_namespace_and_name(site: Site) -> None:
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}]
    await site.create(ROLES, {"metadata": {"name": "listing"}, "rules": rules})
    role = role_ref("Role", "listing")
    account = {"kind": "ServiceAccount", "name": "robot", "namespace": "default"}
    await site.create(BINDINGS, {"metadata": {"name": "one"}, "roleRef": role, "subjects": [account]})
    group = subject("Group", f"system:serviceaccounts:{site.namespace}")
    await site.create(BINDINGS, {"metadata": {"name": "two"}, "roleRef": role, "subjects": [group]})
    names = ("default:robot", "default:other", f"{site.namespace}:robot")

    async with asking(site, "admin") as ask:

        async def codes() -> list[int]:
            users = [(("User", f"system:serviceaccount:{name}"),) for name in names]
            return [(await ask("GET", f"{PLACE}/pods", impersonating=user))[0] for user in users]

        async def granted() -> bool:
            return await codes() == [200, 403, 200]

        await site.until(granted, every=LOOK_EVERY)
