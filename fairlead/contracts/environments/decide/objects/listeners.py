"""`listeners.json`: where environmentd listens, and whom it lets in there.

There are two forms. Up to 26.31 a route group is switched on or off and the roles are those of the listener; from
26.32 on each route group names its own roles, so that the internal ones can be kept for internal roles on the listener
that everybody uses. Programs that know nothing of a version or a group pass over it.
"""

from __future__ import annotations

from msgspec import Struct

from fairlead.contracts.environments.decide.images import at_least
from fairlead.contracts.environments.kinds import LOGS_IN, Json
from fairlead.contracts.environments.settings import Ports

FIRST = "0.147.0"
ROLES_BY_GROUP = "26.32.0"
GROUPS = ("base", "webhook", "internal", "metrics", "profiling", "mcp_agent", "mcp_developer", "console_config")
RESTRICTED = ("internal", "profiling")
"""Groups that only internal roles may use where users log in."""

_EXTERNAL = ("base", "webhook", "mcp_agent", "mcp_developer", "console_config")
_INTERNAL = ("base", "webhook", "internal", "metrics", "profiling", "mcp_agent", "mcp_developer")
_NORMAL = "Normal"
_ANY = "NormalAndInternal"


class Listener(Struct, frozen=True):
    port: int
    authenticator: str = "None"
    roles: str = _ANY
    tls: bool = False
    groups: tuple[str, ...] = ()
    """Of HTTP routes that are served."""
    restricted: tuple[str, ...] = ()
    """Those of them that are for internal roles alone."""


Listeners = dict[str, Listener]


def reads_listeners(image: str) -> bool:
    """Whether environmentd takes its listeners from a file; before, each has a flag."""
    return at_least(image, "0.147.0-dev.0")


def listeners(image: str, kind: str, ports: Ports, *, tls: bool) -> Json:
    """What environmentd of this image is told, with this kind of authentication (B10)."""
    sql, http = _with_login(kind, ports, tls) if kind in LOGS_IN else _without_login(kind, ports, tls)
    by_group = at_least(image, f"{ROLES_BY_GROUP}-dev.0")
    return {
        "version": ROLES_BY_GROUP if by_group else FIRST,
        "sql": {name: _entry(each) for name, each in sql.items()},
        "http": {name: _by_group(each) if by_group else _by_listener(each) for name, each in http.items()},
    }


def _without_login(kind: str, ports: Ports, tls: bool) -> tuple[Listeners, Listeners]:
    """Internal roles have listeners of their own, which the network keeps others from."""
    sql = {
        "external": Listener(ports.sql, kind, _NORMAL, tls),
        "internal": Listener(ports.internal_sql),
    }
    http = {
        "external": Listener(ports.http, kind, _NORMAL, tls, _EXTERNAL),
        "internal": Listener(ports.internal_http, groups=_INTERNAL),
    }
    return sql, http


def _with_login(kind: str, ports: Ports, tls: bool) -> tuple[Listeners, Listeners]:
    """All roles log in at one listener; what nobody logs in for is metrics. HTTP has no SASL."""
    web = "Password" if kind == "Sasl" else kind
    sql = {"external": Listener(ports.sql, kind, _ANY, tls)}
    http = {
        "external": Listener(ports.http, web, _ANY, tls, (*_EXTERNAL, *RESTRICTED), RESTRICTED),
        "metrics": Listener(ports.internal_http, groups=("metrics",)),
    }
    return sql, http


def _entry(listener: Listener) -> Json:
    return {
        "addr": f"0.0.0.0:{listener.port}",
        "authenticator_kind": listener.authenticator,
        "allowed_roles": listener.roles,
        "enable_tls": listener.tls,
    }


def _by_listener(listener: Listener) -> Json:
    return {**_entry(listener), "routes": {group: group in listener.groups for group in GROUPS}}


def _by_group(listener: Listener) -> Json:
    entry = _entry(listener)
    del entry["allowed_roles"]
    return {**entry, "routes": {group: _group(listener, group) for group in GROUPS}}


def _group(listener: Listener, group: str) -> Json:
    if group not in listener.groups:
        return {"enabled": False}
    return {"enabled": True, "allowed_roles": "Internal" if group in listener.restricted else listener.roles}
