"""What the API server says that it has answered to service accounts: its audit log."""

from __future__ import annotations

import msgspec
from msgspec import Struct, field

from tests.e2e.clusters import Site

DENIED = 403


class _User(Struct, frozen=True):
    username: str = ""


class _Answer(Struct, frozen=True):
    code: int = 0


class _Line(Struct, frozen=True, rename="camel"):
    user: _User
    verb: str
    request_uri: str = field(name="requestURI")
    response_status: _Answer = _Answer()


def answered(site: Site, account: str, namespace: str = "") -> list[tuple[int, str]]:
    """Code and request of everything that the account has asked for, the first first; by default the site's."""
    user = f"system:serviceaccount:{namespace or site.namespace}:{account}"
    lines = (msgspec.json.decode(line, type=_Line) for line in site.plane.audit_log.read_bytes().splitlines())
    return [
        (line.response_status.code, f"{line.verb} {line.request_uri.partition('?')[0]}")
        for line in lines
        if line.user.username == user
    ]


def denied(site: Site, account: str, namespace: str = "") -> set[str]:
    """What it may not do and has asked for all the same."""
    found = answered(site, account, namespace)
    assert found, f"account {account} has asked for nothing"
    return {request for code, request in found if code == DENIED}
