"""An object as it shall be, and whom it belongs to."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from fairlead.contracts.environments.kinds import Json, MaterializeSpec
from fairlead.core.digests import digest_of
from kubeloop.objects.meta import Ref, Resource


class Wanted(Struct, frozen=True):
    """One object, whole, as it is applied."""

    resource: Resource
    namespace: str
    name: str
    body: bytes

    @property
    def ref(self) -> Ref:
        return Ref(self.resource, self.namespace, self.name)

    @property
    def digest(self) -> str:
        """Equal for equal bodies; what `Snapshot.applied` is compared with."""
        return digest_of(self.body)


class Environment(Struct, frozen=True, kw_only=True):
    """What the objects of an environment are made from."""

    namespace: str
    name: str
    uid: str
    """Of the Materialize, which owns them all."""
    resource_id: str
    spec: MaterializeSpec
    running_image: str
    """Of the serving generation, or the wanted one while there is none: what balancerd and console go by."""
    running_accounts: tuple[str, ...] = ()
    """ServiceAccounts of the generations that exist; with the wanted one, those that need the environment's role."""
    force_annotation: str | None = None
    """Value of the force-rollout annotation, where there is one."""

    @property
    def prefix(self) -> str:
        return f"mz{self.resource_id}-"


class Serving(Struct, frozen=True):
    """How environmentd listens that users reach."""

    authenticator_kind: str
    tls: bool
    sql_port: int
    http_port: int


def encoded(tree: Json) -> bytes:
    """Always the same bytes for the same object, so that an unchanged one is known by its digest."""
    return msgspec.json.encode(tree, order="sorted")
