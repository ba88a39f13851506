"""Who may read metrics is what the API server says of the bearer of a token, with no other rights of the operator."""

from __future__ import annotations

from fairlead.engine.serving.access_review import AuthorizedHandler
from kubeloop.calls import Call, Reply
from kubeloop.client import Client
from tests.e2e.clusters import Site, everywhere
from tests.e2e.roles import CLUSTER_BINDINGS, CLUSTER_ROLES, PLACE, allow, asking, role_ref
from tests.engine.world import Log

REVIEWS = [
    {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
    {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
]


async def shown(_: Call) -> Reply:
    return Reply(200, b"metrics")


async def asked(client: Client, *tokens: str, path: str = "/metrics") -> list[int]:
    """What requests with these tokens are answered, by a server that knows nothing yet."""
    handler = AuthorizedHandler(shown, client, Log().logger())
    return [
        (await handler(Call(method="GET", url=path, headers=(("Authorization", f"Bearer {token}"),)))).status
        for token in tokens
    ]


@everywhere(controllers=False)
async def test_metrics_are_for_accounts_that_may_get_their_path(site: Site) -> None:
    operator, reader = f"operator-{site.namespace}", f"reader-{site.namespace}"
    await allow(site, operator, REVIEWS, everywhere=True)
    client = site.client_as(operator)
    async with asking(site, "admin") as ask:
        for name in ("reader", "other"):
            await ask("POST", f"{PLACE}/serviceaccounts", {"metadata": {"name": name}})
        issued = [await ask("POST", f"{PLACE}/serviceaccounts/{name}/token", {}) for name in ("reader", "other")]
    tokens = [tree["status"]["token"] for _, _, tree in issued]

    assert await asked(client, *tokens, "nonsense") == [403, 403, 401]

    rules = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    await site.create(CLUSTER_ROLES, {"metadata": {"name": reader}, "rules": rules})
    account = {"kind": "ServiceAccount", "name": "reader", "namespace": site.namespace}
    bound = {"roleRef": role_ref("ClusterRole", reader), "subjects": [account]}
    await site.create(CLUSTER_BINDINGS, {"metadata": {"name": reader}, **bound})

    async def is_let() -> bool:
        return await asked(client, *tokens) == [200, 403]

    await site.until(is_let)
    assert await asked(client, tokens[0], path="/secret") == [403]


@everywhere(controllers=False)
async def test_an_operator_that_may_not_ask_lets_nobody_in(site: Site) -> None:
    operator = f"operator-{site.namespace}"
    await allow(site, operator, REVIEWS[1:], everywhere=True)

    assert await asked(site.client_as(operator), "nonsense") == [500]
