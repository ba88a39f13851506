"""How environmentd listens that users reach: what balancerd and console go by, whatever is wanted next.

The generation is the one that the public Service selects, and its listeners say it. The spec may say something else for
as long as a rollout takes, and the settings of the operator until another rollout.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from fairlead.contracts.environments.decide.objects.names import (
    environmentd_name,
    environmentd_service_name,
    listeners_name,
    number_in,
)
from fairlead.contracts.environments.decide.objects.wanted import Serving
from fairlead.contracts.environments.decide.seen import CompanionSnapshot
from fairlead.contracts.environments.kinds import NAME, Balancer, Child, Console
from kubeloop.objects.core import CONFIGMAPS, SERVICES
from kubeloop.unreadable import UNREADABLE


class _Listener(Struct, frozen=True):
    addr: str
    authenticator_kind: str
    enable_tls: bool

    @property
    def port(self) -> int:
        return int(self.addr.rpartition(":")[2])


class _Protocol(Struct, frozen=True):
    external: _Listener


class _Listeners(Struct, frozen=True):
    sql: _Protocol
    http: _Protocol


def serving_of(seen: CompanionSnapshot[Balancer] | CompanionSnapshot[Console]) -> Serving | None:
    """None where no environment is seen that serves under its resource id."""
    if seen.own.status is None:
        return None
    resource_id = seen.own.status.resource_id
    service = seen.children.get((SERVICES, environmentd_service_name(resource_id)))
    found = None if service is None else _listeners_of(resource_id, service, seen)
    if found is None:
        return None
    try:
        told = msgspec.json.decode(found.data.listeners, type=_Listeners)
        sql, http = told.sql.external, told.http.external
        return Serving(sql.authenticator_kind, sql.enable_tls, sql.port, http.port)
    except (*UNREADABLE, ValueError):
        return None


def selected_by(resource_id: str, service: Child) -> int | None:
    """The generation that a public Service leads to."""
    name = service.spec.selector.get(NAME, "")
    generation = number_in(name)
    is_one = generation is not None and name == environmentd_name(resource_id, generation)
    return generation if is_one else None


def _listeners_of(
    resource_id: str, service: Child, seen: CompanionSnapshot[Balancer] | CompanionSnapshot[Console]
) -> Child | None:
    generation = selected_by(resource_id, service)
    return None if generation is None else seen.children.get((CONFIGMAPS, listeners_name(resource_id, generation)))
