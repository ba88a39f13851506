"""Users with few rights: by RBAC on a real cluster, by a transport that refuses the rest on the embedded one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct

from fairlead.api.meta import Resource
from fairlead.kube.faults import Fault, Faulty
from fairlead.kube.request import Request, Response, Transport, place_of
from tests.e2e.clusters import Site

ROLES = Resource("rbac.authorization.k8s.io", "v1", "roles", "Role")
BINDINGS = Resource("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding")

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
    """To be put around the user's transport."""
    refused: list[str]
    """What was refused, as `verb resource`."""


async def grant(site: Site, rights: Rights, name: str = "operator") -> User:
    """A user who may do this in the namespace of the site, and nothing else anywhere."""
    refused: list[str] = []
    name = f"{name}-{site.namespace}"
    if not site.real:
        return User(name, lambda transport: _Noting(Faulty(transport, _refusal(site, rights)), refused), refused)
    rules = [
        {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}
        for (group, resource), verbs in rights.items()
    ]
    await site.create(ROLES, {"metadata": {"name": name}, "rules": rules})
    subject = {"kind": "User", "name": name, "apiGroup": ROLES.group}
    role = {"kind": "Role", "name": name, "apiGroup": ROLES.group}
    await site.create(BINDINGS, {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]})
    return User(name, lambda transport: _Noting(transport, refused), refused)


def _refusal(site: Site, rights: Rights) -> Callable[[Request, int], Fault | None]:
    def refuse(request: Request, _number: int) -> Fault | None:
        place = place_of(request.path)
        resource = f"{place.plural}/{place.subresource}" if place.subresource else place.plural
        allowed = place.namespace == site.namespace and request.verb in rights.get((place.group, resource), ())
        return None if allowed else Fault("status", status=403)

    return refuse


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
