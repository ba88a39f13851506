"""Who asks, and whether they may: users, and the rights that roles and bindings give them.

A member of `system:masters` may do everything and is not looked up at all. The rights of anybody else are resolved once
per user and namespace and kept until a role or a binding changes. What is decided and in which words follows the RBAC
authorizer of the real API server.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from urllib.parse import unquote

import msgspec
from msgspec import Struct

from kubeloop.objects.meta import Resource
from kubeloop.request import Request
from kubesim.errors import StatusError, quoted
from kubesim.kinds.registry import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES
from kubesim.rules.roles import RBAC, Binding, PolicyRule, Role, Subject
from kubesim.store.store import Store
from kubesim.store.versions import Author, Event, Tree, Version

ADMIN = "admin"
ANONYMOUS = "system:anonymous"
MASTERS = "system:masters"
AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
_ACCOUNT = re.compile(
    r"system:serviceaccount:([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?):"
    r"([a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*)"
)


class User(Struct, frozen=True):
    """Somebody who asks; two with the same name and groups have the same rights."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Whatever else is known of them, by keys."""
    is_inside: bool = False
    """A program of the cluster's own: it is not kept which fields it wrote, and its bodies are taken as they are."""

    @property
    def is_master(self) -> bool:
        return MASTERS in self.groups

    def info(self) -> Tree:
        """As UserInfo, the form in which reviews show a user."""
        shown: Tree = {"username": self.name}
        if self.uid:
            shown["uid"] = self.uid
        if self.groups:
            shown["groups"] = list(self.groups)
        if self.extra:
            shown["extra"] = {key: list(values) for key, values in self.extra}
        return shown


def user_of(name: str, *groups: str) -> User:
    """The user of that name, in the groups that the name alone brings and in these."""
    if name == ADMIN:
        return User(name, (MASTERS, *groups, AUTHENTICATED))
    if name == ANONYMOUS:
        return User(name, (*groups, UNAUTHENTICATED))
    account = account_of(name)
    if account is not None:
        return User(name, (*account_groups(account[0]), *groups, AUTHENTICATED))
    return User(name, (*groups, AUTHENTICATED))


def master(name: str) -> User:
    """A user of that name who may do everything."""
    return user_of(name) if name == ADMIN else user_of(name, MASTERS)


def insider(name: str) -> User:
    """A program of the cluster's own, which may do everything."""
    return msgspec.structs.replace(master(name), is_inside=True)


def account_of(name: str) -> tuple[str, str] | None:
    """Namespace and name of the service account that a user's name stands for."""
    found = _ACCOUNT.fullmatch(name)
    return None if found is None else (found[1], found[2])


def account_groups(namespace: str) -> tuple[str, ...]:
    return ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")


class Attributes(Struct, frozen=True):
    """What is asked for, in the words of rules; with a `path` it is none of the resources."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def combined(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def attributes_of(request: Request) -> Attributes:
    """What a request asks for, read off its path and parameters whether or not such a path is served."""
    path = unquote(request.path)
    match path.strip("/").split("/"):
        case ["api", _, first, *rest]:
            group = ""
        case ["apis", group, _, first, *rest]:
            pass
        case _:
            return Attributes(request.method.lower(), path=path)
    parts = [first, *rest]
    verb = _VERBS.get(request.method, "")
    if first in ("watch", "proxy") and rest:
        verb, parts = first, rest
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 1:
        namespace = parts[1]
        if len(parts) > 2 and parts[2] not in ("status", "finalize"):
            parts = parts[2:]
    resource, name, subresource = (*parts, "", "")[:3]
    if not name and verb == "get":
        options = dict(request.query)
        verb = "list" if options.get("watch", "0").lower() in ("0", "false") else "watch"
        name = _single(options.get("fieldSelector", ""))
    elif not name and verb == "delete":
        verb = "deletecollection"
    return Attributes(verb, group, resource, subresource, namespace, name)


def _single(selector: str) -> str:
    """The one name that a field selector leaves: a list of it needs the right to that name alone."""
    found = ""
    for term in selector.split(",") if selector else ():
        path, sign, value = term.partition("==" if "==" in term else "=")
        if not sign:
            return ""
        if path.strip() == "metadata.name":
            found = value
    return "" if found in (".", "..") or "/" in found or "%" in found else found


def allows(rule: PolicyRule, asked: Attributes) -> bool:
    """Whether a rule allows this for some name; which names is looked at apart."""
    if not _has(rule.verbs or (), asked.verb):
        return False
    if asked.path:
        return any(is_under(asked.path, url) for url in rule.urls)
    if not _has(rule.api_groups, asked.group):
        return False
    anywhere = f"*/{asked.subresource}"
    return _has(rule.resources, asked.combined) or bool(asked.subresource and anywhere in rule.resources)


def _has(words: tuple[str, ...], word: str) -> bool:
    return word in words or "*" in words


def is_under(path: str, url: str) -> bool:
    """Whether a path is one of those that a rule's URL stands for."""
    return path == url or (url.endswith("*") and path.startswith(url.rstrip("*")))


def _is_about(subject: Subject, user: User, namespace: str) -> bool:
    match subject.kind:
        case "User":
            return user.name == subject.name
        case "Group":
            return subject.name in user.groups
        case "ServiceAccount":
            return account_of(user.name) == (subject.namespace or namespace, subject.name)
        case _:
            return False


def _described(subject: Subject, namespace: str) -> str:
    if subject.kind == "ServiceAccount":
        return f"{subject.kind} {quoted(f'{subject.name}/{subject.namespace or namespace}')}"
    return f"{subject.kind} {quoted(subject.name)}"


