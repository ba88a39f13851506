"""Users with few rights, and what clusters answer them."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from urllib.parse import parse_qsl, quote

import msgspec
from msgspec import Struct

from kubeloop.objects.meta import Resource
from kubeloop.request import JSON, MERGE_PATCH, Request, Response, Transport, place_of
from tests.e2e.clusters import Site
from tests.e2e.history import Tree

GROUP = "rbac.authorization.k8s.io"
ROLES = Resource(GROUP, "v1", "roles", "Role")
BINDINGS = Resource(GROUP, "v1", "rolebindings", "RoleBinding")
CLUSTER_ROLES = Resource(GROUP, "v1", "clusterroles", "ClusterRole", namespaced=False)
CLUSTER_BINDINGS = Resource(GROUP, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)
AUTHENTICATION = "/apis/authentication.k8s.io/v1"
AUTHORIZATION = "/apis/authorization.k8s.io/v1"
PLACE = "/api/v1/namespaces/{ns}"
LOOK_EVERY = 0.02
"""Seconds between looks at whether a server has learned of a role."""

Rights = Mapping[tuple[str, str], Sequence[str]]
"""Verbs by API group and resource."""

SEED_ROLE: Rights = {
    ("", "pods"): ("list", "get", "watch", "delete"),
    ("apps", "statefulsets"): ("list", "get", "watch"),
    ("apps", "statefulsets/status"): ("update",),
}
"""What rolling needs, and no more."""


class User(Struct, frozen=True):
    name: str
    limits: Callable[[Transport], Transport]
    """To be put around the user's transport, so that refusals are noted."""
    refused: list[str]
    """What was refused, as `verb resource`."""


async def grant(site: Site, rights: Rights, name: str = "operator") -> User:
    """A user who may do this in the namespace of the site, and nothing else anywhere."""
    refused: list[str] = []
    rules = [
        {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}
        for (group, resource), verbs in rights.items()
    ]
    name = f"{name}-{site.namespace}"
    await allow(site, name, rules)
    return User(name, lambda transport: _Noting(transport, refused), refused)


class _Noting:
    """Notes what the cluster refuses."""

    def __init__(self, transport: Transport, refused: list[str]) -> None:
        self._transport = transport
        self._refused = refused
        self.stream = transport.stream

    async def send(self, request: Request) -> Response:
        response = await self._transport.send(request)
        if response.status == 403:
            self._refused.append(f"{request.verb} {place_of(request.path).plural}")
        return response


def subject(kind: str, name: str) -> Tree:
    return {"kind": kind, "name": name, "apiGroup": GROUP}


def role_ref(kind: str, name: str) -> Tree:
    return {"kind": kind, "name": name, "apiGroup": GROUP}


async def allow(site: Site, user: str, rules: list[Tree], *, everywhere: bool = False) -> None:
    """Gives a user rights in the namespace of the site, or in the whole cluster.

    Returns when they hold: the real server learns of roles by a watch.
    """
    role, binding = (CLUSTER_ROLES, CLUSTER_BINDINGS) if everywhere else (ROLES, BINDINGS)
    await site.create(role, {"metadata": {"name": user}, "rules": rules})
    bound = {"roleRef": role_ref(role.kind, user), "subjects": [subject("User", user)]}
    await site.create(binding, {"metadata": {"name": user}, **bound})

    async def known() -> bool:
        async with asking(site, user) as ask:
            question = {"spec": {"namespace": site.namespace}}
            _, _, told = await ask("POST", f"{AUTHORIZATION}/selfsubjectrulesreviews", question)
        found = told["status"]["resourceRules"] + told["status"]["nonResourceRules"]
        return all(rule in found for rule in rules)

    await site.until(known, every=LOOK_EVERY)


class Ask:
    """Asks one cluster as one user."""

    def __init__(self, site: Site, transport: Transport) -> None:
        self._site = site
        self._transport = transport

    async def __call__(
        self, method: str, path: str, body: object = None, *, impersonating: Sequence[tuple[str, str]] = ()
    ) -> tuple[int, str, Tree]:
        """Code, message of a refusal, whole answer; `{ns}` in a path is the namespace of the site."""
        place, _, query = path.format(ns=self._site.namespace).partition("?")
        request = Request(
            method,
            quote(place),
            query=tuple(parse_qsl(query)),
            body=b"" if body is None else msgspec.json.encode(body),
            content_type="" if body is None else MERGE_PATCH if method == "PATCH" else JSON,
            headers=tuple((f"Impersonate-{name}", value) for name, value in impersonating),
        )
        status, text = await self._sent(request)
        try:
            tree = json.loads(text)
        except ValueError:  # some paths answer with plain text, a watch with many lines
            tree = {}
        return status, tree.get("message", "") if status >= 400 else "", tree

    async def _sent(self, request: Request) -> tuple[int, bytes]:
        if ("watch", "true") not in request.query:
            response = await self._transport.send(request)
            return response.status, response.body
        async with self._transport.stream(request) as stream:
            return stream.status, b"".join([line async for line in stream])


@asynccontextmanager
async def asking(site: Site, user: str) -> AsyncIterator[Ask]:
    transport = site.ground.transport(user)
    try:
        yield Ask(site, transport)
    finally:
        close = getattr(transport, "close", None)
        if close is not None:
            await close()


def cannot(verb: str, resource: str, *, of: str = "", group: str = "", name: str = "", at: str = "{ns}") -> str:
    """The refusal with places for `user` and `ns`; `of` is the resource without its subresource."""
    plural = of or resource
    subject = (f"{plural}.{group}" if group else plural) + (f' "{name}"' if name else "")
    where = f'in the namespace "{at}"' if at else "at the cluster scope"
    return f'{subject} is forbidden: User "{{user}}" cannot {verb} resource "{resource}" in API group "{group}" {where}'
