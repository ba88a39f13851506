"""What an installation may do in all namespaces: its cluster roles and their bindings.

Those that this release installs say in a label whose they are. Other releases, and the charts that ours take the place
of, do not: a binding is theirs if it has the name of a Deployment that goes and binds accounts of that namespace alone,
and with it goes the role that nobody else is bound to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from kubeloop.client import Client
from kubeloop.objects.meta import Meta, Ref, Resource

_RBAC = "rbac.authorization.k8s.io"
BINDINGS = Resource(_RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", namespaced=False)
CLUSTER_ROLES = Resource(_RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False)


class _Subject(Struct, frozen=True):
    kind: str
    namespace: str = ""


class _RoleRef(Struct, frozen=True):
    kind: str
    name: str


class _Binding(Struct, frozen=True, rename="camel"):
    metadata: Meta
    role_ref: _RoleRef
    subjects: tuple[_Subject, ...] | None = None

    def binds_only(self, namespace: str) -> bool:
        subjects = self.subjects or ()
        return bool(subjects) and all((each.kind, each.namespace) == ("ServiceAccount", namespace) for each in subjects)


class _Role(Struct, frozen=True):
    metadata: Meta


async def unlabelled(client: Client, namespace: str, names: Iterable[str], whose: str) -> tuple[tuple[Ref, Meta], ...]:
    """Bindings of these names, then their roles, that do not say by the label `whose` to whom they belong."""
    wanted = frozenset(names)
    if not wanted:
        return ()
    bindings = (await client.list(BINDINGS, _Binding)).items
    ours = [each for each in bindings if each.metadata.name in wanted and whose not in each.metadata.labels]
    ours = [each for each in ours if each.binds_only(namespace)]
    others = {each.role_ref.name for each in bindings if each not in ours and each.role_ref.kind == CLUSTER_ROLES.kind}
    roles = {each.role_ref.name for each in ours if each.role_ref.kind == CLUSTER_ROLES.kind} & wanted - others
    found = (await client.list(CLUSTER_ROLES, _Role)).items if roles else []
    named = (each.metadata for each in found if each.metadata.name in roles and whose not in each.metadata.labels)
    return (*_refs(BINDINGS, (each.metadata for each in ours)), *_refs(CLUSTER_ROLES, named))


def _refs(resource: Resource, found: Iterable[Meta]) -> Iterator[tuple[Ref, Meta]]:
    for each in sorted(found, key=lambda one: one.name):
        yield Ref(resource, "", each.name, each.uid), each