class _Grant(Struct, frozen=True):
    rule: PolicyRule
    source: str
    """The binding that brings the rule, in words."""


class _Rights:
    """Everything that one user may do in one namespace, or outside of all."""

    def __init__(self, grants: Iterable[_Grant], errors: Iterable[str]) -> None:
        self.grants = tuple(grants)
        self.errors = tuple(dict.fromkeys(errors))
        self._found: dict[tuple[str, str, str, str], tuple[_Grant, ...]] = {}

    def judge(self, asked: Attributes) -> Verdict:
        key = (asked.verb, asked.group, asked.combined, asked.path)
        grants = self._found.get(key)
        if grants is None:
            grants = self._found[key] = tuple(grant for grant in self.grants if allows(grant.rule, asked))
        for grant in grants:
            if not grant.rule.resource_names or asked.name in grant.rule.resource_names:
                return Verdict(True, f"RBAC: allowed by {grant.source}")
        return Verdict(False, f"RBAC: {self.trouble}" if self.errors else "")

    @property
    def trouble(self) -> str:
        """What kept roles from being found, empty when all were."""
        return ", ".join(self.errors) if len(self.errors) < 2 else f"[{', '.join(self.errors)}]"


class Verdict(Struct, frozen=True):
    allowed: bool
    reason: str = ""


class Access:
    """Decides over requests by the roles and bindings in the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._rights: dict[tuple[User, str], _Rights] = {}
        store.listen(self._noted, ROLES, ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS)

    def _noted(self, _resource: Resource, _event: Event, _author: Author) -> None:
        self._rights.clear()

    def demand(self, user: User, asked: Attributes) -> None:
        """Raises the server's 403 unless the user may do this."""
        if user.is_master:
            return
        verdict = self.judge(user, asked)
        if not verdict.allowed:
            raise refused(user, asked, verdict.reason)

    def judge(self, user: User, asked: Attributes) -> Verdict:
        """Whether the user may do this, and by which binding."""
        return Verdict(True) if user.is_master else self._resolved(user, asked.namespace).judge(asked)

    def rules(self, user: User, namespace: str) -> tuple[tuple[PolicyRule, ...], str]:
        """All rules that hold for the user in a namespace, and what kept others from being found."""
        rights = self._resolved(user, namespace)
        return tuple(grant.rule for grant in rights.grants), rights.trouble

    def _resolved(self, user: User, namespace: str) -> _Rights:
        rights = self._rights.get((user, namespace))
        if rights is None:
            errors: list[str] = []
            grants = [*self._cluster_wide(user, errors), *(self._within(user, namespace, errors) if namespace else ())]
            rights = self._rights[user, namespace] = _Rights(grants, errors)
        return rights

    def _cluster_wide(self, user: User, errors: list[str]) -> Iterator[_Grant]:
        for version in self._store.table(CLUSTER_ROLE_BINDINGS).at(None):
            label = f"ClusterRoleBinding {quoted(version.head.name)}"
            yield from self._granted(version, label, user, "", errors)

    def _within(self, user: User, namespace: str, errors: list[str]) -> Iterator[_Grant]:
        for version in self._store.table(ROLE_BINDINGS).at(None):
            if version.key[0] == namespace:
                label = f"RoleBinding {quoted(f'{version.head.name}/{namespace}')}"
                yield from self._granted(version, label, user, namespace, errors)

    def _granted(self, version: Version, label: str, user: User, namespace: str, errors: list[str]) -> Iterator[_Grant]:
        """What one binding gives a user."""
        binding = _binding_of(version.body)
        subject = next((found for found in binding.subjects if _is_about(found, user, namespace)), None)
        if subject is None:
            return
        kind, name = binding.role_ref.kind, binding.role_ref.name
        table, key = (CLUSTER_ROLES, ("", name)) if kind == "ClusterRole" else (ROLES, (namespace, name))
        role = self._store.table(table).live.get(key)
        if role is None:
            errors.append(f"{kind.lower()}.{RBAC} {quoted(name)} not found")
            return
        source = f"{label} of {kind} {quoted(name)} to {_described(subject, namespace)}"
        for rule in msgspec.json.decode(role.body, type=Role).rules or ():
            yield _Grant(rule, source)


@lru_cache(maxsize=1024)
def _binding_of(body: bytes) -> Binding:
    """Kept, for all bindings are read to find those of a user, and most of them are there for good."""
    return msgspec.json.decode(body, type=Binding)


_HARMLESS = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def refused(user: User, asked: Attributes, reason: str = "") -> StatusError:
    """The server's words for a missing right."""
    who = f"User {quoted(user.name)} cannot {asked.verb}"
    if asked.path:
        text = f"{who} path {quoted(asked.path)}"
    else:
        where = f"in the namespace {quoted(asked.namespace)}" if asked.namespace else "at the cluster scope"
        text = f"{who} resource {quoted(asked.combined)} in API group {quoted(asked.group)} {where}"
    text = text.translate(_HARMLESS) + (f": {reason}" if reason else "")
    if asked.path:
        return StatusError(403, "Forbidden", f"forbidden: {text}", {})
    subject = f"{asked.resource}.{asked.group}" if asked.group else asked.resource
    if asked.name:
        subject += f" {quoted(asked.name)}"
    details: dict[str, object] = {
        key: value for key, value in (("name", asked.name), ("group", asked.group), ("kind", asked.resource)) if value
    }
    return StatusError(403, "Forbidden", f"{subject} is forbidden: {text}", details)
