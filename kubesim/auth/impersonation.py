"""Acting as somebody else: the `Impersonate-*` headers, and the rights that they need.

The modes of the real server are tried in its order: those that are held to single verbs (`impersonate:user-info` with
`impersonate-on:user-info:list`) before the plain right `impersonate`; when none allows it, the first refusal is told.
The mode for the node that a service account's pod runs on needs tokens that are bound to pods, which do not exist here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from kubeloop.request import Request
from kubesim.auth.rbac import (
    ANONYMOUS,
    AUTHENTICATED,
    MASTERS,
    UNAUTHENTICATED,
    Access,
    Attributes,
    User,
    account_groups,
    account_of,
    attributes_of,
    refused,
)
from kubesim.errors import StatusError, bad_request

_PREFIX = "impersonate-"
_EXTRA = "extra-"
_AUTHENTICATION = "authentication.k8s.io"
_NODE = re.compile(r"system:node:([a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*)")


class Mode(Struct, frozen=True):
    """A way to be allowed to act as somebody; the plain one has no name."""

    name: str = ""

    @property
    def verb(self) -> str:
        return f"impersonate:{self.name}" if self.name else "impersonate"

    @property
    def group(self) -> str:
        """API group of users, groups and accounts in the rules of this mode."""
        return _AUTHENTICATION if self.name else ""


class Impersonation:
    """Lets users act as others; the mode that last worked for a user is tried first, and then tells its refusal."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._last: dict[str, Mode] = {}

    def acting(self, user: User, request: Request) -> User:
        """Whom the request is to be carried out as: the user, or whom they impersonate; 403 when they may not."""
        wanted = _wanted(request)
        if wanted is None:
            return user
        first: StatusError | None = None
        last = self._last.get(user.name)
        for mode in sorted(_modes(wanted), key=lambda mode: mode != last):
            try:
                impersonated = _checked(self._access, user, wanted, mode, attributes_of(request))
            except StatusError as error:
                first = first or error
            else:
                self._last[user.name] = mode
                return impersonated
        assert first is not None  # noqa: S101  the plain mode is always tried
        raise first


def _wanted(request: Request) -> User | None:
    """As the headers say, with nothing added; None when they say nothing."""
    name, uid, groups = "", "", []
    extra: dict[str, list[str]] = {}
    for header, value in request.headers:
        lower = header.lower()
        if not lower.startswith(_PREFIX):
            continue
        match lower.removeprefix(_PREFIX):
            case "user":
                name = name or value
            case "uid":
                uid = uid or value
            case "group":
                groups.append(value)
            case other if other.startswith(_EXTRA):
                extra.setdefault(unquote(other.removeprefix(_EXTRA)), []).append(value)
    if not name and (uid or groups or extra):
        more = ", ".join(f"{json.dumps(key)}:{_listed(extra[key])}" for key in sorted(extra))
        fields = f"map[string][]string{{{more}}}" if extra else "map[string][]string(nil)"
        shown = f'&user.DefaultInfo{{Name:"", UID:{json.dumps(uid)}, Groups:{_listed(groups)}, Extra:{fields}}}'
        raise bad_request(f"requested {shown} without impersonating a user name")
    if not name:
        return None
    return User(name, tuple(groups), uid, tuple((key, tuple(extra[key])) for key in sorted(extra)))


def _listed(values: list[str]) -> str:
    """As Go prints a list."""
    return f"[]string{{{', '.join(json.dumps(each) for each in values)}}}" if values else "[]string(nil)"


def _modes(wanted: User) -> Iterator[Mode]:
    only_name = not wanted.groups and not wanted.uid and not wanted.extra
    if _NODE.fullmatch(wanted.name):
        if only_name:
            yield Mode("arbitrary-node")
    elif account_of(wanted.name):
        if only_name:
            yield Mode("serviceaccount")
    else:
        yield Mode("user-info")
    yield Mode()


def _checked(access: Access, user: User, wanted: User, mode: Mode, asked: Attributes) -> User:
    """The whole user, when the mode allows the name and everything else of it."""
    if mode.name:
        access.demand(user, msgspec.structs.replace(asked, verb=f"impersonate-on:{mode.name}:{asked.verb}"))
    access.demand(user, _naming(wanted.name, mode))
    if wanted.uid:
        access.demand(user, Attributes(mode.verb, _AUTHENTICATION, "uids", name=wanted.uid))
    for group in wanted.groups:
        right = Attributes(mode.verb, mode.group, "groups", name=group)
        if mode.name and group in ("", MASTERS):
            raise refused(user, right, f"impersonating the {group or 'empty string'} group is not allowed")
        access.demand(user, right)
    for key, values in wanted.extra:
        right = Attributes(mode.verb, _AUTHENTICATION, "userextras", key)
        if mode.name and (why := _bad_extra(key, values)):
            raise refused(user, msgspec.structs.replace(right, subresource=""), why)
        for value in values:
            access.demand(user, msgspec.structs.replace(right, name=value))
    return msgspec.structs.replace(wanted, groups=_groups(wanted, mode))


def _bad_extra(key: str, values: tuple[str, ...]) -> str:
    """Why a mode of single verbs does not take a field; the plain one takes all."""
    if not key:
        return "impersonating the empty string key in extra is not allowed"
    domain, slash, path = key.partition("/")
    if not (domain and slash and path):
        why = f'extra.key: Invalid value: {json.dumps(key)}: must be a domain-prefixed path (such as "acme.io/foo")'
        return f"impersonating an invalid key in extra is not allowed: {why}"
    return "impersonating the empty string value in extra is not allowed" if "" in values else ""


def _naming(name: str, mode: Mode) -> Attributes:
    node = _NODE.fullmatch(name) if mode.name else None
    if node is not None:
        return Attributes(mode.verb, mode.group, "nodes", name=node[1])
    account = account_of(name)
    if account is not None:
        return Attributes(mode.verb, mode.group, "serviceaccounts", namespace=account[0], name=account[1])
    return Attributes(mode.verb, mode.group, "users", name=name)


def _groups(wanted: User, mode: Mode) -> tuple[str, ...]:
    """The groups that were asked for, else those that the name brings, and that of the known or of the unknown."""
    groups = wanted.groups
    account = account_of(wanted.name)
    if account is not None and not groups:
        groups = account_groups(account[0])
    elif mode.name and _NODE.fullmatch(wanted.name):
        groups = ("system:nodes",)
    if wanted.name == ANONYMOUS:
        added = UNAUTHENTICATED
    elif UNAUTHENTICATED in groups:
        return groups
    else:
        added = AUTHENTICATED
    return groups if added in groups else (*groups, added)
